"""Searches whose trials begin short and are continued if they are good."""

import json
import re
import unittest

from skyline_runs import SOURCE, RunsCase

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0.5"]  # trials of one epoch
SEARCHES = {"mo_asha": "trials: 40", "skyline": "trials: 40, budgets: [0.1111, 0.3333, 1]"}
SLOWER = {"mo_asha": [], "skyline": ["--set", "synthetic.seconds_per_gflop=15", "--set", "constraints=[{flops: [0, 3.0e+7]}]"]}


class Halving(RunsCase):
    def trials(self, run):
        trials = [json.loads(line) for line in self.canonical(run).splitlines()[1:]]
        return [{**trial, "ninths": round(9 * trial["epochs"])} for trial in trials]

    def front(self, run):
        return json.loads((self.folder / run / "pareto.json").read_text())["search_front"]

    def test_the_journal_is_the_same_for_any_ranks_and_after_a_kill(self):
        for name, options in SEARCHES.items():
            with self.subTest(name):
                one, two, killed = (f"{name}-{run}" for run in ("one", "two", "killed"))
                search = [*CONFIG, *SLOWER[name], "--set", f"search={{algorithm: {name}, {options}}}"]
                self.skyline("search", *search, "--run", one)
                whole = self.canonical(one)
                self.assertEqual({trial["ninths"] for trial in self.trials(one)}, {1, 3, 9})
                self.skyline("search", *search, "--run", two, ranks=2)
                self.assertEqual(self.canonical(two), whole)
                self.kill_after(10, "search", *search, "--run", killed, ranks=2)
                self.skyline("search", *search, "--run", killed, "--resume", ranks=3)
                self.assertEqual(self.canonical(killed), whole)

    def test_only_whole_trainings_are_on_fronts_and_in_volumes(self):
        rungs = [*CONFIG, "--set", "search={algorithm: successive_halving, initial: 18}"]
        done = self.skyline("search", *rungs, "--run", "rungs")
        trials = self.trials("rungs")
        self.assertEqual([sum(trial["ninths"] == rung for trial in trials) for rung in (1, 3, 9)], [18, 6, 2])
        self.assertEqual({trial["epochs"] for trial in self.front("rungs")}, {1})
        self.assertRegex(done.stderr, r"trial 18 \(on from \d+\) committed: ")
        other = self.skyline("search", *rungs, "--run", "other", "--set", "run.seed=2")
        volumes = [float(re.search(r"hypervolume (0\.\d+)", each.stdout)[1]) for each in (done, other)]
        best = [max(trial["metrics"]["validation_accuracy"] for trial in self.trials(run) if trial["ninths"] == 9)
                for run in ("rungs", "other")]
        table = self.skyline("compare", "rungs", "other").stdout
        for row, values in (("hypervolume", volumes), ("best validation_accuracy", best)):
            self.assertAlmostEqual(float(re.search(rf"{row} +all runs +2 +(0\.\d+)", table)[1]), sum(values) / 2, delta=2e-4)
        short = next(trial["k"] for trial in trials if trial["ninths"] == 1)
        refused = self.skyline("train", "rungs", "--trial", short, "--epochs", 20, "--run", "further", expect=2)
        self.assertIn(f"--trial {short}: had a part of its epochs in rungs, and was not continued", refused.stderr)

    def test_the_shortest_search_has_a_whole_training(self):
        for name, budgets in (("mo_asha", ""), ("skyline", ", budgets: [0.1111, 0.3333, 1]")):
            self.skyline("search", *CONFIG, "--set", f"search={{algorithm: {name}, trials: 3{budgets}}}", "--run", f"shortest-{name}", ranks=2)
            self.assertEqual([trial["ninths"] for trial in self.trials(f"shortest-{name}")], [1, 3, 9])
            self.assertEqual(len(self.front(f"shortest-{name}")), 1)

    def test_a_short_search_that_has_ended_is_extended(self):
        """Its last trials climbed, which those of a longer search would not have done."""
        for name, budgets in (("mo_asha", ""), ("skyline", ", budgets: [0.1111, 0.3333, 1]")):
            for window in (3, 8):
                run = f"extended-{name}-{window}"
                short = [*CONFIG, "--set", "synthetic.seconds_per_gflop=0", "--set", f"run.window={window}"]
                self.skyline("search", *short, "--set", f"search={{algorithm: {name}, trials: 5{budgets}}}", "--run", run)
                before = self.canonical(run)
                self.assertIn('"origin":"climb"', before)
                self.skyline("search", "--run", run, "--resume", "--set", "search.trials=24", ranks=2)
                self.assertTrue(self.canonical(run).startswith(before))
                self.assertEqual(len(self.trials(run)), 24)

    def test_a_search_that_ends_before_a_whole_training_says_so(self):
        done = self.skyline("search", *CONFIG, "--set", "search={algorithm: mo_asha, trials: 5}", "--set",
                            "constraints=[{validation_accuracy: [0.9999, 1]}]", "--run", "strict", expect=3)
        self.assertRegex(done.stderr, r"no trial ended well with its full budget; none with a smaller one meets the constraints, "
                                      r"so none went on; `validation_accuracy: \[0.9999, 1\]`: they have 0\.\d+ to 0\.\d+")

    def test_budgets_that_do_not_end_at_the_whole_are_refused(self):
        for name in SEARCHES:
            config = (SOURCE / "configs/synthetic.yaml").read_text().splitlines()
            line = next(i for i, text in enumerate(config, 1) if text.startswith("search:"))
            config[line - 1] = f"search: {{algorithm: {name}, budgets: [0.1, 0.5]}}"
            (self.folder / "short.yaml").write_text("\n".join(config))
            done = self.skyline("validate", "short.yaml", expect=2)
            place = f"short.yaml:{line}:{config[line - 1].index('[') + 1}: "
            self.assertIn(f"{place}search.budgets: expected 2 to 20 epochs that grow up to those of a whole trial, 1, got 0.1, 0.5", done.stderr)


if __name__ == "__main__":
    unittest.main()
