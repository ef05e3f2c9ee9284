"""A search in little memory: candidates that can never fit fail, each with its numbers, and the search goes on."""

import unittest

from skyline_runs import RunsCase, small_digits

RESTING_MIB = 128  # memory of a rank without trials, stated in docs/training.md


class Memory(RunsCase):
    def search(self, name, memory, ranks=0, expect=0, more=()):
        config = [*small_digits(self.digits), "--set", "space.parameters.width.choice=[8, 16, 512]", "--set", "training.batch=256",
                  "--set", "search.initial=8", "--set", f"run.memory={memory}", "--set", "constraints=[]", *more]
        return self.skyline("search", *config, "--run", name, ranks=ranks, expect=expect)

    def test_candidates_that_can_never_fit_fail_alike_for_any_number_of_ranks(self):
        memory = f"{RESTING_MIB + 2 * 64} MiB"
        self.search("alone", memory, more=["--slots", 2])
        journal = self.canonical("alone")
        failed = [line for line in journal.splitlines() if '"out_of_memory"' in line]
        self.assertGreaterEqual(len(failed), 2, journal)
        for line in failed:
            self.assertIn('"width":512', line)
            self.assertRegex(line, r"not enough memory: \d+ MiB expected for \d+ parameters and a batch of 256, "
                                   r"a trial may take 128 MiB")
        self.assertGreater(journal.count('"validation_accuracy"'), 3)
        for ranks in (1, 2, 3):
            self.search(f"ranks{ranks}", memory, ranks=ranks)
            self.assertEqual(self.canonical(f"ranks{ranks}"), journal, ranks)

    def test_memory_in_which_not_even_the_program_fits_is_refused(self):
        done = self.search("little", "100 MB", ranks=2, expect=2)
        self.assertIn("`run.memory` is 96 MiB: expected more than the 128 MiB that a rank takes without trials", done.stderr)

    def test_memory_without_a_unit_is_refused(self):
        done = self.search("unit", "1000", expect=2)
        self.assertIn("run.memory: expected `auto` or a size above 0 with a unit, e.g. 64 GB or 60 GiB, got 1000", done.stderr)


if __name__ == "__main__":
    unittest.main()
