"""The peers of scripts/bench/trainer_overhead: each starts a program or calls a function once a trial.

usage: trainer_overhead_peers.py optuna|ray|syne-tune|syne-tune-0.1 PROGRAM|FILE.py:FUNCTION TRIALS SLOTS
"""

import importlib
import os
import subprocess
import sys


def run_trial(program):
    file, _, function = program.partition(":")
    if function:
        sys.path[0], name = os.path.split(file)
        return getattr(importlib.import_module(name.removesuffix(".py")), function)(1)
    subprocess.run([program], check=True, capture_output=True)
    return 1.0


def optuna_search(program, trials, slots):
    import optuna

    def objective(trial):
        trial.suggest_int("x", 1, 100_000)
        return run_trial(program)

    optuna.create_study(sampler=optuna.samplers.RandomSampler()).optimize(objective, n_trials=trials, n_jobs=slots)


def ray_search(program, trials, slots):
    import ray
    from ray import tune

    def train(config):
        tune.report({"score": run_trial(program)})

    ray.init(num_cpus=slots, include_dashboard=False)
    tune.Tuner(tune.with_resources(train, {"cpu": 1}), param_space={"x": tune.randint(1, 100_000)},
               tune_config=tune.TuneConfig(num_samples=trials, metric="score", mode="max", max_concurrent_trials=slots,
                                           reuse_actors=True)).fit()


def syne_tune_search(program, trials, slots, **options):
    from syne_tune import StoppingCriterion, Tuner
    from syne_tune.backend import LocalBackend
    from syne_tune.config_space import randint
    from syne_tune.optimizer.baselines import RandomSearch

    scheduler = RandomSearch({"x": randint(1, 100_000)}, metrics=["score"], random_seed=1)
    Tuner(trial_backend=LocalBackend(entry_point=program, binary="/bin/bash"), scheduler=scheduler, n_workers=slots,
          stop_criterion=StoppingCriterion(max_num_trials_completed=trials), print_update_interval=1e9, **options).run()


def main():
    peer, program, trials, slots = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if peer == "optuna":
        optuna_search(program, trials, slots)
    elif peer == "ray":
        ray_search(program, trials, slots)
    else:  # its default, and how often it may look at the most
        syne_tune_search(program, trials, slots, **({"sleep_time": 0.1} if peer == "syne-tune-0.1" else {}))


main()
