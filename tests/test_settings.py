"""Each setting is described, checked, read from text, and changes a run; presets are the authors' numbers, or ours."""

import json
import math
import re
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import smallloss as sl
from small import settings as small
from smallloss import methods
from smallloss.criterion.transition import uniform
from smallloss.data.arrays import from_arrays
from smallloss.data.dataset import Dataset
from smallloss.engine.recipe import Recipe
from smallloss.errors import InputError
from smallloss.integrations.scikit_learn import RSLClassifier
from smallloss.knobs import Knob, whole
from smallloss.methods.settings import NETS, Settings, get_preset, idle, preset_names, settings_for
from smallloss.noise.model import NoiseModel

DOCS = Path(__file__).parents[1] / "docs"
PAPER, CPU, FAST = (get_preset(name) for name in ("paper", "cpu", "fast"))


def known() -> dict[str, tuple[Knob, Any]]:
    """Every setting by the name that --set takes, with what is declared of it and its type."""
    groups = {"": CPU.criterion, "stage1": CPU.recipe("stage1"), **CPU.own}
    return {
        f"{group}.{name}".removeprefix("."): (about, get_type_hints(type(one))[name])
        for group, one in groups.items()
        for name, about in one.about().items()
    }


def value_of(settings: Settings, name: str) -> Any:
    head, _, rest = name.partition(".")
    groups = {**settings.recipes, **settings.own, "net": settings}
    return getattr(groups[head], rest) if rest else getattr(groups.get(head, settings.criterion), head)


# --- what is declared ----------------------------------------------------------------------------------------


def test_the_page_of_settings_is_what_the_script_makes():
    """If not: python docs/make_settings.py."""
    made = runpy.run_path(str(DOCS / "make_settings.py"))["page"]()
    assert (DOCS / "reference" / "settings.md").read_text(encoding="utf-8") == made


@pytest.mark.parametrize("name", [*NETS, *known()])
def test_every_setting_is_described_in_a_sentence(name):
    about, kind = (NETS[name], None) if name in NETS else known()[name]
    assert about.help[0].isupper() or about.help[0] == "`"
    assert about.help.endswith(".")
    assert about.help.count(". ") == 0
    assert about.in_words(kind)
    assert f"{name.rpartition('.')[2]}`" in (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", known())
def test_every_setting_takes_what_is_described_and_refuses_what_lies_outside(name):
    """The bad values are made from the bounds; what is wrong is said with the setting's whole name first."""
    about, kind = known()[name]
    for choice in about.choices:
        CPU.changed({name: str(choice)})
    outside = [about.above, about.below, "nonsense" if about.choices else None]
    outside += [end if end is None else end + step for end, step in ((about.least, -1), (about.most, 1))]
    text = kind is str or get_origin(kind) is Literal or Literal in map(get_origin, get_args(kind))
    for value in [*(one for one in outside if one is not None), *([] if text else ["nonsense"])]:
        with pytest.raises(InputError, match=f"^{re.escape(name)} "):
            CPU.changed({name: value})


# --- what a setting does -------------------------------------------------------------------------------------

OTHER = {  # where it is not simply half as much, one more, or the other choice
    "stage1.pad": 2, "stage1.crop_offsets": 2, "stage1.milestones": (0.5,), "stage1.ema": 0.5, "stage1.warmup_steps": 4,
    "stage1.schedule": "constant", "mixmatch.rounds": 2, "mixmatch.second_beta": 0.9, "co_teaching.ramp_epochs": 2,
    "incv.ramp_epochs": 2, "incv.rounds": 1, "dividemix.confidence": 1.0, "dividemix.threshold": 0.99,
    "dividemix.warm_up": 1, "ssr.neighbours": 2, "d2l.begin": 0.5, "d2l.window": 6, "truncated_lq.start": 1.0,
    "co_teaching_plus.ramp_epochs": 2, "co_teaching_plus.together": 1.0, "decoupling.together": 1.0,
    "mentornet.percentile": 0.5, "mentornet.burn_in": 1, "plain_mixmatch.labelled": 1.0,
    "stage1.lr_start": 0.5, "stage1.lr_end": 0.5, "stage1.label_smoothing": 0.2, "stage1.lookahead": 2,
    "stage1.cutout": 0.5, "rsl_flight.second_beta": 0.9,
}  # fmt: skip
BESIDE: dict[str, dict[str, Any]] = {  # what it needs to matter
    "ema_batchnorm": {"stage1.ema": 0.5}, "ema_warmup": {"stage1.ema": 0.9}, "decay_last": {"stage1.ema": 0.5},
    "milestones": {"stage1.schedule": "multistep"}, "factor": {"stage1.schedule": "multistep"},
    "pad": {"stage1.crop_offsets": None}, "look_at": {"mixmatch.rounds": 2}, "second_beta": {"mixmatch.rounds": 2},
}  # fmt: skip
# Seen on a GPU, by a clock, in a tie or with answers by hand alone.
ELSEWHERE = {"compile", "precision", "checkpoint_seconds", "ties", "curriculum"}


def another(name: str, kind: Any, value: Any) -> Any:
    if name in OTHER:
        return OTHER[name]
    if choices := known()[name][0].choices:
        return next(one for one in choices if one != value)
    return not value if kind is bool else value + 1 if isinstance(value, int) else value / 2


def trace(settings: Settings, method: str, task: Any) -> list[Any]:
    """Whatever a run leaves behind, but for its seconds."""
    learned = methods.train(method, task, settings, NoiseModel(noise_rate=0.2, transition=uniform(0.3, 3)))
    seen: list[Any] = [tensor.numpy().tobytes() for tensor in learned.fitted.network.module.state_dict().values()]
    seen += [{key: x for key, x in row.items() if "second" not in key} for row in learned.fitted.history]
    seen += [] if learned.ledger is None else [learned.ledger.mean_loss.tobytes()]
    return seen + ([] if learned.selection is None else [learned.selection.mask.tobytes()])


@pytest.mark.parametrize("name", [name for name in known() if "." in name and name.partition(".")[2] not in ELSEWHERE])
def test_every_setting_of_a_stage_or_a_method_changes_a_run(name, make_task):
    group, _, knob = name.partition(".")
    method = {"stage1": "cross_entropy", "mixmatch": "rsl_wm"}.get(group, group)
    plain = small(**BESIDE.get(knob, {}))
    changed = plain.changed({name: another(name, known()[name][1], value_of(plain, name))})
    assert trace(plain, method, make_task()) != trace(changed, method, make_task())


# --- values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("stage1.epochs", "20", 20),
        ("stage1.lr", "1e-3", 0.001),
        ("stage1.nesterov", "False", False),
        ("stage1.milestones", "0.5,0.75", (0.5, 0.75)),
        ("rsl_wm.ema", "none", None),
        ("stage1.schedule", "cosine", "cosine"),
        ("mixmatch.rounds", "2", 2),
        ("gamma", "1.5", 1.5),
        ("gamma", "middle", "middle"),
        ("window", "0.25,1", (0.25, 1.0)),
        ("net", "mlp", "mlp"),
        ("stage1.lr", np.float32(0.5), 0.5),
        ("stage1.lr", 1, 1.0),
        ("stage1.batch", 64.0, 64),
        ("stage1.nesterov", np.bool_(True), True),
        ("stage1.milestones", [np.float64(0.5)], (0.5,)),
        ("stage1.ema", None, None),
        ("co_teaching.ramp_epochs", np.int64(5), 5),
    ],
)
def test_a_value_becomes_what_the_setting_is(name, text, value):
    found = value_of(PAPER.changed({name: text}), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3), np.array(3), "3"])
def test_a_whole_number_of_any_make(value):
    assert whole(value, "seed") == 3
    assert type(whole(value, "seed")) is int
    assert whole(2**60 + 1, "seed") == 2**60 + 1  # a large one loses nothing


@pytest.mark.parametrize("value", [1.5, None, True, "many", float("nan"), float("inf"), [1, 2], np.arange(2)])
def test_what_is_no_whole_number_is_named(value):
    with pytest.raises(InputError, match=r"seed is .*; it must be a whole number$"):
        whole(value, "seed")


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"stage9.lr": "1"}, "no setting named 'stage9.lr'"),
        ({"preset": "cpu"}, "no setting named 'preset'"),
        ({"own": "{}"}, "no setting named 'own'"),
        ({"net.width": "4"}, "net is a setting, not a group of them"),
        ({"cross_entropy.lr": "5"}, "no setting named 'cross_entropy.lr'; the known ones are net, .*co_teaching"),
        ({"stage1.learning_rate": "1"}, "no setting named 'learning_rate' in stage1; there are epochs, batch"),
        ({"co_teaching": "5"}, "'co_teaching' is a group of settings; name one of them, as in co_teaching.ramp_epochs"),
        ({"stage1.epochs": "2.5"}, "stage1.epochs is '2.5'; it must be a whole number, like 200"),
        ({"stage1.batch": True}, "stage1.batch is True; it must be a whole number"),
        ({"stage1.lr": "nan"}, "stage1.lr is 'nan'; it must be a number, like 0.1"),
        ({"stage1.lr": float("inf")}, "stage1.lr is inf; it must be a number"),
        ({"stage1.lr": "0"}, r"^stage1\.lr is 0.0; it must be above 0$"),
        ({"stage1.nesterov": 1}, "stage1.nesterov is 1; it must be true or false"),
        ({"stage1.ema": "slow"}, "stage1.ema is 'slow'; it must be a number or none"),
        ({"stage1.ema": "1"}, r"ema is 1.0; it must lie in \[0, 1\)"),
        ({"stage1.batchnorm_momentum": 0}, r"batchnorm_momentum is 0.0; it must lie in \(0, 1\]"),
        ({"stage1.epochs": "0"}, "epochs is 0; it must be at least 1"),
        ({"stage1.schedule": "steep"}, "schedule is 'steep'; it must be constant, multistep, .* or "),
        ({"stage1.schedule": 3}, "stage1.schedule is 3; it must be a text"),
        ({"stage1.milestones": (60, 120)}, r"^stage1.milestones are \(60.0, 120.0\); .*, 60 of 200 is 0.3"),
        ({"stage1.milestones": "0.8,0.3"}, "milestones are .* must rise between 0 and 1"),
        ({"stage1.milestones": "0,0.5"}, "milestones are .* must rise between 0 and 1"),
        ({"stage1.milestones": "0.5,1.5"}, "milestones are .* must rise between 0 and 1"),
        ({"stage1.momentum": 0, "stage1.nesterov": True}, "nesterov is true, which needs a momentum above 0"),
        ({"stage1.crop_offsets": 7}, "^stage1.crop_offsets is 7; with pad 4 it must be 9 or 8, or none"),
        ({"stage1.pad": 0, "stage1.crop_offsets": 0}, "crop_offsets is 0; with pad 0 it must be 1, or none"),
        ({"rsl_wm.pad": "6"}, "rsl_wm.crop_offsets is 8; with pad 6"),  # 8 positions would hardly reach the middle
        ({"score": "loudness"}, "score is 'loudness'; it must be mean_loss, mean_margin or last_loss"),
        ({"window": "0.5"}, "window is .*; it must be two shares of the epochs"),
        ({"window": "0.9,0.1"}, "window is .*; it must be two shares of the epochs"),
        ({"beta": "none"}, "beta is 'none'; it must be a number"),
        ({"mixmatch.rounds": 3}, "mixmatch.rounds is 3; it must be 1 or 2"),
    ],
)  # fmt: skip
def test_a_bad_change_is_a_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        PAPER.changed(wrong)


X, Y = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"seed": 1.5}, "seed is 1.5; it must be a whole number"),
        ({"seed": -1}, "seed is -1; it must be at least 0"),
        ({"workers": -1}, "workers is -1; it must be at least 0"),
        ({"epochs": 2.5}, "epochs is 2.5; it must be a whole number"),
        ({"settings": {"stage1.lr": None}}, "stage1.lr is None; it must be a number, like"),
    ],
)
def test_a_wrong_argument_is_a_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        sl.clean((X, Y), noise_rate=0.1, device="cpu", **wrong)


def test_the_scikit_learn_shape_asks_the_same():
    with pytest.raises(InputError, match=r"random_state is 1\.5; it must be a whole number"):
        RSLClassifier(noise_rate=0.1, epochs=1, random_state=1.5, device="cpu").fit(X, Y)


def test_numbers_of_numpy_can_be_written_down(tmp_path):
    settings = {"stage1.lr": np.float32(0.5), "stage1.batch": 16.0}
    sl.clean((X, Y), tmp_path, noise_rate=0.1, seed=np.int64(3), epochs=np.int64(1), settings=settings, device="cpu")
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["seed"], config["settings"]["stage1"]["batch"], config["settings"]["stage1"]["lr"]) == (3, 16, 0.5)


def test_a_change_leaves_all_else_as_it_was():
    after = PAPER.changed({"stage1.epochs": "20", "beta": 0.1})
    assert after.recipe("rsl") == PAPER.recipe("rsl")
    assert after.recipe("stage1") == replace(PAPER.recipe("stage1"), epochs=20)
    assert after.changed({"stage1.epochs": 200, "beta": 0.2}) == PAPER


def test_the_crops_follow_the_padding_unless_they_are_asked_for():
    """A pad of 4 with the 3 positions of a pad of 1 would show nothing but a corner."""
    every = Recipe()
    assert (every.crop_offsets, replace(every, pad=2).crop_offsets) == (9, 5)
    assert replace(replace(every, lr=0.2), pad=1).augmentation(flip=True).offsets == 3
    assert json.loads(json.dumps(every.to_dict()))["crop_offsets"] == 9
    assert replace(Recipe(**every.to_dict()), pad=1).crop_offsets == 3
    assert every == Recipe(crop_offsets=9)
    own = CPU.changed({"stage1.pad": "4"}).changed({"stage1.crop_offsets": 8})
    assert own.recipe("stage1").crop_offsets == 8
    assert own.changed({"stage1.crop_offsets": "none"}).recipe("stage1").crop_offsets == 9


def test_who_names_a_net_means_it_for_all_that_is_trained():
    assert (FAST.net, FAST.last_net) == ("preact-resnet-18", "resnet-9")
    assert FAST.changed({"net": "wrn-28-2"}).last_net == "wrn-28-2"
    assert CPU.changed({"net": "wrn-28-2", "final_net": "resnet-9"}).last_net == "resnet-9"
    assert FAST.changed({"final_net": "none"}).last_net == "preact-resnet-18"


@pytest.mark.parametrize(
    "window, epochs, expected",
    [((0.0, 1.0), 3, (0, 3)), ((1 / 3, 1.0), 40, (13, 40)), ((1 / 3, 1.0), 1, (0, 1)), ((0.9, 0.9), 10, (9, 10))],
)
def test_a_window_in_shares_always_holds_an_epoch(window, epochs, expected):
    assert PAPER.changed({"window": window}).criterion.scored_epochs(epochs) == range(*expected)


@pytest.mark.parametrize("method", ["rsl", "rsl_wm", "co_teaching"])
def test_settings_of_another_method_are_named(method):
    owner = {"stage1.lr": method, "beta": method, "mixmatch.alpha": "rsl_wm", "rsl_wm.lr": "rsl_wm", "rsl.lr": "rsl"}
    assert idle(owner, method) == [
        f"The setting {name} changes nothing here: it belongs to --method {other}, and this is {method}."
        for name, other in owner.items()
        if other != method
    ]


# --- presets -------------------------------------------------------------------------------------------------


def test_stage1_of_the_paper():
    """And RSL retrains by exactly that."""
    authors = {
        "epochs": 200, "batch": 128, "keep_short_batch": True, "optimiser": "sgd", "lr": 0.1, "momentum": 0.9,
        "nesterov": False, "weight_decay": 5e-4, "decay_on": "all", "schedule": "multistep", "factor": 0.02,
        "milestones": (0.3, 0.6, 0.8), "pad": 4, "padding": "zero", "crop_offsets": 9, "batchnorm_momentum": 0.001,
        "warmup_steps": 0, "ema": None, "scoring": "augmented", "evaluate_every": 1, "ties": "later",
    }  # fmt: skip
    assert PAPER.net == "wrn-28-2"
    assert PAPER.recipe("stage1").to_dict().items() >= authors.items()
    assert PAPER.recipe("rsl") == PAPER.recipe("stage1")


def test_mixmatch_of_the_paper():
    authors = {
        "epochs": 500, "batch": 64, "optimiser": "adam", "lr": 0.002, "schedule": "constant", "ema": 0.999,
        "decay_on": "all", "ema_batchnorm": "copy", "batchnorm_momentum": 0.001, "pad": 4, "padding": "reflect",
        "crop_offsets": 8, "ties": "earlier",
    }  # fmt: skip
    recipe, how = PAPER.recipe("rsl_wm"), PAPER.own["mixmatch"]
    assert recipe.to_dict().items() >= authors.items()
    assert 1 - recipe.weight_decay * recipe.lr == pytest.approx(1 - 4e-5)
    assert (how.steps_per_epoch, how.temperature, how.alpha, how.lambda_u, how.ramp) == (1024, 0.5, 0.75, 75, 1)
    assert (how.mix_per, how.guess_by, how.rounds) == ("step", "network", 1)


def test_selection_of_the_paper():
    how = PAPER.criterion
    assert (how.beta, how.gamma, how.rounding, how.score) == (0.2, "middle", "raw", "mean_loss")
    assert how.kappa == pytest.approx(-math.log(0.7))
    assert how.scored_epochs(200) == range(200)


def test_every_preset_can_be_had_and_names_itself():
    assert [get_preset(name).preset for name in preset_names()] == ["paper", "fast", "cpu"]
    with pytest.raises(InputError, match="no preset named 'best'; the known ones are paper, fast, cpu"):
        get_preset("best")


# --- by the data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n, d, decay", [(4000, 10, 0.02), (2000, 100, 0.04), (178, 13, 0.0584), (10, 100, 0.1), (4096, 2048, 0.05)]
)
def test_the_fewer_examples_for_a_feature_the_more_decay(n, d, decay):
    """With and without a GPU alike: in the batches of `fast` 50 of them are one step an epoch."""
    features = from_arrays(np.zeros((n, d), np.float32), np.arange(n) % 2)
    settings = settings_for(None, "cpu", features)
    assert settings.net == "mlp"
    assert {round(recipe.weight_decay, 4) for recipe in settings.recipes.values()} == {decay}
    assert settings_for(None, "cuda", features) == settings
    assert settings_for("fast", "cuda", features).preset == "fast"


def fitted(n: int, name: str, **asked: Any) -> Settings:
    pictures = Dataset(np.zeros((n, 1, 1, 1), np.uint8), np.arange(n) % 2, ("a", "b"))
    return settings_for(asked.pop("preset", None), "cuda" if name == "fast" else "cpu", pictures, **asked)


@pytest.mark.parametrize("preset, n", [("cpu", 10_000), ("fast", 20_000), ("fast", 10**6)])
def test_a_preset_is_as_it_is_for_the_data_it_was_made_for(preset, n):
    assert fitted(n, preset) == get_preset(preset)


@pytest.mark.parametrize("n, batch", [(3, 8), (50, 8), (300, 16), (1000, 32), (4095, 128), (4096, 256)])
def test_few_pictures_come_in_small_batches_and_small_steps(n, batch):
    """On a GPU too, where 300 of them would be one step an epoch, and their average the weights at random."""
    for stage in ("stage1", "rsl"):
        tried, recipe = FAST.recipe(stage), fitted(n, "fast").recipe(stage)
        assert (recipe.batch, recipe.epochs, recipe.ema_warmup) == (batch, tried.epochs, True)
        assert recipe.lr == pytest.approx(tried.lr * (batch / tried.batch) ** 0.5)
    assert fitted(n, "fast").recipe("rsl_wm") == FAST.recipe("rsl_wm")  # whose steps do not grow with the data
    assert fitted(n, "cpu").recipe("stage1").batch == min(batch, 64)


@pytest.mark.parametrize("n, epochs", [(40_000, 30), (60_000, 20), (100_000, 12), (10**6, 10)])
def test_very_many_pictures_on_a_cpu_are_seen_less_often(n, epochs):
    assert fitted(n, "cpu").recipe("stage1").epochs == epochs
    assert fitted(n, "cpu").recipe("rsl_wm").epochs == min(epochs, 20)
    assert fitted(n, "cpu", changes={"mixmatch.steps_per_epoch": 50}).recipe("rsl_wm").epochs == 20
    assert fitted(n, "cpu", changes={"rsl_wm.epochs": 19}).recipe("rsl_wm").epochs == 19


def test_what_was_asked_for_is_not_fitted():
    assert fitted(50, "fast", preset="fast") == FAST
    assert fitted(10**5, "cpu", epochs=30).recipe("stage1").epochs == 30
    own = fitted(50, "fast", changes={"stage1.batch": "64", "rsl.epochs": 3, "rsl.lr": 0.3})
    stage1, rsl, lr = own.recipe("stage1"), own.recipe("rsl"), FAST.recipe("stage1").lr
    assert (stage1.batch, stage1.lr) == (64, lr / 2)  # a step follows its batch, whoever chose that
    assert (rsl.batch, rsl.epochs, rsl.lr) == (8, 3, 0.3)
    assert fitted(50, "fast", changes={"stage1.batch": 1024}).recipe("stage1").lr == lr
