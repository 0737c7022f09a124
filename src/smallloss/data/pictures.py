"""Pictures become a `Dataset`: decoded in parallel, in memory or mapped, those that cannot be read listed."""

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, local
from typing import Any

import numpy as np
from PIL import Image

from smallloss import files
from smallloss.criterion.labels import label_names
from smallloss.data import decode
from smallloss.data.arrays import as_tested, from_arrays
from smallloss.data.dataset import Dataset, Unreadable, require_classes
from smallloss.data.decode import Source
from smallloss.errors import InputError
from smallloss.words import listed

MEMORY_BUDGET = 2 << 30  # bytes; a larger set is kept on disk and mapped
_SAMPLE = 1000  # heads looked at to choose the input size
_SMALLEST, _LARGEST = 32, 96
_CHUNK = 64
_PER_HELPER = 1000  # with fewer pictures a helper costs more than it brings

_Answer = tuple[bytes, dict[int, str]]  # the pixels, zeros where there are none; why, by position


@dataclass(frozen=True)
class Listing:
    """Pictures before they are read: where each is, its id, its label and, where known, its true label."""

    sources: Sequence[Source]
    ids: Sequence[str]
    labels: Sequence[Any]
    true_labels: Sequence[str] | None = None


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


def picture_dataset(
    name: str, train: Listing, test: Listing | None = None, *, also: Mapping[str, Listing] | None = None,
    size: int | None = None, notes: Sequence[str] = (),
) -> Dataset:  # fmt: skip
    """Read the pictures; the parts to test on get the size and the channels of the training part.

    also: further ones, by name. size: of a side, in colour; if left out, by the pictures.
    """
    require_classes(np.array(train.labels), name)
    target, said = choose_target(train.sources) if size is None else (Target(size, gray=False), _said(size))
    pictures = read_pictures(train.sources, target)
    labels, truth = _labels(train, pictures, name), train.true_labels
    require_classes(np.array(labels), name)
    truth = None if truth is None else [truth[i] for i in pictures.readable]
    dataset = _as_listed(from_arrays(pictures.inputs, labels, name=name, true_labels=truth), train, pictures)
    parts = {}
    for what, listing in ({} if test is None else {"test": test, **(also or {})}).items():
        seen = read_pictures(listing.sources, target)
        part = as_tested(dataset, seen.inputs, _labels(listing, seen, f"{name} {what}"), what)
        parts[what] = _as_listed(part, listing, seen)
    notes = [said, *notes, *dataset.notes, *(note for part in parts.values() for note in part.notes)]
    return replace(dataset, test=parts.pop("test", None), also=parts, notes=tuple(notes))


def _labels(listing: Listing, pictures: Pictures, where: str) -> list[str]:
    """Of those that can be read."""
    if not len(pictures.readable):
        position, reason = next(iter(pictures.unreadable.items()))
        raise InputError(
            f"None of the {len(listing.ids):,} pictures of {where} can be read; the first, "
            f"{listing.ids[position]!r}: {reason}."
        )
    return [listing.labels[i] for i in pictures.readable]


def _as_listed(dataset: Dataset, listing: Listing, pictures: Pictures) -> Dataset:
    """With ids and places of the pictures that were read, and what is to be said of the others."""
    before = np.searchsorted(pictures.readable, list(pictures.unreadable)).tolist()
    names = label_names(listing.labels).tolist()
    unreadable = {
        listing.ids[i]: Unreadable(reason, names[i], row)
        for (i, reason), row in zip(pictures.unreadable.items(), before, strict=True)
    }
    notes = []
    if unreadable:
        first, one = next(iter(unreadable.items()))
        notes.append(
            f"{len(unreadable):,} of the {len(listing.ids):,} pictures of {dataset.name} cannot be read and are not "
            f"judged; the first is {first!r} ({one.reason})."
        )
    if lost := sorted({one.label for one in unreadable.values()} - set(dataset.classes)):
        notes.append(f"No picture of the class {listed(lost, 5)} can be read.")
    ids, sources = ([one[i] for i in pictures.readable] for one in (listing.ids, listing.sources))
    return replace(dataset, ids=ids, sources=sources, unreadable=unreadable, notes=tuple(notes))


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
    return Target(size, all_gray), _said(size, f": {looked}")


def _said(size: int, why: str = "") -> str:
    return f"Pictures are resized and centre-cropped to {size} x {size}{why}."


def read_pictures(sources: Sequence[Source], target: Target) -> Pictures:
    """Decode them all. What takes more bytes than the budget is kept in the user's cache and mapped."""
    shape = target.shape(len(sources))
    if math.prod(shape) > MEMORY_BUDGET:
        inputs, reasons = _kept(sources, target)
    else:
        inputs = np.empty(shape, np.uint8)
        reasons = _decode_into(inputs, sources, target)
    readable = _readable(len(sources), reasons)
    return Pictures(inputs[: len(readable)], readable, reasons)


def _decode_into(inputs: np.ndarray, sources: Sequence[Source], target: Target) -> dict[int, str]:
    """Fill the first rows of `inputs` with the readable pictures, in this process and its helpers: the reasons by
    position.

    Processes, not threads: most of the time of a small picture is Python's, which threads only take turns at.
    """
    alone, own = Lock(), local()

    def here(chunk: list[Source]) -> _Answer:
        with alone:  # to ignore warnings is not for several threads at once
            return decode.decode_all(chunk, target.size, gray=target.gray)

    def work(start: int) -> dict[int, str]:
        chunk, rows = list(sources[start : start + _CHUNK]), inputs[start : start + _CHUNK]
        try:
            pixels, problems = own.answer(chunk)
        except (OSError, EOFError):  # this helper is lost
            own.answer = here
            pixels, problems = here(chunk)
        rows[...] = np.frombuffer(pixels, np.uint8).reshape(rows.shape)
        return {start + position: reason for position, reason in problems.items()}

    reasons: dict[int, str] = {}
    with ExitStack() as stack:
        decoders = [here, *(stack.enter_context(_helper(target)) for _ in range(_helper_count(sources)))]
        threads = ThreadPoolExecutor(len(decoders), initializer=lambda: setattr(own, "answer", decoders.pop()))
        stack.callback(threads.shutdown, cancel_futures=True)  # an interruption waits for the chunks in hand alone
        for found in threads.map(work, range(0, len(sources), _CHUNK)):
            reasons |= found
    keep = _readable(len(inputs), reasons)
    for start in range(0, len(keep) if reasons else 0, 4096):  # in place: a second copy might not fit
        rows = keep[start : start + 4096]
        inputs[start : start + len(rows)] = inputs[rows]
    return reasons


def _helper_count(sources: Sequence[Source]) -> int:
    if not sys.executable or getattr(sys, "frozen", False):  # a bundled program: no Python to start
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    in_files = all(isinstance(source, str) for source in sources)
    return min(cores - 1, len(sources) // _PER_HELPER) if in_files else 0


@contextmanager
def _helper(target: Target) -> Iterator[Callable[[list[Source]], _Answer]]:
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
        head, length = replies.readline(), math.prod(target.shape(len(chunk)))
        pixels = replies.read(length) if head else b""
        if len(pixels) != length:
            raise EOFError("the helper ended")
        return pixels, _by_position(head)

    try:
        yield answer
    finally:
        process.kill()
        process.communicate()


def _by_position(reasons: str | bytes) -> dict[int, str]:
    """JSON has no keys but texts."""
    return {int(position): reason for position, reason in json.loads(reasons).items()}


def _readable(n: int, reasons: dict[int, str]) -> np.ndarray:
    return np.delete(np.arange(n), list(reasons))


def _kept(sources: Sequence[Source], target: Target) -> tuple[np.ndarray, dict[int, str]]:
    """A mapped file in the cache, and the reasons, found there or decoded. Its name tells the files (path, length, time
    of change) and the shape they become; it has it once it is whole and the reasons are there."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smallloss" / "pictures"
    shape = target.shape(len(sources))
    digest = hashlib.sha256(f"1 {shape}".encode())
    for source in sources:
        digest.update(_mark(source))
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
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            whole = Path(beside) / array.name
            mapped = np.lib.format.open_memmap(whole, mode="w+", dtype=np.uint8, shape=shape)
            files.write_json(facts, _decode_into(mapped, sources, target))
            mapped.flush()
            whole.replace(array)
    return files.read_npy(array, mapped=True), _by_position(facts.read_text(encoding="utf-8"))


def _mark(source: Source) -> bytes:
    """Plain text and one call to the system: with a Path, 100,000 marks take as long as a quarter of the decoding."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).digest()
    try:
        facts = os.stat(source)  # noqa: PTH116
        state = f"{facts.st_size} {facts.st_mtime_ns}"
    except (OSError, ValueError):
        state = "missing"
    return f"{os.path.abspath(source)}\0{state}\0".encode(errors="surrogateescape")  # noqa: PTH100
