"""Names inside a sentence, the first of many, shares in percent."""

import pytest

from smallloss.words import listed, one_line, percent, quoted, wrapped


def test_a_name_stays_on_its_line():
    assert one_line("cat\nrm") == r"cat\nrm"
    assert len(one_line("x" * 500)) == 30
    assert one_line("chien à poil") == "chien à poil"
    assert quoted("\x1b[31mred") == r"'\x1b[31mred'"


def test_the_first_of_many_names():
    assert listed([]) == ""
    assert listed(["cat", 3]) == "'cat', 3"
    assert listed(range(10)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert listed(range(11)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1 more"
    assert listed(range(1999), 1) == "0 and 1,998 more"
    assert listed(["a", "b\n"], 3, quoted) == r"'a', 'b\n'"
    assert listed("abc", 2, str, "; ") == "a; b; and 1 more"


def test_lines_break_between_words_alone():
    path = "/home/somebody/a-rather-long/path.csv"
    said = f"The file {path} has no column label, given_label or y.\nsecond line"
    assert wrapped(said, None) == said
    lines = wrapped(said, 24, hang=2).split("\n")
    assert lines == ["The file", f"  {path}", "  has no column label,", "  given_label or y.", "second line"]


@pytest.mark.parametrize(
    "share, digits, said",
    [(0.983, 1, "98.3 %"), (1.0, 1, "100.0 %"), (0.25, 0, "25 %"), (None, 1, "–"), (float("nan"), 0, "–")],
)
def test_shares_in_percent(share, digits, said):
    assert percent(share, digits) == said
