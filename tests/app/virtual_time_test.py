"""Commits by virtual time, whole runs of them, and the simulation that tells what they are good for."""

import re
import unittest

from skyline_runs import SOURCE, RunsCase

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0.1", "--set", "search.breed=commit",
          "--set", "search.iterations=3", "--set", "run.commit=virtual_time", "--set", "run.window=2x", "--set",
          "run.virtual_slots=3", "--set", "final.epochs=2"]


class VirtualTime(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *CONFIG, "--run", "whole")

    def test_the_journal_is_the_same_for_any_ranks_and_not_in_the_order_of_numbers(self):
        whole = self.canonical("whole")
        numbers = [int(number) for number in re.findall(r'"k":(\d+),"phase":"search"', whole)]
        self.assertEqual(sorted(numbers), list(range(len(numbers))))
        self.assertNotEqual(numbers, sorted(numbers))
        for ranks in (2, 3):
            self.skyline("search", *CONFIG, "--run", f"ranks{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"ranks{ranks}"), whole)

    def test_a_killed_run_goes_on_to_the_same_journal(self):
        whole = self.canonical("whole")
        for number, (first, second) in enumerate(((2, 3), (3, 1))):
            run = f"killed{number}"
            self.kill_after(7 + 8 * number, "search", *CONFIG, "--run", run, ranks=first)
            self.skyline("search", *CONFIG, "--run", run, "--resume", ranks=second)
            self.assertEqual(self.canonical(run), whole)

    def test_a_simulation_tells_how_long_how_busy_and_the_best_window(self):
        output = self.skyline("simulate", *CONFIG, "--slots", "3,8", "--trials", "200", "--windows").stdout
        self.assertRegex(output, r"# 200 trials .* of 1:00 on average, as forecast with an error of 0\.3")
        self.assertRegex(output, r"\n +3  virtual_time +2x +\d:\d\d:\d\d +\d+ % +\d+ % +[\d.]+\n +8  virtual_time +2x ")
        self.assertRegex(output, r"best window for 8 slots: [\d.]+x by virtual time, \d+x by number\n$")
        self.assertEqual(len(re.findall(r"^ +8  number +\d+x ", output, re.MULTILINE)), 9)

    def test_a_simulation_says_which_trials_are_long_enough_for_a_search_that_thinks(self):
        output = self.skyline("simulate", *CONFIG, "--slots", "1,64", "--trials", "200", "--think", "50ms").stdout
        self.assertIn("# a search that takes 0.0500 s for each proposal keeps 1 slot busy with trials of 0.0500 s or more, 64 slots busy "
                      "with trials of 3.20 s or more\n", output)

    def test_a_simulation_takes_the_times_of_a_run(self):
        output = self.skyline("simulate", *CONFIG, "--slots", "2", "--search", "--from", "whole").stdout
        self.assertRegex(output, r"# 42 trials of the search; times as measured in whole, of \d+ trials that were forecast "
                                 r"with an error of \d")
        self.assertRegex(output, r"\n +2  virtual_time +2x +[\d:]+ ", "trials of some milliseconds")
        done = self.skyline("simulate", *CONFIG, "--slots", "2", "--from", "nowhere", expect=2)
        self.assertIn("nowhere: not a run folder", done.stderr)

    def test_settings_that_leave_slots_idle_are_named_by_validate_doctor_and_the_search(self):
        small = [*CONFIG, "--set", "run.window=1"]
        trap = "run.window: 1 trial at a time for {} slots, which leaves {} idle"
        self.assertIn("# " + trap.format(64, 63), self.skyline("validate", *small, "--slots", "64").stdout)
        self.assertIn(trap.format(3, 2), self.skyline("doctor", *small, "--threads", "1000", ranks=3).stdout)
        self.assertIn(trap.format(3, 2), self.skyline("search", *small, "--set", "search.iterations=1", "--slots", "1",
                                                      "--run", "slow", ranks=3).stderr)


if __name__ == "__main__":
    unittest.main()
