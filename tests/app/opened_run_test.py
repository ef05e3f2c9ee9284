"""A run is opened by its folder alone: while it runs, stopped, finished, and without its data set."""

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, checksum, small_digits

# Trials of up to some seconds: the run still goes on while `status` starts on a busy machine.
CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=30", "--set", "search.iterations=1",
          "--set", "search.initial=6", "--set", "search.max_unseen=2", "--set", "constraints=[{flops: [0, 4.0e8]}]"]
STOPPED = 75
KEPT = SOURCE / "tests/store/runs"  # one of each version of the journal


class OpenedRun(RunsCase):
    @contextlib.contextmanager
    def held_search(self, run, *more):
        """A search that still goes on when it is looked at, and is stopped then."""
        with self.held_after(2, "search", *CONFIG, "--run", run, *more) as job:
            yield
            job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(TIMEOUT_S), STOPPED)

    def trials_of(self, text, row):
        """The column `trials` of a row of the account."""
        found = re.search(rf"^{row} +\d+ +(\d+) ", text, re.MULTILINE)
        self.assertTrue(found, text)
        return int(found[1])

    def test_status_shows_the_front_while_the_run_goes_on_and_the_account_of_all_jobs_afterwards(self):
        with self.held_search("run"):
            running = self.skyline("status", "run").stdout
            self.assertIn("run: running", running)
            self.assertIn("The front of the search:", running)
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

    def test_status_shows_the_best_of_a_long_front_and_all_of_it_when_asked(self):
        (self.folder / "long.yaml").write_text(
            "data: {shape: [1, 8, 8], classes: 10}\nsynthetic: {seconds_per_gflop: 0}\n"
            "space:\n  parameters: {width: {range: [1, 30]}}\n  network: [flatten, linear: {features: $width}, linear: {features: 10}]\n"
            "objectives: [maximize: parameters, minimize: flops]\nsearch: {algorithm: exhaustive}\n")
        self.skyline("search", "long.yaml", "--run", "long")
        rows = r"(?m)^ +\d+  [0-9a-f]{16} "
        best = self.skyline("status", "long").stdout
        self.assertEqual(len(re.findall(rows, best)), 20)
        self.assertIn("and 10 more: --all shows them\n", best)
        whole = self.skyline("status", "long", "--all").stdout
        self.assertEqual(len(re.findall(rows, whole)), 30)
        self.assertNotIn("more:", whole)
        self.assertEqual(len(json.loads(self.skyline("status", "long", "--json").stdout)["front_trials"]), 30)

    def watch_on_a_terminal(self, run):
        """What a watching process writes to a terminal of 40 rows, as a list that grows."""
        terminal, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        watch = subprocess.Popen(self.command("status", run, "--watch"), cwd=self.folder, stdout=screen)
        os.close(screen)
        chunks = []

        def read():
            try:
                while chunk := os.read(terminal, 4096):
                    chunks.append(chunk.decode(errors="replace"))
            except OSError:
                pass  # the last writer is gone
            os.close(terminal)

        reader = threading.Thread(target=read)
        reader.start()
        return watch, reader, chunks

    def test_a_watched_run_shows_its_front_and_what_its_slots_train(self):
        with self.held_search("watched", "--slots", 2, "--set", "synthetic.seconds_per_gflop=100"):
            watch, reader, chunks = self.watch_on_a_terminal("watched")
            told = json.loads(self.skyline("status", "watched", "--json").stdout)
            self.assertTrue(told["training"])
            for slot in told["training"]:
                self.assertIn((slot["rank"], slot["slot"]), [(0, 0), (0, 1)])
                self.assertIn("width=", slot["genotype"])
                self.assertLess(abs(slot["begun"] - time.time()), 3600)
            self.assertTrue(told["front_trials"])
            self.assertLessEqual({"trial", "parameters", "objectives"}, set(told["front_trials"][0]))
            shown = re.compile("training +rank 0 slot .*trial +arch id .*trials/min", re.DOTALL)
            self.wait_until(lambda: shown.search("".join(chunks)), "it does not show its slots")
        self.assertEqual(watch.wait(timeout=TIMEOUT_S), 0)
        reader.join()
        self.assertRegex("".join(chunks), "(?s)training +rank 0 slot .*trial +arch id .*trials/min.*stopped; resume with")
        ended = json.loads(self.skyline("status", "watched", "--json").stdout)
        self.assertEqual(ended["training"], [])
        self.assertTrue(ended["front_trials"])
        self.assertIn('"state":"stopped"', (self.folder / "watched/report.html").read_text())

    def test_a_run_is_watched_from_before_its_first_job_on(self):
        (self.folder / "pending").mkdir()
        (self.folder / "pending/slurm-7.log").touch()  # of a job that has been submitted
        watch = self.start("status", "pending", "--watch", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(watch.stderr.readline(), "skyline: pending: waiting for its first job\n")
        self.skyline("search", *CONFIG, "--set", "synthetic.seconds_per_gflop=0", "--run", "pending")
        shown, told = watch.communicate(timeout=TIMEOUT_S)
        self.assertEqual((watch.returncode, told), (0, ""))
        self.assertRegex(shown, "(?s)pending: finished.*The front of the search:")

    def test_a_folder_of_something_else_is_not_watched(self):
        (self.folder / "other").mkdir()
        (self.folder / "other/mine.txt").touch()
        for run in ("other", "nowhere"):
            self.assertEqual(self.skyline("status", run, "--watch", expect=2).stderr, f"skyline: {run}: not a run folder (no journal.jsonl)\n")

    def test_a_run_is_resumed_without_the_account_of_its_earlier_jobs(self):
        self.stop_after(2, "search", *CONFIG, "--run", "lost")
        tables = (self.folder / "lost/run.h5").read_bytes()
        (self.folder / "lost/run.h5").write_bytes(tables[:3000])
        told = self.skyline("status", "lost")
        self.assertIn("truncated", told.stderr)
        self.assertIn("The front of the search:", told.stdout)
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
        self.assertIn(front, status)

    def test_a_run_of_each_version_of_the_journal_is_shown_and_goes_on(self):
        trials = []
        for kept in sorted(KEPT.iterdir()):
            shutil.copytree(kept, self.folder / kept.name)
            whole = self.canonical(kept.name)
            trials.append(whole.splitlines()[1:])
            self.assertIn("test_accuracy", self.skyline("status", kept.name).stdout)
            self.skyline("report", kept.name)
            journal = self.folder / kept.name / "journal.jsonl"
            journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:3]))
            self.skyline("search", "--run", kept.name, "--resume")
            self.assertEqual(self.canonical(kept.name), whole)
        self.assertEqual([len(lines) for lines in trials], len(trials) * [5])
        self.assertEqual(trials.count(trials[0]), len(trials))
        self.assertIn("hypervolume", self.skyline("compare", "journal_8").stdout)

    def test_a_run_whose_evaluator_the_program_does_not_know_is_shown_by_what_its_journal_says(self):
        run = self.folder / "foreign"
        shutil.copytree(KEPT / "journal_9", run)
        config = (run / "config.yaml").read_text().replace("synthetic:", "scales:")
        config = config.replace("constraints:\n  - latency_ms: [0, 1]\n", "constraints: []\n")
        config = re.sub(r"minimize: latency_ms\n +reference: 1", "maximize: balance", config)
        (run / "config.yaml").write_text(config)
        lines = []
        for line in (run / "journal.jsonl").read_text().splitlines():
            body = line[:line.index(',"sum":')].replace('"latency_ms"', '"balance"')
            body = body.replace('"balance","better":"lower","low":0.0,"unit":"ms"', '"balance","better":"higher","low":-2.0,"high":0.5,"unit":"kg"')
            lines.append(f'{body},"sum":"{checksum(body)}"}}\n')
        (run / "journal.jsonl").write_text("".join(lines))
        for text in (self.skyline("status", "foreign").stdout, self.skyline("compare", "foreign").stdout):
            self.assertIn("balance", text)
        self.assertIn("measured from validation_accuracy 0, balance -2", self.skyline("status", "foreign").stdout)
        self.assertIn('"low":-2.0,"high":0.5', self.canonical("foreign").splitlines()[0])
        self.skyline("report", "foreign")
        self.assertIn('"unit":"kg"', (run / "report.html").read_text())
        self.skyline("trace", "foreign")


if __name__ == "__main__":
    unittest.main()
