"""What the tests of the package `skyline` share: a folder of their own, in which they are."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
sys.path.insert(0, str(SOURCE / "python"))
os.environ["SKYLINE"] = str(PROGRAM)
TIMEOUT_S = 600

import functions  # noqa: E402
import skyline  # noqa: E402

SPACE = {"lr": [0.1, 0.2, 0.4], "depth": range(1, 5)}
METRICS = {"score": {"range": [0, 2]}, "size": {"range": [0, 8]}}
SETTINGS = {"maximize": "score", "minimize": "size", "metrics": METRICS, "command": {"deterministic": True}, "quiet": True}


class PackageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-python-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.folder)

    def name(self):
        return f"runs/{self.id().rsplit('.', 1)[-1][:40]}"

    def canonical(self, run):
        return subprocess.run([PROGRAM, "journal", run.path, "--canonical"], capture_output=True, check=True).stdout

    def wait_until(self, holds, what):
        deadline = time.monotonic() + TIMEOUT_S
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def held_search(self, **more):
        """A search whose trials but the first two wait until go_on()."""
        (self.folder / "go").unlink(missing_ok=True)
        self.addCleanup(self.go_on)
        return skyline.search(SPACE, functions.told_after_two, **more, **SETTINGS)

    def go_on(self):
        (self.folder / "go").touch()

    def start_script(self, text, *arguments, name=None, **options):
        """A script in this folder, which finds the package by PYTHONPATH."""
        script = self.folder / (name or f"{self.id().rsplit('.', 1)[-1][:40]}.py")
        script.parent.mkdir(exist_ok=True)
        script.write_text(text)
        return subprocess.Popen([sys.executable, script.relative_to(self.folder), *arguments], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SOURCE / "python")}, **options)

    def run_script(self, text, *arguments, expect=0, **options):
        process = self.start_script(text, *arguments, **options)
        output, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, expect, output + errors)
        return output + errors
