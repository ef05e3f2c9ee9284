"""Where the built and the installed programs look for libraries: never in the current directory."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, CMAKE = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
del sys.argv[1:3]


def library_path(file):
    """The elements of a binary's RPATH or RUNPATH; none where it has none, or is no binary."""
    dynamic = subprocess.run(["readelf", "--dynamic", file], capture_output=True, text=True).stdout
    found = re.search(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
    return found.group(1).split(":") if found else []


def binaries(*folders):
    return [file for folder in folders for file in folder.rglob("*")
            if file.is_file() and (file.suffix == ".so" or not file.suffix) and file.open("rb").read(4) == b"\x7fELF"]


class LibraryPath(unittest.TestCase):
    def check_whole_paths(self, files):
        paths = {file: library_path(file) for file in files}
        self.assertTrue(any(paths.values()), "no binary has a library path: what is looked at?")
        for file, elements in paths.items():
            for element in elements:
                self.assertRegex(element, r"^(/|\$ORIGIN)", f"{file}: an element that depends on the current directory")

    def test_no_built_binary_looks_into_the_current_directory(self):
        self.check_whole_paths(binaries(BUILD / "bin", BUILD / "lib", BUILD / "tests"))

    def test_no_installed_binary_looks_into_the_current_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([CMAKE, "--install", BUILD, "--prefix", folder, "--component", "skyline"], check=True,
                           capture_output=True)
            self.check_whole_paths(binaries(pathlib.Path(folder)))

    def test_a_library_planted_in_the_current_directory_is_not_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in re.findall(r"NEEDED.*\[(.+)\]", subprocess.run(["readelf", "--dynamic", BUILD / "bin/skyline"],
                                                                     capture_output=True, text=True).stdout):
                pathlib.Path(folder, name).write_text("not a library: who loads it fails\n")
            done = subprocess.run([BUILD / "bin/skyline", "--version"], cwd=folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
