"""WebVision 1.0 (Li et al. 2017), its first 50 classes as in Chen et al. 2019: the Google part to train on, WebVision's
and ILSVRC's validation pictures of these classes to measure on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from smallloss.data.dataset import Dataset
from smallloss.data.decode import is_picture
from smallloss.data.pictures import Listing, picture_dataset
from smallloss.data.source import Source
from smallloss.errors import InputError
from smallloss.files import place

CLASSES, SIZE = 50, 299  # the side that Inception-ResNet-v2 takes
_TRAIN, _TESTED, _NAMES = "info/train_filelist_google.txt", "info/val_filelist.txt", "info/synsets.txt"
_GOOGLE, _VALIDATION = ("google_resized_256", "google"), ("val_images_256", "val_images")  # the first that is there
_ILSVRC = ("imagenet/val", "../imagenet/val")
_NORMALISATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as in DivideMix's loader


def load_webvision(path: Path) -> Dataset:
    """Its test part is WebVision's validation set; ILSVRC's, if it is there, stands in `also`."""
    root = place(path)
    google, shown = folders_of(root)
    classes = _synsets(root)
    names = [name for _, name in classes]
    train = _listing(root / _TRAIN, names, lambda name: google / name.removeprefix("google/"))
    test = _listing(root / _TESTED, names, lambda name: shown / name)
    ilsvrc = _folder(root, _ILSVRC)
    also = {} if ilsvrc is None else {"ilsvrc": _by_folder(ilsvrc, classes)}
    dataset = picture_dataset("WebVision", train, test, also=also, size=SIZE, notes=without_ilsvrc(root))
    return replace(dataset, normalisation=_NORMALISATION)


WEBVISION = Source("webvision:PATH", load_webvision, "webvision", needs="the place of its files")


def folders_of(root: Path) -> tuple[Path, Path]:
    """The Google part and WebVision's validation pictures; an InputError says what is not there."""
    google, shown = (_folder(root, names) for names in (_GOOGLE, _VALIDATION))
    missing = [name for name in (_TRAIN, _TESTED) if not (root / name).is_file()]
    missing += ["google/ (or google_resized_256/)"] if google is None else []
    missing += ["val_images/ (or val_images_256/)"] if shown is None else []
    if missing or google is None or shown is None:
        raise InputError(
            f"{root} lacks {', '.join(missing)} of WebVision 1.0: put there the official info/, the Google part and "
            "the validation pictures, as unpacked, or resized to 256 pixels; nothing is fetched for you."
        )
    return google, shown


def without_ilsvrc(root: Path) -> list[str]:
    """What is to be said where ILSVRC's part, a folder for each synset or class number, is not there."""
    if _folder(root, _ILSVRC) is not None:
        return []
    return [
        "ILSVRC's validation pictures are not there, so nothing is measured on them: they belong in "
        f"{root / _ILSVRC[0]}/SYNSET/, or in an imagenet/val/SYNSET/ beside {root.name}."
    ]


def _synsets(root: Path) -> list[tuple[str, str]]:
    """(n01440764, tench) of each class, by info/synsets.txt; its number twice, if that is not there."""
    file = root / _NAMES
    if not file.is_file():
        return [(str(k), str(k)) for k in range(CLASSES)]
    lines = file.read_text(encoding="utf-8").splitlines()[:CLASSES]
    if len(lines) < CLASSES:
        raise InputError(f"{file} names {len(lines)} classes, not {CLASSES} or more; take the official file.")
    parts = [line.partition(" ") for line in lines]
    short = [names.partition(",")[0].strip() for _, _, names in parts]
    unique = len(set(short)) == CLASSES and all(short)
    return [(part[0], name if unique else line) for part, name, line in zip(parts, short, lines, strict=True)]


def _folder(root: Path, names: tuple[str, ...]) -> Path | None:
    return next((root / name for name in names if (root / name).is_dir()), None)


def _listing(file: Path, names: list[str], place_of: Callable[[str], Path]) -> Listing:
    """The lines `picture class` of the classes that count; a picture that is not there is listed as unreadable."""
    ids, labels = [], []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        name, _, label = line.strip().rpartition(" ")
        if not (name and label.isdecimal()):
            raise InputError(f"Line {number:,} of {file} is {line!r}, no picture and class; take the official file.")
        if int(label) < CLASSES:
            ids.append(name)
            labels.append(names[int(label)])
    if not ids:
        raise InputError(f"{file} lists no picture of the classes 0 to {CLASSES - 1}; take the official file.")
    return Listing([str(place_of(name)) for name in ids], ids, labels)


def _by_folder(root: Path, classes: list[tuple[str, str]]) -> Listing:
    """What stands in the folder of a class, named by its synset or its number."""
    found = [
        (path, name)
        for k, (synset, name) in enumerate(classes)
        for folder in [_folder(root, (synset, str(k)))]
        for path in sorted([] if folder is None else folder.iterdir())
        if is_picture(path.name)
    ]
    if not found:
        raise InputError(
            f"{root} holds no picture in a folder named by a synset ({classes[0][0]}) or a number (0): give each of "
            f"the {CLASSES} classes its folder, or take {root.name} away."
        )
    paths, labels = zip(*found, strict=True)
    return Listing([str(path) for path in paths], [f"{path.parent.name}/{path.name}" for path in paths], labels)
