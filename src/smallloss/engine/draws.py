"""Every random draw is a pure function of (seed, purpose, time, index).

So the path (resident, streaming, CPU), the epoch a run was resumed at and the number of processes cannot
change a shuffle, a crop or a mixing coefficient: nothing is drawn *in order*. A generator would be faster
to write and impossible to resume in the middle of.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

_WORD = 0xFFFFFFFF
_BETA_BINS = 1 << 16


def _avalanche(x: Tensor) -> Tensor:
    """Mix 32-bit words held in int64: products wrap, the mask keeps the low word, on every device alike."""
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _WORD
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _WORD
    return x ^ (x >> 16)


class Draws:
    """All the randomness of a run, by name."""

    def __init__(self, seed: int, device: torch.device | str = "cpu") -> None:
        self.seed = seed
        self.device = torch.device(device)

    def _keys(self, purpose: str, times: Sequence[int]) -> Tensor:
        """Two 32-bit words per time."""
        digests = (hashlib.blake2b(f"{self.seed}/{purpose}/{time}".encode(), digest_size=8).digest() for time in times)
        words = np.frombuffer(b"".join(digests), dtype="<u4").astype(np.int64).reshape(-1, 2)
        return torch.from_numpy(words).to(self.device)

    def _words(self, keys: Tensor, index: Tensor) -> Tensor:
        return _avalanche((_avalanche((index & _WORD) ^ keys[..., 0]) + keys[..., 1]) & _WORD)

    def bits(self, purpose: str, times: Sequence[int], index: Tensor) -> Tensor:
        """62 random bits as int64, shaped [len(times), len(index)]."""
        index = index.to(self.device)
        high = self._words(self._keys(purpose + "/high", times)[:, None, :], index)
        low = self._words(self._keys(purpose + "/low", times)[:, None, :], index)
        return (high << 30) | (low >> 2)

    def uniform(self, purpose: str, times: Sequence[int], index: Tensor) -> Tensor:
        """Uniform on [0, 1), float64, shaped [len(times), len(index)]."""
        return (self.bits(purpose, times, index) >> 9).double() * 2.0**-53

    def below(self, limit: int, purpose: str, times: Sequence[int], index: Tensor) -> Tensor:
        """Integers in 0 .. limit-1, shaped [len(times), len(index)]."""
        return (self.uniform(purpose, times, index) * limit).long()

    def permutations(self, purpose: str, times: Sequence[int], n: int) -> Tensor:
        """One permutation of 0 .. n-1 per time: the order that random keys sort into."""
        return self.bits(purpose, times, self.slots(n)).argsort(dim=1, stable=True)

    def beta(self, alpha: float, purpose: str, times: Sequence[int], index: Tensor) -> Tensor:
        """Beta(α, α) by its quantile function, from a table fine enough for a mixing coefficient."""
        table = torch.from_numpy(_beta_quantiles(alpha)).to(self.device)
        return table[(self.uniform(purpose, times, index) * _BETA_BINS).long()]

    def resample(self, cumulative: Tensor, purpose: str, times: Sequence[int], size: int) -> Tensor:
        """Positions drawn with replacement by weight; `cumulative` is the float64 running sum of the weights.

        A binary search in a running sum has no limit of 2**24 items, unlike torch.multinomial.
        """
        drawn = self.uniform(purpose, times, self.slots(size)) * cumulative[-1]
        return torch.searchsorted(cumulative, drawn, right=True).clamp_(max=len(cumulative) - 1)

    def slots(self, n: int) -> Tensor:
        return torch.arange(n, device=self.device)

    def init_seed(self, purpose: str) -> int:
        """A seed for torch's own generator, for what modules draw themselves: initial weights, dropout."""
        digest = hashlib.blake2b(f"{self.seed}/init/{purpose}".encode(), digest_size=7).digest()
        return int.from_bytes(digest, "little")

    @contextmanager
    def by_modules(self, purpose: str, *, on_device: bool) -> Iterator[None]:
        """What modules draw inside is decided by seed and purpose; torch's own generator is left as it was.

        `on_device`: the GPU's generator too, for networks that draw there.
        """
        devices = [self.device] if on_device and self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.default_generator.manual_seed(self.init_seed(purpose))
            if devices:
                torch.cuda.manual_seed(self.init_seed(purpose))
            yield


def running_sum(weight: np.ndarray, device: torch.device) -> Tensor:
    """Summed on the host in float64, so that every device searches the very same numbers."""
    return torch.from_numpy(np.cumsum(weight, dtype=np.float64)).to(device)


@lru_cache(maxsize=8)
def _beta_quantiles(alpha: float) -> np.ndarray:
    from scipy.special import betaincinv

    middles = (np.arange(_BETA_BINS) + 0.5) / _BETA_BINS
    return np.asarray(betaincinv(alpha, alpha, middles), dtype=np.float32)
