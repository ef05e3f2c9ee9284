"""Searches that lose ranks while they run, and must go on and end as the undisturbed one did.

The launcher lets the other ranks live. Some ranks beside rank 0 are killed, or suspended, at random moments; nobody
resumes anything. Then the journal and the weights must be, byte for byte, those of the undisturbed run, and the run
must say that it is done.
"""

import argparse
import collections
import json
import random
import shutil
import signal
import sys
import time

from fault_runs import Bench, end_tidily, small_search

LIMIT_S = 120  # of a run; the undisturbed one takes seconds


class Lost(AssertionError):
    """A run that did not become what it should."""


class LoseRanks:
    def __init__(self, program, source, faults, seed, ranks=4, more=(), ulfm=False):
        self.bench = Bench(program, faults)
        if ulfm:
            self.bench.mpirun += ["--with-ft", "ulfm"]
        else:
            self.bench.environment["OMPI_MCA_orte_enable_recovery"] = "1"
        self.search = ["search", *small_search(self.bench, source), "--set", "run.lost_after=5 s", *more, "--quiet",
                       "--run"]
        self.random = random.Random(seed)
        self.ranks = ranks
        self.counts = collections.Counter()
        job = self.bench.job(*self.search, "whole", ranks=ranks)
        began = self.wait_for_journal("whole", job)
        job.wait_until_all_are_gone()
        self.whole_s = time.monotonic() - began
        self.check_end("whole", job)
        self.journal = self.bench.canonical("whole")
        self.weights = self.bench.weights("whole")

    def wait_for_journal(self, name, job):
        """From here on the search runs. @return  when that was"""
        deadline = time.monotonic() + LIMIT_S
        while not (self.bench.folder / name / "journal.jsonl").exists():
            if job.process.poll() is not None or time.monotonic() > deadline:
                raise Lost(f"the search has not begun: {job.text()}")
            time.sleep(0.005)
        return time.monotonic()

    def check_end(self, name, job):
        status = json.loads((self.bench.folder / name / "status.json").read_text())
        if status["state"] != "finished":
            raise Lost(f"{name} is {status['state']}: {job.text()}")

    def run(self, name, victims=1, number=signal.SIGKILL):
        """One run, which loses so many ranks by that signal. Returns what was done to it, in words. @throws Lost"""
        job = self.bench.job(*self.search, name, ranks=self.ranks)
        began = self.wait_for_journal(name, job)
        story = []
        moments = sorted(self.random.uniform(0, 0.6 * self.whole_s) for _ in range(victims))
        for moment_s, rank in zip(moments, self.random.sample(range(1, self.ranks), victims)):
            time.sleep(max(0, began + moment_s - time.monotonic()))
            job.kill(rank, number)
            story.append(f"rank {rank} after {moment_s:.2f} s")
        try:
            job.wait_until_all_are_gone(LIMIT_S)
            self.check_end(name, job)
            self.compare(name)
        except Exception as error:
            raise Lost(f"{error}\n  {'; '.join(story)}\n{job.text()}") from None
        finally:
            job.kill("all")
        lines = (self.bench.folder / name / "journal.jsonl").read_text().splitlines()
        losses = sum(line.startswith('{"lost":') for line in lines)
        self.counts["losses in journals"] += losses
        shutil.rmtree(self.bench.folder / name)
        return "; ".join([*story, f"{losses} losses", f"{time.monotonic() - began:.1f} s"])

    def compare(self, name):
        if self.bench.canonical(name) != self.journal:
            raise Lost(f"{name}: another journal")
        if self.bench.weights(name) != self.weights:
            raise Lost(f"{name}: other weights")
        if leftovers := self.bench.leftovers(name):
            raise Lost(f"{name}: left over: {leftovers}")

    def remove(self):
        self.bench.remove()


def parse_arguments():
    parser = argparse.ArgumentParser(prog="lose_ranks", description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("faults", help="the library of storage_faults.c")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--victims", type=int, default=1, help="ranks that are lost in each run")
    parser.add_argument("--suspend", action="store_true", help="SIGSTOP instead of SIGKILL")
    parser.add_argument("--ulfm", action="store_true", help="the mpirun is that of Open MPI 5")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="more for the configuration")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    end_tidily()
    started = time.monotonic()
    more = [part for setting in arguments.set for part in ("--set", setting)]
    number = signal.SIGSTOP if arguments.suspend else signal.SIGKILL
    runs = LoseRanks(arguments.program, arguments.source, arguments.faults, arguments.seed, arguments.ranks, more,
                     arguments.ulfm)
    print(f"seed {arguments.seed}; undisturbed: {runs.whole_s:.1f} s, {runs.journal.count(chr(10)) - 1} trials",
          flush=True)
    lost = 0
    for index in range(arguments.runs):
        try:
            print(f"{index}: {runs.run(f'run{index}', arguments.victims, number)}", flush=True)
        except Lost as problem:
            lost += 1
            runs.bench.keep()
            print(f"{index}: LOST: {problem}", flush=True)
    print(f"{arguments.runs - lost} runs equal, {lost} lost; {runs.counts['losses in journals']} losses; "
          f"{time.monotonic() - started:.0f} s; seed {arguments.seed}; folder {runs.bench.folder}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
