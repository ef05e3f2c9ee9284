"""The hash by which the program and its modules recognize each other covers every header that both know."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, ROOT = sys.argv[1:3]
del sys.argv[1:]


class ModuleInterface(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name, "a tree")
        for part in ("include", "src/train"):
            shutil.copytree(pathlib.Path(ROOT, part), self.folder / part)
        self.output = self.folder / "interface.cpp"
        self.text = self.run_script()

    def run_script(self, torch="1.0"):
        subprocess.run([CMAKE, f"-DROOT={self.folder}", "-DFOLDERS=include;src/train", f"-DTORCH={torch}", f"-DOUTPUT={self.output}",
                        "-P", f"{ROOT}/cmake/ModuleInterface.cmake"], check=True)
        return self.output.read_text()

    def test_changes_with_each_header_and_with_the_version_of_libtorch(self):
        for header in ("src/train/device/accelerator.hpp", "src/train/kernels/gather.hpp", "include/skyline/trial/trial.hpp"):
            with open(self.folder / header, "a") as file:
                file.write("// changed\n")
            before, self.text = self.text, self.run_script()
            self.assertNotEqual(self.text, before, header)
        self.assertNotEqual(self.run_script("1.1"), self.text)

    def test_an_equal_source_is_left_alone(self):
        os.utime(self.output, (0, 0))
        with open(self.folder / "src/train/learner/learner.cpp", "a") as file:
            file.write("// changed\n")
        self.run_script()
        self.assertEqual(self.output.stat().st_mtime, 0)


if __name__ == "__main__":
    unittest.main()
