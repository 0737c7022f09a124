"""The paper preset is the authors' code, number by number; settings change by name."""

import math

import numpy as np
import pytest

from smallloss.data.arrays import from_arrays
from smallloss.engine.recipe import Recipe
from smallloss.engine.schedule import learning_rates
from smallloss.errors import InputError
from smallloss.methods.co_teaching import Own
from smallloss.methods.settings import get_preset, idle, preset_names, settings_for


def test_stage1_of_the_paper():
    settings = get_preset("paper")
    recipe = settings.recipe("stage1")
    assert settings.net == "wrn-28-2"
    assert (recipe.epochs, recipe.batch, recipe.keep_short_batch) == (200, 128, True)
    assert (recipe.optimiser, recipe.lr, recipe.momentum, recipe.nesterov) == ("sgd", 0.1, 0.9, False)
    assert (recipe.weight_decay, recipe.decay_on) == (5e-4, "all")
    assert (recipe.schedule, recipe.factor) == ("multistep", 0.02)
    assert [round(share * recipe.epochs) for share in recipe.milestones] == [60, 120, 160]
    assert (recipe.pad, recipe.padding, recipe.crop_offsets) == (4, "zero", 9)
    assert (recipe.batchnorm_momentum, recipe.warmup_steps, recipe.ema) == (0.001, 0, None)
    assert (recipe.scoring, recipe.evaluate_every, recipe.ties) == ("augmented", 1, "later")


def test_rsl_retrains_with_exactly_the_recipe_of_stage1():
    settings = get_preset("paper")
    assert settings.recipe("rsl") == settings.recipe("stage1")


def test_mixmatch_of_the_paper():
    settings = get_preset("paper")
    recipe, how = settings.recipe("rsl_wm"), settings.own["mixmatch"]
    assert (recipe.epochs, how.steps_per_epoch, recipe.batch) == (500, 1024, 64)
    assert (recipe.optimiser, recipe.lr, recipe.schedule, recipe.ema) == ("adam", 0.002, "constant", 0.999)
    assert 1 - recipe.weight_decay * recipe.lr == pytest.approx(1 - 4e-5)
    assert (recipe.decay_on, recipe.ema_batchnorm, recipe.batchnorm_momentum) == ("all", "copy", 0.001)
    assert (recipe.pad, recipe.padding, recipe.crop_offsets) == (4, "reflect", 8)
    assert recipe.ties == "earlier"
    assert (how.temperature, how.alpha, how.lambda_u, how.ramp) == (0.5, 0.75, 75, 1)
    assert (how.mix_per, how.guess_by, how.rounds) == ("step", "network", 1)


def test_selection_of_the_paper():
    settings = get_preset("paper")
    assert (settings.criterion.beta, settings.criterion.gamma, settings.criterion.rounding) == (0.2, "middle", "raw")
    assert settings.criterion.kappa == pytest.approx(-math.log(0.7))
    assert (settings.criterion.score, settings.criterion.scored_epochs(200)) == ("mean_loss", range(200))


def test_the_rates_of_the_paper_are_those_of_the_sheet():
    recipe = get_preset("paper").recipe("stage1")
    rates = np.concatenate([learning_rates(recipe, epoch, 352) for epoch in range(200)])
    assert sorted(set(rates.tolist()), reverse=True) == pytest.approx([0.1, 2e-3, 4e-5, 8e-7])


def test_who_names_a_net_means_it_for_all_that_is_trained():
    assert (get_preset("fast").net, get_preset("fast").last_net) == ("preact-resnet-18", "resnet-9")
    wide = get_preset("fast").changed({"net": "wrn-28-2"})
    assert (wide.net, wide.last_net) == ("wrn-28-2", "wrn-28-2")
    both = get_preset("cpu").changed({"net": "wrn-28-2", "final_net": "resnet-9"})
    assert (both.net, both.last_net) == ("wrn-28-2", "resnet-9")
    assert get_preset("fast").changed({"final_net": "none"}).last_net == "preact-resnet-18"


@pytest.mark.parametrize(
    "n, d, decay", [(4000, 10, 0.02), (2000, 100, 0.04), (178, 13, 0.0584), (10, 100, 0.1), (4096, 2048, 0.05)]
)
def test_the_fewer_examples_for_a_feature_the_more_decay(n, d, decay):
    features = from_arrays(np.zeros((n, d), np.float32), np.arange(n) % 2)
    settings = settings_for(None, "cpu", features)
    assert settings.net == "mlp"
    for recipe in (settings.recipe("stage1"), settings.recipe("rsl"), settings.recipe("rsl_wm")):
        assert recipe.weight_decay == pytest.approx(decay, rel=1e-3)


def test_every_preset_can_be_had_and_names_itself():
    assert preset_names() == ("paper", "fast", "cpu")
    for name in preset_names():
        assert get_preset(name).preset == name


def test_an_unknown_preset_is_named():
    with pytest.raises(InputError, match="no preset named 'best'; the known ones are paper, fast, cpu"):
        get_preset("best")


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("stage1.epochs", "20", 20),
        ("stage1.lr", "0.05", 0.05),
        ("stage1.lr", "1e-3", 0.001),
        ("stage1.nesterov", "true", True),
        ("stage1.nesterov", "False", False),
        ("stage1.milestones", "0.5,0.75", (0.5, 0.75)),
        ("stage1.ema", "0.9", 0.9),
        ("rsl_wm.ema", "none", None),
        ("stage1.schedule", "cosine", "cosine"),
        ("mixmatch.lambda_u", "30", 30.0),
        ("mixmatch.rounds", "2", 2),
        ("beta", "0.1", 0.1),
        ("gamma", "1.5", 1.5),
        ("gamma", "middle", "middle"),
        ("gamma", "none", "none"),
        ("window", "0.25,1", (0.25, 1.0)),
        ("score", "mean_margin", "mean_margin"),
        ("net", "mlp", "mlp"),
        ("stage1.lr", np.float32(0.5), 0.5),
        ("stage1.lr", 1, 1.0),
        ("stage1.batch", np.int64(64), 64),
        ("stage1.batch", 64.0, 64),
        ("stage1.nesterov", np.bool_(True), True),
        ("stage1.milestones", [np.float64(0.5)], (0.5,)),
        ("stage1.ema", None, None),
        ("gamma", np.float64(1.5), 1.5),
    ],
)
def test_a_value_becomes_what_the_setting_is(name, text, value):
    changed = get_preset("paper").changed({name: text})
    head, _, rest = name.partition(".")
    groups = {**changed.recipes, **changed.own, "net": changed}
    found = getattr(groups[head], rest) if rest else getattr(groups.get(head, changed.criterion), head)
    assert found == value
    assert type(found) is type(value)


def test_the_crops_follow_the_padding_unless_they_are_asked_for():
    """A pad of 4 with the 3 positions of a pad of 1 would show nothing but a corner."""
    wider = get_preset("cpu").changed({"stage1.pad": "4"})
    assert (get_preset("cpu").recipe("stage1").crop_offsets, wider.recipe("stage1").crop_offsets) == (3, 9)
    own = wider.changed({"stage1.crop_offsets": 8})
    assert own.recipe("stage1").crop_offsets == 8
    assert own.changed({"stage1.crop_offsets": "none"}).recipe("stage1").crop_offsets == 9
    assert get_preset("paper").changed({"rsl_wm.pad": 2, "rsl_wm.crop_offsets": 5}).recipe("rsl_wm").crop_offsets == 5


def test_a_method_has_settings_of_its_own():
    paper = get_preset("paper")
    assert paper.own["co_teaching"] == Own(10)
    assert paper.changed({"co_teaching.ramp_epochs": "5"}).own["co_teaching"] == Own(5)


@pytest.mark.parametrize(
    "name, value",
    [
        ("stage1.batch", 2.5),
        ("stage1.batch", True),
        ("stage1.batch", None),
        ("stage1.lr", None),
        ("stage1.lr", float("inf")),
        ("stage1.lr", [0.1]),
        ("stage1.nesterov", 1),
        ("stage1.milestones", 0.5),
        ("stage1.schedule", 3),
        ("score", None),
    ],
)
def test_a_value_of_another_type_is_a_sentence(name, value):
    with pytest.raises(InputError, match=f"{name} is .*; it must be"):
        get_preset("paper").changed({name: value})


def test_a_change_leaves_all_else_as_it_was():
    before = get_preset("paper")
    after = before.changed({"stage1.epochs": "20", "beta": 0.1})
    assert after.recipe("rsl") == before.recipe("rsl")
    assert after.recipe("stage1") == Recipe(**{**before.recipe("stage1").to_dict(), "epochs": 20})
    assert after.changed({"stage1.epochs": 200, "beta": 0.2}) == before


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("stage9.lr", "1", "no setting named 'stage9.lr'"),
        ("learning_rate", "1", "no setting named 'learning_rate'"),
        ("preset", "cpu", "no setting named 'preset'"),
        ("stage1.learning_rate", "1", "no setting named 'learning_rate' in stage1; there are epochs, batch"),
        ("stage1", "1", "'stage1' is a group of settings"),
        ("stage1.epochs", "many", "stage1.epochs is 'many'; it must be a whole number, like 200"),
        ("stage1.epochs", "2.5", "stage1.epochs is '2.5'"),
        ("stage1.nesterov", "maybe", "stage1.nesterov is 'maybe'"),
        ("stage1.lr", "fast", "stage1.lr is 'fast'"),
        ("stage1.lr", "0", "lr is 0.0; it must be above 0"),
        ("stage1.lr", "nan", "stage1.lr is 'nan'; it must be a number, like 0.1"),
        ("stage1.ema", "slow", "stage1.ema is 'slow'; it must be a number or none"),
        ("stage1.momentum", "-1", r"stage1\.momentum is -1.0; it must lie in \[0, 1\)"),
        ("mixmatch.temperature", "0", r"mixmatch\.temperature is 0.0; it must be above 0"),
        ("co_teaching.ramp_epochs", "1", r"co_teaching\.ramp_epochs is 1; it must be at least 2"),
        ("co_teaching.ramp_epochs", "soon", r"co_teaching\.ramp_epochs is 'soon'; it must be a whole number, like 10"),
        ("co_teaching.ramp", "5", "no setting named 'ramp' in co_teaching; there are ramp_epochs"),
        ("co_teaching", "5", "'co_teaching' is a group of settings; name one of them, as in co_teaching.ramp_epochs"),
        ("cross_entropy.lr", "5", "no setting named 'cross_entropy.lr'; the known ones are net, .*co_teaching"),
        ("own", "{}", "no setting named 'own'"),
        ("half_epochs", "0", "half_epochs is 0.0; it must be above 0"),
        ("stage1.schedule", "steep", "schedule is 'steep'; it must be constant, multistep"),
        ("stage1.epochs", "0", "epochs is 0; it must be at least 1"),
        ("stage1.ema", "1", r"ema is 1.0; it must lie in \[0, 1\)"),
    ],
)
def test_a_bad_change_is_a_sentence(name, value, words):
    with pytest.raises(InputError, match=words):
        get_preset("paper").changed({name: value})


@pytest.mark.parametrize(
    "changes",
    [
        {"score": "loudness"},
        {"window": "0.5"},
        {"window": "0.9,0.1"},
        {"stage1.pad": "1", "stage1.crop_offsets": "9"},
        {"rsl_wm.pad": "6"},  # the authors' 8 crop positions would hardly reach the middle
        {"beta": "none"},
        {"net.width": "4"},
    ],
)
def test_a_change_that_cannot_work_is_refused_before_anything_is_trained(changes):
    with pytest.raises(InputError):
        get_preset("paper").changed(changes)


@pytest.mark.parametrize(
    "window, epochs, expected",
    [((0.0, 1.0), 3, (0, 3)), ((1 / 3, 1.0), 40, (13, 40)), ((1 / 3, 1.0), 1, (0, 1)), ((0.9, 0.9), 10, (9, 10))],
)
def test_a_window_in_shares_always_holds_an_epoch(window, epochs, expected):
    settings = get_preset("paper").changed({"window": window})
    assert settings.criterion.scored_epochs(epochs) == range(*expected)


@pytest.mark.parametrize(
    "method, found", [("rsl", ["mixmatch.alpha", "rsl_wm.lr"]), ("rsl_wm", ["rsl.lr"]), ("co_teaching", None)]
)
def test_settings_of_another_method_are_named(method, found):
    changes = {"stage1.lr": 0.1, "beta": 0.1, "mixmatch.alpha": 0.5, "rsl_wm.lr": 0.1, "rsl.lr": 0.1}
    said = idle(changes, method)
    names = found or ["mixmatch.alpha", "rsl_wm.lr", "rsl.lr"]
    assert [sentence.split()[2] for sentence in said] == names
    assert f"it belongs to --method {'rsl_wm' if method != 'rsl_wm' else 'rsl'}, and this is {method}." in said[0]
