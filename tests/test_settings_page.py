"""docs/reference/settings.md is what the code says: every setting is described, with the words that it takes."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import smallloss as sl
from smallloss import methods
from smallloss.engine import recipe
from smallloss.errors import InputError
from smallloss.methods import mixmatch, presets

DOCS = Path(__file__).parents[1] / "docs"


def make_settings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_settings", DOCS / "make_settings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def groups() -> dict[str, tuple[Any, dict[str, tuple[str, str]]]]:
    """Every group of settings: its class and its descriptions."""
    own = {name: (methods.knobs(name), methods.get(name).HELP) for name in methods.names() if methods.knobs(name)}
    stages = {"stage1": (recipe.Recipe, recipe.HELP), "mixmatch": (mixmatch.MixMatchSettings, mixmatch.HELP)}
    return {**stages, "": (presets.Settings, presets.HELP), **own}


def test_the_page_of_settings_is_what_the_script_makes():
    """If not: python docs/make_settings.py."""
    assert (DOCS / "reference" / "settings.md").read_text(encoding="utf-8") == make_settings().page()


@pytest.mark.parametrize("group", groups())
def test_every_setting_is_described(group):
    kind, about = groups()[group]
    names = {item.name for item in fields(kind)} - {"preset", "own"}
    assert set(about) == names
    page = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    for name, (what, values) in about.items():
        assert what[0].isupper() or what[0] == "`"
        assert what.endswith(".")
        assert what.count(". ") == 0, "one sentence"
        assert values
        assert f"`{name}`" in page


@pytest.mark.parametrize("group, name", [(g, name) for g, (_, about) in groups().items() for name in about])
def test_the_words_that_a_setting_takes_are_those_described(group, name):
    words = re.findall(r"`(\w+)`", groups()[group][1][name][1])
    if len(words) < 2 or words[0] in ("pad", "net"):
        return
    full = f"{group}.{name}" if group else name
    settings = presets.get("cpu")
    for word in words:
        presets.change(settings, {full: word})
    if name in ("gamma", "weight_max", "rounding", "class_size"):  # these are refused where they are used
        with pytest.raises(InputError, match=name):
            sl.select([1.0, 2.0], ["a", "b"], 0.1, **{name: "nonsense"})
    else:
        with pytest.raises(InputError, match=name):
            presets.change(settings, {full: "nonsense"})
