"""Noise rates, T and the prior when nobody knows them: how large, how sure, from what evidence."""

from smallloss.criterion.estimate.combined import estimate
from smallloss.criterion.estimate.result import Estimate

__all__ = ["Estimate", "estimate"]
