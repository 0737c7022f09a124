"""scikit-learn's digits: 1,797 gray pictures of 8x8 that come with the package."""

import numpy as np

from smallloss.criterion.transition import DIGITS_MAP
from smallloss.data.dataset import Dataset


def load_digits() -> Dataset:
    from sklearn.datasets import load_digits as read

    images, labels = read(return_X_y=True)
    codes = np.asarray(labels, dtype=np.int64)
    pictures = np.rint(images.reshape(-1, 8, 8, 1) * (255 / 16)).astype(np.uint8)
    return Dataset(pictures, codes, tuple("0123456789"), name="digits", true_labels=codes, class_map=tuple(DIGITS_MAP))
