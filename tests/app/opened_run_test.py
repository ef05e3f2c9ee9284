"""A run is opened by its folder alone: while it runs, stopped, finished, and without its data set."""

import re
import shutil
import signal
import subprocess
import unittest

from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, small_digits

# Trials of up to some seconds: the run still goes on while `status` starts on a busy machine.
CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=12", "--set", "search.iterations=1",
          "--set", "search.initial=6", "--set", "search.max_unseen=2", "--set", "constraints=[{flops: [0, 4.0e8]}]"]
STOPPED = 75


class OpenedRun(RunsCase):
    def start(self, run, *more):
        return subprocess.Popen(self.command("search", *CONFIG, "--run", run, *more), cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def stop(self, job):
        job.send_signal(signal.SIGTERM)
        out, err = job.communicate(timeout=TIMEOUT_S)
        self.assertEqual(job.returncode, STOPPED, f"{out}\n{err}")

    def trials_of(self, text, row):
        """The column `trials` of a row of the account."""
        found = re.search(rf"^{row} +\d+ +(\d+) ", text, re.MULTILINE)
        self.assertTrue(found, text)
        return int(found[1])

    def test_status_shows_the_front_while_the_run_goes_on_and_the_account_of_all_jobs_afterwards(self):
        job = self.start("run")
        self.wait_for_lines("run", 2)
        running = self.skyline("status", "run").stdout
        self.assertIn("run: running", running)
        self.assertIn("The front of the search:", running)
        self.stop(job)
        stopped = self.skyline("status", "run").stdout
        self.assertIn("stopped; resume with --resume", stopped)
        self.assertIn("hypervolume", stopped)
        self.assertRegex(stopped, "(?m)^rank 0 slot 0 ")
        first = self.trials_of(stopped, "all")
        self.assertGreaterEqual(first, self.canonical("run").count("\n") - 1)

        self.skyline("search", *CONFIG, "--run", "run", "--resume")
        finished = self.skyline("status", "run").stdout
        self.assertIn("run: finished", finished)
        self.assertEqual(self.trials_of(finished, "job 1"), first)
        self.assertEqual(self.trials_of(finished, "all"), self.canonical("run").count("\n") - 1)
        self.assertIn("in 2 jobs over", finished)

        again = self.skyline("search", *CONFIG, "--run", "run", "--resume").stdout
        self.assertNotIn("Account of time", again, "this job trained nothing")
        self.assertIn("in 2 jobs over", self.skyline("status", "run").stdout)

    def test_a_run_is_resumed_without_the_account_of_its_earlier_jobs(self):
        job = self.start("lost")
        self.wait_for_lines("lost", 2)
        self.stop(job)
        (self.folder / "lost/run.h5").write_bytes(b"not HDF5")
        done = self.skyline("search", *CONFIG, "--run", "lost", "--resume")
        self.assertIn("the account of the run's earlier jobs is lost", done.stderr)
        self.assertRegex(self.skyline("status", "lost").stdout, "(?m)^rank 0 slot 0 ")

    def test_a_finished_run_is_opened_without_its_data_set(self):
        data = self.folder / "moved.h5"
        shutil.copy(self.digits, data)
        done = self.skyline("search", *small_digits(data), "--run", "trained")
        data.unlink()
        status = self.skyline("status", "trained").stdout
        front = done.stdout[done.stdout.index("The final front"):done.stdout.index("\nsearch ended")]
        self.assertIn("trained: finished", status)
        self.assertTrue(status.endswith(front), f"{status}\n{front}")


if __name__ == "__main__":
    unittest.main()
