"""Optuna's TPE as the algorithm of a search, and what is searched."""

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState


def train(x, y):
    return (x - 0.3) ** 2 + (y == "b")


class Tpe:
    def __init__(self, space, objectives):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.space = {name: CategoricalDistribution(values) for name, values in space.items()}
        self.metrics = [name for each in objectives for name in each.values()]
        self.study = optuna.create_study(directions=[next(iter(each)) for each in objectives])
        self.trials, self.seen = {}, []

    def ask(self, n, seed):
        """It draws by the seed alone. A proposal of before would be refused, so TPE is asked again."""
        self.study.sampler = optuna.samplers.TPESampler(seed=seed)
        chosen = []
        while len(chosen) < n:
            trial = self.study.ask(self.space)
            if trial.params in self.seen:
                self.study.tell(trial, state=TrialState.FAIL)
                continue
            self.seen.append(trial.params)
            self.trials[str(sorted(trial.params.items()))] = trial
            chosen.append(trial.params)
        return chosen

    def tell(self, result):
        trial = self.trials[str(sorted(result.parameters.items()))]
        if result.values is None:
            self.study.tell(trial, state=TrialState.FAIL)
        else:
            self.study.tell(trial, [result.values[name] for name in self.metrics])
