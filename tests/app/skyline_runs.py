"""Starts the program, alone and under mpirun, for the whole-program tests."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
TIMEOUT_S = 600  # ends what hangs, and decides nothing
FAULTS = PROGRAM.parents[1] / "tests/faults/storage_faults.so"
# Open MPI 4.1 may fail where jobs of two tests make the folder of their sessions at once, so each test has its own.
SESSIONS = tempfile.TemporaryDirectory(prefix="skyline-mpi-", ignore_cleanup_errors=True)
os.environ["OMPI_MCA_orte_tmpdir_base"] = SESSIONS.name


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
        shutil.copy(SOURCE / "data/digits.h5", cls.digits)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def command(self, *arguments, ranks=0):
        return [*mpirun(ranks), str(PROGRAM), *map(str, arguments)]

    def skyline(self, *arguments, ranks=0, expect=0, environment=None, cwd=None):
        done = subprocess.run(self.command(*arguments, ranks=ranks), capture_output=True, text=True, cwd=cwd or self.folder,
                              timeout=TIMEOUT_S, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, expect, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def on_terminal(self, columns, *arguments, environment=None):
        """What the program writes to a terminal of this width."""
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(self.command(*arguments), cwd=self.folder, stdout=its, env={**os.environ, **(environment or {})})
        os.close(its)
        text = b""
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            text += block
        os.close(ours)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        return text.decode().replace("\r\n", "\n")

    def start(self, *arguments, ranks=0, environment=None, **options):
        """The program in the background, in a session of its own."""
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
        return subprocess.Popen(self.command(*arguments, ranks=ranks), cwd=self.folder, start_new_session=True,
                                env={**os.environ, **(environment or {})}, **options)

    def start_with(self, fault, trials, *arguments, **options):
        """A job whose rank 0 meets the fault, OP:ACTION of storage_faults.c, when its run's journal gets more than `trials` trials.
        What is to happen in the middle of a run happens there, however busy the machine is."""
        if not FAULTS.exists():
            self.skipTest("no preloaded library beside sanitizers")
        run = self.folder.resolve() / arguments[arguments.index("--run") + 1]
        variables = {"LD_PRELOAD": FAULTS, "SKYLINE_FAULT_ROOT": run, "SKYLINE_FAULT_MATCH": "/journal.jsonl",
                     "SKYLINE_FAULT_LINES": trials + 1, "SKYLINE_FAULT": f"{fault}:1", "SKYLINE_FAULT_HOLD": f"{run}.held"}
        return self.start(*arguments, environment={name: str(value) for name, value in variables.items()}, **options)

    @contextlib.contextmanager
    def held_after(self, trials, *arguments, at="write", **options):
        """A job that holds before its run's journal gets more than `trials` trials, until the block is left. Trials that end
        together are one write, so that it may have fewer; at="fsync" holds when it has at least so many."""
        job = self.start_with(f"{at}:hold", trials, *arguments, **options)
        held = self.folder / f"{arguments[arguments.index('--run') + 1]}.held"
        self.wait_until(lambda: held.exists() or job.poll() is not None, f"{held}: no {trials} trials")
        self.assertIsNone(job.poll(), f"it has ended before it had {trials} trials")
        try:
            yield job
        finally:
            held.unlink()

    def kill_after(self, trials, *arguments, **options):
        """A job that is killed while held_after holds it."""
        with self.held_after(trials, *arguments, **options) as job:
            self.kill(job)

    def stop_after(self, trials, *arguments, expect=75, **options):
        """A job that is asked to stop, and does, when its run's journal gets more than `trials` trials."""
        job = self.start_with(f"write:signal={signal.SIGUSR1:d}", trials, *arguments, **options)
        self.assertEqual(job.wait(timeout=TIMEOUT_S), expect)

    def wait_until(self, holds, what):
        deadline = time.monotonic() + TIMEOUT_S
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def kill(self, job):
        """SIGKILL to every process of the session of a started job, until none is left: mpirun gives each rank a process group
        of its own, and a rank may outlive mpirun by seconds on a busy machine."""
        def all_are_gone():
            for process in (processes := processes_of_session(job.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            job.poll()
            return not processes

        self.wait_until(all_are_gone, "still there")
        self.assertEqual(job.wait(), -signal.SIGKILL)

    def canonical(self, run):
        return self.skyline("journal", run, "--canonical").stdout

    def wait_for_lines(self, run, count):
        """Until the journal has `count` trials."""
        journal = self.folder / run / "journal.jsonl"
        self.wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > count, f"{run}: no {count} trials")


def small_digits(digits):
    """The shipped configuration, cut to a few seconds."""
    return [SOURCE / "configs/digits.yaml", "--set", f"data.file={digits}", "--set", "search.iterations=2",
            "--set", "search.initial=4", "--set", "search.max_unseen=4", "--set", "training.epochs=0.5",
            "--set", "final.epochs=1", "--set", "space.parameters.width.choice=[8, 16]"]


def read_json(path):
    return json.loads(pathlib.Path(path).read_text())
