"""The named losses: by hand, by finite differences, and under `clean --loss`."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

import smallloss as sl
from small import StopAfter, StoppedError, settings
from smallloss import methods
from smallloss.criterion.transition import pairwise, uniform
from smallloss.engine import losses
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.methods.supervised import Plain

Z = torch.randn(7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.tensor([0, 1, 2, 2, 1, 0, 1])
P, ROWS = Z.softmax(1).numpy(), np.arange(7)
T = np.array([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.3, 0.1, 0.6]])
TARGETS = torch.rand(7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64).softmax(1)
ALL: dict[str, Any] = {
    "mae": losses.mae,
    "lq": losses.lq,
    "forward": partial(losses.forward, T=torch.from_numpy(T)),
    "backward": partial(losses.backward, inverse=torch.from_numpy(losses.inverse(T))),
    "l_dmi": losses.l_dmi,
    "elr": partial(losses.elr, t=TARGETS, strength=2.0),
}
U = np.array([P[Y.numpy() == k].sum(0) for k in range(3)])
BY_HAND = {
    "mae": np.abs(np.eye(3)[Y] - P).sum(1),
    "lq": (1 - P[ROWS, Y] ** 0.7) / 0.7,
    "forward": -np.log((P @ T)[ROWS, Y]),
    "backward": -(np.linalg.inv(T)[Y] * np.log(P)).sum(1),
    "l_dmi": -np.log(abs(np.linalg.det(U)) + 1e-3),
    "elr": -np.log(P[ROWS, Y]) + 2 * np.log(1 - (TARGETS.numpy() * P).sum(1)),
}


@pytest.mark.parametrize("name", ALL)
def test_a_loss_and_its_gradient(name):
    np.testing.assert_allclose(ALL[name](Z, Y).numpy(), BY_HAND[name], rtol=1e-10)
    assert torch.autograd.gradcheck(lambda z: ALL[name](z, Y), Z.clone().requires_grad_())


@pytest.mark.parametrize("name", ALL)
def test_a_network_that_is_sure_breaks_none(name):
    """Of logits that a softmax rounds to 0 and 1, right and wrong."""
    z = torch.tensor([[200.0, 0, -200], [-200, 0, 200], [0, 200, 0]], requires_grad=True)
    told = partial(losses.elr, t=torch.eye(3)) if name == "elr" else ALL[name]
    loss = told(z, torch.tensor([0, 1, 2]))
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("name", ALL)
def test_none_looks_at_a_value(name):
    """So that a step can be captured: tensors that have none would show it."""
    z, square, like = (torch.empty(n, 3, device="meta", requires_grad=True) for n in (7, 3, 7))
    given = {"forward": {"T": square}, "backward": {"inverse": square}, "elr": {"t": like}}
    loss = getattr(losses, name)(z, torch.empty(7, dtype=torch.long, device="meta"), **given.get(name, {}))
    loss.sum().backward()
    assert loss.device.type == z.grad.device.type == "meta"


def test_what_they_come_to():
    """L_q towards 0 and the corrections by no noise are cross entropy; over its noisy labels backward is that of the
    true one (Patrini et al., Theorem 1)."""
    plain = cross_entropy(Z, Y, reduction="none")
    for one in (losses.lq(Z, Y, 1e-9), losses.forward(Z, Y, np.eye(3)), losses.backward(Z, Y, np.eye(3))):
        torch.testing.assert_close(one, plain, rtol=1e-6, atol=1e-6)
    labelled = torch.stack([ALL["backward"](Z, torch.full_like(Y, k)) for k in range(3)], 1)
    torch.testing.assert_close((torch.from_numpy(T)[Y] * labelled).sum(1), plain)


def test_noise_takes_the_same_from_every_determinant():
    """log |det U| of labels drawn through T is that of the true ones plus log |det T|; and no class has its name."""
    clean = losses._log_abs_det(torch.from_numpy(U))
    noisy = losses._log_abs_det(torch.from_numpy(T.T @ U))
    assert noisy - clean == pytest.approx(np.log(np.linalg.det(T)))
    renamed = Z[:, [2, 0, 1]]
    assert losses.l_dmi(renamed, Y).item() == pytest.approx(losses.l_dmi(Z, Y).item())


def test_a_batch_without_a_class_teaches_nothing():
    z = Z.clone().requires_grad_()
    loss = losses.l_dmi(z, Y.clamp(max=1))
    loss.backward()
    assert loss.item() == pytest.approx(-np.log(1e-3))
    assert z.grad.abs().max() < 1e-9


@pytest.mark.parametrize("T", [pairwise(0.5, 4), np.full((3, 3), 1 / 3)])
def test_a_singular_t_has_no_backward_correction(T):
    with pytest.raises(InputError, match=r"cannot be inverted.*use the forward correction"):
        losses.inverse(T)


# --- in plain training ---------------------------------------------------------------------------------------


def test_what_is_chosen_is_not_corrected_once_more(make_task):
    """T is of the labels as they came: the retraining on what was kept descends cross entropy, but L_q again."""
    for name, again in (("forward", "cross_entropy"), ("backward", "cross_entropy"), ("lq", "lq")):
        task = make_task(loss=name, transition=uniform(0.3, 3))
        z, y, none = Z.float(), Y, torch.arange(7)
        first, second = (
            Plain(task, "stage1", task.train, settings().recipe("stage1"), None, chosen=chosen).descends(z, y, none)
            for chosen in (False, True)
        )
        T = {"forward": uniform(0.3, 3), "backward": losses.inverse(uniform(0.3, 3))}
        expected = getattr(losses, name)(z, y, *([T[name]] if name in T else []))
        torch.testing.assert_close(first, expected)
        torch.testing.assert_close(second, expected if again == name else cross_entropy(z, y, reduction="none"))


def test_elr_remembers_across_a_stop_in_every_plain_stage(make_task, tmp_path):
    """Stage 1, the half-trainings and the retraining, each with a memory of its own."""

    def run(**how: Any) -> dict[str, bytes]:
        task: Task = make_task(loss="elr", **how)
        noise = methods.cross.learn_noise(task, settings())
        learned = methods.train("rsl", task, settings(), noise)
        stages = {**task.finished, "rsl": learned.fitted}
        return {
            f"{stage}.{name}": tensor.detach().numpy().tobytes()
            for stage, fitted in stages.items()
            for name, tensor in fitted.network.state().items()
        }

    whole = run()
    assert {name.partition(".")[0] for name in whole} == {"stage1", "half0", "half1", "rsl"}
    for _ in range(20):
        try:
            assert run(folder=tmp_path, progress=StopAfter(2)) == whole
            break
        except StoppedError:
            continue
    else:
        pytest.fail("never finished")


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"loss": "l_dmi"}, "so no training can begin with it: use --method l_dmi"),
        ({"loss": "hinge"}, "no loss named 'hinge'; the known ones are cross_entropy, mae, lq, forward, backward, elr"),
        ({"loss": "forward"}, "needs a transition matrix before anything is trained"),
        ({"loss": "forward", "noise_rate": 0.2}, "or use --method f_correction"),
        ({"loss": "backward", "transition": np.full((3, 3), 1 / 3)}, "cannot be inverted"),
    ],
)
def test_a_loss_that_cannot_be_descended_is_a_sentence(asked, words, tiny):
    with pytest.raises(InputError, match=words):
        sl.clean(tiny, epochs=1, **asked)


def test_a_run_says_what_it_descended(tiny, tmp_path):
    run = sl.clean(tiny, tmp_path / "run", loss="mae", noise_rate=0.2, epochs=1, net="mlp")
    assert any("descends the loss mae" in note for note in run.result.notes)
    with pytest.raises(InputError, match=r"settings\.loss was 'mae', now None"):
        sl.clean(tiny, tmp_path / "run", noise_rate=0.2, epochs=1, net="mlp")


def test_the_option_names_every_loss():
    from smallloss.knobs import declared
    from smallloss.run.clean import clean

    (said,) = (said for parameter, said in declared(clean) if parameter.name == "loss")
    assert all(name.replace("_", " ") in said.help for name in losses.NAMES)
