"""Searches that are killed end as the undisturbed one: a few of the runs of scripts/kill_runs."""

import os
import random
import sys
import unittest

from kill_runs import KINDS, KillRuns

PROGRAM, SOURCE, FAULTS = (sys.argv.pop(1) for _ in range(3))
SEED = int(os.environ.get("SKYLINE_KILL_SEED", random.SystemRandom().randrange(2**31)))


class Kill(unittest.TestCase):
    def test_killed_searches_end_as_the_undisturbed_one(self):
        runs = KillRuns(PROGRAM, SOURCE, FAULTS, SEED)
        self.addCleanup(runs.remove)
        for kind in KINDS:
            with self.subTest(kind=kind, seed=SEED):
                print(runs.run(kind.replace(" ", "-"), kind), flush=True)


if __name__ == "__main__":
    unittest.main()
