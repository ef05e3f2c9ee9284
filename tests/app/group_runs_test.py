"""The digits search with trials that groups train: for any number of ranks, through a stop and a kill."""

import unittest

from skyline_runs import RunsCase, read_json, small_digits


class GroupRuns(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = [*small_digits(cls.digits), "--set", "training.group.members=2", "--set",
                      "training.group.batch_statistics=synchronized"]
        for name, ranks in (("one", 1), ("two", 2), ("three", 3)):
            cls().skyline("search", *cls.config, "--run", name, ranks=ranks)

    def test_the_journals_of_any_number_of_ranks_are_the_same_bytes(self):
        one = self.canonical("one")
        self.assertGreater(one.count('"members":2'), 8)
        for name in ("two", "three"):
            self.assertEqual(self.canonical(name), one, name)

    def test_the_results_name_the_members(self):
        trials = read_json(self.folder / "two/models.json")["trials"]
        self.assertEqual({trial["members"] for trial in trials}, {2})
        front = read_json(self.folder / "two/pareto.json")["search_front"]
        self.assertTrue(all((self.folder / "two" / member["weights"]).exists() for member in front))

    def test_a_stopped_and_a_killed_run_go_on_with_another_number_of_ranks(self):
        config = [*self.config, "--set", "training.epochs=4", "--set", "final.epochs=6"]
        self.skyline("search", *config, "--run", "undisturbed", ranks=2)
        for name, disturb in (("stopped", self.stop_after), ("killed", self.kill_after)):
            disturb(2, "search", *config, "--run", name, ranks=2)
            self.skyline("search", *config, "--run", name, "--resume", ranks=3)
            self.assertEqual(self.canonical(name), self.canonical("undisturbed"), name)

    def test_batches_in_parts_give_the_same_journal_for_any_number_of_ranks(self):
        parts = ["--set", "training.accumulate=3", "--set", "training.group.batch_statistics=local"]
        for ranks in (1, 2):
            self.skyline("search", *self.config, *parts, "--run", f"parts{ranks}", ranks=ranks)
        self.assertEqual(self.canonical("parts1"), self.canonical("parts2"))
        done = self.skyline("search", *self.config, *parts, "--set", "training.accumulate=2", "--run", "parts1", "--resume",
                            expect=2)
        self.assertIn("`training.accumulate` differs", done.stderr)

    def test_another_size_of_groups_is_another_run(self):
        done = self.skyline("search", *self.config, "--set", "training.group.members=1", "--run", "one", "--resume",
                            expect=2)
        self.assertIn("`training.group.members` differs", done.stderr)

    def test_validate_tells_the_sizes_of_groups(self):
        output = self.skyline("validate", *self.config).stdout
        self.assertIn("# groups: of 200 random architectures 200 are trained by 2 members\n", output)
        self.assertNotIn("# groups", self.skyline("validate", *small_digits(self.digits)).stdout)


if __name__ == "__main__":
    unittest.main()
