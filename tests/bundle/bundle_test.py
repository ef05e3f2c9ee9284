"""scripts/bundle: an unpacked bundle runs with nothing but torch and glibc, wherever it lies."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE, BUILD, TORCH = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
SYSTEM = re.compile(r"^(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|tinfo|util|anl|mvec))\.so")


def pack(*words):
    return subprocess.run([SOURCE / "scripts/bundle", *words], capture_output=True, text=True)


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        made = cls.root / "made/bundle.tar.gz"
        result = pack("--build", BUILD, made)
        assert result.returncode == 0, result.stderr
        cls.bytes = made.stat().st_size
        with tarfile.open(made) as tar:
            tar.extractall(cls.root / "some where else")  # a space in the path
        cls.bundle = cls.root / "some where else/skyline-bundle"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_bundled(self, *words, torch=TORCH, **environment):
        """With an environment that says nothing of this machine."""
        base = {"PATH": "/usr/bin:/bin", "HOME": str(self.root), "OMP_NUM_THREADS": "1"}
        if torch is not None:
            base["SKYLINE_TORCH_ROOT"] = str(torch)
        return subprocess.run([self.bundle / words[0], *words[1:]], env=base | environment, cwd=self.root,
                              capture_output=True, text=True, timeout=600)

    def fake_torch(self, version):
        torch = self.root / f"packages-{version}/torch"
        (torch / "lib").mkdir(parents=True, exist_ok=True)
        (torch / "lib/libtorch_cpu.so").touch()
        (torch / "__init__.py").write_text("raise SystemExit('torch must not be imported')\n")
        (torch / "version.py").write_text(f"__all__ = []\n__version__ = '{version}'\n")
        return torch

    def test_is_small(self):
        self.assertLess(self.bytes, 60e6)

    def test_searches_the_digits_in_an_empty_folder(self):
        search = self.run_bundled("skyline", "search", str(self.bundle / "configs/digits.yaml"), "--run", "runs/digits",
                                  "--set", f"data.file={self.bundle / 'data/digits.h5'}", "--set", "search.iterations=1", "--set", "training.epochs=1", "--set",
                                  "final.epochs=1", "--quiet")
        self.assertEqual(search.returncode, 0, search.stderr)
        self.assertIn("(0 failed)", search.stdout + search.stderr)
        self.assertTrue((self.root / "runs/digits/pareto.json").exists())

    def test_prepares_data_with_the_python_of_the_machine(self):
        prepared = self.run_bundled("skyline", "prep", "digits", "--out", "made.h5", SKYLINE_PYTHON=sys.executable)
        self.assertEqual((prepared.returncode, prepared.stderr), (0, ""))
        self.assertTrue((self.bundle / "share/skyline/python/skyline/prep/__main__.py").exists())

    def test_carries_the_launcher_of_trainers(self):
        refused = subprocess.run([self.bundle / "lib/skyline-launch"], capture_output=True, text=True)
        self.assertEqual((refused.returncode, refused.stderr), (2, "skyline-launch: no -- before the program\n"))

    def test_takes_no_library_from_this_machine(self):
        log = self.root / "loader"
        result = self.run_bundled("skyline", "--version", LD_DEBUG="files", LD_DEBUG_OUTPUT=str(log))
        self.assertEqual(result.returncode, 0, result.stderr)
        logs = [file.read_text() for file in self.root.glob("loader.*")]
        own = next(text for text in logs if "libhdf5_serial" in text)  # the others are of the launcher's tools
        for file in map(pathlib.Path, re.findall(r"calling init: (/.*)", own)):
            expected = (file.is_relative_to(self.bundle) or file.resolve().is_relative_to(TORCH.parent)
                        or SYSTEM.match(file.name) or re.match(r"lib(cudart|cupti)\.so", file.name))
            self.assertTrue(expected, file)

    def test_everything_needed_is_carried_or_of_torch_or_glibc(self):
        path = f"{self.bundle}/lib:{self.bundle}/lib/mpi:{TORCH}/lib"
        for binary in [*(self.bundle / "bin").iterdir(), *(self.bundle / "lib").rglob("lib*.so*")]:
            if not binary.is_file() or binary.name == "libskyline_cuda.so":
                continue  # it needs CUDA's libraries, which LibTorch brings
            listed = subprocess.run(["ldd", binary], env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": path},
                                    capture_output=True, text=True, check=True).stdout
            for name, file in re.findall(r"^\s*(\S+) => (.+?)(?: \(0x.*)?$", listed, re.MULTILINE):
                inside = pathlib.Path(file).resolve().is_relative_to(self.bundle)
                of_torch = re.match(r"lib(torch|c10|gomp|cud|cupti)", name) is not None
                self.assertTrue(inside or of_torch or SYSTEM.match(name), f"{binary.name}: {name} => {file}")

    def test_paths_of_the_build_are_not_in_it(self):
        for binary in [*(self.bundle / "bin").iterdir(), *(self.bundle / "lib").glob("libskyline*")]:
            dynamic = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout
            self.assertEqual(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic), ["$ORIGIN/../lib"], binary.name)

    def test_finds_the_torch_of_python_without_importing_it(self):
        wrong = self.fake_torch("2.9.0+cu128")
        result = self.run_bundled("skyline", "--version", torch=None, PYTHONPATH=str(wrong.parent))
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, f"skyline: {wrong} holds torch 2.9.0+cu128, needed is 2.11.0\n")

    def test_takes_no_torch_from_the_current_directory(self):
        planted = self.root / "torch"
        shutil.copytree(self.fake_torch("2.11.0"), planted)
        self.addCleanup(shutil.rmtree, planted)
        result = self.run_bundled("skyline", "--version", torch=None)
        self.assertNotIn(str(planted), result.stderr + result.stdout)
        self.assertNotIn("error while loading", result.stderr)

    def test_says_where_torch_is_missing(self):
        empty = self.root / "empty"
        empty.mkdir(exist_ok=True)
        result = self.run_bundled("skyline", "--version", torch=empty)
        self.assertEqual((result.returncode, result.stderr), (2, f"skyline: {empty} has no lib/libtorch_cpu.so\n"))

    def test_says_how_to_use_mpirun(self):
        result = self.run_bundled("run", "--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("mpirun -np 4", result.stdout)

    def test_names_its_programs_when_asked_for_another(self):
        result = self.run_bundled("run", "nothing")
        self.assertEqual(result.returncode, 2)
        self.assertIn("this bundle has no program nothing; it has: ", result.stderr)
        self.assertIn("skyline", result.stderr)

    def test_lists_its_programs(self):
        description = json.loads((self.bundle / "bundle.json").read_text())
        for entry in description["programs"]:
            self.assertTrue(os.access(self.bundle / "bin" / entry["program"], os.X_OK), entry)
        self.assertEqual(description["torch"], "2.11.0")

    def test_refuses_a_build_folder_without_the_program(self):
        result = pack("--build", self.root, self.root / "x.tar.gz")
        self.assertEqual(result.returncode, 2)
        self.assertIn("holds no bin/skyline: build it first", result.stderr)


if __name__ == "__main__":
    unittest.main()
