"""Starts searches that are to be killed or to meet faulty storage, and compares what they leave."""

import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "data/digits.h5"
TIMEOUT_S = 600
MARK = "SKYLINE_FAULT_TEST"  # in the environment of every process of a job, so that orphans are found


def stop(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)  # an exception that unittest lets through


def end_tidily(limit_s=0):
    """From here a signal, or the end of the time limit, ends the program in a way that removes its benches."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, stop)
    signal.alarm(limit_s)


class Job:
    """A search under mpirun (or alone, with 0 ranks), all of whose processes are known."""

    def __init__(self, bench, arguments, ranks, environment):
        self.mark = uuid.uuid4().hex
        mpirun = [*bench.mpirun, "-np", str(ranks)] if ranks else []
        self.output = bench.folder / f"output.{self.mark}"
        temporary = bench.folder / "tmp" / self.mark  # own folder, since Open MPI 4.1 may fail where two jobs make one at once
        temporary.mkdir(parents=True)
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen([str(part) for part in [*mpirun, bench.program, *arguments]], cwd=bench.folder,
                                            env={**bench.environment, **environment, MARK: self.mark, "TMPDIR": str(temporary)},
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        self.ranks = ranks
        self.folder = bench.folder

    def processes(self):
        """Live processes of the job: {process: its rank, or None for mpirun}."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if f"{MARK}={self.mark}".encode() not in variables or state in "ZX":
                continue
            rank = [int(text.partition(b"=")[2]) for text in variables if text.startswith(b"OMPI_COMM_WORLD_RANK=")]
            found[int(folder.name)] = rank[0] if rank else None if self.ranks else 0
        return found

    def cpu_s(self, rank):
        """Seconds of CPU that a rank has used."""
        [process] = [process for process, its_rank in self.processes().items() if its_rank == rank]
        times = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def kill(self, victim, number=signal.SIGKILL):
        """A signal to `victim`: a rank's number, "mpirun" or "all". Whoever is gone already stays so."""
        for process, rank in self.processes().items():
            if victim == "all" or rank == (None if victim == "mpirun" else victim):
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass

    def kill_servers(self):
        """Kills the Pythons from which trials are forked, and returns how many. Their environment is not the job's, their folder is."""
        killed = 0
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                if b"skyline.fork_server" in (folder / "cmdline").read_bytes() and (folder / "cwd").readlink() == self.folder and \
                        b"serves=1" in pathlib.Path("/proc", parent, "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
                    killed += 1
            except OSError:
                continue  # it has just ended
        return killed

    def kill_trainers(self):
        """Kills the innermost processes of trials, those behind wrappers, and returns how many."""
        mine = f"SKYLINE_FOLDER={self.folder}/".encode()
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if any(variable.startswith(mine) for variable in (folder / "environ").read_bytes().split(b"\0")):
                    found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has just ended
        innermost = found.keys() - found.values()
        for process in innermost:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return len(innermost)

    def wait(self, timeout_s=TIMEOUT_S):
        """Exit code of the job's first process."""
        return self.process.wait(timeout=timeout_s)

    def wait_until_all_are_gone(self, timeout_s=TIMEOUT_S):
        """Survivors of a killed rank or mpirun end by themselves within moments."""
        self.wait()
        deadline = time.monotonic() + timeout_s
        while self.processes():
            if time.monotonic() > deadline:
                raise AssertionError(f"still there after {timeout_s} s: {self.processes()}")
            time.sleep(0.02)

    def wait_for(self, holds):
        """Until that holds, which the job cannot bring about any more when it has ended."""
        deadline = time.monotonic() + TIMEOUT_S
        while not holds():
            if self.process.poll() is not None and not holds():
                raise AssertionError(f"it has ended: {self.text()}")
            if time.monotonic() > deadline:
                raise AssertionError(self.text())
            time.sleep(0.01)

    def text(self):
        return self.output.read_text(errors="replace")


class Bench:
    """A folder with a data set, where searches run with the faults of storage_faults.c at hand."""

    def __init__(self, program, faults):
        self.program = pathlib.Path(program).resolve()
        self.faults = pathlib.Path(faults).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-faults-")).resolve()
        # The remains of killed Open MPI jobs are removed with these folders.
        self.shared_memory = tempfile.mkdtemp(prefix="skyline-faults-", dir="/dev/shm")
        self.environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **os.environ,
                            "OMPI_MCA_btl_vader_backing_directory": self.shared_memory,
                            "OMPI_MCA_btl_sm_backing_directory": self.shared_memory}  # its name in Open MPI 5
        self.mpirun = [os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe"]
        self.jobs = []
        atexit.register(self.remove)
        self.digits = self.folder / "digits.h5"
        shutil.copy(DIGITS, self.digits)

    def end_jobs(self):
        for job in self.jobs:
            if job.process.poll() is None:
                job.kill("all")
                job.process.wait()

    def remove(self):
        self.end_jobs()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.shared_memory, ignore_errors=True)

    def keep(self):
        """The folder stays when the program ends, for somebody to look at."""
        atexit.unregister(self.remove)
        atexit.register(self.end_jobs)

    def job(self, *arguments, ranks=0, root=None, **faults):
        """Starts the program; `fault`, `match`, `rank`, `log` as in storage_faults.c, below the folder `root`."""
        environment = {}
        if root is not None:
            environment = {"LD_PRELOAD": self.faults, "SKYLINE_FAULT_ROOT": self.folder / root}
            for key, value in faults.items():
                environment["SKYLINE_FAULT" if key == "fault" else f"SKYLINE_FAULT_{key.upper()}"] = value
        self.jobs = [job for job in self.jobs if job.process.poll() is None]
        self.jobs.append(Job(self, arguments, ranks, {key: str(value) for key, value in environment.items()}))
        return self.jobs[-1]

    def canonical(self, run):
        done = subprocess.run([self.program, "journal", run, "--canonical"], cwd=self.folder, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def weights(self, run):
        """The bytes of every file that trials leave, as weights or in their folders: the same for equal runs."""
        folder = self.folder / run
        files = [path for name in ("weights", "trials") for path in sorted((folder / name).rglob("*")) if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    def leftovers(self, run):
        """Files that a finished run must not have."""
        folder = self.folder / run
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                      if ".tmp." in path.name or path.parent.name == "checkpoints" or path.name == "owner.json"
                      or path.parent == folder / "trials" and not (path / "done").is_file())


def faults_in(log):
    """The calls that a log of storage_faults.c lists: (operation, path)."""
    return [tuple(line.split(" ", 3)[2:]) for line in pathlib.Path(log).read_text().splitlines()]


def small_search(bench, source):
    """A search of real training, about two seconds."""
    return [pathlib.Path(source).resolve() / "configs/digits.yaml", "--set", f"data.file={bench.digits}",
            "--set", "search.iterations=2", "--set", "search.initial=4", "--set", "search.max_unseen=4",
            "--set", "training.epochs=5", "--set", "final.epochs=10", "--set", "space.parameters.width.choice=[8, 16]",
            "--set", "checkpoint.interval=1 epochs"]


def saving_search(bench, source, trainer):
    """A search over a trainer that saves in its trial's folder, in rungs, about four seconds on two ranks.
    @param trainer: "program" or "function" """
    source = pathlib.Path(source).resolve()
    file = str(source / "tests/support/saving_trainer.py")
    command = {"run": [sys.executable, file, "{parameters}", "seconds=0.03"]} if trainer == "program" else \
        {"python": f"{file}:saves", "interpreter": sys.executable, "env": {"PYTHONPATH": str(source / "python")}}
    config = bench.folder / "saving.yaml"
    config.write_text(f"""
space: {{parameters: {{a: {{range: [1, 9]}}, b: {{range: [1, 40]}}}}}}
command: {{{json.dumps(command)[1:-1]}, metrics: {{score: {{better: higher, range: [0, 100]}}, size: {{better: lower}}}}, epochs: 9, deterministic: true}}
objectives: [maximize: score, minimize: size]
search: {{algorithm: mo_asha, trials: 24}}
final: {{epochs: 12}}
""")
    return [config]
