"""The commands of README.md work, in their order, in a folder that holds what a fresh clone holds, and so do the programs
of docs/start.md, which make photos and use an exported network.

usage: readme_test.py SKYLINE SOURCE PYTHON, where PYTHON has onnxruntime and Pillow.
With SKYLINE_README_CLONE=FOLDER, by hand: in that clean clone, scripts/quickstart included, with no search shortened.
"""

import csv
import functools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
PYTHON = pathlib.Path(sys.argv[3]).absolute()  # not resolved: the link is what makes it that of its environment
del sys.argv[1:4]
CLONE = os.environ.get("SKYLINE_README_CLONE")
README, START = ((SOURCE / page).read_text(encoding="utf-8") for page in ("README.md", "docs/start.md"))
COLOURS = ["red", "green", "blue"]

# What runs in place of a command that begins so.
ALWAYS = {
    "scripts/test": "scripts/test --help",  # it would run this test
    "skyline init photos": "{} --with size=32",  # as the program of docs/start.md expects
    "slurm/submit": "PATH=$PWD/stand_ins:$PATH SKYLINE_LOCAL_RUN=1 {}",  # sbatch is a stand-in; the folder lies in /tmp
    "python3 aml/submit.py":  # it is dry; without the SDK, which takes long to load, it says what to install
        "({} || true) 2>&1 | grep -E 'pip install azure-ai-ml azure-identity|uploads .*configs'",
}
IN_A_BUILT_TREE = {
    "scripts/quickstart": "scripts/quickstart --help",  # it builds
    "mpirun -np 2 skyline search configs/digits.yaml":  # half a minute
        "{} --set search.iterations=1 --set search.initial=3 --set training.epochs=1 --set final.epochs=1",
    "skyline init photos":
        "skyline init photos -o photos.yaml --with size=32 --time 10s; sed -i 's/trials: [0-9]*/trials: 8/' photos.yaml",
}


# A photo as a telephone stores one that is held upright: on its side, and EXIF says so. No two of its corners are equal.
TURNED_PHOTO = """
import numpy, PIL.Image
places = numpy.indices((48, 64)).astype("uint8")
exif = PIL.Image.Exif()
exif[274] = 6
image = PIL.Image.fromarray(numpy.stack([places[0] * 5, places[1] * 2, places[0] * places[1] // 15], -1))
image.save("new/1.jpg", quality=95, exif=exif)
"""
# In place of scikit-learn, which is large.
SKLEARN = """
import numpy
class datasets:
    load_digits = staticmethod(lambda return_X_y: ([[0.0]], [0]))
class model_selection:
    cross_val_score = staticmethod(lambda network, x, y: numpy.array([sum(network.layers) / 100]))
class neural_network:
    class MLPClassifier:
        def __init__(self, layers, max_iter, random_state):
            self.layers = layers
"""
PROBABILITIES = """
outputs = session.run(None, {"input": pixels})[0][0].astype(float)
print(*(numpy.exp(outputs) / numpy.exp(outputs).sum()))
"""


def blocks(language, page=README):
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [text for named, text in fenced if named == language]


def commands():
    """The lines of the code blocks; of a block with prompts, those behind one."""
    for block in blocks(""):
        lines = block.splitlines()
        for line in [line[2:] for line in lines if line.startswith("$ ")] or lines:
            yield re.sub(r"\s+#.*", "", line)


def write_png(path, side, colour):
    """A square of one colour on dark noise."""
    noise = zlib.crc32(path.name.encode())
    rows = bytearray()
    for y in range(side):
        rows.append(0)  # no filter
        for x in range(side):
            noise = (noise * 1103515245 + 12345) % 2 ** 31
            inside = all(side // 4 <= place < 3 * side // 4 for place in (x, y))
            rows += bytes(200 if inside and channel == colour else (noise >> 16) % 64 for channel in COLOURS)

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b""))


class Readme(unittest.TestCase):
    def enter_a_clone(self):
        if CLONE:
            self.folder = pathlib.Path(CLONE)
        else:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-readme-"))
            self.addCleanup(shutil.rmtree, self.folder)
            self.link_the_tree()
        # As a login shell has it, but for the interfaces of a machine without a network.
        self.environment = {name: value for name, value in os.environ.items()
                            if not re.match("OMPI_|OMP_|SKYLINE_|PYTHONPATH", name) or name.endswith("_if_include")}

    def link_the_tree(self):
        for path in SOURCE.iterdir():
            if path.name not in {".git", "build", "data", "runs"}:
                (self.folder / path.name).symlink_to(path)
        (self.folder / "data").mkdir()
        for name in ("digits.h5", "digits.csv.gz"):
            shutil.copy(SOURCE / "data" / name, self.folder / "data")
        (self.folder / "build/release/bin").mkdir(parents=True)
        (self.folder / "build/release/bin/skyline").symlink_to(PROGRAM)

    def bring_images(self):
        for colour in COLOURS:
            for number in range(12):
                write_png(self.folder / f"photos/{colour}/{number}.png", 24 + 3 * number, colour)
        write_png(self.folder / "new/2.png", 40, "green")
        (self.folder / "new/cut.png").write_bytes((self.folder / "new/2.png").read_bytes()[:90])
        subprocess.run([PYTHON, "-c", TURNED_PHOTO], cwd=self.folder, check=True, timeout=600)
        (self.folder / "stand_ins").mkdir()
        (self.folder / "stand_ins/sbatch").write_text("#!/bin/sh\necho Submitted batch job 7\n")
        (self.folder / "stand_ins/sbatch").chmod(0o755)

    def run_command(self, command):
        """In a shell that leaves its variables to the next command."""
        variables = self.folder / "variables"
        started = time.monotonic()
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"{command}\nenv -0 >{variables}"], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=7200 if CLONE else 600)
        print(f"{time.monotonic() - started:6.1f} s  {command}", flush=True)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        self.environment = dict(each.split("=", 1) for each in variables.read_text().split("\0") if each)
        return done.stdout

    def search_with(self, source):
        """The search over a function, with the package as in the tree, and the program by PATH."""
        (self.folder / "own.py").write_text(source)
        if not CLONE:
            (self.folder / "sklearn.py").write_text(SKLEARN)
        done = subprocess.run([PYTHON, "own.py"], cwd=self.folder, env={**self.environment, "PYTHONPATH": str(SOURCE / "python")},
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"depth +width +accuracy +weights\n0 ")
        self.assertIn("done: 9 trials (0 failed)", done.stdout)

    def test_every_command_works_and_the_image_is_recognized_as_skyline_does(self):
        self.enter_a_clone()
        self.bring_images()
        (self.folder / "mine.yaml").write_text(blocks("yaml")[0])
        replaced = ALWAYS if CLONE else {**ALWAYS, **IN_A_BUILT_TREE}
        unused, trial, said = set(replaced), "53", {}
        for command in commands():
            run = command
            for start, replacement in replaced.items():
                if command.startswith(start):
                    run = replacement.replace("{}", command)
                    unused.discard(start)
            # The page names a trial of its reader's run.
            said[command] = self.run_command(re.sub(r"--trial 53\b", f"--trial {trial}", run))
            if command.startswith("skyline export"):
                trial = min(path.stem for path in (self.folder / "runs/photos/exports").glob("*.onnx"))
        self.assertEqual(unused, set())
        self.assertGreater((self.folder / "runs/photos/report.html").stat().st_size, 1e6)
        with open(self.folder / "said.csv", newline="", encoding="utf-8") as file:
            rows = {row["file"]: row for row in csv.DictReader(file)}
        self.assertEqual(list(rows["new/1.jpg"]), ["file", "class", "blue", "green", "red", "error"])
        self.assertEqual(set(rows), {"new/1.jpg", "new/2.png", "new/cut.png"})
        self.assertTrue(rows["new/cut.png"]["error"] and not rows["new/cut.png"]["red"])
        self.search_with(*blocks("python"))
        makes_photos, recognizes = blocks("python", START)
        subprocess.run([PYTHON, "-c", makes_photos.replace("photos/", "digits/")], cwd=self.folder, check=True, timeout=600)
        self.assertEqual(len(list((self.folder / "digits").glob("?/*.png"))), 1797)
        source = recognizes.replace("exports/53.onnx", f"exports/{trial}.onnx")
        for name in ("new/1.jpg", "new/2.png"):
            recognized = subprocess.run([PYTHON, "-c", source.replace("new/1.jpg", name) + PROBABILITIES], cwd=self.folder,
                                        capture_output=True, text=True, timeout=600)
            said, *probabilities = recognized.stdout.split()
            self.assertEqual(said, rows[name]["class"], recognized.stderr)
            for colour, probability in zip(sorted(COLOURS), probabilities):
                self.assertAlmostEqual(float(probability), float(rows[name][colour]), 4, name)

    def test_it_is_read_in_five_minutes_and_in_a_terminal(self):
        self.assertLessEqual(len(README.split()), 1200)
        self.assertEqual([line for line in README.splitlines() if len(line) > 120], [])

    @unittest.skipIf(CLONE, "the program is not built yet")
    def test_all_pages_name_commands_and_options_that_exist(self):
        @functools.cache
        def options_of(name):
            done = subprocess.run([PROGRAM, *name.split(), "--help"], capture_output=True, text=True, check=True)
            return re.findall(r"(?<![\w-])--?[a-z][a-z-]*", done.stdout)

        for page in [SOURCE / "README.md", *(SOURCE / "docs").rglob("*.md")]:
            for line in re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8")).splitlines():
                # `noise` is the kind of data that a page adds; tests/prep/own_kind_test.py runs it
                for name, rest in re.findall(r"\bskyline (prep (?!noise )[a-z0-9_]+|(?!prep )[a-z]+\b)( [^`#]*)?", line):
                    for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest):
                        with self.subTest(page=page.name, command=name, option=option):
                            self.assertIn(option, options_of(name))


if __name__ == "__main__":
    unittest.main()
