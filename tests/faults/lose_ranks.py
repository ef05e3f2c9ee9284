"""Searches that lose ranks while they run, and must go on and end as the undisturbed one did.

The launcher lets the other ranks live. Some ranks beside rank 0 are killed, or suspended, at random moments; nobody
resumes anything. Then the journal and the weights must be, byte for byte, those of the undisturbed run, and the run
must say that it is done. A job that loses a rank while it starts may end instead; then the next one must get there.

Under a plain mpirun no rank may live without the others: a job with a suspended rank must end, with the rank's name and
exit code 76, or 75 if it was told to stop, and no process may stay. Then the next job must get there.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from fault_runs import Bench, end_tidily, small_search

LIMIT_S = 600  # limit of a run; the undisturbed one takes seconds
START_LIMIT = ("--start-timeout", "15s")  # limit of the start of MPI, which detects no deaths yet
LOST_AFTER_S = 10  # on a busy machine a sound rank may be silent for some seconds
# Longest time until mpirun ends, after a rank counts as lost or a job is told to stop.
END_LIMIT_S = 600
NAMES = re.compile(r"rank (\d+) on \S+ hangs \((?:silent|suspended) for|gave up after \d+ s \(--start-timeout\)|MPI does not end")


class Lost(AssertionError):
    """A run that did not become what it should."""


def synthetic_search(source):
    """A search of trials that sleep, about four seconds on eight ranks."""
    return [pathlib.Path(source).resolve() / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=1"]


class LoseRanks:
    def __init__(self, program, source, faults, seed, ranks=4, more=(), ulfm=False, synthetic=False, plain=False):
        self.bench = Bench(program, faults)
        if ulfm:
            self.bench.mpirun += ["--with-ft", "ulfm"]
        elif not plain:
            self.bench.environment["OMPI_MCA_orte_enable_recovery"] = "1"
            # No file of the system says how messages go: the program has to.
            empty = self.bench.folder / "openmpi.conf"
            empty.touch()
            self.bench.environment["OMPI_MCA_mca_base_param_files"] = str(empty)
        search = synthetic_search(source) if synthetic else small_search(self.bench, source)
        self.search = ["search", *search, "--set", f"run.lost_after={LOST_AFTER_S} s", *more, "--quiet", "--run"]
        self.random = random.Random(seed)
        self.ranks = ranks
        self.counts = collections.Counter()
        started = time.monotonic()
        job = self.bench.job(*self.search, "whole", ranks=ranks)
        began = self.wait_for_journal("whole", job)
        self.start_s = began - started
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

    @contextlib.contextmanager
    def telling(self, name, job, story):
        """Adds to an error what was done to the run. In the end its jobs, of which the list may grow, and its folder go."""
        jobs = [job]
        try:
            yield jobs
        except Exception as error:
            raise Lost(f"{error}\n  {'; '.join(story)}\n{jobs[-1].text()}") from None
        finally:
            for each in jobs:
                each.kill("all")
        shutil.rmtree(self.bench.folder / name)

    def complete(self, name, jobs, story, ranks):
        """Ends the run by a second job if the first has not, or has kept its claim, and compares it with the undisturbed one."""
        if not self.is_finished(name) or (self.bench.folder / name / "owner.json").exists():
            story.append("a second job")
            self.counts["second jobs"] += 1
            jobs.append(self.bench.job(*self.search, name, "--resume", ranks=ranks))
            jobs[-1].wait_until_all_are_gone(LIMIT_S)
        self.check_end(name, jobs[-1])
        self.compare(name)

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
        with self.telling(name, job, story):
            job.wait_until_all_are_gone(LIMIT_S)
            self.check_end(name, job)
            self.compare(name)
            lines = (self.bench.folder / name / "journal.jsonl").read_text().splitlines()
        losses = sum(line.startswith('{"lost":') for line in lines)
        self.counts["losses in journals"] += losses
        return "; ".join([*story, f"{losses} losses", f"{time.monotonic() - began:.1f} s"])

    def start(self, name):
        """One run, which loses a rank while it starts. Returns what was done to it, in words. @throws Lost"""
        job = self.bench.job(*self.search, name, *START_LIMIT, ranks=self.ranks)
        moment_s, rank = self.random.uniform(0, 1.2 * self.start_s), self.random.randrange(1, self.ranks)
        time.sleep(moment_s)
        job.kill(rank)
        story = [f"rank {rank} after {moment_s:.2f} s"]
        with self.telling(name, job, story) as jobs:
            job.wait_until_all_are_gone(LIMIT_S)
            self.complete(name, jobs, story, self.ranks)
        return "; ".join(story)

    def hang(self, name, stops=None):
        """One run under a plain mpirun, of which a rank hangs from a random moment on, in the start and at the end too, and
        which may be told to stop. Returns what was done to it, in words. @throws Lost"""
        job = self.bench.job(*self.search, name, ranks=self.ranks)
        began = time.monotonic()
        whole_s = self.start_s + self.whole_s
        rank = self.random.randrange(self.ranks)
        acts = [(self.random.uniform(0, whole_s), rank, signal.SIGSTOP)]
        if stops if stops is not None else self.random.random() < 0.5:
            acts.append((self.random.uniform(self.start_s, whole_s), "mpirun", signal.SIGUSR1))
        story = []
        told = False
        for moment_s, victim, number in sorted(acts):
            time.sleep(max(0, began + moment_s - time.monotonic()))
            told |= number == signal.SIGUSR1
            job.kill(victim, number)
            story.append(f"{signal.Signals(number).name} to {victim} after {moment_s:.2f} s")
        began = time.monotonic()
        with self.telling(name, job, story) as jobs:
            code = self.end_of_hung_job(name, job, rank)
            story.append(f"{code} after {time.monotonic() - began:.1f} s")
            named = NAMES.search(job.text())
            if code not in (0, 75, 76) or (code == 75 and not told) or (code == 76 and not named):
                raise Lost(f"exit code {code}")
            if named and named[1] not in (None, str(rank)):
                raise Lost("another rank is named")
            self.counts["hung jobs"] += named is not None
            self.complete(name, jobs, story, self.random.randint(1, 4))
        return "; ".join(story)

    def hang_at_the_end(self, name):
        """One run whose rank 0 hangs from the moment that it has told how the search ended. @throws Lost"""
        job = self.bench.job(*self.search, name, ranks=self.ranks)
        story = []
        with self.telling(name, job, story) as jobs:
            while job.process.poll() is None and not self.has_ended(name):
                time.sleep(0.002)
            job.kill(0, signal.SIGSTOP)
            began = time.monotonic()
            code = self.end_of_hung_job(name, job, 0)
            if code not in (0, 76) or not self.has_ended(name):
                raise Lost(f"exit code {code}")
            story.append(f"{code} after {time.monotonic() - began:.1f} s")
            self.complete(name, jobs, story, self.ranks)
        return f"{'; '.join(story)}; {self.counts['launchers left waiting']} launchers left waiting"

    def has_ended(self, name):
        status = self.bench.folder / name / "status.json"
        return status.exists() and json.loads(status.read_text())["exit_code"] == 0

    def end_of_hung_job(self, name, job, rank):
        """The job's exit code. A rank that is suspended while it exits, after MPI has ended, leaves mpirun waiting: the run is
        then finished, and the others are gone."""
        try:
            code = job.wait(LOST_AFTER_S + END_LIMIT_S)
        except subprocess.TimeoutExpired:
            if not self.is_finished(name) or not set(job.processes().values()) <= {None, rank}:
                raise
            self.counts["launchers left waiting"] += 1
            job.kill("all")
            job.wait()
            return 0
        job.wait_until_all_are_gone()
        return code

    def is_finished(self, name):
        status = self.bench.folder / name / "status.json"
        return status.exists() and json.loads(status.read_text())["state"] == "finished"

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
    parser.add_argument("--synthetic", action="store_true", help="trials that sleep instead of training on the digits")
    parser.add_argument("--suspend", action="store_true", help="SIGSTOP instead of SIGKILL")
    parser.add_argument("--start", action="store_true", help="one rank of each, while its job starts")
    parser.add_argument("--hang", action="store_true",
                        help="one rank of each, under a plain mpirun: SIGSTOP at any moment; half of the jobs are told to stop")
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
                     arguments.ulfm, arguments.synthetic, plain=arguments.hang)
    print(f"seed {arguments.seed}; undisturbed: {runs.whole_s:.1f} s, {runs.journal.count(chr(10)) - 1} trials",
          flush=True)
    lost = 0
    for index in range(arguments.runs):
        try:
            name = f"run{index}"
            if arguments.hang:
                story = runs.hang(name)
            else:
                story = runs.start(name) if arguments.start else runs.run(name, arguments.victims, number)
            print(f"{index}: {story}", flush=True)
        except Lost as problem:
            lost += 1
            runs.bench.keep()
            print(f"{index}: LOST: {problem}", flush=True)
    print(f"{arguments.runs - lost} runs equal, {lost} lost; {runs.counts['losses in journals']} losses; "
          f"{runs.counts['second jobs']} second jobs; {runs.counts['hung jobs']} hung jobs; "
          f"{runs.counts['launchers left waiting']} launchers left waiting; "
          f"{time.monotonic() - started:.0f} s; seed {arguments.seed}; folder {runs.bench.folder}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
