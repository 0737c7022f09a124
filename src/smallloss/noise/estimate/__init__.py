"""Noise rates, T and the prior when nobody knows them: how large, how sure, from what evidence."""

from smallloss.noise.estimate.combined import estimate
from smallloss.noise.estimate.result import Estimate

__all__ = ["Estimate", "estimate"]
