"""A made folder in the layout of WebVision: 50 classes of a few pictures, and both validation sets."""

from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = 50


def make(root: Path, each: int = 3) -> Path:
    """Of each class `each` to train on, of which none has a wrong label, and one in each validation set."""
    rng = np.random.default_rng(0)
    colours = rng.integers(30, 226, (CLASSES + 1, 3))

    def draw(name: str, k: int) -> str:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.clip(colours[k] + rng.integers(-30, 30, (8, 8, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(path, format="JPEG")
        return name

    # Class 50 is beyond those that count.
    train = [f"{draw(f'google/q{k:04}/{i}.jpg', k)} {k}" for k in range(CLASSES + 1) for i in range(each)]
    tested = [f"{Path(draw(f'val_images_256/val{k:06}.jpg', k)).name} {k}" for k in range(CLASSES + 1)]
    for k in range(CLASSES):
        draw(f"imagenet/val/n{k:08}/ILSVRC2012_val_{k:08}.JPEG", k)
    info = root / "info"
    info.mkdir()
    (info / "train_filelist_google.txt").write_text("\n".join(train) + "\n")
    (info / "val_filelist.txt").write_text("\n".join(tested) + "\n")
    (info / "synsets.txt").write_text("".join(f"n{k:08} thing {k}, also so\n" for k in range(CLASSES + 1)))
    return root
