"""Arrays in HDF5 files, and those of MATLAB."""

import pathlib
import random
import subprocess
import sys
import unittest

import h5py
import numpy as np
from array_files import npy
from prep_case import SOURCE, PrepCase

PIXELS = np.arange(1, 13, dtype="u1").reshape(2, 1, 2, 3)
LABELS = np.array([9, 8], "i2")
WORDS = np.array(["ant", "w" * 5000] * 6, object)


class Hdf5Arrays(PrepCase):
    def new_file(self, name: str = "set.h5", **options: object) -> h5py.File:
        return h5py.File(self.folder / name, "w", **options)

    def write_set(self, y_options: "dict[str, object] | None" = None, user_block: int = 0, **x_options: object) -> None:
        """Writes x_train [12, 2] in chunks of 4 rows that are shuffled and packed, and words of variable length."""
        with self.new_file(userblock_size=user_block) as file:
            file.create_dataset("x_train", (12, 2), "f4", **{"chunks": (4, 2), "shuffle": True, "compression": 3, **x_options})
            file["x_train"][:] = 1.5
            file.create_dataset("y_train", data=WORDS, dtype=h5py.string_dtype("ascii"), **(y_options or {}))

    def read_set(self, *options: str):
        return self.read("arrays", "set.h5", "--test=0", *options)

    def refused_set(self, expected: str, *options: str) -> None:
        self.refused(expected, "arrays", "set.h5", *options)

    def test_files_are_read_whatever_their_layout(self):
        for layout in ({}, {"chunks": (1, 1, 2, 2), "compression": "gzip"}, {"chunks": (2, 1, 1, 3), "compression": "lzf"},
                       {"chunks": (1, 1, 2, 2), "shuffle": True, "fletcher32": True}, {"chunks": (1, 1, 2, 2), "scaleoffset": 0}):
            with self.new_file() as file:
                file.create_dataset("pixels", data=PIXELS, **layout)
                file.create_dataset("y_train", data=LABELS, dtype=">i2")
            made = self.read_set("--x-train=pixels", "--layout=nchw")
            self.assertEqual(made.array("train/values").tolist(), PIXELS.tolist())
            self.assertEqual((made.names(), made.array("train/targets").tolist()), (["8", "9"], [1, 0]))

    def test_halves_booleans_and_numbers_of_other_machines_are_read(self):
        for kind in ("f2", ">f4", "f8", "<i8", ">u4"):
            with self.new_file() as file:
                file["x_train"] = np.array([[1, 2], [3, 4]], kind)
                file["y_train"] = np.array([True, False])
            made = self.read_set()
            self.assertEqual(made.array("train/values").reshape(2, 2).tolist(), [[1, 2], [3, 4]], kind)
            self.assertEqual((made.names(), made.array("train/targets").tolist()), (["0", "1"], [1, 0]))

    def test_enumerations_are_classes_by_their_names(self):
        kinds = h5py.enum_dtype({"walk": 7, "sit": -1, "run": 300, "fly": 4}, basetype="i2")
        with self.new_file() as file:
            file["x_train"] = np.zeros((4, 3), "f4")
            file.create_dataset("y_train", data=[300, -1, 7, -1], dtype=kinds)
        made = self.read_set()
        self.assertEqual((made.names(), made.array("train/targets").tolist()), (["sit", "walk", "run"], [2, 0, 1, 0]))
        self.refused_set("y_train: expected numbers, got words", "--targets=numbers")

    def test_words_of_variable_length_are_read_in_pieces_and_in_packed_chunks_and_behind_a_user_block(self):
        for y_options in ({}, {"chunks": (5,)}, {"chunks": (5,), "shuffle": True, "compression": 3}):
            for user_block in (0, 512):
                self.write_set(y_options, user_block)
                made = self.read_set()
                self.assertEqual(made.names(), ["ant", "w" * 5000])
                self.assertEqual(made.array("train/targets").tolist(), [0, 1] * 6)

    def test_links_within_a_file_are_followed_and_those_that_leave_it_are_refused(self):
        with self.new_file("other.h5") as file:
            file["x"] = PIXELS
        with self.new_file() as file:
            file["raw/x"], file["raw/y"] = PIXELS, LABELS
            file["x_train"], file["y_train"] = h5py.SoftLink("/raw/x"), h5py.SoftLink("raw/y")
            file["back"] = h5py.SoftLink("/")
            file["nowhere"] = h5py.SoftLink("/none")
            file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
            file["through"] = h5py.SoftLink("/elsewhere")
        self.assertEqual(self.read_set().array("train/values").tolist(), PIXELS.tolist())
        for name, words in (("nowhere", "a link that leads nowhere"), ("elsewhere", "a link to another file: copy the array into this one"),
                            ("through", "a link to another file: copy the array into this one")):
            self.refused_set(f"set.h5: {name}: {words}", f"--x-train={name}")

    def test_values_that_were_never_written_are_told_of_and_are_the_fill_value(self):
        with self.new_file() as file:
            part = file.create_dataset("x_train", (12, 2), "f4", chunks=(4, 2), compression=3, fillvalue=2.5)
            part[:4] = 1.5
            file["y_train"] = np.arange(12) % 2
            file.create_dataset("none", (12, 2), "f4")
        made = self.read_set()
        words = "values were never written, as in row {}: the fill value of the file stands for them"
        self.assertIn(f"set.h5: x_train: {words.format(4)}", made.text)
        self.assertEqual(made.array("train/values").reshape(-1).tolist(), [1.5] * 8 + [2.5] * 16)
        self.assertIn(f"set.h5: none: {words.format(0)}", self.read_set("--x-train=none").text)

    def test_values_that_lie_elsewhere_or_in_huge_chunks_are_refused(self):
        self.write("secret.txt", "1234")
        with self.new_file() as file:
            file.create_dataset("x_train", (4, 1), "u1", external=[(str(self.folder / "secret.txt"), 0, 4)])
            file["y_train"] = np.arange(4) % 2
            layout = h5py.VirtualLayout((4, 1), "u1")
            layout[:] = h5py.VirtualSource("other.h5", "x", (4, 1))
            file.create_virtual_dataset("virtual", layout)
            file.create_dataset("huge", (4, 1 << 31), "u1", chunks=(1, 1 << 31))
        for name in ("x_train", "virtual"):
            self.refused_set(f"{name}: its values lie in other files: copy them into this one", f"--x-train={name}")
        self.refused_set("huge: chunks of more than 1073741824 bytes", "--x-train=huge")

    def test_filters_that_the_library_does_not_have_are_named(self):
        with self.new_file() as file:
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_chunk((4, 1))
            creation.set_filter(32001, h5py.h5z.FLAG_OPTIONAL, ())
            h5py.h5d.create(file.id, b"x_train", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((4, 1)), creation)
            file["y_train"] = np.arange(4) % 2
        self.refused_set('x_train: packed by the filter blosc (32001), which the HDF5 library here does not have: save it with '
                         'compression="gzip", or name the folder of the filter\'s plugin by HDF5_PLUGIN_PATH')

    def test_types_and_dimensions_that_are_no_arrays_of_samples_are_named(self):
        with self.new_file() as file:
            file["y_train"] = np.arange(4) % 2
            file["rows"] = np.zeros(4, [("a", "i4"), ("b", "f4")])
            file["number"] = 3.5
            file["complex"] = np.zeros((4, 2), complex)
            file["lists"] = h5py.Empty("f4")
            file.create_dataset("texts", data=np.array([["a", "b"]] * 4, object), dtype=h5py.string_dtype())
            file.create_dataset("lengths", (4,), h5py.vlen_dtype("f4"))
        for name, words in (("rows", "expected whole numbers, floats or texts"), ("complex", "expected whole numbers, floats or texts"),
                            ("lengths", "expected whole numbers, floats or texts"), ("number", "expected 1 to 4 dimensions, got 0"),
                            ("lists", "expected 1 to 4 dimensions, got 0"),
                            ("texts", "texts in several columns, expected one word per sample")):
            self.refused_set(f"set.h5: {name}: {words}", f"--x-train={name}")

    def test_files_of_matlab_have_their_dimensions_in_reverse(self):
        x, y = np.arange(24, dtype="f8").reshape(4, 6), np.array(["dög", "cat", "dög", "bee"])
        with self.new_file("set.h5", userblock_size=512) as file:
            for name, values, of_class in (("x_train", x.T, "double"), ("numbers", np.array([[0, 1, 0, 1]]), "int64"),
                                           ("y_train", np.array([list(map(ord, word.ljust(4))) for word in y], "u2").T, "char"),
                                           ("cells", np.zeros((1, 4), "u1"), "cell")):
                file[name] = values
                file[name].attrs["MATLAB_class"] = np.bytes_(of_class)
        made = self.read_set()
        self.assertEqual(made.array("train/values").reshape(4, 6).tolist(), x.tolist())
        self.assertEqual((made.names(), made.array("train/targets").tolist()), (["bee", "cat", "dög"], [2, 1, 2, 0]))
        self.assertIn("set.h5: x_train: written by MATLAB, its dimensions are read in reverse", made.text)
        self.assertEqual(self.read_set("--y-train=numbers").array("train/targets").tolist(), [0, 1, 0, 1])
        self.refused_set("cells: MATLAB's class `cell`, expected numbers or words: save words as char(y)", "--y-train=cells")

    def test_deep_groups_are_bounded(self):
        with self.new_file() as file:
            file.create_group("/".join(["g"] * 40))
        self.refused_set(f"{self.folder / 'set.h5'}: groups within groups, more than 32 deep")

    def test_damaged_heaps_of_words_are_refused(self):
        self.write_set()
        whole = (self.folder / "set.h5").read_bytes()
        heap = whole.find(b"GCOL")
        for place, value in ((0, b"g"), (16, b"\0"), (30, b"\1"), (14, b"\1")):
            self.write("set.h5", whole[:heap + place] + value + whole[heap + place + 1:])
            self.check_not_read(self.run_alone())

    def check_not_read(self, done: "subprocess.CompletedProcess[str]") -> None:
        """Checks that a process refused a file by one line that names it, or was ended by a signal."""
        self.assertTrue(done.returncode == 2 or done.returncode < 0, done.stderr)
        if done.returncode == 2:
            self.assertRegex(done.stderr, r"\Askyline: .*set\.h5.*\n\Z")

    def run_alone(self) -> "subprocess.CompletedProcess[str]":
        """Runs the package as a process of its own, which a damaged file may crash."""
        command = [sys.executable, "-m", "skyline.prep", "prepare", "arrays", self.folder / "set.h5", "--test=0", "--out",
                   self.folder / "made.h5", "--force"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60,
                              env={"PYTHONPATH": str(pathlib.Path(SOURCE) / "python"), "PATH": ""})

    def test_mutated_files_are_read_or_refused_in_one_line_or_end_their_process_alone(self):
        self.write_set()
        self.write("y_train.npy", npy(np.arange(12) % 2))
        content = (self.folder / "set.h5").read_bytes()
        draw = random.Random(5)
        for _ in range(5):
            mutated = bytearray(content)
            for _ in range(draw.randint(1, 4)):
                mutated[draw.randrange(len(mutated))] = draw.randrange(256)
            self.write("set.h5", bytes(mutated))
            done = self.run_alone()
            if done.returncode != 0:
                self.check_not_read(done)


if __name__ == "__main__":
    unittest.main()
