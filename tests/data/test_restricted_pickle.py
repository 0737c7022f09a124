import codecs
import collections
import pickle

import numpy as np
import pytest

from smallloss.data.cifar import read_pickle
from smallloss.errors import InputError

PLAIN = {"a": np.arange(6, dtype=">i4").reshape(2, 3), "b": [1, 2.5, None, True], "c": (b"x", "y"), "d": np.int64(7)}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_and_plain_containers(protocol):
    got = read_pickle(pickle.dumps(PLAIN, protocol), "it")
    assert (got["a"].dtype.kind, got["a"].dtype.itemsize) == ("i", 4)
    assert (got["a"] == PLAIN["a"]).all()
    assert [got[key] for key in "bcd"] == [PLAIN[key] for key in "bcd"]


def test_the_old_numpy_name_and_python_2_text():
    """What Python 2 and numpy 1 wrote: 8-bit strings, and numpy.core."""
    old = (
        b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x03\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"
        b"b\x89U\x03\x01\xfe\x07tbu."
    )
    got = read_pickle(old, "it")
    assert (got[b"data"].dtype, got[b"data"].tolist()) == (np.uint8, [1, 254, 7])


class Shell:
    def __reduce__(self):
        return eval, ("1 + 1",)


class Codec:
    def __reduce__(self):
        return codecs.encode, ("uryyb", "rot13")


@pytest.mark.parametrize(
    "value, sentence",
    [
        (Shell(), r"it\.pkl is refused: it asks for (builtins|__builtin__)\.eval"),
        (collections.OrderedDict(a=1), r"asks for collections\.OrderedDict"),
        (Codec(), "codec 'rot13' is not allowed"),
        (np.array([Shell()], dtype=object), "arrays of type object are not allowed"),
        (np.zeros(1, dtype=[("a", "i4")]), "not allowed"),
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_anything_else_is_refused_by_name(value, sentence, protocol):
    with pytest.raises(InputError, match=sentence):
        read_pickle(pickle.dumps(value, protocol), "it.pkl")


def test_dotted_names_do_not_slip_through():
    with pytest.raises(InputError, match=r"asks for numpy\.ndarray\.__class__"):
        read_pickle(b"\x80\x04\x8c\x05numpy\x8c\x11ndarray.__class__\x93.", "it")


@pytest.mark.parametrize("data", [b"", b"\x80\x02}q\x01(U\x04da", b"garbage", pickle.dumps(PLAIN)[:-20]])
def test_a_cut_pickle_says_so(data):
    with pytest.raises(InputError, match=r"it is not a whole pickle of arrays"):
        read_pickle(data, "it")
