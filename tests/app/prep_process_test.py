"""The process of Python that reads what people bring: how it is found, ends, and what is left behind."""

import os
import signal
import subprocess
import sys
import unittest

from skyline_runs import TIMEOUT_S, RunsCase

KINDS = '''
import ctypes, os, pathlib, time
import numpy as np
from skyline.prep.dataset import Facts
from skyline.prep.errors import PrepError
from skyline.prep.kinds import Kind

class Crashes(Kind):
    def prepare(self, job):
        job.report.reading(job.sources[0])
        ctypes.string_at(0)

class Fails(Kind):
    def prepare(self, job):
        raise ValueError("no such luck")

class Refuses(Kind):
    def prepare(self, job):
        raise PrepError(f"{job.sources[0]}: looks odd, say --shape=3")
    def add_options(self, parser):
        parser.add_argument("--shape")

class Hungry(Kind):
    def prepare(self, job):
        kept = []
        while True:
            kept.append(np.ones(1 << 24))

class Sleeps(Kind):
    def prepare(self, job):
        job.writer.describe(Facts((1, 1, 1), ["a", "b"], "classes", "a test", False, 1.0), [4, 0, 0])
        job.sources[0].write_text(str(os.getpid()))
        time.sleep(600)

class Makes(Kind):
    meaning = "Four samples."
    sources = "[FILE]"
    values = [1, 2, 3, 4]
    def prepare(self, job):
        job.writer.describe(Facts((1, 1, 1), ["a", "b"], "classes", "a test", False, 1.0), [4, 0, 0])
        job.writer.append(0, np.array(self.values, "f4").reshape(-1, 1, 1, 1), np.arange(4) % 2)

class Spoils(Makes):
    def prepare(self, job):
        super().prepare(job)
        job.writer._parts[0].values[2] = np.nan
'''
NAMES = ("Crashes", "Fails", "Refuses", "Hungry", "Sleeps", "Makes", "Spoils")


class PrepProcess(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        info = cls.folder / "kinds/own_kinds-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-kinds\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[skyline.prep]\n" + "".join(f"{name.lower()} = own_kinds:{name}\n" for name in NAMES))
        (cls.folder / "kinds/own_kinds.py").write_text(KINDS)
        cls.environment = {"PYTHONPATH": str(cls.folder / "kinds"), "SKYLINE_PYTHON": sys.executable}
        (cls.folder / "x.bin").write_text("x")

    def setUp(self):
        self.before = self.files()

    def files(self):
        return sorted(str(path) for path in self.folder.rglob("*") if "__pycache__" not in str(path))

    def prep(self, *words, expect=2, **variables):
        return self.skyline("prep", *words, "-o", "out/made.h5", "--force", expect=expect, environment={**self.environment, **variables})

    def refused(self, *words, **variables):
        """Checks that nothing is left behind, and returns the last line."""
        said = self.prep(*words, **variables)
        self.assertEqual([file for file in self.files() if file not in self.before and not file.endswith("/out")], [])
        self.assertEqual(said.stdout, "")
        return said.stderr.splitlines()[-1]

    def test_a_kind_of_an_own_package_is_listed_and_makes_a_data_set(self):
        self.assertRegex(self.skyline("prep", "--help", environment=self.environment).stdout, r"(?m)^  makes +Four samples\.$")
        self.assertIn("usage: skyline prep makes [FILE] -o FILE [OPTIONS]",
                      self.skyline("prep", "makes", "--help", environment=self.environment).stdout)
        said = self.prep("makes", expect=0)
        self.assertIn("out/made.h5: 4 training and 0 test samples of 1x1x1, 2 classes", said.stdout)
        self.assertEqual((self.folder / "out/made.h5").read_bytes()[:16], b"skyline-sealed 3")
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], ["made.h5"])
        (self.folder / "out/made.h5").unlink()

    def test_a_crash_names_the_file_that_was_read(self):
        self.assertEqual(self.refused("crashes", "x.bin"),
                         f"skyline: prep crashes: {sys.executable} was ended by signal 11 while it read x.bin: damaged?")

    def test_a_bug_shows_its_traceback_and_a_refusal_does_not(self):
        said = self.prep("fails", "x.bin").stderr
        self.assertIn('raise ValueError("no such luck")', said)
        self.assertEqual(said.splitlines()[-1], f"skyline: prep fails: {sys.executable} failed with exit code 1: ValueError: no such luck")
        self.assertEqual(self.prep("refuses", "x.bin").stderr, "skyline: x.bin: looks odd, say --shape=3\n")

    def test_memory_that_runs_out_is_one_line(self):
        command = self.command("prep", "hungry", "x.bin", "-o", "made.h5")
        done = subprocess.run(["/bin/sh", "-c", 'ulimit -v 8000000; exec "$@"', "sh", *command], cwd=self.folder, capture_output=True,
                              text=True, env={**os.environ, **self.environment})
        self.assertEqual((done.returncode, done.stderr), (2, "skyline: prep hungry needs more memory than there is\n"))

    def test_values_are_checked_by_the_program(self):
        self.assertEqual(self.refused("spoils"), "skyline: prep spoils: made no valid data set: out/made.h5: train value number 2: "
                                                 "expected a finite number, got nan")

    def test_a_signal_ends_the_process_and_removes_its_files(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                job = self.start("prep", "sleeps", "process", "-o", "out/made.h5", environment=self.environment)
                self.wait_until((self.folder / "process").exists, "the kind has begun")
                self.wait_until(lambda: (self.folder / "process").read_text(), "the kind has begun")
                process = int((self.folder / "process").read_text())
                self.assertEqual(len(list((self.folder / "out").iterdir())), 1)
                job.send_signal(number)
                self.assertEqual(job.wait(TIMEOUT_S), -number)
                self.assertEqual(list((self.folder / "out").iterdir()), [])
                self.wait_until(lambda: not os.path.exists(f"/proc/{process}"), "its process ends")
                (self.folder / "process").unlink()

    def test_what_a_killed_program_left_goes_with_the_next(self):
        job = self.start("prep", "sleeps", "process", "-o", "out/made.h5", environment=self.environment)
        self.wait_until((self.folder / "process").exists, "the kind has begun")
        job.kill()
        job.wait(TIMEOUT_S)
        self.assertEqual(len(list((self.folder / "out").iterdir())), 1)
        (self.folder / "process").unlink()
        self.assertEqual(self.refused("refuses", "x.bin"), "skyline: x.bin: looks odd, say --shape=3")
        self.assertEqual(list((self.folder / "out").iterdir()), [])

    def test_a_python_without_packages_is_named_with_the_way_out(self):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder / "bare"], check=True)
        bare = self.folder / "bare/bin/python3"
        self.before = self.files()
        end = "(searches, and predict on prepared data sets, need none)"
        self.assertEqual(self.refused("digits", SKYLINE_PYTHON=str(bare)),
                         f"skyline: prep digits needs packages of Python: SKYLINE_PYTHON ({bare}) lacks numpy h5py: pip install numpy "
                         f"h5py, or name another Python by SKYLINE_PYTHON {end}")
        self.assertIn("lacks numpy h5py pandas", self.refused("arrays", "x.bin", SKYLINE_PYTHON=str(bare)))
        self.assertIn("lacks numpy h5py pillow", self.refused("images", ".", SKYLINE_PYTHON=str(bare)))
        shown = self.skyline("prep", "images", "--help", environment={"SKYLINE_PYTHON": str(bare)}).stdout
        self.assertIn("--fit {resize,crop}", shown, "help needs no package")
        self.assertEqual(self.refused("digits", SKYLINE_PYTHON="/bin/true"),
                         "skyline: prep digits needs Python of 3.10 or newer: SKYLINE_PYTHON (/bin/true) does not run its package: name "
                         f"another Python by SKYLINE_PYTHON {end}")
        self.assertEqual(self.refused("digits", SKYLINE_PYTHON="/nowhere/python"),
                         f"skyline: SKYLINE_PYTHON: `/nowhere/python` is not there on {os.uname().nodename}")

    def test_the_first_python_that_has_the_packages_is_taken(self):
        """Set-up gives them to the system's."""
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", self.folder / "bare"], check=True)
        old = self.folder / "old/bin/python3"
        old.parent.mkdir(parents=True)
        old.write_text("#!/bin/sh\necho \"TypeError: 'type' object is not subscriptable\" >&2\nexit 1\n")
        old.chmod(0o755)
        for first in ("bare", "old"):
            for variables in ({"PATH": f"{self.folder / first}/bin:{os.environ['PATH']}"},
                              {"SKYLINE_CALLING_PYTHON": str(self.folder / first / "bin/python3")}):
                with self.subTest(first, **variables):
                    self.prep("digits", expect=0, SKYLINE_PYTHON="", **variables)
                    (self.folder / "out/made.h5").unlink()

    def test_modules_where_the_program_starts_are_not_imported(self):
        (self.folder / "shadow").mkdir()
        for name in ("numpy", "h5py", "json", "skyline"):
            (self.folder / f"shadow/{name}.py").write_text("raise SystemExit('a module of the folder')\n")
        done = self.skyline("prep", "digits", "-o", "made.h5", cwd=self.folder / "shadow", environment=self.environment)
        self.assertIn("1442 training", done.stdout)


if __name__ == "__main__":
    unittest.main()
