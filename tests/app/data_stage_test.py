"""data.stage: a search reads its data set from a copy on the node, and is the same search."""

import fcntl
import os
import signal
import subprocess
import unittest

from skyline_runs import TIMEOUT_S, RunsCase, small_digits


class DataStage(RunsCase):
    def setUp(self):
        self.intact = self.digits.read_bytes()
        self.addCleanup(self.digits.write_bytes, self.intact)

    def arguments(self, *more):
        return [*small_digits(self.digits), "--set", "search.iterations=1", "--set", "training.epochs=0.1", *more]

    def search(self, run, *more, stage=None, ranks=0, **others):
        settings = []
        if stage is not None:
            (self.folder / stage).mkdir(exist_ok=True)
            settings = ["--set", f"data.stage={stage}"]
        return self.skyline("search", *self.arguments(*settings, *more), "--run", run, ranks=ranks, **others).stderr

    def damage_the_original(self):
        """In the middle, among the images: the seal at its start stays as it is."""
        size = len(self.intact)
        self.digits.write_bytes(self.intact[:size // 2] + bytes(size // 4) + self.intact[size * 3 // 4:])

    def copies(self, stage):
        return [path for path in (self.folder / stage).rglob("*") if path.is_file()]

    def test_is_the_same_search_for_any_number_of_ranks_and_reads_the_one_copy(self):
        self.search("plain")
        self.assertIn("from copies in disk: made on 1 node, ", self.search("staged1", stage="disk", ranks=1))
        (copy,) = self.copies("disk")
        self.assertEqual(copy.read_bytes(), self.intact)
        self.damage_the_original()
        self.assertIn("from copies in disk: found on 1 node", self.search("staged2", stage="disk", ranks=2))
        for run in ("staged1", "staged2"):
            self.assertEqual(self.canonical(run), self.canonical("plain"))
        self.assertEqual(self.copies("disk"), [copy])
        self.digits.write_bytes(self.intact)
        self.search("staged1", "--resume", stage="elsewhere")
        self.search("staged2", "--resume")
        self.assertEqual(self.canonical("staged1"), self.canonical("plain"))

    def test_a_job_that_is_told_to_stop_while_it_waits_for_its_copy_goes_on_later(self):
        self.search("whole")
        (self.folder / "busy").mkdir()
        stage = self.folder / f"busy/skyline-{os.geteuid()}"
        stage.mkdir(mode=0o700)
        log = self.folder / "log"
        turn = os.open(stage, os.O_RDONLY)
        self.addCleanup(os.close, turn)
        fcntl.flock(turn, fcntl.LOCK_EX)  # lock of another job that copies
        with log.open("w") as terminal:
            process = subprocess.Popen(self.command("search", *self.arguments("--set", "data.stage=busy"), "--run", "later",
                                                    ranks=2), cwd=self.folder, stdout=terminal, stderr=terminal)
            try:
                self.wait_until(lambda: "2 ranks on 1 node" in log.read_text(), "it does not start")
                process.send_signal(signal.SIGUSR1)
                self.assertEqual(process.wait(timeout=TIMEOUT_S), 75, log.read_text())
            finally:
                process.kill()
        limit = ["--set", "data.stage=busy", "--set", "run.time_limit=1 s"]
        done = self.skyline("search", *self.arguments(*limit), "--run", "later", "--resume", ranks=2, expect=75)
        self.assertIn("skyline: stopped at run.time_limit before the search began", done.stdout)
        fcntl.flock(turn, fcntl.LOCK_UN)
        self.assertIn("this job is to stop", log.read_text())
        self.assertIn("skyline: stopped on SIGUSR1 before the search began", log.read_text())
        self.assertFalse((self.folder / "later/journal.jsonl").exists())
        self.assertEqual(self.copies("busy"), [])
        self.search("later", "--resume", stage="busy", ranks=2)
        self.assertEqual(self.canonical("later"), self.canonical("whole"))

    def test_a_damaged_original_is_refused_with_and_without_a_copy_to_make(self):
        self.damage_the_original()
        self.assertIn("damaged", self.search("unstaged", expect=2))
        self.assertIn("damaged", self.search("new", stage="other", ranks=2, expect=2))
        self.assertEqual(self.copies("other"), [])

    def test_a_job_that_is_to_stop_does_not_check_the_data_first(self):
        self.damage_the_original()
        done = self.skyline("search", *self.arguments("--set", "run.time_limit=0.001 s"), "--run", "late", ranks=2, expect=75)
        self.assertNotIn("damaged", done.stdout + done.stderr)

    def test_a_folder_that_is_not_there_is_refused_in_one_line(self):
        arguments = self.arguments("--set", "data.stage=nowhere")
        for command in (["search", *arguments, "--run", "refused"], ["doctor", *arguments]):
            done = self.skyline(*command, ranks=2, expect=2)
            text = done.stdout + done.stderr
            self.assertEqual(text.count("cannot keep copies of data in nowhere/skyline-"), 1, text)
        self.assertIn("nowhere, made at the start", self.skyline("validate", *arguments).stdout)


if __name__ == "__main__":
    unittest.main()
