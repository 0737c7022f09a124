"""A setting that ruined a later stage may be changed: the run goes on from the stages that were not trained by it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smallloss as sl
from command import smallloss
from smallloss.errors import InputError
from smallloss.record.folder import RunFolder, read_config

RECIPE = {"lr": 0.1, "epochs": 3}
SETTINGS = {"net": "mlp", "final_net": None, "stage1": RECIPE, "rsl": RECIPE, "rsl_wm": RECIPE, "half_epochs": 0.5}
SETTINGS |= {"mixmatch": {"alpha": 0.75}, "beta": 0.2, "mine": {"ramp": 5}}
CONFIG = {"method": "mine", "seed": 0, "settings": SETTINGS}


def folder_with(path: Path, *stages: str) -> None:
    with RunFolder(path, CONFIG):
        (path / "checkpoint").mkdir()
        for stage in stages:
            (path / "checkpoint" / f"{stage}.safetensors").touch()


def with_setting(name: str, value: Any) -> dict[str, Any]:
    head, _, rest = name.partition(".")
    return CONFIG | {"settings": SETTINGS | {head: {**SETTINGS[head], rest: value} if rest else value}}


LAST = ["rsl.lr", "rsl_wm.lr", "mixmatch.alpha", "final_net", "mine.ramp"]


@pytest.mark.parametrize(
    "stages, free",
    [
        ([], [*LAST, "half_epochs", "stage1.lr", "net", "beta"]),
        (["stage1"], [*LAST, "half_epochs"]),
        (["stage1", "half0"], LAST),
        (["stage1", "half0", "half1"], LAST),
        (["stage1", "rsl_wm"], []),
        (["stage1", "mine"], []),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", [*LAST, "half_epochs", "stage1.lr", "net", "beta"])
def test_a_setting_may_change_until_a_stage_was_trained_by_it(stages, free, name, tmp_path):
    folder_with(tmp_path, *stages)
    other = with_setting(name, 0.7)
    if name not in free:
        with pytest.raises(InputError, match=rf"other settings \(settings\.{name} was .*, now 0\.7\)"):
            RunFolder(tmp_path, other).__enter__()
        assert read_config(tmp_path)["settings"] == SETTINGS
        return
    with RunFolder(tmp_path, other) as folder:
        assert f"settings.{name} was" in folder.changed
        assert "now 0.7" in folder.changed
    assert read_config(tmp_path) == {"smallloss_run": 1, **other, "changed": folder.changed}
    with RunFolder(tmp_path, other) as again:
        assert again.changed == folder.changed  # a stop in between does not hide it


def test_a_folder_of_before_lists_the_settings_of_every_method(tmp_path):
    """They bear on nothing here: the run goes on."""
    folder_with(tmp_path, "stage1", "mine")
    used = {name: value for name, value in SETTINGS.items() if name not in ("rsl_wm", "mixmatch")}
    with RunFolder(tmp_path, CONFIG | {"settings": used}) as folder:
        assert not folder.changed


def test_only_settings_may_change(tmp_path):
    folder_with(tmp_path)
    both = {**with_setting("rsl.lr", 0.7), "seed": 1}
    with pytest.raises(InputError, match=r"seed was 0, now 1; settings\.rsl\.lr was 0\.1, now 0\.7"):
        RunFolder(tmp_path, both).__enter__()
    assert read_config(tmp_path)["seed"] == 0


def test_a_finished_run_keeps_its_settings(tmp_path):
    folder_with(tmp_path, "stage1")
    (tmp_path / "report.html").touch()
    with pytest.raises(InputError, match=r"other settings \(settings\.rsl\.lr"):
        RunFolder(tmp_path, with_setting("rsl.lr", 0.7)).__enter__()


def test_what_was_trained_otherwise_can_be_deleted(tmp_path):
    """The loss may turn NaN after some epochs were saved: only the one stage is lost."""
    folder_with(tmp_path, "stage1", "mine")
    with pytest.raises(InputError, match=r"train mine again, delete checkpoint/mine\.safetensors in it\.$"):
        RunFolder(tmp_path, with_setting("mine.ramp", 3)).__enter__()
    (tmp_path / "checkpoint" / "mine.safetensors").unlink()
    with RunFolder(tmp_path, with_setting("mine.ramp", 3)) as folder:
        assert folder.changed


def test_what_differs_is_said_in_few_words(tmp_path):
    T = np.eye(100).tolist()
    config = {"data": {"fingerprint": "a" * 64}, "noise": {"drawn": "uniform:0.4", "transition": T}, "corrections": []}
    with RunFolder(tmp_path, config):
        pass
    other = {"data": {"fingerprint": "b" * 64}, "noise": {"drawn": "uniform:0.3", "transition": T[::-1]}}
    with pytest.raises(InputError) as refused:
        RunFolder(tmp_path, other).__enter__()
    assert "other settings (noise.drawn was 'uniform:0.4', now 'uniform:0.3')." in str(refused.value)
    many = config | {"data": {"fingerprint": "b" * 64}, "corrections": [1, 2, 3, 4, 5, 6]}
    with pytest.raises(InputError) as refused:
        RunFolder(tmp_path, many).__enter__()
    assert "a run on other data, or on this data before it changed (corrections differs; data.f" in str(refused.value)


def test_true_labels_that_were_not_there_before(tmp_path):
    """The accuracy by them was not taken after each epoch: there is nothing to go on from."""
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=40), "z": rng.normal(size=40), "label": ["a", "b"] * 20}
    sl.clean(table, tmp_path / "run", noise_rate=0.1, epochs=1)
    with pytest.raises(InputError, match="a run that did not know the true labels of this data"):
        sl.clean(table | {"true_label": ["b", "a"] * 20}, tmp_path / "run", noise_rate=0.1, epochs=1)
    sl.clean(table, tmp_path / "run", noise_rate=0.1, epochs=1)


def test_a_step_that_was_too_large_does_not_cost_stage_1(tiny, tmp_path):
    data = tmp_path / "tiny.npz"
    np.savez(data, x=tiny.inputs, y=tiny.labels)

    def clean(out: Path, lr: float, status: int) -> str:
        said = smallloss(
            "clean", data, "--out", out, "--method", "rsl_wm", "--epochs", 2, "--noise-rate", 0.2, "--device", "cpu",
            "--set", "mixmatch.steps_per_epoch=3", "--set", f"rsl_wm.lr={lr}", status=status,
        )  # fmt: skip
        return said.out + said.err

    whole, ruined = tmp_path / "whole", tmp_path / "ruined"
    clean(whole, 0.05, 0)
    assert "loss turned" in clean(ruined, 1e30, 2)
    first = (ruined / "metrics.jsonl").read_text()
    assert [json.loads(line)["stage"] for line in first.splitlines()] == ["stage1"] * 2

    (changed,) = (line for line in clean(ruined, 0.05, 0).splitlines() if line.startswith("changed "))
    assert "settings.rsl_wm.lr was 1e+30, now 0.05" in changed
    assert (ruined / "metrics.jsonl").read_text().startswith(first)  # seconds and all
    config = read_config(ruined)
    assert "settings.rsl_wm.lr was 1e+30" in config.pop("changed")
    assert config == read_config(whole)
    for name in ("ledger.npz", "selection.npz", "examples.csv", "model.safetensors"):
        assert (ruined / name).read_bytes() == (whole / name).read_bytes(), name
    said = clean(ruined, 0.04, 2)
    assert "holds a run with other settings (settings.rsl_wm.lr was 0.05, now 0.04). Give the same" in said
