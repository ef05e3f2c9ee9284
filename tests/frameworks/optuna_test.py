"""Optuna with Skyline: our search as a sampler of its studies, and its TPE as a tuner of ours.

usage: optuna_test.py PROGRAM SOURCE
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

PROGRAM, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).parent)]
os.environ["SKYLINE"] = str(PROGRAM)

import optuna  # noqa: E402
import optuna_tuner  # noqa: E402
import skyline  # noqa: E402
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {"rate": skyline.range(1e-4, 0.1, log=True), "layers": skyline.range(1, 8), "dropout": skyline.range(0.0, 0.5), "norm": ["batch", "none", None]}
DISTRIBUTIONS = {"rate": FloatDistribution(1e-4, 0.1, log=True), "layers": IntDistribution(1, 8), "dropout": FloatDistribution(0, 0.5),
                 "norm": CategoricalDistribution(["batch", "none", None])}


def values_of(trial):
    return (trial.suggest_float("rate", 1e-4, 0.1, log=True), trial.suggest_int("layers", 1, 8), trial.suggest_float("dropout", 0, 0.5),
            trial.suggest_categorical("norm", ["batch", "none", None]))


def loss(trial):
    rate, layers, dropout, norm = values_of(trial)
    return abs(rate - 0.01) * 50 + (layers - 5) ** 2 / 10 + dropout + (norm != "batch")


class Optuna(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-optuna-")).resolve()
        self.addCleanup(shutil.rmtree, self.folder)

    def study(self, space=None, directions=("minimize",), settings=None, **more):
        sampler = skyline.optuna_sampler(SPACE if space is None else space, seed=1, **(settings or {}))
        return optuna.create_study(directions=directions, sampler=sampler, **more)

    def test_a_study_has_the_proposals_of_the_sampler(self):
        sampler = skyline.Sampler(SPACE, [{"minimize": "value_0"}], seed=1)
        self.addCleanup(sampler.close)
        for space in (SPACE, DISTRIBUTIONS):
            study = self.study(space)
            study.optimize(loss, n_trials=25)
            self.assertLess(study.best_value, 0.3)
        for trial in study.trials:
            (number, parameters), = sampler.ask()
            self.assertEqual(trial.params, parameters)
            sampler.tell(number, trial.value)

    def test_several_objectives_are_the_directions(self):
        study = self.study(directions=("minimize", "maximize"))
        study.optimize(lambda trial: (loss(trial), trial.params["layers"]), n_trials=40)
        self.assertGreater(len(study.best_trials), 1)
        self.assertEqual(len({str(trial.params) for trial in study.trials}), 40)

    def test_metrics_that_are_known_before_a_training_guide_it(self):
        bounds = {"metrics": {"size": {"is": "10 * $layers"}}, "constraints": [{"size": [0, 40]}]}
        study = self.study(settings=bounds)
        study.optimize(loss, n_trials=12)
        self.assertLessEqual(max(trial.params["layers"] for trial in study.trials), 4)
        study = self.study(directions=("minimize", "minimize"), settings={"metrics": {"value_1": {"is": "10 * $layers"}}})
        study.optimize(lambda trial: (loss(trial), 10 * trial.params["layers"]), n_trials=12)
        self.assertEqual(len({str(trial.params) for trial in study.trials}), 12)

    def test_failed_and_pruned_trials_and_those_of_others_count(self):
        def objective(trial):
            value = loss(trial)
            if trial.number % 4 == 1:
                raise ValueError("no")
            if trial.number % 4 == 2:
                trial.report(value + 1, 1)
                raise optuna.TrialPruned()
            return value

        study = self.study()
        study.enqueue_trial({"rate": 0.01, "layers": 5, "dropout": 0.01, "norm": "batch"})
        study.enqueue_trial({"layers": 2})
        study.add_trial(optuna.trial.create_trial(params={"rate": 0.0123, "layers": 5, "dropout": 0.123, "norm": "batch"},
                                                  distributions=DISTRIBUTIONS, value=0.2))
        study.add_trial(optuna.trial.create_trial(params={"layers": 5}, distributions={"layers": IntDistribution(1, 8)}, value=0.1))
        study.optimize(objective, n_trials=20, catch=(ValueError,))
        states = [trial.state.name for trial in study.trials]
        self.assertEqual(len(states), 22)
        self.assertGreater(min(map(states.count, ("COMPLETE", "FAIL", "PRUNED"))), 3)
        self.assertLess(study.best_value, 0.2)

    def test_threads_and_parameters_that_were_not_declared(self):
        study = self.study()
        study.optimize(lambda trial: loss(trial) + trial.suggest_float("other", 0, 1), n_trials=16, n_jobs=4)
        self.assertEqual(len({str(trial.params) for trial in study.trials}), 16)

    def test_a_study_stops_when_the_space_has_no_more(self):
        study = self.study({"layers": skyline.range(1, 8)})
        study.optimize(lambda trial: trial.suggest_int("layers", 1, 8), n_trials=100)
        self.assertEqual({trial.params["layers"] for trial in study.trials}, set(range(1, 9)))
        self.assertLess(len(study.trials), 10)
        for _ in range(3):  # outside of `optimize`, where nothing can be stopped
            study.tell(study.ask(study.trials[0].distributions), 1)
        self.assertLessEqual({trial.params["layers"] for trial in study.trials[-3:]}, set(range(1, 9)))

    def test_a_study_goes_on_while_an_algorithm_waits_for_results(self):
        study = self.study(settings={"search": {"algorithm": "local_search", "initial": 4}})
        waiting = [study.ask(DISTRIBUTIONS) for _ in range(6)]
        for trial in reversed(waiting):
            study.tell(trial, loss(trial))
        study.optimize(loss, n_trials=3)
        self.assertEqual([len(trial.params) for trial in study.trials], [len(SPACE)] * 9)
        study = self.study(settings={"search": {"algorithm": "local_search", "initial": 1}})
        study.optimize(loss, n_trials=12, n_jobs=4)
        self.assertEqual([trial.state.name for trial in study.trials], ["COMPLETE"] * 12)

    def test_a_sampler_belongs_to_one_study(self):
        sampler = skyline.optuna_sampler(SPACE)
        optuna.create_study(sampler=sampler, study_name="one").optimize(loss, n_trials=1)
        with self.assertRaisesRegex(skyline.Error, "this sampler is that of the study one: make another one for two"):
            optuna.create_study(sampler=sampler, study_name="two").optimize(loss, n_trials=1)

    def test_a_study_of_a_storage_goes_on_with_the_results_of_before(self):
        storage = f"sqlite:///{self.folder}/study.db"
        self.study(study_name="s", storage=storage).optimize(loss, n_trials=12)
        more = optuna.load_study(study_name="s", storage=storage, sampler=skyline.optuna_sampler(SPACE, seed=1))
        more.optimize(loss, n_trials=12)
        self.assertEqual(len({str(trial.params) for trial in more.trials}), 24)

    def test_tpe_chooses_the_trials_of_a_search(self):
        space = {"x": skyline.range(0.0, 1.0), "y": ["a", "b"]}
        runs = [skyline.search(space, optuna_tuner.train, minimize="loss", algorithm=optuna_tuner.Tpe, trials=30, quiet=True,
                               folder=self.folder / f"tpe{ranks}", command={"deterministic": True}, ranks=ranks).wait() for ranks in (1, 2)]
        rows = runs[0].rows
        self.assertEqual(len(rows), 30)
        self.assertLess(min(row["loss"] for row in rows), 0.05)
        self.assertEqual([row["arch_id"] for row in runs[1].rows], [row["arch_id"] for row in rows])
        longer = skyline.search(space, optuna_tuner.train, minimize="loss", algorithm=optuna_tuner.Tpe, trials=11, quiet=True,
                                folder=self.folder / "longer", command={"deterministic": True}).wait()
        longer.resume(trials=30, ranks=2).wait()
        self.assertEqual([row["arch_id"] for row in longer.rows], [row["arch_id"] for row in rows])
        self.assertNotIn("answers otherwise", (longer.path / "logs/tuner.log").read_text())


if __name__ == "__main__":
    unittest.main()
