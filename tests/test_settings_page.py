"""docs/reference/settings.md is what the code says: every setting is described, with the words that it takes."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from smallloss.errors import InputError
from smallloss.knobs import Knob
from smallloss.methods.settings import NETS, get_preset

DOCS = Path(__file__).parents[1] / "docs"


def make_settings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_settings", DOCS / "make_settings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def settings() -> dict[str, tuple[Knob, Any]]:
    """Every setting by the name that --set takes, with what is declared of it and its type."""
    cpu = get_preset("cpu")
    groups = {"": cpu.criterion, "stage1": cpu.recipe("stage1"), **cpu.own}
    return {
        f"{group}.{name}".removeprefix("."): (about, get_type_hints(type(one))[name])
        for group, one in groups.items()
        for name, about in one.about().items()
    }


def bad_values(about: Knob) -> list[Any]:
    """What lies just outside of the bounds."""
    found = [None if about.least is None else about.least - 1, about.above, about.below]
    found += [None if about.most is None else about.most + 1, "nonsense" if about.choices else None]
    return [value for value in found if value is not None]


def test_the_page_of_settings_is_what_the_script_makes():
    """If not: python docs/make_settings.py."""
    assert (DOCS / "reference" / "settings.md").read_text(encoding="utf-8") == make_settings().page()


@pytest.mark.parametrize("name", [*NETS, *settings()])
def test_every_setting_is_described_in_a_sentence(name):
    about, kind = (NETS[name], None) if name in NETS else settings()[name]
    assert about.help[0].isupper() or about.help[0] == "`"
    assert about.help.endswith(".")
    assert about.help.count(". ") == 0
    assert about.in_words(kind)
    assert f"`{name.rpartition('.')[2]}`" in (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", settings())
def test_every_setting_takes_what_is_described_and_refuses_what_lies_outside(name):
    about, kind = settings()[name]
    cpu = get_preset("cpu")
    for choice in about.choices:
        cpu.changed({name: str(choice)})
    text = kind is str or get_origin(kind) is Literal or Literal in map(get_origin, get_args(kind))
    for value in [*bad_values(about), *([] if text else ["nonsense"])]:
        with pytest.raises(InputError, match=f"^{re.escape(name)} "):
            cpu.changed({name: value})
