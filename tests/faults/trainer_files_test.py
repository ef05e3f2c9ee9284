"""Files of trainers on storage that fails: they have the same patience, and the same watch, as the run's own."""

import itertools
import sys
import unittest

from fault_runs import Bench, end_tidily, saving_search

PROGRAM, SOURCE, FAULTS = (sys.argv.pop(1) for _ in range(3))
AMPLE_PATIENCE_S, SHORT_PATIENCE_S = 60, 0.3
STALL_S = 180
FAULT = 76
TEXTS = {"ENOSPC": "No space left on device", "EDQUOT": "Disk quota exceeded", "EIO": "Input/output error", "ESTALE": "Stale file handle"}


class TrainerFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench(PROGRAM, FAULTS)
        cls.search = ["search", *saving_search(cls.bench, SOURCE, "program"), "--set", "search.trials=13", "--quiet", "--run"]
        cls.numbers = itertools.count()
        whole = cls.bench.job(*cls.search, "whole", ranks=2)
        assert whole.wait() == 0, whole.text()

    @classmethod
    def tearDownClass(cls):
        cls.bench.remove()

    def job(self, run, patience_s, match, fault, **options):
        return self.bench.job(*self.search, run, "--set", f"run.storage_patience={patience_s} s", *options.pop("more", []), ranks=2,
                              root=run, match=match, fault=fault, **options)

    def end(self, job, code):
        self.assertEqual(job.wait(), code, job.text())
        job.wait_until_all_are_gone()

    def check_whole(self, run):
        self.assertEqual(self.bench.canonical(run), self.bench.canonical("whole"))
        self.assertEqual(self.bench.weights(run), self.bench.weights("whole"))
        self.assertEqual(self.bench.leftovers(run), [])

    def test_faults_that_pass_are_ridden_out(self):
        for match, call, error in (("/parameters.json", "write", "EDQUOT"), ("/parameters.json", "close", "ENOSPC"),
                                   ("/trainer/attempts/", "mkdir", "EIO"), ("/report.jsonl", "open", "ENOSPC"),
                                   ("/logs/trials/", "open", "EDQUOT"), ("/trials/", "unlink", "EIO"),
                                   ("/trainer/started_in", "fsync", "EIO")):
            run = f"run{next(self.numbers)}"
            with self.subTest(match=match, call=call):
                job = self.job(run, AMPLE_PATIENCE_S, match, f"{call}:{error}:1:2")
                self.end(job, 0)
                self.assertRegex(job.text(), f"now: .*{TEXTS[error]}; trying again for 60 s")
                self.check_whole(run)

    def test_a_fault_that_stays_ends_the_job_with_one_line_that_names_file_and_reason(self):
        for match, call, error in (("/parameters.json", "write", "EDQUOT"), ("/logs/trials/", "open", "ENOSPC")):
            run = f"run{next(self.numbers)}"
            with self.subTest(match=match):
                job = self.job(run, SHORT_PATIENCE_S, match, f"{call}:{error}:3:0", rank=0)
                self.end(job, FAULT)
                self.assertRegex(job.text(), f"skyline: .*cannot write .*{match}.*{call}: {TEXTS[error]} .*free some space")
                self.end(self.bench.job(*self.search, run, "--resume", ranks=2), 0)
                self.check_whole(run)

    def test_storage_that_stands_still_ends_the_job_with_one_line(self):
        for match, call in (("/parameters.json", "open"), ("/logs/trials/", "open"), ("/trainer/attempts/", "mkdir"),
                            ("/report.jsonl", "read_open")):
            run = f"run{next(self.numbers)}"
            with self.subTest(match=match):
                job = self.job(run, SHORT_PATIENCE_S, match, f"{call}:stall={STALL_S}:3:0", rank=1)
                self.end(job, FAULT)
                self.assertRegex(job.text(), "skyline: .*cannot .*: no answer for [23]0 s .*--resume")
                self.end(self.bench.job(*self.search, run, "--resume", ranks=2), 0)
                self.check_whole(run)


if __name__ == "__main__":
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
