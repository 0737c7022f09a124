"""A network of your own in the whole job: `clean` asks for a fresh one at every stage, so give it a function.

python examples/your_own_network.py
"""

import torch
from torch import nn

import smallloss as sl


class Patches(nn.Module):
    """Looks at patches of 3 x 3 pixels, then at all of them together."""

    def __init__(self, classes: int, in_shape: tuple[int, ...], width: int = 24) -> None:
        super().__init__()
        channels, height, side = in_shape
        self.patches = nn.Conv2d(channels, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.head = nn.Linear(width * (height // 2) * (side // 2), classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.max_pool2d(torch.relu(self.norm(self.patches(x))), 2)
        return self.head(x.flatten(1))


# A class whose constructor takes (classes, in_shape) is such a function; so is a lambda without parameters.
run = sl.clean(
    "digits",
    net=Patches,
    noise="structured:0.3",  # corrupted on purpose, so that the answer can be checked
    epochs=12,
    settings={"stage1.lr": 0.05, "rsl.lr": 0.05, "stage1.ema": 0.95, "rsl.ema": 0.95},
)

print(f"{type(run.network).__name__} with {sum(p.numel() for p in run.network.parameters()):,} weights")
for found in run.result.accuracies:
    print(f"{found.method:14s} {100 * found.last:.1f} % on {run.result.accuracy_on}")

data, part = run.result.dataset, run.result.parts[0]
right = (data.labels == data.true_labels)[part.index]
print(f"Kept: {run.selection.mask.sum()} examples, {100 * right[run.selection.mask].mean():.1f} % rightly labelled.")

# What does not fit is said before anything is trained.
try:
    sl.clean("digits", net=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 7)))
except sl.InputError as error:
    print(f"Refused: {error}")
