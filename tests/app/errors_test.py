"""What the user does wrong: one clear line, exit code 2, nothing lost; one rank's error ends all."""

import gzip
import subprocess
import time
import unittest

from skyline_runs import MPIEXEC, PROGRAM, RunsCase, small_digits


class Errors(RunsCase):
    def refused(self, *arguments, ranks=0):
        done = self.skyline(*arguments, ranks=ranks, expect=2)
        lines = [line for line in done.stderr.splitlines() if line.startswith("skyline: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_a_missing_configuration_is_named(self):
        self.assertIn("nowhere.yaml: No such file", self.refused("search", "nowhere.yaml", "--run", "a", ranks=2))
        self.assertFalse((self.folder / "a").exists())

    def test_an_unknown_command_or_option_is_a_users_error(self):
        self.skyline("serach", expect=2)
        self.skyline("search", "--rnu", "x", expect=2)

    def test_a_misspelt_key_is_refused_once_whatever_the_ranks(self):
        message = self.refused("search", *small_digits(self.digits), "--set", "search.itertions=3", "--run", "b", ranks=3)
        self.assertIn("did you mean `iterations`?", message)

    def test_a_truncated_data_file_is_refused(self):
        cut = self.folder / "cut.h5"
        cut.write_bytes(self.digits.read_bytes()[:5000])
        self.assertIn("cut.h5", self.refused("search", *small_digits(cut), "--run", "c"))

    def test_a_file_that_is_not_a_data_set_is_refused(self):
        text = self.folder / "text.h5"
        text.write_text("hello\n" * 1000)
        self.assertIn("text.h5", self.refused("validate", *small_digits(text)))

    def test_a_wrong_idx_magic_is_named(self):
        folder = self.folder / "idx"
        folder.mkdir()
        for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
            (folder / (name + ".gz")).write_bytes(gzip.compress(b"\x00\x00\x08\x07" + b"\x00" * 64))
        self.assertIn("wrong IDX magic", self.refused("prep", "mnist", "--from", folder, "--out", "m.h5"))
        self.assertFalse((self.folder / "m.h5").exists())

    def test_prep_of_an_unknown_set_suggests_a_known_one(self):
        self.assertIn("did you mean `mnist`?", self.refused("prep", "mnits", "--from", ".", "--out", "m.h5"))

    def test_an_unwritable_run_folder_is_named(self):
        (self.folder / "file").write_text("in the way")
        self.assertIn("file/run", self.refused("search", *small_digits(self.digits), "--run", "file/run", ranks=2))

    def test_status_of_something_else_says_so(self):
        self.assertIn("not a run folder", self.refused("status", "."))

    def test_coordinator_only_needs_a_second_rank(self):
        self.assertIn("2 ranks", self.refused("search", *small_digits(self.digits), "--run", "d", "--coordinator-only"))

    def test_an_error_on_one_rank_ends_all_with_its_message_once(self):
        here, there = self.folder / "here", self.folder / "there"
        for place in (here, there):
            place.mkdir()
        (here / "digits.h5").write_bytes(self.digits.read_bytes())
        search = [str(part) for part in [PROGRAM, "search", *small_digits("digits.h5"), "--run", self.folder / "e"]]
        command = [MPIEXEC, "--oversubscribe", "-np", "1", "-wdir", str(here), *search, ":", "-np", "1", "-wdir",
                   str(there), *search]
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("skyline: [rank 1 "), 1, done.stderr)
        self.assertIn("digits.h5", done.stderr)
        self.assertLess(time.monotonic() - started, 30)


if __name__ == "__main__":
    unittest.main()
