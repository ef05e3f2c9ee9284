"""Under a plain mpirun a rank that hangs ends the job, after the others have saved: a few of the runs of scripts/lose_ranks
--hang, and jobs whose files are looked at."""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import unittest

from fault_runs import Bench, end_tidily, faults_in, small_search
from lose_ranks import END_LIMIT_S, LOST_AFTER_S, LoseRanks

PROGRAM, SOURCE, FAULTS = (sys.argv.pop(1) for _ in range(3))
SEED = int(os.environ.get("SKYLINE_KILL_SEED", random.SystemRandom().randrange(2**31)))
LONG_TRIALS = ["training.epochs=100000", "checkpoint.interval=1 h", f"run.lost_after={LOST_AFTER_S} s"]


def handles(process, number):
    """Whether a process has a handler for that signal by now."""
    caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process}/status").read_text())[1]
    return int(caught, 16) >> (number - 1) & 1


class Hang(unittest.TestCase):
    def test_a_job_whose_rank_hangs_at_any_moment_ends_and_is_resumed_to_the_same_run(self):
        runs = LoseRanks(PROGRAM, SOURCE, FAULTS, SEED, ranks=3, plain=True)
        self.addCleanup(runs.remove)
        for stops in (False, True):
            with self.subTest(stops=stops, seed=SEED):
                print(runs.hang(f"stops-{stops}", stops), flush=True)

    def test_a_rank_that_is_suspended_before_mpi_has_started_ends_the_job_with_its_name(self):
        bench = Bench(PROGRAM, FAULTS)
        self.addCleanup(bench.remove)
        jobs = []
        for hung, stops in ((0, False), (1, False), (1, True)):
            run = f"{hung}-{stops}"
            jobs.append((bench.job("search", *small_search(bench, SOURCE), "--run", run, ranks=2, root=run, rank=hung, signal=int(signal.SIGSTOP)),
                         hung, stops))
        for job, hung, stops in jobs:
            if stops:
                job.wait_for(lambda: {0, 1} <= {rank for process, rank in job.processes().items() if handles(process, signal.SIGUSR1)})
                job.kill("mpirun", signal.SIGUSR1)
        for job, hung, stops in jobs:
            with self.subTest(hung=hung, stops=stops):
                self.assertEqual(job.wait(END_LIMIT_S), 75 if stops else 76, job.text())
                job.wait_until_all_are_gone()
                named = rf"\[rank {1 - hung} \S+\] rank {hung} on \S+ hangs \(suspended for 30 s\) while the job starts"
                self.assertRegex(job.text(), f"{named}|stopped on a signal, before the job had started" if stops else named)

    def test_the_others_wait_for_no_rank_that_is_suspended_while_it_exits(self):
        runs = LoseRanks(PROGRAM, SOURCE, FAULTS, SEED, ranks=2, plain=True)
        self.addCleanup(runs.remove)
        print(runs.hang_at_the_end("end"), flush=True)

    def check_saves(self, hung, number=None, settings=(), code=76, **faults):
        """A job of two ranks, both of which train when one hangs: the other one's trial is saved."""
        bench = Bench(PROGRAM, FAULTS)
        self.addCleanup(bench.remove)
        more = [part for setting in [*LONG_TRIALS, *settings] for part in ("--set", setting)]
        calls = bench.folder / "calls"  # log of the calls of the rank that ends the job
        job = bench.job("search", *small_search(bench, SOURCE), *more, "--run", "run", ranks=2, root="run", rank=1 - hung, log=calls, **faults)
        running = [bench.folder / f"run/checkpoints/running.{rank}" for rank in range(2)]
        job.wait_for(lambda: all(path.exists() and " running " in path.read_text() for path in running))
        trial = re.search(r" running (\d+) ", running[1 - hung].read_text())[1]
        before_s = job.cpu_s(1 - hung)
        job.wait_for(lambda: job.cpu_s(1 - hung) > before_s + 0.3)  # it has trained for some steps
        job.kill(hung, signal.SIGSTOP)
        if number:
            job.kill("mpirun", number)
        self.assertEqual(job.wait(END_LIMIT_S if number else LOST_AFTER_S + END_LIMIT_S), code, job.text())
        job.wait_until_all_are_gone()
        self.assertRegex(job.text(), rf"\[rank {1 - hung} \S+\] rank {hung} on \S+ hangs \(silent for \d+ s\)")
        self.assertTrue(list((bench.folder / "run/checkpoints").glob(f"{trial}.*.h5")), job.text())
        told = [(call, path) for call, path in faults_in(calls) if call == "abort" or call == "rename" and path.endswith("/status.json")]
        calls_before = [call for call, _ in told[-2:]]  # a fault in the writes of a text leaves other calls out of the log
        self.assertEqual(calls_before, ["abort"] if faults else ["rename", "abort"], "the exit code is written before the job is aborted")
        self.assertEqual(told[-1][1], str(code))
        status = subprocess.run([PROGRAM, "status", "run", "--exit-code"], cwd=bench.folder, capture_output=True, text=True)
        self.assertEqual(status.returncode, code, status.stdout + status.stderr)
        return job

    def test_the_trials_of_the_others_are_saved_before_the_job_ends(self):
        for hung in (1, 0):
            with self.subTest(hung=hung):
                self.check_saves(hung)

    def test_a_job_that_is_told_to_stop_has_one_exit_code_if_rank_0_hangs(self):
        self.check_saves(0, signal.SIGUSR1, code=75)

    def test_a_window_whose_messages_travel_point_to_point_changes_nothing(self):
        self.check_saves(1, settings=["run.dispatch=point_to_point"])

    def test_a_job_that_is_told_to_stop_does_so_without_the_rank_that_hangs_and_sooner(self):
        late = {"fault": "write:stall=3:1", "text": '"state": "stopped"'}  # the status, after which the exit code is written
        job = self.check_saves(1, signal.SIGUSR1, ["run.lost_after=10 min"], code=75, **late)
        self.assertIn("hangs (silent for 15 s): the job stops without it", job.text())


if __name__ == "__main__":
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
