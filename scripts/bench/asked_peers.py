"""Others' optimizers that are asked for a point and told its values, as their users would run them.

`ASKED[name](numbers, words, maximize, seed, trials)` begins a search over indices of values. `numbers` and `words` have the
count of values of each parameter by name, `maximize` a truth per objective. It returns two functions: ask() gives a trial and
its choices by name, tell(trial, values) takes the values of its objectives, none for a point that has none.
"""

import tempfile


def optuna_peer(sampler_of):
    """@param sampler_of  returns a sampler of the module of samplers and a seed"""

    def begin(numbers, words, maximize, seed, _):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        directions = ["maximize" if one else "minimize" for one in maximize]
        study = optuna.create_study(directions=directions, sampler=sampler_of(optuna.samplers, seed))

        def ask():
            trial = study.ask()
            choices = {name: trial.suggest_int(name, 0, count - 1) for name, count in numbers.items()}
            choices.update((name, trial.suggest_categorical(name, list(range(count)))) for name, count in words.items())
            return trial, choices

        def tell(trial, values):
            if values:
                study.tell(trial, values)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)

        return ask, tell

    return begin


def smac_peer(numbers, words, maximize, seed, trials):
    """SMAC3 with the facade that its documentation names: a Gaussian process for numbers alone, else a random forest. Several
    objectives are joined by ParEGO. It measures no point twice, as the others."""
    from ConfigSpace import Categorical, ConfigurationSpace, Integer
    from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario
    from smac.multi_objective.parego import ParEGO
    from smac.runhistory.dataclasses import TrialValue
    from smac.runhistory.enumerations import StatusType

    space = ConfigurationSpace(seed=seed)
    space.add(*(Integer(name, (0, count - 1)) for name, count in numbers.items()),
              *(Categorical(name, list(range(count))) for name, count in words.items()))
    folder = tempfile.TemporaryDirectory()
    signs = [-1 if one else 1 for one in maximize]
    objectives = [f"objective_{i}" for i in range(len(signs))] if len(signs) > 1 else "cost"
    scenario = Scenario(space, objectives=objectives, n_trials=trials, seed=seed, deterministic=True,
                        output_directory=folder.name)
    several = {"multi_objective_algorithm": ParEGO(scenario)} if len(signs) > 1 else {}
    facade = HyperparameterOptimizationFacade if words else BlackBoxFacade
    smac = facade(scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False, **several)

    def ask():
        trial = smac.ask()
        return trial, {name: int(trial.config[name]) for name in (*numbers, *words)}

    def tell(trial, values, _=folder):  # the folder lasts as long as the search
        costs = [sign * value for sign, value in zip(signs, values)] if values else [1e9] * len(signs)
        status = StatusType.SUCCESS if values else StatusType.CRASHED
        smac.tell(trial, TrialValue(cost=costs if several else costs[0], status=status))

    return ask, tell


ASKED = {
    "optuna-tpe": optuna_peer(lambda samplers, seed: samplers.TPESampler(seed=seed)),
    "optuna-gp": optuna_peer(lambda samplers, seed: samplers.GPSampler(seed=seed)),
    "optuna-nsga2": optuna_peer(lambda samplers, seed: samplers.NSGAIISampler(population_size=20, seed=seed)),
    "smac": smac_peer,
}
