"""Every script says how it is used, refuses what it does not know in one line, and is clean to its linters."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
SHELLCHECK, PYFLAKES, HADOLINT = sys.argv[2:5]
del sys.argv[1:5]
TIMEOUT_S = 600

FOLDERS = ("scripts", "slurm", "aml")
# Passes every word on to the program of its bundle, --help too.
WITHOUT_OPTIONS = {"scripts/bundled/skyline"}


def first_line(file):
    with open(file, "rb") as stream:
        return stream.readline().decode(errors="replace")


def files(*folders):
    return sorted(file for folder in folders for file in (SOURCE / folder).rglob("*")
                  if file.is_file() and "__pycache__" not in file.parts)


def commands():
    """What is started by name: files with an interpreter's line."""
    return [file for file in files(*FOLDERS) if first_line(file).startswith("#!")]


def name_of(file):
    return str(file.relative_to(SOURCE))


def shell_scripts():
    in_shell = re.compile(r"^#!.*\b(ba)?sh\b|^# shellcheck shell=")
    return [file for file in files(*FOLDERS, ".ci") if in_shell.search(first_line(file))]


def python_scripts():
    return [file for file in files(*FOLDERS, "tests", "python") if file.suffix == ".py" or "python" in first_line(file)
            and first_line(file).startswith("#!")]


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def start(self, file, *words):
        """In an empty folder, in which nothing may be left."""
        done = subprocess.run([file, *words], capture_output=True, text=True, cwd=self.folder.name, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(list(pathlib.Path(self.folder.name).iterdir()), [], f"{name_of(file)} {words} made files")
        return done

    def documented(self):
        found = [file for file in commands() if name_of(file) not in WITHOUT_OPTIONS]
        self.assertGreater(len(found), 10)
        return found

    def test_each_says_how_it_is_used(self):
        for file in self.documented():
            with self.subTest(name_of(file)):
                done = self.start(file, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("usage:", done.stdout)

    def test_each_refuses_an_unknown_option_in_one_line(self):
        for file in self.documented():
            with self.subTest(name_of(file)):
                # Python's argparse names missing arguments first; its usage stands before the line.
                done = self.start(file, "--no-such-option")
                lines = [line for line in done.stderr.splitlines() if not re.match(r"usage: |  ", line)]
                self.assertEqual((done.returncode, len(lines)), (2, 1), done.stderr)
                self.assertRegex(lines[0], "--no-such-option|missing|required|usage: none")

    def test_those_that_need_an_argument_say_which_is_missing(self):
        for name in ("aml/run", "aml/submit.py", "aml/submit_v1.py", "scripts/rigs/nfs", "slurm/search.sbatch", "slurm/submit"):
            with self.subTest(name):
                done = self.start(SOURCE / name)
                lines = [line for line in done.stderr.splitlines() if not re.match(r"usage: |  ", line)]
                self.assertEqual((done.returncode, len(lines)), (2, 1), done.stderr)
                self.assertRegex(lines[0], "missing|required")

    def test_none_writes_a_temporary_file_under_a_name_that_others_can_foresee(self):
        foreseen = re.compile(r"(/tmp|TMPDIR)\S*\$\$|>+ *\"?/tmp/")
        for file in shell_scripts():
            self.assertIsNone(foreseen.search(file.read_text()), name_of(file))

    def test_each_can_be_started(self):
        for file in commands():
            self.assertTrue(file.stat().st_mode & 0o100, f"{name_of(file)} is not executable")


# Makes a virtual environment whose pip never ends, and has a child.
ENDLESS_PIP = r"""#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\nsleep 600 &\necho $! >child.new\nmv child.new child\nwait\n' >"$3/bin/pip"
chmod +x "$3/bin/pip"
"""

# Tells into which folder pip is to download, and leaves a wheel there.
LISTING_PIP = r"""#!/bin/sh
while [ "$1" != -d ]; do shift; done
echo "$2 $(ls -A "$2" | wc -l) $TMPDIR" >>downloads
name=${3%%==*}
touch "$2/$(echo "$name" | tr - _)-${3#*==}-py3-none-any.whl"
"""


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("scripts", "bin", "torch/lib"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(SOURCE / "scripts/setup", self.root / "scripts/setup")
        (self.root / "bin/python3").write_text(ENDLESS_PIP)
        (self.root / "bin/python3").chmod(0o755)
        (self.root / "torch/lib/libtorch_cpu.so").touch()
        os.mkfifo(self.root / "torch/version.py")

    def wait_until(self, holds, what):
        end = time.monotonic() + TIMEOUT_S
        while not holds():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def is_pips_child(self, number):
        """Whether it lives; another process may have got its number since."""
        try:
            return b"sleep" in pathlib.Path(f"/proc/{number}/cmdline").read_bytes()  # empty if it is dead and not reaped
        except OSError:
            return False

    def test_knows_a_driver_that_is_too_old_for_the_cuda_asked_for(self):
        driver = self.root / "version"
        for cuda, version, told in (("auto", "535.183.01", "535.183.01\n"), ("auto", "580.65.06", ""), ("12", "535.183.01", ""),
                                    ("12", "515.43.04", "515.43.04\n")):
            driver.write_text(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Sun May 12 19:39:15 UTC 2024\n"
                              "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n")
            done = subprocess.run([self.root / "scripts/setup", "--old-driver"], capture_output=True, text=True,
                                  env={**os.environ, "SKYLINE_DRIVER": str(driver), "SKYLINE_CUDA": cuda}, timeout=TIMEOUT_S)
            self.assertEqual((done.returncode, done.stdout), (0, told))

    def test_downloads_each_wheel_into_a_folder_of_its_own(self):
        """Others unpack in TMPDIR meanwhile: who looked for the wheel there met folders that went under its eyes."""
        for name, text in (("python3", LISTING_PIP), ("sha256sum", "#!/bin/sh\ncat >/dev/null\n"), ("unzip", "#!/bin/sh\n")):
            (self.root / "bin" / name).write_text(text)
            (self.root / "bin" / name).chmod(0o755)
        settings = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "SKYLINE_SKIP_APT": "1", "SKYLINE_CUDA": "off"}
        settings |= {name: "" for name in os.environ if name.startswith("SKYLINE_") and name not in settings}
        done = subprocess.run([self.root / "scripts/setup"], env={**os.environ, **settings}, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        downloads = [line.split() for line in (self.root / "downloads").read_text().splitlines()]
        self.assertGreater(len(downloads), 2)
        self.assertEqual([int(files) for _, files, _ in downloads], [0] * len(downloads))
        self.assertEqual(len({folder for folder, _, _ in downloads}), len(downloads))
        for folder, _, shared in downloads:
            self.assertEqual(pathlib.Path(folder).parent, pathlib.Path(shared))
        self.assertEqual(list((self.root / ".deps").glob("tmp.*")), [])

    def test_ends_what_it_started_when_it_fails(self):
        child = self.root / "child"
        settings = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "SKYLINE_SKIP_APT": "1", "SKYLINE_LINTERS": "1",
                    "SKYLINE_CUDA": "on", "SKYLINE_TORCH_ROOT": str(self.root / "torch")}
        setup = subprocess.Popen([self.root / "scripts/setup"], env={**os.environ, **settings},
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_until(child.exists, "pip was not started")
        (self.root / "torch/version.py").write_text("__version__ = '1.0'\n")  # setup waits for it, and refuses it
        self.assertEqual(setup.wait(TIMEOUT_S), 1)
        number = int(child.read_text())
        try:
            self.wait_until(lambda: not self.is_pips_child(number), "pip's child goes on")
        finally:
            if self.is_pips_child(number):
                os.kill(number, signal.SIGKILL)


class Linters(unittest.TestCase):
    def setUp(self):
        for linter in (SHELLCHECK, PYFLAKES, HADOLINT):
            self.assertFalse(linter.endswith("-NOTFOUND"), f"{linter}: install it with SKYLINE_LINTERS=1 scripts/setup")

    def clean(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_shellcheck_finds_nothing_in_the_shell_scripts(self):
        self.assertGreater(len(shell_scripts()), 10)
        self.clean(SHELLCHECK, *shell_scripts())

    def test_pyflakes_finds_nothing_in_the_python_scripts(self):
        self.assertGreater(len(python_scripts()), 20)
        self.clean(PYFLAKES, *python_scripts())

    def test_hadolint_finds_nothing_in_the_dockerfile(self):
        self.clean(HADOLINT, SOURCE / "aml/Dockerfile")

    def test_the_linters_find_what_is_wrong(self):
        wrong = {SHELLCHECK: ("x.sh", "#!/bin/sh\nrm $1\n"), PYFLAKES: ("x.py", "import os\n"),
                 HADOLINT: ("Dockerfile", "FROM debian:latest\nRUN cd /tmp\n")}
        with tempfile.TemporaryDirectory() as folder:
            for linter, (name, text) in wrong.items():
                (pathlib.Path(folder) / name).write_text(text)
                done = subprocess.run([linter, pathlib.Path(folder) / name], capture_output=True, text=True)
                self.assertEqual(done.returncode, 1, linter)


def stages_of(text):
    """An Apptainer definition: a list of (header as a dictionary, sections as name -> lines), one for each stage."""
    stages, section = [], None
    for line in text.splitlines():
        if re.match(r"Bootstrap:", line):
            stages.append(({}, {}))
            section = None
        if re.match(r"\s*#|\s*$", line):
            continue
        if line.startswith("%"):
            section = line[1:].strip()
            if section in stages[-1][1]:
                raise ValueError(f"two sections %{section} in a stage")
            stages[-1][1][section] = []
        elif section is None:
            key, value = line.split(":", 1)
            stages[-1][0][key] = value.strip()
        else:
            stages[-1][1][section].append(line.strip())
    return stages


class Images(unittest.TestCase):
    """No container engine is at hand: what can be said of the two image files without one."""

    def setUp(self):
        self.docker = (SOURCE / "aml/Dockerfile").read_text()
        self.definition = (SOURCE / "slurm/skyline.def").read_text()
        self.stages = stages_of(self.definition)

    def test_the_definition_has_the_keys_and_sections_that_apptainer_knows(self):
        self.assertEqual([header["Stage"] for header, _ in self.stages], ["build", "final"])
        known = {"arguments", "setup", "files", "environment", "post", "runscript", "startscript", "test", "labels", "help"}
        for header, sections in self.stages:
            self.assertEqual(set(header), {"Bootstrap", "From", "Stage"})
            self.assertLessEqual({name.split()[0] for name in sections}, known)
        self.assertIn("files from build", self.stages[1][1])

    def test_the_scripts_of_the_definition_are_clean_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, (_, sections) in enumerate(self.stages):
                for name in set(sections) & {"post", "environment", "runscript", "test"}:
                    script = pathlib.Path(folder) / f"{number}-{name}"
                    script.write_text("#!/bin/sh\n" + "\n".join(sections[name]) + "\n")
                    # SC2164: Apptainer runs them with `sh -e`.
                    done = subprocess.run([SHELLCHECK, "--exclude=SC2164", script], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_both_start_from_one_base_and_install_the_same_libraries(self):
        self.assertEqual(set(re.findall(r"^FROM (\S+)", self.docker, re.MULTILINE)), {"${BASE}"})
        base = re.search(r"^ARG BASE=(\S+)", self.docker, re.MULTILINE).group(1)
        self.assertEqual({header["From"] for header, _ in self.stages}, {base})
        libraries = re.compile(r"\b(lib[a-z][\w.+-]*|openmpi-bin|rdma-core|ibverbs-providers|zlib1g)(?=\s)")
        packages = set(libraries.findall(self.docker.split("apt-get install", 1)[1].split("rm -rf", 1)[0]))
        of_definition = set(libraries.findall("\n".join(self.stages[1][1]["post"]) + "\n"))
        self.assertEqual(packages, of_definition)

    def test_both_install_a_runtime_library_for_each_that_the_program_is_built_with(self):
        developed = re.search(r"^packages=\((.*?)\)", (SOURCE / "scripts/setup").read_text(), re.DOTALL | re.MULTILINE).group(1)
        # Headers alone, or of tests; each of the others has a library at run time.
        without = {"libcli11", "libxxhash", "libeigen3", "libgtest", "libgmock", "libbenchmark"}
        for name in re.findall(r"\b(lib[\w+]+?(?:-[a-z]+)?)-dev\b", developed):
            if name in without:
                continue
            self.assertRegex(self.docker, rf" {re.escape(name)}[\d.-]", f"aml/Dockerfile lacks the library of {name}-dev")


if __name__ == "__main__":
    unittest.main()
