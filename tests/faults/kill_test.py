"""Searches that are killed end as the undisturbed one: a few of the runs of scripts/kill_runs."""

import os
import random
import sys
import unittest

from fault_runs import end_tidily
from kill_runs import KINDS, KillRuns, saving_search_of

PROGRAM, SOURCE, FAULTS = (sys.argv.pop(1) for _ in range(3))
SEED = int(os.environ.get("SKYLINE_KILL_SEED", random.SystemRandom().randrange(2**31)))


# The members of the final front are trained once more.
REFITTED = ["--set", "final.refit=true"]


# Half of the trials of the search start from the weights of a parent.
INHERITING = ["--set", "training.inherit=true", "--set", "search.iterations=4", "--set", "training.epochs=3"]


# Some candidates diverge in their first steps.
DIVERGING = ["--set", "training.precision=bf16", "--set", "training.optimizer={sgd: {learning_rate: 1.0e20}}",
             "--set", "training.epochs=2", "--set", "final.epochs=3", "--set", "checkpoint.interval=0.05 epochs",
             "--set", "space.parameters.width.choice=[8, 24]"]  # the second width multiplies in bfloat16


class Kill(unittest.TestCase):
    def kill_runs(self, *more, **search):
        runs = KillRuns(PROGRAM, SOURCE, FAULTS, SEED, more, **search)
        self.addCleanup(runs.remove)
        return runs

    def check(self, runs, kinds):
        for kind in kinds:
            with self.subTest(kind=kind, seed=SEED):
                print(runs.run(kind.replace(" ", "-"), kind), flush=True)

    def test_killed_searches_end_as_the_undisturbed_one(self):
        runs = self.kill_runs(*REFITTED)
        self.assertIn('"refit":true', runs.journal)
        self.check(runs, KINDS)

    def test_killed_searches_whose_trials_inherit_end_as_the_undisturbed_one(self):
        runs = self.kill_runs(*INHERITING)
        searched = runs.journal.count('"phase":"search"')
        self.assertGreaterEqual(runs.journal.count('"inherits":'), searched // 2, "too few trials inherit")
        self.check(runs, random.Random(SEED).sample(KINDS, 3))

    def test_killed_searches_of_a_trainer_that_saves_in_its_folder_end_as_the_undisturbed_one(self):
        trainer, helpers = random.Random(SEED).choice((("program", ()), ("function", ("server",))))
        runs = self.kill_runs(search=saving_search_of(trainer), helpers=helpers)
        self.assertGreaterEqual(runs.journal.count('"continues":'), 5, "too few trials are continued")
        self.check(runs, random.Random(SEED).sample(runs.kinds, 3))

    def test_killed_searches_whose_trials_diverge_end_as_the_undisturbed_one(self):
        runs = self.kill_runs(*DIVERGING)
        self.assertGreaterEqual(runs.journal.count('"diverged"'), 2, "too few trials diverge")
        self.check(runs, random.Random(SEED).sample(KINDS, 2))


if __name__ == "__main__":
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
