"""Files of pictures become one uint8 array: decoded in parallel, in memory or mapped, the unreadable ones listed."""

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from PIL import Image

from smallloss import files
from smallloss.data import decode
from smallloss.data.decode import Source
from smallloss.errors import InputError
from smallloss.files import read_npy

MEMORY_BUDGET = 2 << 30  # bytes; a larger set is kept on disk and mapped
_SAMPLE = 1000  # heads looked at to choose the input size
_SMALLEST, _LARGEST = 32, 96
_CHUNK = 64
_PER_HELPER = 1000  # with fewer pictures a helper costs more than it brings

_Answer = tuple[bytes, dict[int, str], bool]


@dataclass(frozen=True, eq=False)
class Pictures:
    """`inputs` [m, size, size, channels] of those at the positions `readable`; why the others are not there."""

    inputs: np.ndarray
    readable: np.ndarray
    unreadable: dict[int, str]


@dataclass(frozen=True)
class Target:
    """What every picture of a set becomes."""

    size: int
    gray: bool

    def shape(self, n: int) -> tuple[int, int, int, int]:
        return n, self.size, self.size, 1 if self.gray else 3


def choose_target(sources: Sequence[Source]) -> tuple[Target, str]:
    """The input size: the median shorter side, in steps of 8, from 32 to 96; and the sentence that says so."""
    step = -(-len(sources) // _SAMPLE)
    sides, all_gray = [], True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in sources[::step]:
            try:
                width, height, is_gray = decode.shape_of(source)
            except Exception:  # it is listed with its reason when it is decoded
                continue
            sides.append(min(width, height))
            all_gray &= is_gray
    if not sides:
        return Target(_SMALLEST, gray=False), ""
    median = float(np.median(sides))
    size = int(np.clip(8 * np.floor(median / 8 + 0.5), _SMALLEST, _LARGEST))
    looked = f"the median shorter side of {len(sides):,} pictures looked at is {median:g}"
    return Target(size, all_gray), f"Pictures are resized and centre-cropped to {size} x {size}: {looked}."


def read_pictures(
    sources: Sequence[Source],
    target: Target,
    *,
    keep_gray: bool = False,
    budget: int | None = None,
    cache: Path | None = None,
    processes: int | None = None,
) -> tuple[Pictures, Target]:
    """Decode them all. A gray target becomes RGB when a picture with colours turns up, unless told to `keep_gray`."""
    budget = MEMORY_BUDGET if budget is None else budget
    found = _read(sources, target, target.gray and not keep_gray, budget, cache, processes)
    if found is None:
        target = Target(target.size, gray=False)
        found = _read(sources, target, False, budget, cache, processes)
    assert found is not None
    inputs, reasons = found
    readable = _readable(len(sources), reasons)
    return Pictures(inputs[: len(readable)], readable, reasons), target


def _read(
    sources: Sequence[Source],
    target: Target,
    stop_at_colour: bool,
    budget: int,
    cache: Path | None,
    processes: int | None,
) -> tuple[np.ndarray, dict[int, str]] | None:
    """The readable pictures in the first rows of an array, and the reasons; None if stopped at a colour."""
    shape = target.shape(len(sources))
    if np.prod(shape, dtype=np.int64) <= budget:
        inputs = np.empty(shape, np.uint8)
        reasons = _decode_into(inputs, sources, target, stop_at_colour, processes)
        return None if reasons is None else (inputs, reasons)
    with PictureCache(sources, shape, cache) as kept:
        if kept.found is None:
            reasons = _decode_into(kept.start(), sources, target, stop_at_colour, processes)
            if reasons is None:
                return None
            kept.finish(reasons)
        return kept.found


def _decode_into(
    inputs: np.ndarray, sources: Sequence[Source], target: Target, stop_at_colour: bool, processes: int | None
) -> dict[int, str] | None:
    """Fill `inputs` in this process and its helpers: the reasons by position; None if stopped at a colour.

    Processes, not threads: most of the time of a small picture is Python's, which threads only take turns at.
    """
    starts = deque(range(0, len(sources), _CHUNK))
    reasons: dict[int, str] = {}
    stopped = False

    def drain(answer: Callable[[list[Source]], _Answer]) -> None:
        nonlocal stopped
        while True:
            try:
                start = starts.popleft()
            except IndexError:
                return
            try:
                pixels, problems, all_gray = answer(list(sources[start : start + _CHUNK]))
            except (OSError, EOFError):
                starts.append(start)  # this helper is lost; its chunk is for another
                return
            rows = inputs[start : start + _CHUNK]
            rows[...] = np.frombuffer(pixels, np.uint8).reshape(rows.shape)
            reasons.update({start + position: reason for position, reason in problems.items()})
            if stop_at_colour and not all_gray:
                stopped = True
                starts.clear()

    def here(chunk: list[Source]) -> _Answer:
        return decode.decode_all(chunk, target.size, gray=target.gray)

    with ExitStack() as stack:
        helpers = [stack.enter_context(_Helper(target)) for _ in range(_helper_count(sources, processes))]
        if helpers:
            threads = stack.enter_context(ThreadPoolExecutor(len(helpers)))
            stack.callback(starts.clear)  # after an interruption the threads end with the chunk in hand
            waiting = [threads.submit(drain, helper.answer) for helper in helpers]
            drain(here)
            for one in waiting:
                one.result()
        drain(here)
    if stopped:
        return None
    _close_gaps(inputs, reasons)
    return dict(sorted(reasons.items()))


def _helper_count(sources: Sequence[Source], processes: int | None) -> int:
    frozen = not sys.executable or getattr(sys, "frozen", False)  # a bundled program: no Python to start
    if frozen or not all(isinstance(source, str) for source in sources):
        return 0
    if processes is not None:
        return processes - 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores - 1, len(sources) // _PER_HELPER)


class _Helper:
    """A second process that decodes. Started as a program of its own: a fork would copy a process with threads,
    and a spawn would run the user's script again."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def __enter__(self) -> "_Helper":
        command = [sys.executable, "-P", decode.__file__]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def answer(self, chunk: list[Source]) -> _Answer:
        question = {
            "paths": chunk,
            "size": self.target.size,
            "gray": self.target.gray,
            "max_pixels": Image.MAX_IMAGE_PIXELS,
        }
        requests, replies = self.process.stdin, self.process.stdout
        assert requests is not None
        assert replies is not None
        requests.write(json.dumps(question).encode() + b"\n")
        requests.flush()
        head = replies.readline()
        length = int(np.prod(self.target.shape(len(chunk))))
        pixels = replies.read(length) if head else b""
        if len(pixels) != length:
            raise EOFError("the helper ended")
        problems, all_gray = json.loads(head)
        return pixels, {int(position): reason for position, reason in problems.items()}, all_gray


def _close_gaps(inputs: np.ndarray, reasons: dict[int, str]) -> None:
    """Move the readable pictures to the front, in place: a second copy might not fit."""
    if not reasons:
        return
    keep = _readable(len(inputs), reasons)
    for start in range(0, len(keep), 4096):
        rows = keep[start : start + 4096]
        inputs[start : start + len(rows)] = inputs[rows]


def _readable(n: int, reasons: dict[int, str]) -> np.ndarray:
    return np.setdiff1d(np.arange(n), np.fromiter(reasons, np.int64, len(reasons)))


def require_some(pictures: Pictures, ids: Sequence[str], where: str) -> None:
    if not len(pictures.readable):
        position, reason = next(iter(pictures.unreadable.items()))
        raise InputError(
            f"None of the {len(ids):,} pictures of {where} can be read; the first, {ids[position]!r}: {reason}."
        )


def cache_folder() -> Path:
    """Where the user's system keeps what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smallloss" / "pictures"


class PictureCache:
    """The place of one set, named after its files (path, length, time of change) and the shape they become."""

    def __init__(self, sources: Sequence[Source], shape: tuple[int, ...], folder: Path | None) -> None:
        self.shape = shape
        self.folder = cache_folder() if folder is None else folder
        digest = hashlib.sha256(f"1 {shape}".encode())
        here = f"{Path.cwd()}{os.sep}"
        for source in sources:
            digest.update(_mark(source, here))
        self.array = self.folder / f"{digest.hexdigest()[:32]}.npy"
        self.facts = self.array.with_suffix(".json")
        self.unfinished: Path | None = None
        self.found: tuple[np.ndarray, dict[int, str]] | None = None

    def __enter__(self) -> "PictureCache":
        """With what an earlier run `found`, if one ended well."""
        if self.array.is_file() and self.facts.is_file():
            self._open()
        return self

    def start(self) -> np.ndarray:
        self.folder.mkdir(parents=True, exist_ok=True)
        needed, free = math.prod(self.shape), shutil.disk_usage(self.folder).free
        if needed > free:  # writing to a mapped file on a full disk would end the process
            raise InputError(
                f"The decoded pictures take {needed / 2**30:.1f} GiB, and {self.folder} has {free / 2**30:.1f} GiB "
                "left; make room, or set XDG_CACHE_HOME to a folder with more."
            )
        handle, name = tempfile.mkstemp(suffix=".tmp", dir=self.folder)
        os.close(handle)
        self.unfinished = Path(name)
        self.mapped = np.lib.format.open_memmap(name, mode="w+", dtype=np.uint8, shape=self.shape)
        return self.mapped

    def finish(self, reasons: dict[int, str]) -> None:
        """Give the file its name, which says that it is whole; the reasons are there before it."""
        assert self.unfinished is not None
        self.mapped.flush()
        files.write_json(self.facts, {str(position): reason for position, reason in reasons.items()})
        self.unfinished.replace(self.array)
        self._open()

    def _open(self) -> None:
        reasons = json.loads(self.facts.read_text(encoding="utf-8"))
        mapped = read_npy(self.array, mapped=True)
        self.found = mapped, {int(position): reason for position, reason in reasons.items()}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing half-written behind."""
        if self.unfinished is not None:
            self.unfinished.unlink(missing_ok=True)


def _mark(source: Source, here: str) -> bytes:
    """Plain text and one call to the system: with a Path, 100,000 marks take as long as a quarter of the decoding."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).digest()
    try:
        facts = os.stat(source)  # noqa: PTH116
        state = f"{facts.st_size} {facts.st_mtime_ns}"
    except (OSError, ValueError):
        state = "missing"
    place = source if source.startswith(os.sep) else here + source
    return f"{place}\0{state}\0".encode(errors="surrogateescape")
