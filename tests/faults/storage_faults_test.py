"""Storage that fails at chosen system calls: what passes is ridden out, what stays ends the run with one clear line."""

import itertools
import json
import os
import shutil
import signal
import sys
import time
import unittest

from fault_runs import TIMEOUT_S, Bench, end_tidily, saving_search, small_search

PROGRAM, SOURCE, FAULTS = (sys.argv.pop(1) for _ in range(3))
PATIENCE_S = 0.3  # with faults that stay
AMPLE_PATIENCE_S = 10 * TIMEOUT_S  # longer than any test waits
FOR_EVER = 0

USERS, FAULT = 2, 76  # exit codes: only a person can mend it; another try may
TEXTS = {"ENOSPC": "No space left on device", "EDQUOT": "Disk quota exceeded", "EIO": "Input/output error",
         "ESTALE": "Stale file handle", "EROFS": "Read-only file system", "EACCES": "Permission denied"}


class StorageFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench(PROGRAM, FAULTS)
        cls.search = ["search", *small_search(cls.bench, SOURCE), "--set", "training.epochs=0.5", "--set", "final.epochs=1",
                      "--set", "run.keep_weights=all", "--quiet", "--resume", "--run"]
        job = cls.bench.job(*cls.search, "whole", ranks=2)
        assert job.wait() == 0, job.text()
        cls.journal = cls.bench.canonical("whole")
        cls.weights = cls.bench.weights("whole")
        cls.numbers = itertools.count()

    @classmethod
    def tearDownClass(cls):
        cls.bench.remove()

    def job(self, run, patience_s=PATIENCE_S, **faults):
        return self.bench.job(*self.search, run, "--set", f"run.storage_patience={patience_s} s", ranks=2,
                              **{"root": run, **faults})

    def end(self, job, code):
        self.assertEqual(job.wait(), code, job.text())
        job.wait_until_all_are_gone()

    def last_words_of_ranks(self, job):
        return [line for line in job.text().splitlines() if line.startswith("skyline: ")]

    def last_words(self, job):
        """The one line that a person gets. Open MPI 5 may pass it on when the job is already gone."""
        deadline = time.monotonic() + TIMEOUT_S
        while not (lines := self.last_words_of_ranks(job)) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(len(lines), 1, job.text())
        return lines[0]

    def check_published(self, run):
        """What is published is the undisturbed run's, and every journalled result has its weights."""
        folder = self.bench.folder / run
        if not (folder / "journal.jsonl").exists():
            return
        self.assertTrue(self.journal.startswith(self.bench.canonical(run)))
        for name, data in self.bench.weights(run).items():
            self.assertTrue(".tmp." in name or data == self.weights[name], f"{name} is not the undisturbed run's")
        for line in (folder / "journal.jsonl").read_text().splitlines()[1:]:
            trial = json.loads(line)
            if trial["status"] == "ok" and trial["phase"] == "search":
                self.assertTrue((folder / "weights" / f"{trial['k']}.h5").exists(), line)

    def check_resumed(self, run):
        self.end(self.bench.job(*self.search, run), 0)
        self.check_whole(run)

    def check_whole(self, run):
        self.assertEqual(self.bench.canonical(run), self.journal)
        self.assertEqual(self.bench.weights(run), self.weights)
        self.assertEqual(self.bench.leftovers(run), [])
        shutil.rmtree(self.bench.folder / run)

    def check_lasting(self, file, op, error, first, rank=0):
        """The fault stays: one line that names file and error, in time; what is there reads well; and resumes."""
        run = f"run{next(self.numbers)}"
        with self.subTest(file=file, op=op, error=error):
            job = self.job(run, rank=rank, match=f"/{file}", fault=f"{op}:{error}:{first}:{FOR_EVER}")
            self.end(job, USERS if error in ("EACCES", "EROFS") else FAULT)
            line = self.last_words(job)
            self.assertIn(f"/{file}", line)
            self.assertIn(TEXTS[error], line)
            if error in ("ENOSPC", "EDQUOT"):
                self.assertIn("free some space", line)
            self.check_published(run)
            self.check_resumed(run)

    def test_a_journal_that_cannot_be_written_ends_the_run_with_one_line(self):
        self.check_lasting("journal.jsonl", "open", "EACCES", 1)
        self.check_lasting("journal.jsonl", "write", "ENOSPC", 3)
        self.check_lasting("journal.jsonl", "fsync", "EIO", 4)

    def test_weights_that_cannot_be_written_end_the_run_with_one_line(self):
        self.check_lasting("weights/", "open", "EDQUOT", 2, rank=1)
        self.check_lasting("weights/", "write", "ENOSPC", 2)
        self.check_lasting("weights/", "rename", "ESTALE", 1, rank=1)

    def test_a_folder_that_cannot_be_claimed_or_described_is_refused_with_one_line(self):
        self.check_lasting("owner.json", "open", "EROFS", 1)
        self.check_lasting("config.yaml", "write", "ENOSPC", 1)

    def test_results_that_cannot_be_written_end_the_run_with_one_line(self):
        self.check_lasting("run.h5", "write", "ENOSPC", 1)

    def test_faults_that_pass_are_ridden_out(self):
        for file, op, error, first, rank in (
                ("journal.jsonl", "write", "ENOSPC", 3, 0), ("journal.jsonl", "fsync", "EIO", 3, 0),
                ("weights/", "open", "EDQUOT", 1, 1), ("weights/", "rename", "ESTALE", 2, 0), ("owner.json", "write", "EIO", 1, 0)):
            run = f"run{next(self.numbers)}"
            with self.subTest(file=file, op=op, error=error):
                job = self.job(run, AMPLE_PATIENCE_S, rank=rank, match=f"/{file}", fault=f"{op}:{error}:{first}:2")
                self.end(job, 0)
                self.assertIn(TEXTS[error], job.text(), "the fault was met")
                self.check_whole(run)

    def test_faults_that_pass_in_the_folders_of_trials_are_ridden_out(self):
        """A program saves there, and later trials continue with copies."""
        search = ["search", *saving_search(self.bench, SOURCE, "program"), "--set", "search.trials=13", "--set",
                  f"run.storage_patience={AMPLE_PATIENCE_S} s", "--quiet", "--run"]
        whole = self.bench.job(*search, "folders", ranks=2)
        self.end(whole, 0)
        for op, error in (("fsync", "ENOSPC"), ("mkdir", "EDQUOT"), ("rename", "ESTALE")):
            run = f"run{next(self.numbers)}"
            with self.subTest(op=op):
                job = self.bench.job(*search, run, ranks=2, root=run, match="/trials/", fault=f"{op}:{error}:2:2")
                self.end(job, 0)
                self.assertIn(TEXTS[error], job.text(), "the fault was met")
                self.assertEqual(self.bench.canonical(run), self.bench.canonical("folders"))
                self.assertEqual(self.bench.leftovers(run), [])

    def test_storage_that_stands_still_for_a_while_is_ridden_out(self):
        job = self.job("stall", rank=0, match="/journal.jsonl", fault="fsync:stall=1:4")
        self.end(job, 0)
        self.check_whole("stall")

    def test_a_log_that_stands_still_holds_nobody_up(self):
        job = self.job("mute", rank=0, match="/logs/", fault=f"write:stall={TIMEOUT_S}:1:{FOR_EVER}")
        self.end(job, 0)
        self.assertIn("warning: the log file takes no lines: the rest of them are lost", job.text())
        self.check_whole("mute")

    def test_storage_that_stands_still_for_good_ends_the_run_with_one_line(self):
        for rank, file, call in ((0, "journal.jsonl", "fsync:stall={}:2"), (1, "weights/", "fsync:stall={}:2"),
                                 (1, "courses/", "open:stall={}:1"), (0, "owner.json", "unlink:stall={}:1")):
            with self.subTest(file=file):
                run = f"run{next(self.numbers)}"
                job = self.job(run, rank=rank, match=f"/{file}", fault=f"{call.format(TIMEOUT_S)}:{FOR_EVER}")
                self.end(job, FAULT)
                self.assertRegex(self.last_words(job), f"cannot write {run}/{file}.*: no answer for [23]0 s .*--resume")
                self.check_resumed(run)

    def test_storage_that_stands_still_while_a_job_starts_ends_it_with_one_line(self):
        run = f"run{next(self.numbers)}"
        job = self.job(run, root="", rank=1, match="/digits.h5", fault=f"read_open:stall={TIMEOUT_S}:1:{FOR_EVER}")
        self.end(job, FAULT)
        self.assertRegex(self.last_words(job), r"\[rank 1 .*cannot read .*digits.h5: no answer for 30 s .*--resume")
        self.check_resumed(run)

    def test_a_checkpoint_that_cannot_be_written_is_left_out_at_once(self):
        job = self.bench.job(*self.search, "checkpoint", "--set", f"run.storage_patience={AMPLE_PATIENCE_S} s", "--set",
                             "checkpoint.interval=0.1 epochs", "--set", "checkpoint.overhead=1", ranks=2, root="checkpoint",
                             match="/checkpoints/", fault=f"write:ENOSPC:1:{FOR_EVER}")
        self.end(job, 0)  # nobody waits for it
        self.assertRegex(job.text(), f"a checkpoint is left out: .*{TEXTS['ENOSPC']}")
        self.assertEqual(self.bench.canonical("checkpoint"), self.journal)

    def test_a_read_only_folder_is_refused_with_one_line(self):
        job = self.job("read-only", fault=f"any:EROFS:1:{FOR_EVER}")
        self.end(job, USERS)
        self.assertRegex(self.last_words(job), "read-only.*Read-only file system.*choose a place")

    def test_a_run_folder_that_vanishes_ends_the_run_with_one_line(self):
        held = self.bench.folder / "held"
        job = self.job("vanished", rank=0, hold=held, match="/weights/", fault="rename:hold:2")
        job.wait_for(held.exists)
        os.rename(self.bench.folder / "vanished", self.bench.folder / "elsewhere")
        held.unlink()
        self.end(job, USERS)
        lines = self.last_words_of_ranks(job)
        self.assertIn(len(lines), (1, 2), job.text())  # both ranks may meet it
        for line in lines:
            self.assertRegex(line, "vanished.*No such file or directory|vanished.*there is no folder")

    def test_a_signal_before_the_first_library_has_started_stops_a_job_and_ends_other_commands(self):
        job = self.bench.job(*self.search, "early", root="early", signal=int(signal.SIGUSR1))
        self.end(job, 75)
        self.assertIn("stopped on SIGUSR1 before the search began", job.text())
        self.check_resumed("early")
        for number in (signal.SIGUSR1, signal.SIGTERM):
            job = self.bench.job("schema", root="early", signal=int(number))
            self.assertEqual(job.wait(), -number)

    def test_a_failed_run_says_so_in_its_status(self):
        job = self.job("failed", rank=0, match="/journal.jsonl", fault=f"fsync:EIO:4:{FOR_EVER}")
        self.end(job, FAULT)
        self.assertEqual(json.loads((self.bench.folder / "failed/status.json").read_text())["state"], "failed")
        self.check_resumed("failed")

    def test_a_failed_run_does_not_wait_for_a_status_that_cannot_be_written(self):
        job = self.bench.job(*self.search, "silent", "--set", "search.iterations=1000", ranks=2, root="silent", rank=0,
                             match="/status.json", fault=f"fsync:stall={10 * TIMEOUT_S}:1:{FOR_EVER}")
        journal = self.bench.folder / "silent/journal.jsonl"
        job.wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 1)
        shutil.copy(journal, f"{journal}.copy")
        os.replace(f"{journal}.copy", journal)  # an error at the next line
        self.end(job, USERS)
        self.assertIn("another job has taken this run over", self.last_words(job))

    def test_a_second_sigint_ends_a_job_that_cannot_save_at_once(self):
        log = self.bench.folder / "sigint.log"
        job = self.bench.job(*self.search, "sigint", "--set", "checkpoint.interval=0.1 epochs", "--set",
                             "checkpoint.overhead=1", root="sigint", log=log, match="/checkpoints/",
                             fault=f"fsync:stall={10 * TIMEOUT_S}:1")
        job.wait_for(lambda: log.exists() and " fsync " in log.read_text())
        job.process.send_signal(signal.SIGINT)
        said = self.bench.folder / "sigint/logs/skyline.log"
        job.wait_for(lambda: "stopping" in said.read_text())
        job.process.send_signal(signal.SIGINT)
        self.end(job, 130)
        self.check_resumed("sigint")


if __name__ == "__main__":
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
