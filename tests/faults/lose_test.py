"""Searches that lose a rank go on and end as the undisturbed one: a few of the runs of scripts/lose_ranks."""

import os
import random
import signal
import sys
import unittest

from fault_runs import end_tidily
from lose_ranks import END_LIMIT_S, LOST_AFTER_S, LoseRanks

PROGRAM, SOURCE, FAULTS = (sys.argv.pop(1) for _ in range(3))
SEED = int(os.environ.get("SKYLINE_KILL_SEED", random.SystemRandom().randrange(2**31)))


class Lose(unittest.TestCase):
    def lose_ranks(self, *more):
        runs = LoseRanks(PROGRAM, SOURCE, FAULTS, SEED, ranks=3, more=more)
        self.addCleanup(runs.remove)
        return runs

    def test_a_search_that_loses_ranks_ends_as_the_undisturbed_one(self):
        runs = self.lose_ranks()
        for name, victims, number in (("killed", 2, signal.SIGKILL), ("hung", 1, signal.SIGSTOP)):
            with self.subTest(name, seed=SEED):
                print(runs.run(name, victims, number), flush=True)

    def test_a_job_that_loses_a_rank_while_it_starts_ends_or_goes_on(self):
        runs = self.lose_ranks()
        for index in range(3):
            with self.subTest(index, seed=SEED):
                print(runs.start(f"start{index}"), flush=True)

    def test_a_search_whose_rank_zero_hangs_ends_and_is_resumed(self):
        runs = self.lose_ranks()
        job = runs.bench.job(*runs.search, "zero", ranks=3)
        runs.wait_for_journal("zero", job)
        job.kill(0, signal.SIGSTOP)
        job.wait(LOST_AFTER_S + END_LIMIT_S)
        job.wait_until_all_are_gone(10)
        self.assertIn("rank 0 on ", job.text())
        runs.bench.job(*runs.search, "zero", "--resume", ranks=3).wait_until_all_are_gone()
        runs.compare("zero")

    def test_groups_that_lose_a_member_give_their_trial_back(self):
        with self.subTest(seed=SEED):
            print(self.lose_ranks("--set", "training.group.members=2").run("group"), flush=True)


if __name__ == "__main__":
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
