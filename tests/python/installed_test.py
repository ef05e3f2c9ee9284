"""The package of an installed tree uses the program of that tree."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, CMAKE = sys.argv[1:3]
del sys.argv[1:3]


class Installed(unittest.TestCase):
    def test_it_finds_the_program_that_it_was_installed_with_wherever_the_tree_is(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-python-")).resolve()
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", folder / "first", "--component", "skyline"], check=True, capture_output=True)
        (folder / "first").rename(folder / "tree")
        package = folder / "tree/share/skyline/python"
        self.assertEqual({path.name for path in package.iterdir()}, {"pyproject.toml", "skyline"})
        for name in ("py.typed", "prep/__main__.py"):
            self.assertTrue((package / "skyline" / name).exists())
        code = "import skyline; print(skyline.find_program())"
        found = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(package), "PATH": os.defpath})
        self.assertEqual((found.stdout, found.stderr), (f"{folder}/tree/bin/skyline\n", ""))


if __name__ == "__main__":
    unittest.main()
