"""The hash by which the program and its modules recognize each other covers every header that both know, and the modules' sources."""

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
        subprocess.run([CMAKE, f"-DROOT={self.folder}", "-DFILES=include/*.hpp;src/train/*.hpp;src/train/*.cpp", f"-DTORCH={torch}", f"-DOUTPUT={self.output}",
                        "-P", f"{ROOT}/cmake/ModuleInterface.cmake"], check=True)
        return self.output.read_text()

    def test_changes_with_each_file_and_with_the_version_of_libtorch(self):
        for header in ("src/train/device/accelerator.hpp", "src/train/learner/learner.cpp", "src/train/kernels/gather.hpp", "include/skyline/trial/trial.hpp"):
            with open(self.folder / header, "a") as file:
                file.write("// changed\n")
            before, self.text = self.text, self.run_script()
            self.assertNotEqual(self.text, before, header)
        self.assertNotEqual(self.run_script("1.1"), self.text)

    def test_an_equal_source_is_left_alone(self):
        os.utime(self.output, (0, 0))
        (self.folder / "src/train/notes.txt").write_text("changed")
        self.run_script()
        self.assertEqual(self.output.stat().st_mtime, 0)


if __name__ == "__main__":
    unittest.main()
