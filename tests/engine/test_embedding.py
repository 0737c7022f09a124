"""Embedding: batches as the backbone wants them, filled in once, kept, and read again."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from smallloss.data import load
from smallloss.data.arrays import from_arrays
from smallloss.data.new_examples import Seen
from smallloss.engine import embedding
from smallloss.engine.embedding import KEPT, embedded, new_features
from smallloss.engine.progress import Progress
from smallloss.errors import InputError
from smallloss.models.backbone import load_backbone

CPU = torch.device("cpu")
SILENT = Progress(enabled=False)


class Watched:
    """A backbone of one's own: the mean of each channel; remembers the shapes that it was given."""

    def __init__(self, size: int | None = None) -> None:
        self.shapes: list[tuple[int, ...]] = []
        if size is not None:
            self.input_size = size

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        assert not torch.is_grad_enabled()
        self.shapes.append(tuple(x.shape))
        return x.mean((2, 3))


def pictures(n: int = 150, channels: int = 3, **more):
    values = np.random.default_rng(0).integers(0, 256, (n, 6, 6, channels), dtype=np.uint8)
    return from_arrays(values, np.arange(n) % 2, name="photos", **more)


def filled(data, backbone, folder=None):
    seen, fill = embedded(data, backbone, CPU, None)
    fill(folder, SILENT)
    return seen


def test_nothing_is_embedded_before_the_run_has_its_folder(tmp_path):
    backbone = Watched()
    seen, fill = embedded(pictures(), backbone, CPU, tmp_path)
    assert backbone.shapes == [(1, 3, 6, 6)]  # the width, and that it works at all
    assert np.isnan(seen.inputs).all()
    assert seen.in_shape == (3,)
    fill(tmp_path, SILENT)
    assert backbone.shapes[1:] == [(64, 3, 6, 6), (64, 3, 6, 6), (22, 3, 6, 6)]
    assert seen.inputs == pytest.approx(pictures().inputs.mean((1, 2)) / 255, abs=1e-6)
    assert seen.fingerprint() == pictures().fingerprint()
    assert "which was given pictures of 6 x 6 in 0..1, not normalised." in seen.notes[-1]


def test_an_earlier_start_is_read_and_the_backbone_left_alone(tmp_path):
    first, fill = embedded(pictures(), Watched(), CPU, tmp_path)
    fill(tmp_path, SILENT)
    backbone = Watched()
    again, fill = embedded(pictures(), backbone, CPU, tmp_path)
    fill(tmp_path, SILENT)
    assert not backbone.shapes
    assert (again.inputs == first.inputs).all()
    assert again.notes == first.notes
    other, _ = embedded(pictures(20), backbone, CPU, tmp_path)  # config.json refuses such a folder soon after
    assert len(other) == 20
    assert backbone.shapes


def test_a_stop_in_the_middle_leaves_nothing(tmp_path):
    class Stops(Watched):
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            if len(self.shapes) == 2:
                raise KeyboardInterrupt
            return super().__call__(x)

    _, fill = embedded(pictures(), Stops(), CPU, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path, SILENT)
    assert not list(tmp_path.iterdir())


def test_what_is_kept_can_be_given_as_features(tmp_path):
    from smallloss.data.arrays import with_features

    data = pictures(test=(pictures(10).inputs, np.arange(10) % 2))
    seen, fill = embedded(data, Watched(), CPU, tmp_path)
    fill(tmp_path, SILENT)
    assert np.isfinite(seen.test.inputs).all()
    again = with_features(data, tmp_path / KEPT)  # both parts count their ids from 0: rows are in order
    assert (again.test.inputs == seen.test.inputs).all()
    named = replace(pictures(4), ids=list("abcd"))
    filled(named, Watched(), tmp_path)
    backwards = named.take(np.array([3, 2, 1, 0]))
    first, last = (with_features(one, tmp_path / KEPT).inputs[i] for one, i in ((backwards, 0), (named, 3)))
    assert (first == last).all()


def test_gray_pictures_get_three_channels_and_the_size_asked_for():
    backbone = Watched(size=12)
    gray = pictures(2, channels=1)
    seen = filled(gray, backbone)
    assert backbone.shapes == [(1, 3, 12, 12), (2, 3, 12, 12)]
    assert seen.inputs[:, 0].tolist() == seen.inputs[:, 2].tolist()
    assert seen.inputs[:, 0] == pytest.approx(gray.inputs.mean((1, 2, 3)) / 255, abs=0.02)


def test_of_a_wide_picture_the_backbone_sees_the_centre():
    """As of one in a file."""
    wide = np.zeros((2, 6, 10, 3), np.uint8)
    wide[:, :, 2:8] = 90
    seen = filled(from_arrays(wide, [0, 1]), Watched(size=12))
    assert seen.inputs == pytest.approx(90 / 255, abs=1e-6)


def test_new_pictures_get_the_features_that_those_of_the_run_have():
    data = pictures(70)
    network = load_backbone(Watched(size=12), "pictures")
    seen = filled(data, Watched(size=12))
    assert (new_features(network, Seen.of(seen), data.inputs, CPU) == seen.inputs).all()
    floats = [picture.transpose(2, 0, 1) / 255 for picture in data.inputs]  # as torch has them
    assert (new_features(network, Seen.of(seen), floats, CPU) == seen.inputs).all()
    larger = data.inputs.repeat(2, 1).repeat(2, 2)
    assert new_features(network, Seen.of(seen), larger, CPU) == pytest.approx(seen.inputs, abs=0.05)


@pytest.mark.parametrize(
    "X, sentence",
    [
        (np.zeros((2, 9, 9, 3), np.uint8), r"are 9 x 9, but .*Watched was given 6 x 6: resize them first"),
        (np.zeros((2, 7)), r"have the shape \(2, 7\): give pictures \[n, h, w\] or .*, or \[n, 3\] features of them"),
        ([np.zeros((6, 6, 3)), np.zeros((9, 6, 3))], "not all of one shape"),
        (["a.jpg"], "give pictures"),
    ],
)
def test_new_examples_that_are_no_such_pictures(X, sentence):
    seen = filled(pictures(), Watched())
    with pytest.raises(InputError, match=sentence):
        new_features(load_backbone(Watched(), "pictures"), Seen.of(seen), X, CPU)


def test_files_are_decoded_anew_at_the_size_that_the_backbone_wants(tmp_path):
    """96 x 96 is all that the dataset keeps; at 128 a pattern of single pixels is still there."""
    board = (np.indices((128, 128)).sum(0) % 2 * 255).astype(np.uint8)
    for k in range(4):
        place = tmp_path / f"photos/{'uv'[k % 2]}/{k}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.repeat(board[:, :, None], 3, 2)).save(place)
    photos = load(tmp_path / "photos")
    assert photos.inputs.shape[1:3] == (96, 96)

    def spread(x):
        return x.std((2, 3))

    spread.input_size = 128
    seen = filled(photos, spread)
    assert seen.inputs == pytest.approx(0.5, abs=1e-3)
    place.unlink()
    _, fill = embedded(photos, spread, CPU, None)
    with pytest.raises(InputError, match=r"v/3.png could be read before and cannot be now"):
        fill(None, SILENT)


def test_texts_are_given_as_they_are(tmp_path):
    (tmp_path / "t.csv").write_text(
        "text,label\n" + "".join(f'"some words, number {"x" * k}",{k % 2}\n' for k in range(9))
    )
    texts = load(tmp_path / "t.csv")
    seen = filled(texts, lambda batch: np.array([[len(text)] for text in batch]))
    assert seen.inputs[:, 0].tolist() == [len(text) for text in texts.shown]
    assert (seen.kind, seen.shown) == ("text", texts.shown)
    network = load_backbone(lambda batch: np.array([[len(text)] for text in batch]), "text")
    assert new_features(network, Seen.of(seen), ["two", "texts"], CPU).tolist() == [[3], [5]]
    for not_texts in ("one text", [1, 2]):
        with pytest.raises(InputError, match=r"give a list of texts, or \[n, 1\] features of them"):
            new_features(network, Seen.of(seen), not_texts, CPU)


@pytest.mark.parametrize(
    "backbone, sentence",
    [
        (lambda x: x, r"gave the shape \(1, 3, 6, 6\) for 1 examples; it must give a row of features for each"),
        (lambda x: x.mean(), r"gave the shape \(\) for 1 examples"),
        (lambda x: x.flatten(1) / 0, "gave features that are not finite numbers for 0"),
        (lambda x: x.no_such_thing, r"failed on pictures of shape \(1, 6, 6, 3\) \(AttributeError"),
        (lambda x: "features", "failed on pictures"),
    ],
)
def test_what_a_backbone_gives_must_be_features(backbone, sentence):
    with pytest.raises(InputError, match=sentence):
        embedded(pictures(), backbone, CPU, None)


def test_every_batch_must_give_as_many_features():
    _, fill = embedded(pictures(), lambda x: x[:, :, 0, : 1 + len(x) // 64].flatten(1), CPU, None)
    with pytest.raises(InputError, match="gave 6 features for 0 and 3 for others"):
        fill(None, SILENT)


def test_large_sets_are_decoded_in_parts(monkeypatch):
    monkeypatch.setattr(embedding, "_DECODED", 100)
    backbone = Watched()
    seen = filled(pictures(), backbone)
    assert [shape[0] for shape in backbone.shapes[1:]] == [64, 36, 50]
    assert seen.inputs == pytest.approx(pictures().inputs.mean((1, 2)) / 255, abs=1e-6)
