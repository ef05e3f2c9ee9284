"""The main thread of rank 0 waits for nobody: whatever stands still, a job that is told to stop hears it."""

import json
import signal
import subprocess
import sys
import time
import unittest

from fault_runs import TIMEOUT_S, Bench, end_tidily

PROGRAM, _, FAULTS = (sys.argv.pop(1) for _ in range(3))
STOPPED = 75

# Networks of 44 layers that nobody trains. NARROW leaves one in a thousand.
CONFIG = """
data: {shape: [3, 32, 32], classes: 10}
synthetic: {seconds_per_gflop: 0}
space:
  parameters: {width: {choice: [4, 8, 12, 16, 20, 24, 28, 32], each: true}}
  network:
    - repeat: 14
      body: [{conv2d: {channels: $width, kernel: 3, padding: same}}, batch_norm, relu]
    - global_average_pool
    - linear: {features: $classes}
objectives: [{maximize: validation_accuracy}, {minimize: flops}]
search: {algorithm: random, trials: 100000}
"""
NARROW = "constraints: [{parameters: [0, 12850]}]\n"


class Deaf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench(PROGRAM, FAULTS)

    @classmethod
    def tearDownClass(cls):
        cls.bench.remove()

    def arguments(self, run, config=CONFIG):
        path = self.bench.folder / f"{run}.yaml"
        path.write_text(config)
        return ["search", path, "--run", run, "--slots", "8", "--quiet"]

    def check_hears(self, job, run):
        """A job says that it stops."""
        log = self.bench.folder / run / "logs/skyline.log"
        job.process.send_signal(signal.SIGUSR1)
        job.wait_for(lambda: "stopping" in log.read_text())

    def test_a_journal_that_stands_still_keeps_nobody_from_hearing(self):
        held, status = self.bench.folder / "held", self.bench.folder / "stall/status.json"
        job = self.bench.job(*self.arguments("stall"), root="stall", hold=held, match="/journal.jsonl", fault="fsync:hold:6")
        job.wait_for(lambda: held.exists() and json.loads(status.read_text())["committed"] > 300)
        self.check_hears(job, "stall")  # while the disk stands still
        held.unlink()
        self.assertEqual(job.wait(), STOPPED, job.text())
        lines = self.bench.canonical("stall").count("\n") - 1
        self.assertEqual(lines, json.loads((self.bench.folder / "stall/status.json").read_text())["committed"])
        self.assertGreater(lines, 300, "more than the queue of the storage thread takes")

    def test_a_terminal_that_takes_no_more_stops_nobody(self):
        arguments = [str(part) for part in self.arguments("pipe")[:-1]]  # not --quiet
        process = subprocess.Popen([self.bench.program, *arguments], cwd=self.bench.folder, env=self.bench.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        journal = self.bench.folder / "pipe/journal.jsonl"
        deadline = time.monotonic() + TIMEOUT_S
        while not journal.exists() or journal.read_bytes().count(b"\n") <= 2000:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(timeout=600), STOPPED)

    def test_a_space_with_few_candidates_keeps_nobody_from_hearing(self):
        job = self.bench.job(*self.arguments("narrow", CONFIG + NARROW))
        journal = self.bench.folder / "narrow/journal.jsonl"
        job.wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 1)
        time.sleep(0.5)
        self.check_hears(job, "narrow")
        self.assertEqual(job.wait(), STOPPED, job.text())


if __name__ == "__main__":
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
