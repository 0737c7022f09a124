"""The networks of the paper and of its figures, small ones for the CPU, and the user's own."""

from smallloss.models.registry import build, copied, names

__all__ = ["build", "copied", "names"]
