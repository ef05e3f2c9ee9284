"""Trials travel by collective operations or point to point: the journal is the same, also of a run that changes the way."""

import unittest

from skyline_runs import SOURCE, RunsCase

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0.02", "--set", "search.iterations=3",
          "--set", "final.epochs=2"]
SEARCHES = {"generations": [], "window": ["--set", "search.breed=commit", "--set", "run.window=6"]}
WAYS = ("collective", "point_to_point")


def by(way):
    return ["--set", f"run.dispatch={way}"]


class Dispatch(RunsCase):
    def test_the_journal_is_the_same_by_both_ways_on_any_number_of_ranks(self):
        for name, search in SEARCHES.items():
            self.skyline("search", *CONFIG, *search, "--run", name)
            for way in WAYS:
                for ranks in (2, 3):
                    run = f"{name}.{way}.{ranks}"
                    self.skyline("search", *CONFIG, *search, *by(way), "--run", run, ranks=ranks)
                    self.assertEqual(self.canonical(run), self.canonical(name), run)

    def test_a_killed_run_goes_on_by_the_other_way_to_the_same_journal(self):
        for name, search in SEARCHES.items():
            whole = f"{name}.whole"
            self.skyline("search", *CONFIG, *search, "--run", whole)
            for first, second in (WAYS, WAYS[::-1]):
                run = f"{name}.{first}.killed"
                self.kill_after(9, "search", *CONFIG, *search, *by(first), "--run", run, ranks=2)
                self.skyline("search", *CONFIG, *search, *by(second), "--run", run, "--resume", ranks=3)
                self.assertEqual(self.canonical(run), self.canonical(whole), run)


if __name__ == "__main__":
    unittest.main()
