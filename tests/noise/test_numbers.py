"""Every number that is said of the noise, in cases with nothing round about them, stays what it was.

What they mean is tested beside each module. After a change meant to move them: python tests/noise/test_numbers.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from smallloss.noise.accuracy import held_out_questions, with_answers, without_answers
from smallloss.noise.answers import NONE, UNSURE
from smallloss.noise.blocks import answers_needed, anytime, draw_blocks
from smallloss.noise.confident import confident_joint, label_issues
from smallloss.noise.estimate import estimate, predictions
from smallloss.noise.model import NoiseModel
from smallloss.noise.rates import KEPT, OTHERS, rates_from
from smallloss.noise.teach import teach

STORED = Path(__file__).parents[1] / "data_files" / "noise_numbers.json"
N, C = 403, 4


def world() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """True classes of different frequency, labels of which one in four is wrong, probabilities of two networks that
    each say nothing of an eighth, features."""
    rng = np.random.default_rng(7)
    true = rng.choice(C, N, p=[0.4, 0.3, 0.2, 0.1])
    labels = np.where(rng.random(N) < 0.22 + 0.07 * true, (true + 1) % C, true)
    each = [softmax(2.5 * np.eye(C)[true] + rng.normal(size=(N, C)), axis=1) for _ in range(2)]
    P = np.array(each)
    P[0, ::8], P[1, 3::8] = np.nan, np.nan
    return true, labels, P, np.eye(C)[true] + 0.5 * rng.normal(size=(N, C))


def answered(rows: np.ndarray, true: np.ndarray) -> dict[int, int]:
    """Now and then nobody can tell, or it is no class at all."""
    said = {row: int(true[row]) for row in rows.tolist()}
    return said | dict.fromkeys(rows[5::17].tolist(), UNSURE) | dict.fromkeys(rows[3::19].tolist(), NONE)


def accuracies() -> dict[str, Any]:
    true, labels, P, _ = world()
    seen, halves = np.nan_to_num(P).sum(0).argmax(1), np.nan_to_num(P).argmax(2)
    learnt = np.where(np.arange(N) % 3, seen, labels)
    rates = np.array([np.mean(true[labels == k] != k) for k in range(C)])
    joint = np.histogram2d(true, labels, C)[0] / N
    questions = held_out_questions(labels == seen, 60, [3], [5, 50])
    said = answered(questions, true)
    few = dict(list(said.items())[:9])
    known = {row: int(true[row]) for row in range(N) if row not in said and row % 37 == 0} | {401: UNSURE}
    return {
        "plain": without_answers(labels, seen, rates),
        "by joint": without_answers(labels, seen, rates, joint),
        "halves": without_answers(labels, seen, rates, joint, halves=halves),
        "worse halves": without_answers(labels, seen, rates, joint, halves=np.where(np.arange(N) % 5, halves, 0)),
        "mistakes learnt": without_answers(labels, learnt, rates, joint, halves=halves),
        "ends": without_answers(labels, seen, rates, joint, low=0.1, upper=np.minimum(rates + 0.1, 0.9), halves=halves),
        "asked": questions,
        "answers": with_answers(labels, seen, said),
        "few": with_answers(labels, seen, few),
        "known": with_answers(labels, seen, {row: one for row, one in said.items() if row not in known}, known),
    }


def estimates() -> dict[str, Any]:
    _, labels, P, _ = world()
    both, one = estimate(P, labels), estimate(P[1], labels, level=0.8)
    names = ("noise_rate", "low", "high", "upper", "transition", "prior", "contradicted", "differ", "sure", "overall")
    words = ("tells_nothing", "evidence", "notes")
    found = {
        which: {name: getattr(one_of, name) for name in (*names, *words)}
        for which, one_of in (("two", both), ("one", one))
    }
    seen, known = predictions(np.nan_to_num(P, nan=0.25)[0]), np.nan_to_num(P, nan=0.25).mean(0)
    return found | {
        "predictions": [part.astype(float)[:120] for part in seen],
        "joint": confident_joint(known, labels, C),
        "issues": np.flatnonzero(label_issues(known, labels)),
    }


def bets() -> dict[str, Any]:
    true, labels, P, _ = world()
    score = np.nan_to_num(P, nan=0.1).mean(0)[np.arange(N), labels]
    blocks = draw_blocks(np.arange(N) * 3, score, seed=(4, 1))
    asked = np.concatenate(blocks.rows)
    right: dict[int, bool | None] = {int(row): bool(true[row // 3] == labels[row // 3]) for row in asked[:107]}
    right |= dict.fromkeys(asked[4:40:9].tolist())
    known = {"right_known": 17, "known": 21}
    return {
        "rows": blocks.rows[:4], "share": blocks.share[-3:], "centre": blocks.centre, "spread": blocks.spread,
        "looks": [anytime(blocks, dict(list(right.items())[:k]), level=0.95) for k in (0, 5, 20, 60, 107)],
        "known": anytime(blocks, right, level=0.9, **known),
        "needed": [answers_needed(blocks, right, promise, level=0.95, **known) for promise in (0.3, 0.65, 0.8, 0.95)],
        "first": answers_needed(blocks, {}, 0.9, level=0.95),
        "missed": answers_needed(blocks, {row: right[row] for row in [*right][2:]}, 0.6, level=0.95),
    }  # fmt: skip


def rates() -> dict[str, Any]:
    true, labels, *_ = world()
    order = np.random.default_rng(1).permutation(N)
    stream = np.where(np.arange(N) % 3 > 0, KEPT, OTHERS)
    stream[::41] = -1
    drawn = order[:90][stream[order[:90]] >= 0]
    said, before = answered(order[:120], true), np.array([0.1, 0.2, 0.15, 0.3])
    kept = [row for row in drawn.tolist() if stream[row] == KEPT]
    return {
        name: after(rates_from(labels, answers, sampled, stream, known))
        for name, answers, sampled, known in (
            ("both", said, drawn.tolist(), before),
            ("kept alone", said, kept, before),
            ("none drawn", said, [], before),
            ("contradicted", said, drawn.tolist(), before / 20),
            ("few", dict(list(said.items())[:7]), drawn[:5].tolist(), before),
        )
    }


def after(found: NoiseModel) -> dict[str, Any]:
    names = ("noise_rate", "low", "high", "upper", "overall", "sampled")
    return {name: getattr(found, name) for name in names} | {"contradicted": bool(found.notes)}


def taught() -> dict[str, Any]:
    true, labels, P, X = world()
    score = P.mean(0)[np.arange(N), labels]
    order = np.random.default_rng(2).permutation(N)
    said = answered(order[:110], true)
    found = {"random": order[:80].tolist(), "few": order[:10].tolist()}
    return {name: teach(X, labels, score, said, drawn, C)._asdict() for name, drawn in found.items()}


CASES = {"accuracies": accuracies, "estimates": estimates, "bets": bets, "rates": rates, "taught": taught}


def plain(value: Any) -> Any:
    """As JSON has it: numbers of nine digits."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.9g}") if np.isfinite(value) else repr(float(value))
    return value.item() if isinstance(value, np.generic) else value


def same(found: Any, stored: Any, where: str) -> None:
    if isinstance(stored, dict):
        assert found.keys() == stored.keys(), where
        for name in stored:
            same(found[name], stored[name], f"{where}/{name}")
    elif isinstance(stored, list):
        assert len(found) == len(stored), where
        for k, (left, right) in enumerate(zip(found, stored, strict=True)):
            same(left, right, f"{where}/{k}")
    elif isinstance(stored, float):
        assert found == pytest.approx(stored, rel=1e-5, abs=1e-8), where
    else:
        assert found == stored, where


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_stay_what_they_were(case):
    same(plain(CASES[case]()), json.loads(STORED.read_text(encoding="utf-8"))[case], case)


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: plain(make()) for name, make in CASES.items()}), encoding="utf-8")
