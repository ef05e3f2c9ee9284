"""Searches that are killed again and again, and must end as the undisturbed one did.

Each run starts with a random number of ranks; somebody is killed at a random moment, or at a random system call on its
files; it is resumed with another number of ranks, perhaps killed again, and at last left alone. Then its journal and its
weights must be, byte for byte, those of the undisturbed run, and nothing temporary may be left.
"""

import argparse
import collections
import functools
import random
import shutil
import signal
import sys
import time

from fault_runs import Bench, end_tidily, faults_in, saving_search, small_search
from mixed_searches import MIXED

KINDS = ["rank", "rank 0", "mpirun", "all", "system call", "torn write", "stop"]
# What the job replaces or tries again, and how often in a job: the process from which trials of a function are forked; a
# trainer behind its wrapper, once, since the second time it would be a failed trial.
HELPERS = {"server": (lambda job: job.kill_servers(), 3), "trainer": (lambda job: job.kill_trainers(), 1)}
STOPPED = 75
IN_USE = "is in use by"
NO_FRONT = 3  # the exit code where every trial failed
SUSPECTED = "was running when the last job died"  # no trial may be, after kills from outside
CLAIM_S = 600  # a claim is stale after 60 s at the latest, on a machine that is not busy


class Lost(AssertionError):
    """A run that did not become what it should."""


class KillRuns:
    def __init__(self, program, source, faults, seed, more=(), search=small_search, helpers=()):
        """@param search: the arguments of the search, of a bench and the source folder
        @param helpers: those of HELPERS that it has"""
        self.bench = Bench(program, faults)
        self.kinds = [*KINDS, *helpers]
        self.search = ["search", *search(self.bench, source), *more, "--quiet", "--resume", "--run"]
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.longest_refusal_s = 0.0
        self.measure_undisturbed()

    def measure_undisturbed(self):
        """What every run must become, with which exit code, how long it takes, and its calls on its files by rank."""
        self.calls = {}
        for rank in (1, 0):  # the second time everything is in the page cache
            log = self.bench.folder / f"calls.{rank}"
            shutil.rmtree(self.bench.folder / "whole", ignore_errors=True)
            started = time.monotonic()
            job = self.bench.job(*self.search, "whole", ranks=2, root="whole", rank=rank, log=log)
            self.code = job.wait()
            if self.code not in (0, NO_FRONT):
                raise Lost(f"undisturbed: {job.text()}")
            self.whole_s = time.monotonic() - started
            self.calls[rank] = faults_in(log)
        self.journal = self.bench.canonical("whole")
        self.weights = self.bench.weights("whole")

    def run(self, name, kind):
        """One run, killed by `kind` first and perhaps by others after. Returns what was done to it, in words.
        @throws Lost"""
        story, jobs = [], []
        for next_kind in [kind, *self.random.choices(self.kinds, k=self.random.choice((0, 0, 1, 2)))]:
            jobs.append(self.disturb(name, next_kind, self.random.choice((2, 3, 4)), story))
        try:
            self.finish(name, self.random.choice((0, 1, 2, 3, 4)), story)
            for job in jobs:
                job.wait_until_all_are_gone()
            self.compare(name)
        except Lost as lost:
            raise Lost(f"{lost}\n  {'; '.join(story)}\n" + "\n".join(job.text() for job in jobs)) from None
        shutil.rmtree(self.bench.folder / name)
        return "; ".join(story)

    def disturb(self, name, kind, ranks, story):
        """Starts or resumes the run and kills; then the next job may start at once."""
        if kind in ("system call", "torn write"):
            rank, fault = self.random_fault(kind)
            story.append(f"{ranks} ranks, rank {rank} {fault}")
            job = self.bench.job(*self.search, name, ranks=ranks, root=name, rank=rank, fault=fault)
            job.wait()
        elif kind in HELPERS:
            kill, most = HELPERS[kind]
            moments_s = [self.random.uniform(0, self.whole_s / 2) for _ in range(self.random.randint(1, most))]
            story.append(f"{ranks} ranks, {kind}s after each of {', '.join(f'{moment:.2f} s' for moment in moments_s)}")
            job = self.bench.job(*self.search, name, ranks=ranks)
            for moment_s in moments_s:
                time.sleep(moment_s)
                while not (killed := kill(job)) and job.process.poll() is None:
                    time.sleep(0.05)  # none is there yet, or just now
                self.counts[f"{kind}s killed"] += killed
            job.wait()
        elif kind == "stop":
            moment_s = self.random.uniform(0, 1.1 * self.whole_s)
            story.append(f"{ranks} ranks, stopped after {moment_s:.2f} s")
            job = self.bench.job(*self.search, name, ranks=ranks)
            time.sleep(moment_s)
            job.kill("mpirun", signal.SIGUSR1)
            self.counts["stops with 75"] += job.wait() == STOPPED
        else:
            victim = {"rank": self.random.randint(1, ranks - 1), "rank 0": 0}.get(kind, kind)
            moment_s = self.random.uniform(0, 1.1 * self.whole_s)
            story.append(f"{ranks} ranks, rank {victim} after {moment_s:.2f} s")
            job = self.bench.job(*self.search, name, ranks=ranks)
            time.sleep(moment_s)
            job.kill(victim)
        if self.random.random() < 0.5:
            job.wait_until_all_are_gone()
        else:
            story.append("at once")
        self.counts[kind] += 1
        return job

    def random_fault(self, kind):
        rank = self.random.choice((0, 0, 1))
        if not self.calls[rank]:
            rank = 0  # leads all groups and writes all files
        calls = self.calls[rank]
        if kind == "torn write":
            return rank, f"write:tear:{self.random.randint(1, sum(op == 'write' for op, _ in calls))}"
        return rank, f"any:{self.random.choice(('kill', 'kill-after'))}:{self.random.randint(1, len(calls))}"

    def finish(self, name, ranks, story):
        """Resumes until done. While a survivor of the last job holds the folder, the next one is refused."""
        checkpoints = len(list((self.bench.folder / name / "checkpoints").glob("*.h5")))
        self.counts["checkpoint found"] += checkpoints
        story.append(f"finished with {ranks} ranks and {checkpoints} checkpoints")
        started = time.monotonic()
        while True:
            job = self.bench.job(*self.search, name, ranks=ranks)
            code = job.wait()
            waited_s = time.monotonic() - started
            if SUSPECTED in job.text():
                raise Lost(f"a suspect: {job.text()}")
            if code == self.code:
                return
            if IN_USE not in job.text() or waited_s > CLAIM_S:
                raise Lost(f"exit code {code}: {job.text()}")
            self.counts["refused"] += 1
            self.longest_refusal_s = max(self.longest_refusal_s, waited_s)
            time.sleep(0.1)

    def compare(self, name):
        problems = []
        if self.bench.canonical(name) != self.journal:
            problems.append("another journal")
        weights = self.bench.weights(name)
        if weights != self.weights:
            other = [file for file in weights.keys() & self.weights.keys() if weights[file] != self.weights[file]]
            problems.append(f"weights: missing {sorted(self.weights.keys() - weights.keys())}, "
                            f"too many {sorted(weights.keys() - self.weights.keys())}, different {other}")
        if leftovers := self.bench.leftovers(name):
            problems.append(f"left over: {leftovers}")
        if problems:
            raise Lost(f"{name}: {'; '.join(problems)}")

    def sweep(self, rank, action):
        """Kills `rank` at every call of the undisturbed run in turn. Yields the number of each that went well."""
        for number in range(1, len(self.calls[rank]) + 1):
            name = f"sweep-{rank}-{action}-{number}"
            story = [f"2 ranks, rank {rank} any:{action}:{number}"]
            job = self.bench.job(*self.search, name, ranks=2, root=name, rank=rank, fault=f"any:{action}:{number}")
            job.wait_until_all_are_gone()
            try:
                self.finish(name, self.random.choice((0, 1, 2, 3)), story)
                self.compare(name)
            except Lost as lost:
                raise Lost(f"{lost}\n  {'; '.join(story)}\n{job.text()}") from None
            shutil.rmtree(self.bench.folder / name)
            yield number

    def remove(self):
        self.bench.remove()


def saving_search_of(trainer):
    return functools.partial(saving_search, trainer=trainer)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="kill_runs", description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("faults", help="the library of storage_faults.c")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--sweep", action="store_true", help="instead: kill at every system call on the files in turn")
    trainer = parser.add_mutually_exclusive_group()
    trainer.add_argument("--trainer", action="store_const", const=(saving_search_of("program"), ()), dest="search",
                         default=(small_search, ()), help="of a trainer that saves in its trial's folder")
    trainer.add_argument("--function", action="store_const", const=(saving_search_of("function"), ("server",)), dest="search",
                         help="of a function that does so, in forks")
    trainer.add_argument("--mixed", choices=MIXED, help="one of several searches of all kinds, their trainers behind wrappers")
    parser.add_argument("--kind", help="kill in this way first, in place of all in turn")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="more for the configuration")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    end_tidily()
    started = time.monotonic()
    more = [part for setting in arguments.set for part in ("--set", setting)]
    search, helpers = MIXED[arguments.mixed] if arguments.mixed else arguments.search
    runs = KillRuns(arguments.program, arguments.source, arguments.faults, arguments.seed, more, search, helpers)
    print(f"seed {arguments.seed}; undisturbed: {runs.whole_s:.1f} s, {runs.journal.count(chr(10)) - 1} trials, "
          f"{len(runs.calls[0])} and {len(runs.calls[1])} calls on files in ranks 0 and 1", flush=True)
    lost = done = 0
    try:
        if arguments.sweep:
            for rank in (0, 1):
                for action in ("kill", "kill-after"):
                    for number in runs.sweep(rank, action):
                        done += 1
                        print(f"rank {rank} {action} {number} of {len(runs.calls[rank])}", flush=True)
        else:
            for number in range(arguments.runs):
                try:
                    kind = arguments.kind or runs.kinds[number % len(runs.kinds)]
                    print(f"{number}: {runs.run(f'run{number}', kind)}", flush=True)
                    done += 1
                except Lost as problem:
                    lost += 1
                    runs.bench.keep()
                    print(f"{number}: LOST: {problem}", flush=True)
    finally:
        kills = ", ".join(f"{count} {kind}" for kind, count in sorted(runs.counts.items()))
        print(f"{done} runs equal, {lost} lost; {kills}; longest refusal {runs.longest_refusal_s:.1f} s; "
              f"{time.monotonic() - started:.0f} s; seed {arguments.seed}; folder {runs.bench.folder}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
