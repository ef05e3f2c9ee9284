"""cmake --install, the tree moved, find_package(Skyline) by a program with a layer kind, a loss, a metric, an evaluator and an algorithm of its own."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, TORCH = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
CMAKE, MPIEXEC, FAKE_DRIVER, MODULECMD = sys.argv[4:8]
del sys.argv[1:8]
EXAMPLE = SOURCE / "tests/package/example"


def run(*words, folder, **environment):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=folder, timeout=500,
                          env=os.environ | environment)


class FindPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        done = run(CMAKE, "--install", BUILD, "--prefix", cls.root / "first", folder=cls.root)
        assert done.returncode == 0, done.stderr
        cls.prefix = cls.root / "another place"
        shutil.move(cls.root / "first", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def configure(self, name, *options, source=EXAMPLE, **environment):
        return run(CMAKE, "-S", source, "-B", self.root / name, f"-DCMAKE_PREFIX_PATH={self.prefix}", *options,
                   folder=self.root, **environment)

    def succeed(self, *words, **environment):
        done = run(*words, folder=self.root, **environment)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def search(self, program, config, *settings, ranks=2, folder=None):
        overrides = [word for setting in settings for word in ("--set", setting)]
        return self.succeed(MPIEXEC, "--oversubscribe", "-np", ranks, program, "search", EXAMPLE / f"{config}.yaml", "--run",
                            folder or config, "--quiet", *overrides)

    def check_algorithm(self, program):
        """The algorithm of the example finds the same on any number of ranks, and only what the constraints allow."""
        found = []
        for ranks in (1, 2, 3):
            text = self.search(program, "balance", "search={algorithm: hill_climb, trials: 8}",
                               "constraints=[{parameters: [0, 6000]}]", ranks=ranks, folder=f"climb{ranks}")
            self.assertIn("done: 8 trials (0 failed)", text)
            trials = json.loads((self.root / f"climb{ranks}/models.json").read_text())["trials"]
            found.append([(trial["arch_id"], trial["origin"], trial["parents"]) for trial in trials])
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertIn("uphill", [origin for _, origin, _ in found[0]])

    def check_plain_program(self, program):
        """What only reads a run needs none of the additions."""
        skyline = self.prefix / "bin/skyline"
        self.search(program, "balance", "search={algorithm: hill_climb, trials: 8}", "run.seed=2",
                    "constraints=[{parameters: [0, 6000]}]", folder="climb")
        for command in (["status", "climb"], ["journal", "climb", "--canonical"], ["compare", "climb1", "climb"]):
            self.assertEqual(self.succeed(skyline, *command), self.succeed(program, *command))
        self.assertIn("best balance", self.succeed(skyline, "compare", "climb1", "climb"))
        self.succeed(skyline, "trace", "climb")
        self.succeed(skyline, "report", "climb1", "climb", "--out", "plain.html")
        refused = run(skyline, "train", "training", "--front", "--epochs", "1", "--run", "plain", folder=self.root)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("training: has layers of the kind `scaled_leaky_relu`, which this program does not have", refused.stderr)

    def test_a_program_with_its_own_layer_evaluator_and_algorithm_searches(self):
        configured = self.configure("program", f"-DSKYLINE_TORCH_ROOT={TORCH}", "-DCMAKE_BUILD_TYPE=Release",
                                    "-DCMAKE_CXX_COMPILER_LAUNCHER=" + (shutil.which("ccache") or ""))
        self.assertEqual(configured.returncode, 0, configured.stdout + configured.stderr)
        self.succeed(CMAKE, "--build", self.root / "program", "--parallel", "2")
        program = self.root / "program/my_skyline"
        self.assertIn("(0 failed)", self.search(program, "balance"))
        front = json.loads((self.root / "balance/pareto.json").read_text())
        self.assertIn("balance", json.dumps(front))
        self.assertGreater(front["hypervolume"]["search"], 0, "the range of `balance` gives it, without any constraint")
        self.assertIn("scaled_leaky_relu", (self.root / "balance/config.yaml").read_text())
        self.check_algorithm(program)
        self.succeed(self.prefix / "bin/skyline", "prep", "digits", "--out", "digits.h5")
        self.assertIn("10 classes", self.succeed(program, "prep", "digits", "--out", "own.h5"))  # with the installed tree's Python
        self.assertIn("(0 failed)", self.search(program, "training", "training.epochs=0.5"))
        trials = json.loads((self.root / "training/models.json").read_text())["trials"]
        for trial in trials:
            self.assertLessEqual(trial["metrics"]["validation_worst_recall"], trial["metrics"]["validation_accuracy"])
        self.assertIn("gamma: 1.5", (self.root / "training/config.yaml").read_text())
        self.check_plain_program(program)
        self.check_cuda_module(program)
        refused = run(program, "validate", EXAMPLE / "balance.yaml", "--set", "balance.target=-1", folder=self.root)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("balance.target: expected a number above 0, got -1", refused.stderr)

    def check_cuda_module(self, program):
        """With a driver, the module of the package is found, if it has one."""
        (self.root / "driver").mkdir()
        (self.root / "driver/libcuda.so.1").symlink_to(FAKE_DRIVER)
        text = self.succeed(program, "validate", EXAMPLE / "training.yaml", LD_LIBRARY_PATH=str(self.root / "driver"))
        missing = "this build has no cuda module" in text
        self.assertNotEqual(missing, (self.prefix / "lib/libskyline_cuda.so").exists(), text)

    def test_the_module_file_leads_to_the_tree_it_lies_in(self):
        self.assertFalse(MODULECMD.endswith("-NOTFOUND"), "no modulecmd: SKYLINE_LINTERS=1 scripts/setup")
        files = self.prefix / "share/skyline/modulefiles"
        loaded = run(MODULECMD, "python", "load", "skyline", folder=self.root, MODULEPATH=str(files))
        self.assertEqual(loaded.returncode, 0, loaded.stderr)
        for variable in ("SKYLINE_ROOT", "PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH"):
            self.assertRegex(loaded.stdout, rf"environ\['{variable}'\] = ['\"]{self.prefix}")

    def test_the_slurm_scripts_find_the_program_that_they_were_installed_with(self):
        config = self.prefix / "share/skyline/configs/synthetic.yaml"
        submit = self.prefix / "share/skyline/slurm/submit"
        printed = self.succeed("env", "SKYLINE_LOCAL_RUN=1", submit, "--dry-run", config, "runs/a", "--", "-n", "2")
        self.assertIn(str(self.prefix / "bin/skyline").replace(" ", "\\ "), printed)
        self.assertIn("nothing was submitted", printed)

    def test_the_launcher_of_trainers_is_installed_and_needs_no_library(self):
        launcher = self.prefix / "lib/skyline-launch"
        listed = subprocess.run(["ldd", launcher], capture_output=True, text=True)
        self.assertIn("not a dynamic executable", listed.stdout + listed.stderr)
        refused = run(launcher, "memory=1", "--", "/bin/true", folder=self.root)
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(refused.stderr, "skyline-launch: descriptor 3 is no socket: Skyline starts this program\n")

    def test_the_notices_of_third_parties_are_installed(self):
        self.assertIn("LibTorch", (self.prefix / "share/skyline/THIRD_PARTY_NOTICES.md").read_text())

    def test_the_tests_for_gpus_are_not_installed_unless_named(self):
        self.assertEqual({file.name for file in (self.prefix / "bin").iterdir()}, {"skyline"})

    def test_the_installed_program_finds_its_libraries(self):
        for file in (self.prefix / "bin/skyline", *(self.prefix / "lib").glob("libskyline_*.so")):
            listed = subprocess.run(["ldd", file], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True).stdout
            self.assertNotIn("libtorch_cpu.so => not found", listed)
            self.assertNotIn("libmpi.so.40 => not found", listed)
        text = self.succeed(self.prefix / "bin/skyline", "validate", self.prefix / "share/skyline/configs/synthetic.yaml")
        self.assertIn("is valid", text)

    def test_nothing_names_the_place_of_the_build(self):
        for file in (self.prefix / "lib/cmake/Skyline").iterdir():
            text = file.read_text()
            for place in (SOURCE, BUILD, TORCH, self.root):
                self.assertNotIn(str(place), text, file.name)

    def test_no_binary_names_a_file_of_the_sources(self):
        files = [self.prefix / "bin/skyline", *(self.prefix / "lib").glob("*.a")]
        self.assertGreater(len(files), 10)
        wheels = re.escape(str(TORCH.relative_to(SOURCE))) if TORCH.is_relative_to(SOURCE) else "(?!)"  # its own headers
        named = re.compile(rf"{re.escape(str(SOURCE))}/(?!{wheels}/)[\w./-]*".encode())
        for file in files:
            self.assertEqual(named.findall(file.read_bytes()), [], file.name)

    def refuse(self, reason, *words, **options):
        refused = self.configure(*words, **options)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(reason, " ".join(refused.stderr.split()))

    def project(self, name, languages, version):
        folder = self.root / f"{name}-source"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES {languages})\n"
                                               f"find_package(Skyline {version} REQUIRED)\n")
        return folder

    def test_a_version_that_it_is_not_is_refused(self):
        self.refuse('compatible with requested version "99"', "newer", source=self.project("newer", "C CXX", 99))

    def test_a_project_without_c_is_told(self):
        self.refuse("Skyline needs the languages C and CXX", "bare", source=self.project("bare", "CXX", "0.1"))

    def test_a_folder_without_torch_is_named(self):
        self.refuse("no lib/libtorch_cpu.so in SKYLINE_TORCH_ROOT=/none", "torchless", "-DSKYLINE_TORCH_ROOT=/none")

    def test_another_torch_is_refused(self):
        torch = self.root / "torch"
        (torch / "lib").mkdir(parents=True)
        (torch / "lib/libtorch_cpu.so").touch()
        (torch / "version.py").write_text("__version__ = '1.13.0'\n")
        self.refuse("holds LibTorch 1.13.0", "old", SKYLINE_TORCH_ROOT=str(torch))


if __name__ == "__main__":
    unittest.main()
