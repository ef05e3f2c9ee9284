"""Starts searches of the program on the stand-in for CUDA, and reads what it counted."""

import collections
import json
import os
import pathlib
import signal
import sys
import time
import unittest

PROGRAM, SOURCE, LIBRARIES = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
sys.path.insert(0, str(SOURCE / "tests/faults"))
from fault_runs import Bench, end_tidily

LIMIT_S = 600  # limit of a search, which takes seconds


class Report:
    """What all ranks of a job together did on their devices."""

    def __init__(self, folder):
        ranks = [json.loads(path.read_text()) for path in folder.iterdir()]
        self.contexts = sorted(sorted(rank["contexts"]) for rank in ranks if rank["contexts"])  # device numbers by rank
        self.counts = collections.Counter()
        self.eager = sum(sum(rank["eager"].values()) for rank in ranks)  # launches outside of graphs
        self.graphs = []  # number of nodes by kind
        for rank in ranks:
            self.counts.update(rank["counts"])
            self.graphs += [graph["nodes"] for graph in rank["graphs"]]
        self.most_bytes = max((max(rank["most_bytes"].values(), default=0) for rank in ranks), default=0)

    def nodes(self):
        return [sum(graph.values()) for graph in self.graphs]


class StandInCase(unittest.TestCase):
    """A test whose searches take their GPUs from the stand-in."""

    @classmethod
    def setUpClass(cls):
        cls.bench = Bench(PROGRAM, LIBRARIES)
        cls.addClassCleanup(cls.bench.remove)
        libraries = [library for library in sorted(LIBRARIES.iterdir()) if not library.is_symlink()]
        cls.environment = {**cls.bench.environment, "LD_PRELOAD": " ".join(map(str, libraries))}

    def start(self, run, *more, ranks=0, devices=1, variables=None, config="digits", **settings):
        """A search in the background. `settings`: of the stand-in, e.g. delay_us=100."""
        folder = self.bench.folder / f"{run}.report"
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        self.bench.environment = {**self.environment, **(variables or {}), "STAND_IN_REPORT": str(folder),
                                  "STAND_IN_DEVICES": str(devices),
                                  **{f"STAND_IN_{name.upper()}": str(value) for name, value in settings.items()}}
        job = self.bench.job("search", SOURCE / f"configs/{config}.yaml", "--set", f"data.file={self.bench.digits}",
                             "--set", "search.iterations=2", "--set", "search.initial=4", "--set", "search.max_unseen=4",
                             "--set", "training.epochs=10", "--set", "final.epochs=10", *more, "--run", run, ranks=ranks)
        job.report = folder
        job.contexts = [[str(rank % devices)] for rank in range(max(ranks, 1))]  # if each rank has a device of its own
        return job

    def end(self, job, expect=0, contexts=None, refuses=False):
        """Waits for a job, which keeps the rules of CUDA, uses its ranks' own devices alone and records all steps.
        @param expect    exit code; None if that is up to mpirun. A job that does not start (2) uses no device
        @param contexts  numbers of the devices that each rank used, where the rank's own is wrong: a rank was lost,
                         or none trains on a GPU
        @param refuses   whether the stand-in was asked to refuse recordings
        @return          the job's output and the Report"""
        code = job.wait(LIMIT_S)
        text, report = job.text(), Report(job.report)
        if expect is not None:
            self.assertEqual(code, expect, text)
        if contexts is None:
            contexts = [] if expect == 2 else job.contexts
        self.assertNotIn("stand-in: violation", text)
        self.assertEqual(report.contexts, contexts, text)
        self.assertEqual(report.counts["refused_recordings"] > 0, refuses, f"{report.counts}\n{text}")
        return text, report

    def search(self, run, *more, expect=0, contexts=None, refuses=False, **others):
        """A search to its end; see start() and end()."""
        return self.end(self.start(run, *more, **others), expect, contexts, refuses)

    def stop(self, job):
        """Asks a job to save its trials and end, and waits for that."""
        job.process.send_signal(signal.SIGUSR1)
        return self.end(job, expect=75)

    def lines(self, run):
        """The journal's lines of trials."""
        lines = (self.bench.folder / run / "journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines if '"status"' in line]

    def trials(self, run):
        """The journal's trials by status: {"ok": 9}."""
        return collections.Counter(line["status"] for line in self.lines(run))

    def wait_for_trials(self, run, count, job):
        self.wait_for(self.bench.folder / run / "journal.jsonl", lambda text: text.count('"status"') >= count, job)

    def wait_until_it_trains(self, run, rank, job):
        """Waits for a second of a trial's training by the rank."""
        self.wait_for(self.bench.folder / run / f"checkpoints/running.{rank}", lambda text: " running " in text, job)
        time.sleep(1)

    def wait_for(self, path, is_there, job):
        job.wait_for(lambda: path.exists() and is_there(path.read_text()))


def main():
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    end_tidily(limit_s=1770)  # a little before CTest kills it
    unittest.main()
