"""Algorithms that propose at commits: one journal for any ranks, windows apart, also after kills."""

import json
import unittest

from skyline_runs import SOURCE, RunsCase

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "run.events=false", "--set"]
ALGORITHMS = {"regularized_evolution": "initial: 8", "local_search": "initial: 6", "nsga2": "population: 8, repeats: 3",
              "mo_bananas": "initial: 6, batch: 4, repeats: 2"}


class Algorithms(RunsCase):
    def origins(self, run):
        return [json.loads(line)["origin"] for line in self.canonical(run).splitlines()[1:]]

    def expected(self, run):
        """What a model expected of the trials that it chose: one deviation less, the value, one more."""
        lines = map(json.loads, (self.folder / run / "journal.jsonl").read_text().splitlines()[1:])
        by_model = [line for line in lines if line["origin"] == "model"]
        self.assertFalse([line for line in by_model if "repeat" in line and "expected" in line], "that of the mean is not its own")
        return [line["expected"] for line in by_model if "repeat" not in line]

    def test_the_journal_is_the_same_for_any_ranks_and_after_a_kill(self):
        for name, options in ALGORITHMS.items():
            with self.subTest(name):
                search = [*CONFIG, "synthetic.seconds_per_gflop=0.2", "--set", f"search={{algorithm: {name}, trials: 30, {options}}}"]
                self.skyline("search", *search, "--run", f"{name}-1")
                whole = self.canonical(f"{name}-1")
                self.assertEqual(whole.count("\n"), 31)
                self.assertEqual('"repeat":' in whole, "repeats" in options)
                self.assertIn("model" if name == "mo_bananas" else "mutation", self.origins(f"{name}-1"))
                self.skyline("search", *search, "--run", f"{name}-3", ranks=3)
                self.assertEqual(self.canonical(f"{name}-3"), whole)
                self.assertNotIn("expected", whole)
                self.assertEqual(self.expected(f"{name}-3"), self.expected(f"{name}-1"))
                self.kill_after(12, "search", *search, "--run", f"{name}-2", ranks=2)
                self.skyline("search", *search, "--run", f"{name}-2", "--resume", ranks=2)
                self.assertEqual(self.canonical(f"{name}-2"), whole)
                for low, value, high in self.expected(f"{name}-2"):
                    self.assertTrue(0 <= low <= value <= high <= 1)

    def test_an_extended_search_has_the_journal_of_a_long_one(self):
        for name, options in ALGORITHMS.items():
            with self.subTest(name):
                search = [*CONFIG, "synthetic={}", "--set"]
                self.skyline("search", *search, f"search={{algorithm: {name}, trials: 14, {options}}}", "--run", f"{name}-long")
                longer = f"search={{algorithm: {name}, trials: 24, {options}}}"
                self.skyline("search", *search, longer, "--run", f"{name}-long", "--resume", ranks=2)
                self.skyline("search", *search, longer, "--run", f"{name}-whole")
                self.assertEqual(self.canonical(f"{name}-long").splitlines()[1:], self.canonical(f"{name}-whole").splitlines()[1:])


if __name__ == "__main__":
    unittest.main()
