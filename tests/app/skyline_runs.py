"""Starts the program, alone and under mpirun, for the whole-program tests."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
TIMEOUT_S = 180

# Commands that compute no network, and configurations that train none, run with the program without LibTorch: it is made
# of the same objects (app.light compares the two), and to load LibTorch costs each process half a second.
LIGHT = PROGRAM.with_name("skyline-light")
LIGHT_COMMANDS = ("compare", "export", "journal", "prep", "report", "status", "tensorboard")
LIGHT_CONFIGS = ("configs/synthetic.yaml", "configs/nasbench201_table.yaml", "configs/mnist_table.yaml")


def checksum(text):
    """What our files carry, by a program that we did not write."""
    return subprocess.run(["xxh128sum"], input=text.encode(), check=True, capture_output=True).stdout.decode().split()[0]


def mpirun(ranks):
    return [MPIEXEC, "--oversubscribe", "-np", str(ranks)] if ranks else []


def processes_of_session(leader):
    """The live processes of the session that `leader` leads."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if int(its_session) == leader and state not in "ZX":
            found.append(int(path.parent.name))
    return found


class RunsCase(unittest.TestCase):
    """A test with a folder of its own and the digits data set in it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-test-"))
        cls.digits = cls.folder / "digits.h5"
        done = subprocess.run([LIGHT, "prep", "digits", "--out", cls.digits], capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def program(self, words):
        trains_nothing = (words and words[0] in LIGHT_COMMANDS) or any(word.endswith(LIGHT_CONFIGS) for word in words)
        return LIGHT if trains_nothing else PROGRAM

    def command(self, *arguments, ranks=0):
        words = [str(argument) for argument in arguments]
        return [*mpirun(ranks), str(self.program(words)), *words]

    def skyline(self, *arguments, ranks=0, expect=0, environment=None, cwd=None):
        done = subprocess.run(self.command(*arguments, ranks=ranks), capture_output=True, text=True, cwd=cwd or self.folder,
                              timeout=TIMEOUT_S, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, expect, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *arguments, ranks=0):
        """The program in the background, in a session of its own."""
        return subprocess.Popen(self.command(*arguments, ranks=ranks), cwd=self.folder, start_new_session=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop_after(self, trials, *arguments, ranks):
        """A job that is asked to stop, and does, once its run's journal has `trials` trials."""
        job = self.start("search", *arguments, ranks=ranks)
        self.wait_for_lines(arguments[arguments.index("--run") + 1], trials)
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(timeout=TIMEOUT_S), 75)

    def kill(self, job):
        """SIGKILL to every process of the session of a started job, until none is left: mpirun gives each rank a process group
        of its own, and a rank may outlive mpirun by seconds on a busy machine."""
        deadline = time.monotonic() + TIMEOUT_S
        while processes := processes_of_session(job.pid):
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            job.poll()
            self.assertLess(time.monotonic(), deadline, f"still there: {processes}")
            time.sleep(0.02)
        self.assertEqual(job.wait(), -signal.SIGKILL)

    def canonical(self, run):
        return self.skyline("journal", run, "--canonical").stdout

    def wait_for_lines(self, run, count):
        """Until the journal has `count` trials."""
        journal = self.folder / run / "journal.jsonl"
        for _ in range(TIMEOUT_S * 20):
            if journal.exists() and journal.read_bytes().count(b"\n") > count:
                return
            time.sleep(0.05)
        self.fail(f"{run}: no {count} trials within {TIMEOUT_S} s")


def small_digits(digits):
    """The shipped configuration, cut to a few seconds."""
    return [SOURCE / "configs/digits.yaml", "--set", f"data.file={digits}", "--set", "search.iterations=2",
            "--set", "search.initial=4", "--set", "search.max_unseen=4", "--set", "training.epochs=0.5",
            "--set", "final.epochs=1", "--set", "space.parameters.width.choice=[8, 16]"]


def read_json(path):
    return json.loads(pathlib.Path(path).read_text())
