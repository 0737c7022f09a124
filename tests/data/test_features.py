from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from smallloss.data import load
from smallloss.data.arrays import from_arrays, with_features
from smallloss.data.dataset import Unreadable
from smallloss.errors import InputError


def test_labels_from_a_table(tmp_path):
    np.save(tmp_path / "emb.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    (tmp_path / "y.csv").write_text("id,label,kind,true_label\na,u,1,u\nb,v,1,u\nc,u,2,u\nd,v,2,v\n")
    data = load(tmp_path / "emb.npy", labels=tmp_path / "y.csv")
    assert (data.kind, list(data.ids), data.classes) == ("features", ["a", "b", "c", "d"], ("u", "v"))
    assert (data.labels.tolist(), data.true_labels.tolist()) == ([0, 1, 0, 1], [0, 0, 0, 1])
    assert data.notes == ("The labels are in the column 'label' of y.csv.",)
    assert load(tmp_path / "emb.npy", labels=tmp_path / "y.csv", label="kind").labels.tolist() == [0, 0, 1, 1]


# --- features in place of other data -------------------------------------------------------------------------


def four_pictures(test=None):
    pictures = np.arange(4 * 48, dtype=np.uint8).reshape(4, 4, 4, 3)
    return from_arrays(pictures, ["u", "v", "u", "v"], name="photos", ids=["a", "b", "c", "d"], test=test)


def test_the_network_sees_features_and_the_rest_stays_what_it_was():
    photos = four_pictures()
    rows = np.arange(8.0).reshape(4, 2)
    seen = with_features(photos, rows)
    assert (seen.inputs.dtype, seen.inputs.tolist(), seen.in_shape) == (np.float32, rows.tolist(), (2,))
    assert (seen.kind, list(seen.ids), seen.classes, seen.flip) == ("pictures", list("abcd"), ("u", "v"), False)
    assert seen.pictures is photos.inputs
    assert seen.notes == ("Instead of the pictures, the network sees 2 features from the array given.",)
    assert seen.mean.tolist() == [3.0, 4.0]
    some = seen.take(np.array([2, 0]))
    assert (some.inputs[0].tolist(), some.pictures.tolist()) == ([4.0, 5.0], photos.inputs[[2, 0]].tolist())
    grain = np.random.default_rng(0).integers(0, 256, (4, 16, 16, 3), dtype=np.uint8)
    twice = with_features(replace(photos, inputs=grain[[0, 1, 0, 3]]), np.eye(4))
    assert (twice.groups.tolist(), seen.fingerprint()) == ([0, 1, 0, 2], photos.fingerprint())  # of the originals


@settings(deadline=None, max_examples=30)
@given(order=st.permutations(list("abcd")), ending=st.sampled_from(["npz", "lists", "columns"]))
def test_rows_are_matched_by_id_in_any_order(tmp_path_factory, order, ending):
    rows = np.array([[ord(name), 2 * ord(name)] for name in order], dtype=np.float32)
    path = tmp_path_factory.mktemp("features") / ("emb.npz" if ending == "npz" else "emb.parquet")
    if ending == "npz":
        np.savez(path, id=np.array(order), features=rows)
    elif ending == "lists":
        parquet.write_table(pa.table({"id": order, "label": ["u"] * 4, "embedding": rows.tolist()}), path)
    else:
        parquet.write_table(pa.table({"e0": rows[:, 0], "id": order, "label": [7] * 4, "e1": rows[:, 1]}), path)
    assert with_features(four_pictures(), path).inputs.tolist() == [[ord(c), 2 * ord(c)] for c in "abcd"]


def test_files_without_ids_are_in_the_order_of_the_data(tmp_path):
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.save(tmp_path / "emb.npy", rows)
    np.savez(tmp_path / "emb.npz", x=rows)
    parquet.write_table(pa.table({"e0": rows[:, 0], "e1": rows[:, 1]}), tmp_path / "emb.parquet")
    (tmp_path / "emb.csv").write_text("e0,e1\n0,1\n2,3\n4,5\n6,7\n")
    for ending in ("npy", "npz", "parquet", "csv"):
        assert with_features(four_pictures(), tmp_path / f"emb.{ending}").inputs.tolist() == rows.tolist()


def test_features_of_a_picture_that_cannot_be_read_are_left_out(tmp_path):
    np.savez(tmp_path / "emb.npz", id=np.array(list("abcde")), features=np.arange(10.0).reshape(5, 2))
    photos = replace(four_pictures(), unreadable={"e": Unreadable("cut short", "u", 4)})
    assert len(with_features(photos, tmp_path / "emb.npz")) == 4
    with pytest.raises(InputError, match="5 rows but photos 4 examples, 1 unreadable ones left out; give one row each"):
        with_features(photos, np.zeros((5, 2)))


def test_the_test_part_is_seen_the_same_way_or_not_used(tmp_path):
    photos = four_pictures(test=(np.zeros((2, 4, 4, 3), np.uint8), ["u", "v"]))
    rows = np.arange(12.0).reshape(6, 2)
    seen = with_features(photos, rows)
    assert (seen.inputs.tolist(), seen.test.inputs.tolist()) == (rows[:4].tolist(), rows[4:].tolist())
    assert seen.test.mean.tolist() == seen.mean.tolist() == [3.0, 4.0]  # normalised as the network was trained
    alone = with_features(photos, rows[:4])
    assert alone.test is None
    assert alone.notes[-1].endswith("It has none for the 2 examples of the test part, so that is not used.")
    named = replace(photos, test=replace(photos.test, ids=["s", "t"]))
    np.savez(tmp_path / "all.npz", id=np.array(list("tsdcba")), features=rows)
    by_id = with_features(named, tmp_path / "all.npz")
    assert (by_id.inputs[0].tolist(), by_id.test.inputs.tolist()) == ([10.0, 11.0], [[2.0, 3.0], [0.0, 1.0]])
    np.savez(tmp_path / "some.npz", id=np.array(list("abcds")), features=rows[:5])
    with pytest.raises(InputError, match="no features for 1 of the 6 examples of photos, 't' the first"):
        with_features(named, tmp_path / "some.npz")
