"""One table of options: all of them are parsed, refused where they are of other sources, shown by --help and listed in the docs."""

import subprocess
import sys
import unittest

import numpy as np
from array_files import npz
from prep_case import SOURCE, PrepCase

from skyline.prep.option_table import FORMS, OPTIONS
from skyline.prep.wording import joined


def row(option):
    default = "" if option.default in (None, "", ()) else f"`{option.default}`"
    words = option.value.expected if "`" in option.value.expected else ""
    return f"| `--{option.name}` | {', '.join(option.forms)} | {words} | {default} | {option.meaning} |"


class OptionsTest(PrepCase):
    def setUp(self):
        super().setUp()
        self.write("rows.csv", "a,b,label\n" + "1.5,2,x\n2.5,3,y\n" * 9)
        self.write("set.npz", npz({"x": np.arange(36).reshape(18, 2) / 2, "y": np.arange(18) % 2}))
        for number in range(4):
            self.write(f"photos/{'ab'[number % 2]}/{number}.pgm", b"P5\n2 1\n255\n" + bytes([number, 7]))

    def test_options_of_other_sources_are_refused_in_one_line(self):
        sources = {"images": ("images", "photos", "unknown"), "sounds": ("sounds", "photos", "unknown"),
                   "recordings": ("recordings", "photos", "unknown"), "tables": ("arrays", "rows.csv", "is a table"),
                   "arrays": ("arrays", "set.npz", "has arrays")}
        for form, (kind, source, what) in sources.items():
            known = {option.name for option in OPTIONS if form in option.forms}
            for name in {option.name for option in OPTIONS} - known:
                forms = [each for each in FORMS if any(option.name == name and each in option.forms for option in OPTIONS)]
                value = next(value for value in ("1", "classes", "point", "nf", "crop", "last", "names", "8000", "samples", "ms", "apart")
                             if all(option.value.read(value) is not None for option in OPTIONS if option.name == name))
                with self.subTest(form=form, name=name):
                    error = self.prep(kind, source, f"--{name}={value}").error
                    of = f"an option of {joined(forms)}"
                    self.assertIn(error, (f"--{name}: {of}, and {self.folder / source} {what}", f"{kind}: --{name} is {of}"))
        self.assertEqual(self.prep("digits", "--label=a").error, "digits: --label is an option of images, sounds, recordings and tables")
        self.refused(f"--label: a column of a table of classes, and {self.folder / 'photos'} has them in folders", "images", "photos",
                     "--label=a")

    def test_help_needs_no_package_and_has_choices_and_defaults(self):
        def said(*words):
            return subprocess.run([sys.executable, "-S", "-m", "skyline.prep", *words], capture_output=True, text=True, check=True,
                                  env={"PYTHONPATH": str(SOURCE / "python")}).stdout

        self.assertIn("  digits ", said("kinds"))
        shown = " ".join(said("prepare", "arrays", "--help").split())
        for part in ("options of tables and arrays: --x-train TEXT", "--split {drawn,last}", "[default: drawn]", "[a whole number from 1 to "
                     "10000; default: 32]", "--layout {nchw,nhwc,", "[a number of at least 0 and below 1; default: 0.0]"):
            self.assertIn(part, shown)
        self.assertIn("--fit {resize,crop}", said("prepare", "images", "-h"))

    def test_options_are_listed_in_the_docs(self):
        page = (SOURCE / "docs/data.md").read_text(encoding="utf-8")
        expected = "\n".join(["| option | of | words | default | what |", "|---|---|---|---|---|", *map(row, OPTIONS)])
        self.assertIn(expected, page, "docs/data.md needs this table")


if __name__ == "__main__":
    unittest.main()
