"""The kind of docs/extending.md, installed as an entry point."""

import importlib
import re
import sys
import unittest

from prep_case import SOURCE, PrepCase


class OwnKind(PrepCase):
    def setUp(self) -> None:
        super().setUp()
        page = (SOURCE / "docs/extending.md").read_text(encoding="utf-8")
        code = re.search(r"```python\n(# skyline_noise.py\n.*?)```", page, re.DOTALL)
        points = re.search(r'entry-points\."(.*)"\]\n(.*) = "(.*)"', page)
        self.write("skyline_noise.py", code[1])
        self.write("skyline_noise-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: skyline-noise\nVersion: 1\n")
        self.write("skyline_noise-1.dist-info/entry_points.txt", f"[{points[1]}]\n{points[2]} = {points[3]}\n")
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        importlib.invalidate_caches()

    def test_is_one_of_the_kinds(self):
        made = self.read("noise", "--samples=30")
        self.assertEqual(made.array("train/values").shape, (30, 1, 2, 2))
        self.assertEqual(made.names(), ["dark", "bright"])
        self.assertIn("noise: nothing can be learned from it", made.text)
        self.assertIn("--samples N", self.prep("noise", "--help").text)

    def test_refuses_in_one_line(self):
        self.assertEqual(self.prep("noise", "--samples=1").error, "--samples: expected a whole number from 2 to 1000000, got 1")
        self.assertEqual(self.prep("noise", "a.txt").error, "a.txt: noise is read from no file")


if __name__ == "__main__":
    unittest.main()
