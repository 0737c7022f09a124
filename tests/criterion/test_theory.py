import json

import numpy as np
import pytest

from smallloss.criterion import transition as tr
from smallloss.criterion.theory import Break, theory_of
from smallloss.errors import InputError

CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def rows_of(text: str) -> list[str]:
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("class "))
    return lines[start + 1 : lines.index("", start)]


def test_the_noises_of_the_paper_hold_worst_first():
    uniform, structured = theory_of(tr.uniform(0.5, 10), CIFAR10), theory_of(tr.structured(0.4), CIFAR10)
    assert uniform.column_breaks == uniform.row_breaks == ()
    assert [row.split()[0] for row in rows_of(str(uniform))] == CIFAR10
    assert "breaks" not in str(uniform)
    assert rows_of(str(structured))[0].split() == ["cat", "0.200", "0.100", "works", "works"]
    assert rows_of(str(structured))[1].split() == ["dog", "0.200", "0.100", "works", "works"]
    np.testing.assert_allclose(structured.tolerated_epsilon, tr.tolerated_epsilon(tr.structured(0.4)))


def test_too_much_structured_noise_breaks_and_the_pair_is_named():
    theory = theory_of(tr.structured(0.6), CIFAR10)
    assert [(b.true, b.label) for b in theory.column_breaks] == [("cat", "dog"), ("dog", "cat")]
    assert [b.true for b in theory.row_breaks] == ["bird", "cat", "deer", "dog", "truck"]
    text = str(theory)
    assert (
        "label 'dog': true 'cat' examples get it with probability 0.60, true 'dog' ones with 0.40, "
        "so a wrong 'dog' that is truly 'cat' has no larger loss than a right one." in text
    )
    assert "true 'bird': labelled 'airplane' (0.60) at least as often as 'bird' (0.40)" in text
    assert rows_of(text)[0].split() == ["cat", "-0.200", "0.000", "BREAKS", "ERRS"]
    facts = json.loads(json.dumps(theory.to_dict(), allow_nan=False))
    assert (facts["classes"], facts["ranking_holds"][3]) == (CIFAR10, False)
    flip = {"true": "cat", "label": "dog", "flipped": pytest.approx(0.6), "kept": pytest.approx(0.4)}
    assert facts["column_breaks"][0] == flip
    boundary = theory_of(tr.structured(0.5), CIFAR10)  # is a break
    assert boundary.column_breaks[0] == Break("cat", "dog", 0.5, 0.5)
    assert rows_of(str(boundary))[0].split()[1] == "0.000"


def test_row_failure_alone_leaves_the_ranking_as_it_is():
    theory = theory_of([[0.4, 0.6, 0], [0.1, 0.8, 0.1], [0, 0, 1]], ["cat", "dog", "bird"])
    assert theory.ranking_holds == (True, True, True)
    assert theory.classifier_holds == (False, True, True)
    assert theory.row_breaks == (Break("cat", "dog", 0.6, 0.4),)
    assert "Where the ranking breaks" not in str(theory)


def test_breaks_and_facts_agree_for_random_matrices():
    rng = np.random.default_rng(0)
    for _ in range(50):
        theory = theory_of(rng.dirichlet(np.full(5, 0.5), size=5))
        assert all(theory.ranking_holds) == (not theory.column_breaks)
        broken = {name for name, good in zip(theory.classes, theory.ranking_holds, strict=True) if not good}
        assert {b.label for b in theory.column_breaks} == broken
        errs = {name for name, good in zip(theory.classes, theory.classifier_holds, strict=True) if not good}
        assert {b.true for b in theory.row_breaks} == errs
        excess = [b.flipped - b.kept for b in theory.column_breaks]
        assert excess == sorted(excess, reverse=True)


def test_many_classes_are_summed_up():
    theory = theory_of(tr.uniform(1.0, 100))
    text = str(theory)
    assert len(rows_of(text)) == 21
    assert "and 80 more, with margins of 0.000 or above: the ranking works for 0 of them, the classifier for 0." in text
    assert text.count("and 9,880 more such pairs.") == 2
    assert theory.named(theory.ranking_holds, "labels") == "100 of 100 labels ('0', '1', '2' and 97 more)"
    assert len(theory.column_breaks) == 9900


def test_hostile_names_stay_on_their_line():
    names = ["cat\nrm", "\x1b[31mred\x1b[0m", "\u202edog\u2028", "x" * 500, ""]
    plain = str(theory_of(tr.uniform(1.0, 5), ["a", "b", "c", "d", "e"]))
    text = str(theory_of(tr.uniform(1.0, 5), names))
    assert len(text.splitlines()) == len(plain.splitlines())
    assert all(c.isprintable() for line in text.split("\n") for c in line)


def test_names_must_fit():
    with pytest.raises(InputError, match="2 class names were given for a transition matrix of 3 classes"):
        theory_of(tr.uniform(0.1, 3), ["a", "b"])
    with pytest.raises(InputError, match="Row 1"):
        theory_of([[1, 0], [0.2, 0.2]])
