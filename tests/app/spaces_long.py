"""The long form of the worked spaces, by hand: PROGRAM SOURCE. Each is searched with inherited weights, on two ranks; a second
run is killed in the middle and goes on with three ranks. Both have one journal."""

import random
import unittest

from skyline_runs import RunsCase
from spaces_test import on_digits

LONG = ["--set", "training.epochs=1", "--set", "training.inherit=true", "--set", "search.iterations=3", "--set", "search.initial=8",
        "--set", "search.max_unseen=8"]


class Long(RunsCase):
    def killed_and_resumed(self, run, config):
        """@return the number of journal lines when it was killed"""
        self.kill_after(random.randint(4, 16), "search", *config, "--run", run, ranks=2)
        lines = self.canonical(run).count("\n")
        self.skyline("search", *config, "--run", run, "--resume", ranks=3)
        return lines

    def test_every_space_is_searched_with_one_journal_whether_killed_or_not(self):
        (self.folder / "data").mkdir()
        self.digits.rename(self.folder / "data/digits.h5")
        for path, settings in on_digits():
            config = [path, *settings, *LONG]
            self.skyline("search", *config, "--run", f"{path.stem}-whole", ranks=2)
            whole = self.canonical(f"{path.stem}-whole")
            killed_at = self.killed_and_resumed(f"{path.stem}-killed", config)
            self.assertEqual(self.canonical(f"{path.stem}-killed"), whole, path)
            inherited = whole.count('"inherits":')
            print(f"{path.stem}: {whole.count(chr(10)) - 1} trials, {inherited} inherit, killed after {killed_at - 1}", flush=True)


if __name__ == "__main__":
    unittest.main()
