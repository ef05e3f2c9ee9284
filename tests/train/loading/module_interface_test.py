"""The hashes by which the program and its modules recognize each other cover every header that both know."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, COMPILER, ROOT = sys.argv[1:4]
del sys.argv[1:]


class ModuleInterface(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name, "a tree")
        for part in ("include", "src/core", "src/cuda", "src/train"):
            shutil.copytree(pathlib.Path(ROOT, part), self.folder / part)
        self.output = self.folder / "interface.cpp"
        self.text = self.run_script()

    def run_script(self, sources="src/cuda", own="src/cuda/"):
        subprocess.run([CMAKE, f"-DCOMPILER={COMPILER}", f"-DROOT={self.folder}", "-DTORCH=1.0", "-DCONSTANT=kInterface",
                        "-DHEADER=interface.hpp", f"-DSOURCES={sources}", f"-DOWN={own}", f"-DOUTPUT={self.output}", "-P",
                        f"{ROOT}/cmake/ModuleInterface.cmake"], check=True)
        return self.output.read_text()

    def changed(self, header):
        with open(self.folder / header, "a") as file:
            file.write("// changed\n")
        before, self.text = self.text, self.run_script()
        return self.text != before

    def test_changes_with_each_plan_that_crosses_the_boundary(self):
        for header in ("src/train/device/accelerator.hpp", "src/train/loading/load_accelerator.hpp",
                       "include/skyline/trial/trial_group.hpp", "include/skyline/trial/trial.hpp",
                       *(f"src/train/kernels/{name}.hpp" for name in ("gather", "augment", "mix", "dropout", "device_kernels",
                                                                   "batch_norm_plan", "cross_entropy", "step_end"))):
            self.assertTrue(self.changed(header), header)

    def test_does_not_change_with_what_one_of_the_two_knows_alone(self):
        for file in ("src/train/learner/learner.hpp", "src/cuda/cuda_accelerator.hpp"):
            self.assertFalse(self.changed(file), file)

    def test_covers_a_header_that_the_library_begins_to_include(self):
        self.assertFalse(self.changed("src/train/device/memory_pool.hpp"))
        source = self.folder / "src/cuda/library_entry.cpp"
        source.write_text('#include "train/device/memory_pool.hpp"\n' + source.read_text())
        self.assertTrue(self.changed("src/train/device/memory_pool.hpp"))

    def test_of_the_training_module_changes_with_each_header_that_it_includes(self):
        before = self.run_script("src/train", "none")
        with open(self.folder / "src/train/evaluator/inference.hpp", "a") as file:
            file.write("// changed\n")
        self.assertNotEqual(self.run_script("src/train", "none"), before)

    def test_names_all_headers_as_dependencies_and_leaves_an_equal_source_alone(self):
        self.assertIn("/src/train/kernels/gather.hpp", pathlib.Path(f"{self.output}.d").read_text())
        os.utime(self.output, (0, 0))
        self.run_script()
        self.assertEqual(self.output.stat().st_mtime, 0)


if __name__ == "__main__":
    unittest.main()
