"""The table of a run, ranked anew by what was answered: nothing is trained again."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from smallloss.auditing.rounds import State
from smallloss.auditing.run import Audited
from smallloss.auditing.written import RANDOM, Heard
from smallloss.criterion.ranking import rank_class_by_class
from smallloss.criterion.selection import Selection
from smallloss.criterion.settings import Criterion
from smallloss.noise.answers import SUSPICIOUS, found_wrong
from smallloss.noise.choose import select_by
from smallloss.noise.model import NoiseModel
from smallloss.noise.rates import KEPT, OTHERS, rates_from
from smallloss.noise.teach import ENOUGH, Taught, teach
from smallloss.record.examples import HELD_OUT, TRAIN, Part


def what_it_teaches(run: Audited, heard: Heard) -> Taught:
    """Label scores of all rows, by the run's own and by what was answered."""
    if run.features is None:
        return Taught(run.label_score, 1.0, 0.0, "The run kept no features of its examples: the answers teach nothing.")
    answers, sampled = run.known | heard.answers, list(heard.asked(RANDOM))
    return teach(run.features, run.labels, run.label_score, answers, sampled, len(run.classes))


def set_apart(state: State, heard: Heard) -> State:
    """Of what looks as wrong as something that was asked about for that, no random draw speaks any more."""
    asked = [row for row in heard.asked(SUSPICIOUS) if not state.apart[row]]
    if not asked:
        return state
    as_suspicious = ~state.kept & (state.suspicion <= state.suspicion[asked].max())
    return replace(state, apart=state.apart | as_suspicious)


def rates_after(run: Audited, state: State, heard: Heard) -> NoiseModel:
    """Noise rates of what was trained on, by the answers of one round, that with the most or the last of these.

    What was answered before it is counted one by one. What was drawn later, of streams that its answers have chosen, is
    no sample of its own: that is left out. Fewer than ENOUGH would move the rates of all labels by chance alone: they
    are counted one by one too.
    """
    drawn = np.array(list(heard.asked(RANDOM)), np.int64)
    in_round = np.isin(state.stream, (KEPT, OTHERS))
    asked_then = in_round[:, drawn] & ~np.vstack([in_round[1:, drawn], np.zeros(len(drawn), bool)])
    most = max(range(len(in_round)), key=lambda r: (int(asked_then[r].sum()), r))
    apart = (state.stream[most] == OTHERS) & state.apart
    stream = np.where(in_round[most] & ~apart, state.stream[most], -1)
    later = set(drawn[in_round[most, drawn] & ~asked_then[most]].tolist())
    place = {row: at for at, row in enumerate(run.trained_on.tolist())}
    said = {row: true for row, true in (run.known | heard.answers).items() if row in place and row not in later}
    sampled = [place[row] for row in drawn[asked_then[most]].tolist() if stream[row] >= 0]
    answers = {place[row]: true for row, true in said.items()}
    if len(drawn) < ENOUGH:
        sampled = []
    known = run.noise_rate, run.estimate
    return rates_from(run.labels[run.trained_on], answers, sampled, stream[run.trained_on], *known)


def ranked_anew(
    run: Audited, label_score: np.ndarray, rates: NoiseModel, answers: Mapping[int, int], kept: np.ndarray | None
) -> list[Part]:
    """As the run selects, by other scores and rates; `kept`: this much of the table stands, since it was checked."""
    prior = replace(run.noise, noise_rate=rates.noise_rate).of(run.labels[run.trained_on]).prior
    noise, parts = replace(rates, prior=prior), list[Part]()
    how = Criterion.of(run.settings.get("settings", {}))
    for split, rows in ((TRAIN, run.trained_on), (HELD_OUT, run.held_out)):
        labels, suspicion = run.labels[rows], 1 - label_score[rows]
        said = {at: answers[row] for at, row in enumerate(rows.tolist()) if row in answers}
        chosen = select_by(noise, suspicion, labels, how, classes=run.classes, answers=said)
        if kept is not None:
            chosen = _keeping(chosen, kept[rows] & ~found_wrong(labels, said))
        parts.append(Part(split, rows, replace(chosen, score=suspicion, probability=label_score[rows])))
    return [part for part in parts if len(part.index)]


def _keeping(chosen: Selection, kept: np.ndarray) -> Selection:
    """The same ranks, behind those of what stays kept, and no more than that is."""
    c, rank = len(chosen.classes), chosen.rank_in_class.astype(np.float64)
    rank = np.where(rank > 0, rank - len(rank) * kept, np.nan)
    labelled, num = (np.bincount(some, minlength=c) for some in (chosen.class_index, chosen.class_index[kept]))
    quota = replace(chosen.quota, num=num, available=np.maximum(chosen.quota.available, num))
    return replace(
        chosen, rank_in_class=rank_class_by_class(rank, chosen.class_index, labelled, chosen.quota.n), quota=quota,
        trusted=np.maximum(chosen.trusted, num),
    )  # fmt: skip
