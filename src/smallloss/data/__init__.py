"""Sources of data: all of them become one `Dataset` of (input, label, index)."""

from smallloss.criterion.labels import encode_labels
from smallloss.data.arrays import from_arrays
from smallloss.data.dataset import Dataset
from smallloss.data.protocol import Split, hold_out, split
from smallloss.data.source import load

__all__ = ["Dataset", "Split", "encode_labels", "from_arrays", "hold_out", "load", "split"]
