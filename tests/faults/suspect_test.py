"""A candidate that ends its jobs becomes a failed trial after two deaths alone; a kill from outside never makes one."""

import json
import re
import shutil
import sys
import unittest

from fault_runs import Bench, end_tidily, small_search

PROGRAM, SOURCE, FAULTS = (sys.argv.pop(1) for _ in range(3))
SUSPECT = 3
# Notes of the suspect's rank in checkpoints/running.RANK.
BEGINS, ADVANCES = f"running {SUSPECT} ", f"advanced {SUSPECT} "


class Suspects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench(PROGRAM, FAULTS)
        cls.search = ["search", *small_search(cls.bench, SOURCE), "--set", "search.iterations=1", "--set", "final.epochs=6",
                      "--set", "checkpoint.interval=0.5 epochs", "--set", "checkpoint.overhead=1", "--quiet", "--resume"]
        cls.end(cls, "whole", 1)
        cls.journal = cls.bench.canonical("whole")

    @classmethod
    def tearDownClass(cls):
        cls.bench.remove()

    def end(self, run, slots, ranks=0, expect=(0,), **faults):
        job = self.bench.job(*self.search, "--slots", slots, "--run", run, ranks=ranks, root=run if faults else None, **faults)
        code = job.wait()
        job.wait_until_all_are_gone()
        assert code in expect, f"exit code {code}: {job.text()}"
        return code

    def die(self, run, slots, fault, text=BEGINS, ranks=0, or_end=False):
        """One job that dies at the moment when `text` is noted of the suspect. Returns whether it did."""
        codes = {"crash": (-11, 139), "abort": (-6, 134), "kill-after": (-9, 137)}[fault]
        return self.end(run, slots, ranks, (*codes, 0) if or_end else codes, fault=f"write:{fault}:1", text=text) != 0

    def check_failed(self, run, status, cause):
        trials = [json.loads(line) for line in self.bench.canonical(run).splitlines()[1:]]
        failed = {trial["k"]: (trial["status"], trial["reason"]) for trial in trials if trial["status"] != "ok"}
        self.assertEqual(failed, {SUSPECT: (status, f"ended 2 jobs while it trained alone, the last by {cause}")})
        self.check_tidy(run)

    def check_undisturbed(self, run):
        self.assertEqual(self.bench.canonical(run), self.journal)
        self.check_tidy(run)

    def check_tidy(self, run):
        self.assertEqual(self.bench.leftovers(run), [])
        shutil.rmtree(self.bench.folder / run)

    def say_that_the_oom_killer_came(self, run):
        """The counter stood at 0 when the dead job began, and at 1 when it was told to stop."""
        for path in (self.bench.folder / run / "checkpoints").glob("running.*"):
            path.write_text(re.sub("oom_kills .*", f"oom_kills {0:<20} {1:<20} ", path.read_text()))

    def test_a_crash_of_the_only_slot_fails_the_trial_in_the_second_resume(self):
        for fault, cause in (("crash", "SIGSEGV"), ("abort", "SIGABRT")):
            with self.subTest(fault=fault):
                self.die(fault, 1, fault)
                self.die(fault, 1, fault)
                self.end(fault, 1)
                self.check_failed(fault, "exception", cause)

    def test_a_crash_in_company_is_tried_alone_twice_before_the_trial_fails(self):
        for ranks, slots in ((0, 4), (2, 2)):
            with self.subTest(ranks=ranks):
                # On a busy machine the others may be done before the suspect begins: then the first death counts too.
                for or_end in (False, False, True):
                    self.die("company", slots, "crash", ranks=ranks, or_end=or_end)
                self.end("company", slots, ranks)
                self.check_failed("company", "exception", "SIGSEGV")

    def test_a_trial_that_the_oom_killer_ended_twice_fails_for_memory(self):
        for _ in range(2):
            self.die("oom", 1, "kill-after")
            self.say_that_the_oom_killer_came("oom")
        self.end("oom", 1)
        self.check_failed("oom", "out_of_memory", "the OOM killer")

    def test_kills_from_outside_never_make_a_suspect(self):
        for slots in (1, 1, 4, 1):
            self.die("killed", slots, "kill-after")
        self.assertEqual(list((self.bench.folder / "killed/checkpoints").glob("*.suspect")), [])
        self.end("killed", 1)
        self.check_undisturbed("killed")

    def test_a_checkpoint_that_advances_ends_the_suspicion(self):
        # A crash after a checkpoint does not count. On a busy machine the trial may end before its checkpoint is written.
        deaths = (("crash", BEGINS), ("kill-after", ADVANCES), ("crash", BEGINS), ("crash", ADVANCES), ("crash", BEGINS))
        while not all(self.die("advances", 1, fault, text, or_end=text == ADVANCES) for fault, text in deaths):
            shutil.rmtree(self.bench.folder / "advances")
        self.end("advances", 1)
        self.check_undisturbed("advances")


if __name__ == "__main__":
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
