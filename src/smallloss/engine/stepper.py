"""One training step as a function of counters on the device, so that it can be captured whole.

The step reads its row of the plan, and with it its learning rates, by a counter that it advances itself. Replaying a
captured step therefore needs nothing from the host: no copies, no launches but one.
"""

from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np
import torch
from torch import Tensor

from smallloss.engine.networks import (
    Lookahead,
    Network,
    WeightAverage,
    build_optimiser,
    norm_biases,
    set_rate,
    shrink,
)
from smallloss.engine.objective import Batch, Objective, Plan
from smallloss.engine.schedule import learning_rates, lookahead_memory
from smallloss.engine.views import Inputs

_MEMORY = "memory of lookahead"  # the table of a plan that holds it
_WARM_UP_STEPS = 3  # autotuning, lazy allocations and compilation must all lie before the capture


class Stepper:
    """Runs plans: captured on a GPU with resident inputs, step by step everywhere else."""

    def __init__(
        self,
        objective: Objective,
        networks: Sequence[Network],
        averages: Sequence[WeightAverage],
        inputs: Inputs,
        *,
        lookaheads: Sequence[Lookahead] = (),
        random: bool = False,
    ) -> None:
        device = inputs.device
        self.objective, self.networks, self.averages, self.inputs = objective, networks, averages, inputs
        self.lookaheads = lookaheads
        self.groups = objective.groups(networks)
        biases = norm_biases(networks)
        self.optimisers = {
            name: build_optimiser(group.parameters, group.recipe, torch.tensor(group.recipe.lr, device=device), biases)
            for name, group in self.groups.items()
        }
        self.capture = inputs.resident and device.type == "cuda"
        self.random = random  # do the networks draw on the device?
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        self.clock = torch.zeros(1, dtype=torch.long, device=device)
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        self.plan: Plan | None = None
        self._starts: dict[str, int] = {}  # where the rows of each view begin in what a loader brings
        self._graphs: dict[tuple[object, ...], tuple[Plan, torch.cuda.CUDAGraph]] = {}

    def tensors(self) -> dict[str, Tensor]:
        return {"clock": self.clock}

    def epoch(self, epoch: int, everything: dict[str, Tensor]) -> int:
        """All steps of an epoch, and how many. `everything` is what a warm-up before a capture must leave untouched.

        The rates are laid out now that the plan is known: epochs may differ in length.
        """
        plans, done = list(self.objective.plan(epoch)), int(self.clock)
        steps, start = sum(plan.steps for plan in plans), 0
        tables = {_rate(name): learning_rates(group.recipe, epoch, steps, done) for name, group in self.groups.items()}
        if self.lookaheads:
            tables[_MEMORY] = lookahead_memory(self.objective.recipe, epoch, steps, done)
        placed = {name: torch.from_numpy(table).to(self.inputs.device) for name, table in tables.items()}
        self.loss_sum.zero_()
        for plan in plans:
            stop = start + plan.steps
            self.run(plan.beside(**{name: table[start:stop] for name, table in placed.items()}), everything)
            start = stop
        return steps

    def run(self, plan: Plan, everything: dict[str, Tensor]) -> None:
        """All steps of a plan, which has its rates beside it."""
        if self.capture and plan.steps > 2 * _WARM_UP_STEPS:
            return self._replay(plan, everything)
        self.plan = plan
        self.position.zero_()
        for network in self.networks:  # an odd shape is not worth compiling for
            network.fast = not self.capture
        for raw in repeat(None, plan.steps) if self.inputs.resident else self._loaded(plan):
            self._step(raw)
        for network in self.networks:
            network.fast = True
        return None

    def _loaded(self, plan: Plan) -> Iterator[Tensor]:
        """What the steps see. Two views of the same examples, whose index is the very same table, are read once."""
        distinct = {id(views.index): views.index for views in plan.views.values()}
        ends = np.cumsum([0, *(table.shape[1] for table in distinct.values())]).tolist()
        place = dict(zip(distinct, ends, strict=False))
        self._starts = {name: place[id(views.index)] for name, views in plan.views.items()}
        return self.inputs.load(list(torch.cat([*distinct.values()], 1).cpu().numpy()))

    def _replay(self, plan: Plan, everything: dict[str, Tensor]) -> None:
        shape = _shape(plan)
        if shape not in self._graphs:
            self._graphs[shape] = self._captured(plan, everything)
        static, graph = self._graphs[shape]
        for source, target in zip(_tensors(plan), _tensors(static), strict=True):
            target.copy_(source)
        self.position.zero_()
        for _ in range(plan.steps):
            graph.replay()

    def _captured(self, plan: Plan, everything: dict[str, Tensor]) -> tuple[Plan, torch.cuda.CUDAGraph]:
        self.plan = static = _clone(plan)
        touched = [*everything.values(), *self.tensors().values(), self.loss_sum]
        kept = [tensor.clone() for tensor in touched]
        drawn = torch.cuda.get_rng_state(self.inputs.device) if self.random else None
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.position.zero_()
            for _ in range(_WARM_UP_STEPS):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        with torch.no_grad():
            for tensor, before in zip(touched, kept, strict=True):
                tensor.copy_(before)
        if drawn is not None:
            torch.cuda.set_rng_state(drawn, self.inputs.device)
        return static, graph

    def _step(self, raw: Tensor | None = None) -> None:
        assert self.plan is not None
        # Gradients are None here, also under capture: backward then writes them instead of adding to zeros.
        for optimiser in self.optimisers.values():
            optimiser.zero_grad(set_to_none=True)
        batch = self._batch(self.plan, raw)
        loss = self.objective.loss(self.networks, batch)
        loss.backward()
        stepping = [name for name in self.optimisers if self.plan.updates is None or name in self.plan.updates]
        for name in stepping:
            set_rate(self.optimisers[name], batch[_rate(name)])
            self.optimisers[name].step()
        for lookahead in self.lookaheads:
            lookahead.update(batch[_MEMORY])
        for average in self.averages:
            average.update(self.clock)
        for name in stepping:
            shrink(self.optimisers[name])
        self.loss_sum += loss.detach()
        self.position += 1
        self.clock += 1

    def _batch(self, plan: Plan, raw: Tensor | None) -> Batch:
        indices, inputs = {}, {}
        for name, views in plan.views.items():
            row = views.map(self._row)
            share = None if raw is None else raw[self._starts[name] :][: len(row.index)]
            indices[name], inputs[name] = row.index, self.inputs.see(row, share)
        tables = {name: self._row(table) for name, table in plan.tables.items()}
        return Batch(indices, inputs, tables, self.objective.targets)

    def _row(self, table: Tensor) -> Tensor:
        return table.index_select(0, self.position)[0]


def _rate(group: str) -> str:
    """The table of a plan that holds a group's rates."""
    return f"rate of {group}"


def _tensors(plan: Plan) -> list[Tensor]:
    return [tensor for views in plan.views.values() for tensor in views.tables] + list(plan.tables.values())


def _shape(plan: Plan) -> tuple[object, ...]:
    return (*plan.views, *plan.tables, plan.updates, *(tuple(tensor.shape) for tensor in _tensors(plan)))


def _clone(plan: Plan) -> Plan:
    views = {name: views.map(torch.clone) for name, views in plan.views.items()}
    return Plan(views, {name: table.clone() for name, table in plan.tables.items()}, plan.updates)
