"""Functions that trials call in forks of a process that has imported them (`command.python`)."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

from package_case import PROGRAM, SETTINGS, SOURCE, SPACE, TIMEOUT_S, PackageCase

import functions
import skyline

MODULE = """
import os, pathlib, subprocess, sys, time
from skyline import trial
SERVER = os.getpid()

def tells(depth):
    threads = os.environ["OMP_NUM_THREADS"]
    print("told", SERVER, os.getpid(), threads, trial.rank, trial.world_size, sys.modules.keys() >= {"skyline.fork_server"}, flush=True)
    return depth

def kills_its_server(depth):
    mark = pathlib.Path(f"killed.{depth}")
    if depth % 10 == 0 and not mark.exists():  # once; the trial is tried again
        mark.touch()
        os.kill(SERVER, 9)
    return depth

def sleeps(depth):
    subprocess.Popen(["sleep", "654"], start_new_session=True)
    pathlib.Path(f"asleep.{SERVER}.{os.getpid()}").touch()
    time.sleep(600)
"""


class Fork(PackageCase):
    def setUp(self):
        name = f"of_{self.id().rsplit('.', 1)[-1][:20]}"
        self.module = name
        (self.folder / f"{name}.py").write_text(MODULE)
        for path in self.folder.glob("asleep.*"):
            path.unlink()

    def config(self, function, command="", depths=4, search="{algorithm: exhaustive}"):
        path = self.folder / f"{self.module}.yaml"
        path.write_text(f"space: {{parameters: {{depth: {{range: [1, {depths}]}}}}}}\n"
                        f"command: {{python: '{self.module}:{function}', interpreter: {sys.executable}, "
                        f"metrics: {{score: {{better: higher, range: [0, 100]}}}}, env: {{PYTHONPATH: {SOURCE / 'python'}}}{command}}}\n"
                        f"objectives: [maximize: score]\nsearch: {search}\n")
        return path

    def start(self, config, run, ranks=1):
        launcher = [os.environ.get("MPIEXEC", "mpirun"), "-np", str(ranks), "--oversubscribe", "--allow-run-as-root"] if ranks > 1 else []
        return subprocess.Popen([*launcher, PROGRAM, "search", config, "--run", run, "--slots", "2"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=self.folder)

    def search(self, config, run, ranks=1, expect=0):
        job = self.start(config, run, ranks)
        shown, _ = job.communicate(timeout=TIMEOUT_S)
        self.assertEqual(job.returncode, expect, shown)
        return shown

    def told(self, run):
        logs = (self.folder / run / "logs/trials").glob("*.log")
        return [line.split()[1:] for log in logs for line in log.read_text().splitlines() if line.startswith("told")]

    def processes(self):
        """The live processes of this test, by their command lines."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                text = (path / "cmdline").read_bytes()
                if self.module.encode() in text or text == b"sleep\0654\0":
                    found.append(int(path.name))
            except OSError:  # it has just ended
                continue
        return found

    def test_a_fork_and_a_new_python_have_the_same_canonical_journal_on_any_number_of_ranks(self):
        journals = set()
        for start in ("fork", "fresh"):
            for ranks in (1, 2):
                settings = {**SETTINGS, "command": {"deterministic": True, "start": start}}
                run = skyline.search(SPACE, functions.product, trials=8, ranks=ranks, folder=f"{self.name()}.{start}.{ranks}", **settings)
                journals.add(self.canonical(run.wait()).split(b"\n", 1)[1])  # without the configuration
        self.assertEqual(len(journals), 1)

    def test_trials_of_a_rank_are_forks_of_one_process(self):
        shown = self.search(self.config("tells"), self.module)
        self.assertIn(f"each rank imports {self.module}, log in {self.folder / self.module}/logs/server.0.log\n", shown)
        told = self.told(self.module)
        self.assertEqual(len(told), 4)
        self.assertEqual(len({server for server, *_ in told}), 1)
        self.assertEqual(len({own for _, own, *_ in told}), 4)
        self.assertEqual(self.processes(), [])

    def test_with_start_fresh_each_trial_imports_the_function(self):
        self.search(self.config("tells", ", start: fresh"), self.module)
        self.assertTrue(all(server == own for server, own, *_ in self.told(self.module)))
        self.assertEqual(len(self.told(self.module)), 4)

    def test_the_processes_of_a_group_are_forks_that_know_each_other(self):
        self.search(self.config("tells", ", processes: 2", depths=2), self.module, ranks=2)
        told = self.told(self.module)
        self.assertEqual(sorted(line[3:5] for line in told), [["0", "2"], ["0", "2"], ["1", "2"], ["1", "2"]])
        self.assertEqual(len({server for server, *_ in told}), 2)

    def test_an_import_that_fails_ends_the_search_before_its_first_trial_on_any_number_of_ranks(self):
        (self.folder / f"{self.module}.py").write_text("raise OSError('no data here')\n")
        for ranks in (1, 2):
            run = f"{self.module}.{ranks}"
            shown = self.search(self.config("tells"), run, ranks, expect=2)
            self.assertRegex(shown, rf"command.python: importing {self.module} failed on \S+, see \S+/logs/server\.\d\.log: OSError: no data here")
            self.assertEqual(list((self.folder / run / "logs/trials").glob("*")), [])

    def test_a_search_goes_on_when_its_server_is_killed_again_and_again(self):
        self.search(self.config("kills_its_server", depths=30), self.module)
        self.assertEqual(len(list(self.folder.glob("killed.*"))), 3)
        self.assertEqual([row["status"] for row in skyline.open_run(self.module).rows], ["ok"] * 30)

    def test_a_server_that_ends_after_each_fork_leaves_its_trials_alone(self):
        self.search(self.config("tells", ", trials_per_server: 1", depths=20), self.module)
        told = self.told(self.module)
        self.assertEqual(len({server for server, *_ in told}), 20)
        self.assertEqual(len(told), 20)
        self.assertEqual(list((self.folder / self.module / "logs/trials").glob("*.failed.log")), [])

    def with_import(self, text):
        (self.folder / f"{self.module}.py").write_text(MODULE + text)

    def test_what_the_import_has_made_outlives_the_trials(self):
        self.with_import("""
import atexit, tempfile
KEPT = tempfile.TemporaryDirectory()
atexit.register(lambda: pathlib.Path("ended").open("a").write("ended "))

def looks(depth):
    pathlib.Path(KEPT.name, "file").open("a").write("x")
    atexit.register(lambda: pathlib.Path("trials_end").open("a").write("x"))
    return depth
""")
        self.search(self.config("looks"), self.module)
        self.assertEqual((self.folder / "trials_end").read_text(), "xxxx")
        self.assertFalse((self.folder / "ended").exists())

    def test_many_trials_find_what_the_import_has_filled_on_large_pages(self):
        self.with_import("""
import mmap, re, zlib
TEXT = bytes(range(256)) * (32 << 12)
FILLED = mmap.mmap(-1, len(TEXT), flags=mmap.MAP_PRIVATE)
FILLED.write(TEXT)

def sums(depth):
    print("told", SERVER, re.search("AnonHugePages: *([0-9]+)", pathlib.Path("/proc/self/smaps_rollup").read_text()).group(1), flush=True)
    return depth if zlib.crc32(FILLED) == zlib.crc32(TEXT) else 0
""")
        self.search(self.config("sums", depths=16), self.module)
        self.assertEqual(sorted(row["score"] for row in skyline.open_run(self.module).rows), list(range(1, 17)))
        told = self.told(self.module)
        self.assertEqual(len({server for server, _ in told}), 1)
        knows_them = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 1) and os.path.exists("/sys/kernel/mm/transparent_hugepage")
        self.assertEqual(any(int(huge_kb) > 0 for _, huge_kb in told), knows_them)

    def test_threads_that_warm_up_has_joined_are_no_reason_to_refuse(self):
        self.with_import("""
import threading

def warm_up():
    threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
""")
        for number in range(3):
            self.search(self.config("tells"), f"{self.module}.{number}")

    def test_a_module_that_reads_the_trial_at_its_import_is_refused(self):
        for read in ("trial.seed", "trial.rank", "trial.folder"):
            self.with_import(f"READ = {read}\n")
            shown = self.search(self.config("tells"), f"{self.module}.{read}", expect=2)
            self.assertIn("skyline.trial is known only within the function", shown)

    def test_nothing_is_left_when_the_rank_is_killed(self):
        job = self.start(self.config("sleeps"), self.module)
        self.wait_until(lambda: len(list(self.folder.glob("asleep.*"))) == 2, "not both trials are under way")
        job.kill()
        job.communicate()
        self.wait_until(lambda: not self.processes(), "processes are left")

    def test_a_stop_ends_forks_and_the_server(self):
        job = self.start(self.config("sleeps", ", grace: 1 s"), self.module)
        self.wait_until(lambda: len(list(self.folder.glob("asleep.*"))) == 2, "not both trials are under way")
        job.send_signal(signal.SIGUSR1)
        shown, _ = job.communicate(timeout=TIMEOUT_S)
        self.assertEqual(job.returncode, 75, shown)
        self.assertEqual(self.processes(), [])


if __name__ == "__main__":
    unittest.main()
