"""The generator of mutants: each kind of change, once, and nothing that does not run."""

import ast
import textwrap

import pytest

import mutants

SOURCE = textwrap.dedent('''
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        from somewhere import Thing
    def f(x: list[0]) -> "Thing":
        """One of 2 things."""
        if x is None:
            raise ValueError(f"{1 + 1} is wrong")
        return x
''')


def texts(line: str) -> list[str]:
    return [one.after for one in mutants.mutants_of("a.py", line + "\n")]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("a = b < c", ["a = (b <= c)", "a = (b > c)"]),
        ("a = b and not c", ["a = (b or not c)", "a = True and not c", "a = b and True", "a = b and (c)"]),
        ("a += b * 2", ["a -= b * 2", "a += (b / 2)", "a += b * 3", "a += b * 1"]),
        ("a = np.argsort(b)", ["a = (np.argsort(-b))"]),
        ("a = b.argsort(dim=c)", ["a = ((-b).argsort(dim=c))", "a = (b.argsort())"]),
        ("a = max(b, key=c)", ["a = (min(b, key=c))", "a = (max(b))"]),
        ("a = b[1:]  # from the second", [f"a = b[{one}]  # from the second" for one in (":", "2:", "0:")]),
        ("b.update(c)", ["pass"]),
        ("a = b if c else 0.5", ["a = b if (not (c)) else 0.5", "a = b if c else 1.0"]),
        ('a: int = field(default=b)  # "words"', []),
    ],
)
def test_what_becomes_of_a_line(line, expected):
    assert texts(line) == [" ".join(one.split()) for one in expected]


def test_words_annotations_and_errors_stay_as_they_are():
    assert [one.after for one in mutants.mutants_of("a.py", SOURCE)] == ["if (x is not None):"]


def test_every_mutant_is_a_whole_file_with_one_change():
    for one in mutants.mutants_of("a.py", SOURCE):
        ast.parse(one.source)
        assert len(set(one.source.splitlines()) - set(SOURCE.splitlines())) == 1


def test_the_tests_of_a_module_come_first():
    first, second, *_ = mutants.tests_of("src/smallloss/criterion/quota.py")
    assert first == ["tests/criterion/test_quota.py"]
    assert not set(first) & set(second)
