"""The switches of torch that belong to the whole process: what a GPU stage needs, and how a run puts them back."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.backends import cudnn


def prepare(device: torch.device, *, deterministic: bool, exact: bool = False) -> None:
    """cuDNN may try which kernels are fastest, or must repeat itself; `exact`: fp32 is not shortened to TF32."""
    if device.type != "cuda":
        return
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS repeats itself only with a fixed one
    cudnn.benchmark = not deterministic
    cudnn.deterministic = deterministic
    cudnn.allow_tf32 = not exact
    torch.use_deterministic_algorithms(deterministic, warn_only=True)


@contextmanager
def put_back() -> Iterator[None]:
    """Whoever calls us finds torch's switches as they were, however the run ends."""
    before = cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32
    algorithms, only_warn = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32 = before
        torch.use_deterministic_algorithms(algorithms, warn_only=only_warn)
