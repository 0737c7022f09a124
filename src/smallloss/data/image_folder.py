"""A folder of pictures, one subfolder per class, with or without train, val and test above them."""

import os
from collections.abc import Iterator
from pathlib import Path

from smallloss.data.dataset import Dataset
from smallloss.data.decode import is_picture
from smallloss.data.pictures import Listing, picture_dataset
from smallloss.data.source import Source
from smallloss.errors import InputError
from smallloss.files import place, printable
from smallloss.words import counted, listed

_TRAIN = ("train", "training")
_VALIDATION = ("val", "valid", "validation")
_TEST = ("test",)
_SPLITS = {*_TRAIN, *_VALIDATION, *_TEST}
_UNSEEN = (".", "__MACOSX")  # what is hidden, and what a Mac packs beside the files


def load_image_folder(root: Path) -> Dataset:
    """Ids are paths from the root; a test (or else a val) subfolder beside train becomes the test set."""
    root = place(root)
    splits = _splits(root)
    train = next((splits[name] for name in _TRAIN if name in splits), "")
    others = [splits[name] for name in (*_TEST, *_VALIDATION) if name in splits]
    found = [_find(root, root / name) for name in (train, *others[:1])]
    notes = [note for _, said in found for note in said]
    notes += [f"The folder {name!r} is not used: {others[0]!r} is the test set." for name in others[1:]]
    more = [name for name in splits.values() if name.lower() not in _SPLITS]
    notes += [f"Not used, being neither train, val nor test: {listed(more, 5)}."] if more else []
    return picture_dataset(root.name, *(listing for listing, _ in found), notes=notes)


SOURCE = Source("a folder of pictures (a subfolder per class) or of idx files", load_image_folder, holds=Path.is_dir)


def _splits(root: Path) -> dict[str, str]:
    """The folders by their role, where they are splits: a class may be called 'train' too.

    They are where there is no folder but splits, or where one to train on and one to test on both hold folders.
    """
    names = {name.lower(): name for name in _entries(root)[0]}
    parts = [[name for name in role if name in names] for role in (_TRAIN, (*_TEST, *_VALIDATION))]
    both = all(any(_entries(root / names[name])[0] for name in part) for part in parts)
    return names if parts[0] and (both or names.keys() <= _SPLITS) else {}


def _find(root: Path, folder: Path) -> tuple[Listing, list[str]]:
    """Every picture below each class folder, and what is to be said of the rest."""
    classes, loose = _entries(folder)
    if not classes and any(map(is_picture, loose)):
        raise InputError(
            f"{folder} holds pictures but no class subfolders; "
            "put the pictures of each class in a subfolder named after it."
        )
    if len(classes) == 1 and _entries(folder / classes[0])[0]:  # as an archive is often unpacked
        raise InputError(
            f"{folder} holds one folder only, {classes[0]!r}, and its pictures would be of one class; if the folders "
            f"inside it are the classes, give {folder / classes[0]}."
        )
    paths: list[str] = []
    labels: list[str] = []
    strangers, empty = [str(folder / name) for name in loose], []
    above = {_place(root), _place(folder), *(_place(folder / name) for name in classes)}
    for name in classes:
        # A link back up, or into another class, is not followed: it would give pictures a label of others.
        below, label = list(_walk(folder / name, set(above))), printable(name)
        found = [path for path in below if is_picture(path)]
        strangers += [path for path in below if not is_picture(path)]
        paths += found
        labels += [label] * len(found)
        empty += [] if found else [label]
    if not paths:
        hold = f"its subfolders, {empty[0]!r} the first, hold none of .png, .jpg and the like" if empty else ""
        raise InputError(
            f"{folder} is a folder without idx files and without pictures; "
            f"{hold or 'give it a subfolder of pictures for each class'}."
        )
    notes = []
    if strangers:
        left = f"{counted(len(strangers), 'file')} left out, not being a picture of a class"
        notes.append(f"{left}; the first is {_id(root, strangers[0])!r}.")
    if empty:
        folders, hold = ("folder", "holds") if len(empty) == 1 else ("folders", "hold")
        notes.append(f"The class {folders} {listed(empty, 5)} {hold} no pictures.")
    return Listing(paths, [_id(root, path) for path in paths], labels), notes


def pictures_below(root: Path) -> tuple[list[str], list[str]]:
    """Ids, which are paths from the root, and files of every picture below it, whatever the folders are named."""
    files = [path for path in _walk(root, {_place(root)}) if is_picture(path)]
    return [_id(root, path) for path in files], files


def _walk(folder: Path, seen: set[tuple[int, int]]) -> Iterator[str]:
    """The files below a folder in a fixed order; links are followed, each folder is entered once."""
    for above, folders, names in os.walk(folder, followlinks=True):
        yield from (f"{above}{os.sep}{name}" for name in _shown(names))
        below = {_place(above, name): name for name in reversed(_shown(folders))}
        folders[:] = sorted(name for place, name in below.items() if place not in seen)
        seen |= below.keys()


def _entries(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the folders in it, and of everything else."""
    _, folders, names = next(os.walk(folder), ("", [], []))
    return _shown(folders), _shown(names)


def _shown(names: list[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith(_UNSEEN))


def _place(*parts: str | Path) -> tuple[int, int]:
    """Device and inode: the same folder by whatever name."""
    facts = Path(*parts).stat()
    return facts.st_dev, facts.st_ino


def _id(root: Path, path: str) -> str:
    return printable(path[len(str(root)) :].lstrip(os.sep).replace(os.sep, "/"))
