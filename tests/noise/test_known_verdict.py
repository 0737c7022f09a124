import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from smallloss.criterion import transition as tr
from smallloss.noise.answers import UNSURE, Answers
from smallloss.noise.known_verdict import KnownVerdict, judge_known
from smallloss.noise.verdict import check

NAMES = np.array(["cat", "dog", "bird", "fish"])


def ranked(kept: int = 60, of: int = 100) -> Any:
    """Four labels of 100 examples, of which the first 60 are kept."""
    rank = np.tile(np.arange(1, of + 1), len(NAMES))
    return SimpleNamespace(
        classes=NAMES, class_index=np.repeat(np.arange(4), of), rank_in_class=rank, mask=rank <= kept
    )


def answers(wrong_kept: int, wrong_dropped: int, kept: int = 40, dropped: int = 20) -> Answers:
    label = np.arange(kept + dropped) % 4
    is_kept = np.arange(kept + dropped) < kept
    wrong = np.where(is_kept, np.arange(kept + dropped) < wrong_kept, np.arange(kept + dropped) - kept < wrong_dropped)
    return Answers(np.arange(kept + dropped), is_kept, label, np.where(wrong, (label + 1) % 4, label))


def judged(T: np.ndarray | None, rate: float, said: Answers) -> KnownVerdict:
    return judge_known(T, np.full(4, rate), ranked(), said)


def test_a_dominant_matrix_and_answers_that_agree_bring_trust() -> None:
    verdict = judged(tr.uniform(0.4, 4), 0.3, answers(1, 14))
    assert verdict.trust == "trust"
    assert verdict.headline.startswith(
        "Trust the kept examples: with the T given the ranking holds, and of 40 checked by hand, 39 were right"
    )
    assert verdict.given_rate == pytest.approx(0.3)
    assert verdict.noise_rate.low < 0.3 < verdict.noise_rate.high
    assert f"The theory, with the T given: {check(tr.uniform(0.4, 4), list(NAMES)).headline}" in str(verdict)


def test_a_matrix_that_breaks_the_ranking_is_never_trusted() -> None:
    verdict = judged(tr.pairwise(0.6, 4), 0.6, answers(0, 20))
    assert verdict.trust == "do not trust"
    assert "100.0 % of them carry labels whose ranking breaks" in verdict.headline


def test_a_small_share_that_breaks_is_care() -> None:
    T = np.array([[0.4, 0.6, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
    selection = ranked()
    selection.mask = selection.mask & ((selection.class_index > 1) | (selection.rank_in_class <= 5))
    verdict = judge_known(T, np.array([0.5, 0.5, 0, 0]), selection, answers(0, 12))
    assert verdict.trust == "caution"
    assert "the ranking breaks for 7.7 % of them; leave these out" in verdict.headline


def test_kept_examples_as_wrong_as_the_rest_are_red_whatever_theory_says() -> None:
    verdict = judged(tr.uniform(0.4, 4), 0.3, answers(20, 10))
    assert verdict.trust == "do not trust"
    assert "of 40 kept labels checked by hand, 50 % were right" in verdict.headline
    assert "it is not the noise of these labels" in str(verdict)


def test_rates_alone_never_bring_trust() -> None:
    verdict = judged(None, 0.3, answers(0, 15))
    assert verdict.trust == "caution"
    assert "the theory says nothing" in verdict.headline


def test_few_or_no_kept_answers_bear_nothing_out() -> None:
    few = judged(tr.uniform(0.4, 4), 0.3, answers(0, 3, kept=3, dropped=4))
    assert few.trust == "caution"
    assert "3 answers on kept examples prove no more than" in few.headline
    said = answers(0, 15)
    nothing = Answers(said.index, said.kept, said.label, np.where(said.kept, UNSURE, said.true))
    verdict = judged(tr.uniform(0.4, 4), 0.3, nothing)
    assert verdict.trust == "caution"
    assert "no kept example was checked by hand" in verdict.headline
    facts = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert facts["audited"]["value"] is None
    assert facts["theory"]["trust"] == "trust"
