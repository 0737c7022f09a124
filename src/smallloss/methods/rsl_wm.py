"""RSL_WM: RSL's selection, with the rest as unlabeled data (section 4, Weighted_MixMatch)."""

from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.selection import Selection
from smallloss.learning.stage import Stage
from smallloss.learning.task import Task
from smallloss.methods.mixmatch import WeightedMixMatch
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned, Noise, choose, new_network, warm_up


def train(task: Task, settings: Settings, noise: Noise) -> Learned:
    """D_sel_WM = Weighted_MixMatch(D_sel, D_u): Algorithm 1 with its last line replaced."""
    stage1 = warm_up(task, settings)
    assert stage1.ledger is not None
    score = stage1.ledger.score(settings.score)
    selection = choose(task, settings, noise, score)

    recipe, how = settings.rsl_wm, settings.mixmatch
    ledger = LossLedger(len(task.dataset)) if how.rounds > 1 else None
    record = range(how.score_from(recipe.epochs), recipe.epochs)

    def look_again(ledger: LossLedger) -> Selection:
        return choose(task, settings, noise, ledger.score(settings.score), beta=how.second_beta)

    objective = WeightedMixMatch(task, "rsl_wm", selection, recipe, how, look_again)
    net = settings.last_net
    module = new_network(task, net, "rsl_wm")
    final = Stage(task, "rsl_wm", objective, recipe, [module], ledger=ledger, record=record).fit()
    stages = {"stage1": stage1, "rsl_wm": final}
    if final.ledger is None:
        evidence = f"{settings.score} over stage 1"
        return Learned("rsl_wm", net, final, selection, score, evidence, stage1.ledger, stages)
    # The semi-supervised network has seen right labels almost alone: its losses are the better evidence.
    evidence = f"{settings.score} over stage 2 (second look)"
    score = final.ledger.score(settings.score)
    return Learned("rsl_wm", net, final, look_again(final.ledger), score, evidence, final.ledger, stages)
