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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

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
_Decoder = Callable[[list[Source]], _Answer]


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
    sources: Sequence[Source], target: Target, *, keep_gray: bool = False, budget: int | None = None
) -> tuple[Pictures, Target]:
    """Decode them all. A gray target becomes RGB when a picture with colours turns up, unless told to `keep_gray`.

    What takes more bytes than the `budget` is kept in the user's cache and mapped.
    """

    def read(target: Target, *, all_gray: bool) -> tuple[np.ndarray, dict[int, str]]:
        def fill(inputs: np.ndarray) -> dict[int, str]:
            return _decode_into(inputs, sources, target, all_gray)

        shape = target.shape(len(sources))
        if np.prod(shape, dtype=np.int64) > (MEMORY_BUDGET if budget is None else budget):
            return _kept(sources, shape, fill)
        inputs = np.empty(shape, np.uint8)
        return inputs, fill(inputs)

    try:
        inputs, reasons = read(target, all_gray=target.gray and not keep_gray)
    except _ColourError:
        target = Target(target.size, gray=False)
        inputs, reasons = read(target, all_gray=False)
    readable = _readable(len(sources), reasons)
    return Pictures(inputs[: len(readable)], readable, reasons), target


class _ColourError(Exception):
    """A picture is not gray where all should be."""


def _decode_into(inputs: np.ndarray, sources: Sequence[Source], target: Target, all_gray: bool) -> dict[int, str]:
    """Fill the first rows of `inputs` with the readable pictures, in this process and its helpers: the reasons by
    position.

    Processes, not threads: most of the time of a small picture is Python's, which threads only take turns at.
    """
    starts = deque(range(0, len(sources), _CHUNK))
    reasons: dict[int, str] = {}
    coloured = False

    def drain(answer: _Decoder) -> None:
        nonlocal coloured
        while True:
            try:
                start = starts.popleft()
            except IndexError:
                return
            try:
                pixels, problems, is_gray = answer(list(sources[start : start + _CHUNK]))
            except (OSError, EOFError):
                starts.append(start)  # this helper is lost; its chunk is for another
                return
            rows = inputs[start : start + _CHUNK]
            rows[...] = np.frombuffer(pixels, np.uint8).reshape(rows.shape)
            reasons.update({start + position: reason for position, reason in problems.items()})
            if all_gray and not is_gray:
                coloured = True
                starts.clear()

    def here(chunk: list[Source]) -> _Answer:
        return decode.decode_all(chunk, target.size, gray=target.gray)

    with ExitStack() as stack:
        helpers = [stack.enter_context(_helper(target)) for _ in range(_helper_count(sources))]
        threads = stack.enter_context(ThreadPoolExecutor(max(len(helpers), 1)))
        stack.callback(starts.clear)  # after an interruption the threads end with the chunk in hand
        waiting = [threads.submit(drain, helper) for helper in helpers]
        drain(here)
        for one in waiting:
            one.result()
        drain(here)
    if coloured:
        raise _ColourError
    _close_gaps(inputs, reasons)
    return dict(sorted(reasons.items()))


def _helper_count(sources: Sequence[Source]) -> int:
    if not sys.executable or getattr(sys, "frozen", False):  # a bundled program: no Python to start
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    in_files = all(isinstance(source, str) for source in sources)
    return min(cores - 1, len(sources) // _PER_HELPER) if in_files else 0


@contextmanager
def _helper(target: Target) -> Iterator[_Decoder]:
    """A second process that decodes. Started as a program of its own: a fork would copy a process with threads,
    and a spawn would run the user's script again."""
    command, pipe = [sys.executable, "-P", decode.__file__], subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    requests, replies = process.stdin, process.stdout
    assert requests is not None
    assert replies is not None

    def answer(chunk: list[Source]) -> _Answer:
        question = {"sources": chunk, "size": target.size, "gray": target.gray}
        requests.write(json.dumps([question, Image.MAX_IMAGE_PIXELS]).encode() + b"\n")
        requests.flush()
        head = replies.readline()
        length = int(np.prod(target.shape(len(chunk))))
        pixels = replies.read(length) if head else b""
        if len(pixels) != length:
            raise EOFError("the helper ended")
        problems, all_gray = json.loads(head)
        return pixels, {int(position): reason for position, reason in problems.items()}, all_gray

    try:
        yield answer
    finally:
        process.kill()
        process.communicate()


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


def _kept(
    sources: Sequence[Source], shape: tuple[int, ...], fill: Callable[[np.ndarray], dict[int, str]]
) -> tuple[np.ndarray, dict[int, str]]:
    """A mapped file in the cache, and the reasons, found there or made by `fill`. Its name tells the files (path,
    length, time of change) and the shape they become; it has it once it is whole and the reasons are there."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smallloss" / "pictures"
    digest = hashlib.sha256(f"1 {shape}".encode())
    here = f"{Path.cwd()}{os.sep}"
    for source in sources:
        digest.update(_mark(source, here))
    array = folder / f"{digest.hexdigest()[:32]}.npy"
    facts = array.with_suffix(".json")
    if not (array.is_file() and facts.is_file()):
        folder.mkdir(parents=True, exist_ok=True)
        needed, free = math.prod(shape), shutil.disk_usage(folder).free
        if needed > free:  # writing to a mapped file on a full disk would end the process
            raise InputError(
                f"The decoded pictures take {needed / 2**30:.1f} GiB, and {folder} has {free / 2**30:.1f} GiB left; "
                "make room, or set XDG_CACHE_HOME to a folder with more."
            )
        handle, name = tempfile.mkstemp(suffix=".tmp", dir=folder)
        os.close(handle)
        try:
            mapped = np.lib.format.open_memmap(name, mode="w+", dtype=np.uint8, shape=shape)
            reasons = fill(mapped)
            mapped.flush()
            files.write_json(facts, {str(position): reason for position, reason in reasons.items()})
            Path(name).replace(array)
        finally:
            Path(name).unlink(missing_ok=True)
    known = json.loads(facts.read_text(encoding="utf-8"))
    return read_npy(array, mapped=True), {int(position): reason for position, reason in known.items()}


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
