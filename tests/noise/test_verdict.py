import json

import numpy as np
import pytest

from smallloss.criterion import transition as tr
from smallloss.errors import InputError
from smallloss.noise.verdict import Break, check

CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def rows_of(text: str) -> list[str]:
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("class "))
    return lines[start + 1 : lines.index("", start)]


def test_uniform_noise_is_trusted():
    verdict = check(tr.uniform(0.5, 10), CIFAR10)
    assert verdict.trust == "trust"
    assert verdict.headline.startswith("Trust the ranking: under every label")
    assert "less than 0.250 from ideal" in verdict.headline
    assert verdict.column_breaks == verdict.row_breaks == ()
    assert [row.split()[0] for row in rows_of(str(verdict))] == CIFAR10
    assert "breaks" not in str(verdict)


def test_structured_noise_of_the_paper_is_trusted_worst_first():
    verdict = check(tr.structured(0.4), CIFAR10)
    assert verdict.trust == "trust"
    assert rows_of(str(verdict))[0].split() == ["cat", "0.200", "0.100", "holds", "holds"]
    assert rows_of(str(verdict))[1].split() == ["dog", "0.200", "0.100", "holds", "holds"]
    np.testing.assert_allclose(verdict.tolerated_epsilon, tr.tolerated_epsilon(tr.structured(0.4)))


def test_too_much_structured_noise_is_not_trusted_and_the_pair_is_named():
    verdict = check(tr.structured(0.6), CIFAR10)
    assert verdict.trust == "do not trust"
    assert verdict.headline.startswith("Do not trust the ranking: under 2 of 10 labels ('cat', 'dog')")
    assert [(b.true, b.label) for b in verdict.column_breaks] == [("cat", "dog"), ("dog", "cat")]
    assert [b.true for b in verdict.row_breaks] == ["bird", "cat", "deer", "dog", "truck"]
    text = str(verdict)
    assert (
        "label 'dog': true 'cat' examples get it with probability 0.60, true 'dog' ones with 0.40, "
        "so a wrong 'dog' that is truly 'cat' has no larger loss than a right one." in text
    )
    assert "true 'bird': labelled 'airplane' (0.60) at least as often as 'bird' (0.40)" in text
    assert rows_of(text)[0].split() == ["cat", "-0.200", "0.000", "BREAKS", "ERRS"]


def test_the_boundary_is_a_break():
    verdict = check(tr.structured(0.5), CIFAR10)
    assert verdict.trust == "do not trust"
    assert verdict.column_breaks[0] == Break("cat", "dog", 0.5, 0.5)
    assert rows_of(str(verdict))[0].split()[1] == "0.000"


def test_row_failure_alone_leaves_the_ranking_trusted():
    verdict = check([[0.4, 0.6, 0], [0.1, 0.8, 0.1], [0, 0, 1]], ["cat", "dog", "bird"])
    assert verdict.trust == "caution"
    assert verdict.headline.startswith("Trust the ranking, but not a classifier fitted to all labels")
    assert verdict.headline.endswith("errs on 1 of 3 true classes ('cat').")
    assert verdict.ranking_holds == (True, True, True)
    assert verdict.classifier_holds == (False, True, True)
    assert verdict.row_breaks == (Break("cat", "dog", 0.6, 0.4),)
    assert "Where the ranking breaks" not in str(verdict)


def test_breaks_and_facts_agree_for_random_matrices():
    rng = np.random.default_rng(0)
    for _ in range(50):
        verdict = check(rng.dirichlet(np.full(5, 0.5), size=5))
        assert (verdict.trust != "do not trust") == all(verdict.ranking_holds) == (not verdict.column_breaks)
        broken = {name for name, good in zip(verdict.classes, verdict.ranking_holds, strict=True) if not good}
        assert {b.label for b in verdict.column_breaks} == broken
        errs = {name for name, good in zip(verdict.classes, verdict.classifier_holds, strict=True) if not good}
        assert {b.true for b in verdict.row_breaks} == errs
        excess = [b.flipped - b.kept for b in verdict.column_breaks]
        assert excess == sorted(excess, reverse=True)


def test_many_classes_are_summed_up():
    verdict = check(tr.uniform(1.0, 100))
    text = str(verdict)
    assert len(rows_of(text)) == 21
    assert "and 80 more, with margins of 0.000 or above: the ranking holds in 0 of them, the classifier in 0." in text
    assert text.count("and 9,880 more such pairs.") == 2
    assert "100 of 100 labels ('0', '1', '2' and 97 more)" in verdict.headline
    assert len(verdict.column_breaks) == 9900


def test_to_dict_survives_json_and_keeps_names():
    verdict = check(tr.structured(0.6), CIFAR10)
    facts = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert facts["headline"] == verdict.headline
    assert facts["trust"] == "do not trust"
    assert facts["classes"] == CIFAR10
    assert facts["column_breaks"][0] == {
        "true": "cat",
        "label": "dog",
        "flipped": pytest.approx(0.6),
        "kept": pytest.approx(0.4),
    }
    assert facts["ranking_holds"][3] is False


def test_hostile_names_stay_on_their_line():
    names = ["cat\nrm", "\x1b[31mred\x1b[0m", "\u202edog\u2028", "x" * 500, ""]
    plain = str(check(tr.uniform(1.0, 5), ["a", "b", "c", "d", "e"]))
    text = str(check(tr.uniform(1.0, 5), names))
    assert len(text.splitlines()) == len(plain.splitlines())
    assert all(c.isprintable() for line in text.split("\n") for c in line)


def test_names_must_fit():
    with pytest.raises(InputError, match="2 class names were given for a transition matrix of 3 classes"):
        check(tr.uniform(0.1, 3), ["a", "b"])
    with pytest.raises(InputError, match="Row 1"):
        check([[1, 0], [0.2, 0.2]])
