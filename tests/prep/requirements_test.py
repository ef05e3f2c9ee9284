"""A Python that lacks packages says which, whatever the source."""

import subprocess
import sys
import unittest

from prep_case import SOURCE, PrepCase

WITHOUT = """import sys
sys.modules.update(dict.fromkeys(["numpy", "h5py", "pandas", "PIL"]))
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in sys.modules and sys.modules[name] is None else found(name, *rest)
from skyline.prep.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


class RequirementsTest(PrepCase):
    def test_what_lacks_is_told_of_a_source_of_any_kind(self):
        self.write("table.csv", "a,b\n1,2\n")
        self.write("photo.png", b"\x89PNG\r\n\x1a\n")
        for source, packages in (("table.csv", "numpy h5py pandas"), ("photo.png", "numpy h5py pillow")):
            with self.subTest(source=source):
                done = subprocess.run([sys.executable, "-c", WITHOUT, "prepare", "auto", "--out=x.h5", "--", source], cwd=self.folder,
                                      env={"PYTHONPATH": str(SOURCE / "python")}, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                for package in packages.split():
                    self.assertIn(package, done.stderr)


if __name__ == "__main__":
    unittest.main()
