"""Arrays in npz, npy and IDX files: parts, layouts, targets and groups."""

import gzip
import os
import unittest
import zipfile

import numpy as np
from array_files import TWO_IMAGES, TWO_LABELS, idx, npy, npy_with_header, npz
from prep_case import PrepCase


class Arrays(PrepCase):
    def write_npz(self, packing: int = zipfile.ZIP_STORED, **entries: "np.ndarray | bytes") -> None:
        self.write("set.npz", npz(entries, packing))

    def write_pair(self, x: "np.ndarray | bytes", y: "np.ndarray | bytes") -> None:
        self.write_npz(x_train=x, y_train=y)

    def read_set(self, *options: str):
        return self.read("arrays", "set.npz", *options)

    def shape_of(self, *options: str) -> tuple[int, ...]:
        return self.read_set("--test=0", *options).array("train/values").shape[1:]

    def refused_set(self, expected: str, *options: str) -> None:
        self.refused(expected, "arrays", "set.npz", *options)

    def test_npz_files_give_parts_of_pixels_and_classes(self):
        for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.write_npz(packing, x_train=TWO_IMAGES, y_train=TWO_LABELS, x_val=np.frombuffer(b"uvwxyz", "u1").reshape(1, 1, 2, 3),
                           y_val=np.array([5], "u1"), x_test=np.frombuffer(b"123456", "u1").reshape(1, 1, 2, 3),
                           y_test=np.array([[3]], "<i4"), notes=np.array([b"abc"]))
            made = self.read_set()
            self.assertEqual(made.names(), ["3", "5"])
            self.assertEqual(made.array("train/values").tobytes(), b"abcdefABCDEF")
            self.assertEqual(made.array("train/values").shape, (2, 1, 2, 3))
            self.assertEqual(made.array("train/targets").tolist(), [1, 0])
            self.assertEqual(made.array("validation/targets").tolist(), [1])
            self.assertEqual(made.array("test/values").tobytes(), b"123456")
            self.assertEqual(made.array("test/targets").tolist(), [0])

    def test_floats_of_any_width_and_order_are_floats(self):
        for kind in ("<f4", "<f8", "<f2", ">f4", ">f8", "<i8", ">i2"):
            self.write_pair(np.array([[2, -1], [0, 3]], kind), np.array([[0.5], [-2]]))
            made = self.read_set("--test=0")
            self.assertEqual(made.array("train/values").dtype, np.dtype("f4"), kind)
            self.assertEqual(made.array("train/values").reshape(2, 2).tolist(), [[2, -1], [0, 3]], kind)
            self.assertEqual(made.array("train/targets").tolist(), [[0.5], [-2]], kind)

    def test_the_largest_pixel_is_told(self):
        self.write_pair(TWO_IMAGES, TWO_LABELS)
        for options, scale in ((["--value-scale=128"], 128), ([], 255)):
            self.assertEqual(self.attribute(self.read_set("--test=0", *options), "value_scale"), scale)

    def attribute(self, made, name: str) -> object:
        import h5py

        with h5py.File(made.file) as file:
            return file.attrs.get(name)

    def test_channels_are_last_only_if_told_and_ambiguous_dimensions_are_asked_about(self):
        self.write_pair(TWO_IMAGES, TWO_LABELS)
        self.refused_set("x_train: expected 3 dimensions for this layout, got [2, 1, 2, 3]", "--layout=ncl")
        last = self.read_set("--layout=nhwc", "--test=0").array("train/values")
        self.assertEqual((last.shape[1:], last[0].tobytes()), ((3, 1, 2), b"adbecf"))
        self.write_pair(TWO_IMAGES.reshape(2, 2, 1, 3), TWO_LABELS)
        self.refused_set("x_train: [2, 2, 1, 3] may have its channels last: say --layout=nhwc or nchw")
        self.write_pair(TWO_IMAGES.reshape(2, 2, 3), TWO_LABELS)
        self.refused_set("[2, 2, 3] may be grey images or sequences: say --layout=nhw, ncl or nlc")
        self.assertEqual(self.shape_of("--layout=nhw"), (1, 2, 3))
        self.assertEqual(self.shape_of("--layout=ncl"), (2, 1, 3))
        lengths_first = self.read_set("--layout=nlc", "--test=0").array("train/values")
        self.assertEqual((lengths_first.shape[1:], lengths_first[0].tobytes()), ((3, 1, 2), b"adbecf"))
        self.assertEqual(self.shape_of("--shape=1x3x2"), (1, 3, 2))
        self.refused_set("expected 9 values per sample for --shape=1x3x3, got 6", "--shape=1x3x3")

    def test_sequences_are_asked_about_and_not_taken_for_many_channels(self):
        def write_x(*shape: int) -> None:
            self.write_pair(np.full((1, *shape), 1.5, "f4"), np.array([5.5], "f4"))

        write_x(36)
        self.refused_set("[1, 36] may be features or sequences: say --layout=nf or nl, or --shape=1x6x6 if they are flat images")
        self.assertEqual(self.shape_of("--layout=nf"), (36, 1, 1))
        self.assertEqual(self.shape_of("--layout=nl"), (1, 1, 36))
        self.assertEqual(self.shape_of("--shape=2x18"), (2, 1, 18))
        for shape in ("36", "2x", "x18", "2x18x1x1", "2x18x", "2 x 18", "0x36"):
            self.refused_set("--shape: expected CHANNELSxHEIGHTxWIDTH", f"--shape={shape}")
        write_x(50, 3)
        self.refused_set("[1, 50, 3] may be grey images or sequences")
        write_x(1, 50)
        self.assertEqual(self.shape_of(), (1, 1, 50))
        write_x(32)
        self.assertEqual(self.shape_of(), (32, 1, 1))
        write_x(10, 10, 5)
        self.refused_set("[1, 10, 10, 5] may have its channels last")

    def test_targets_are_classes_labels_or_numbers(self):
        x = np.array([[1], [2], [3]], "f4")
        self.write_pair(x, np.array([[1, 0], [0, 0], [1, 1]], bool))
        labels = self.read_set("--test=0")
        self.assertEqual(labels.array("train/targets").tolist(), [[1, 0], [0, 0], [1, 1]])
        self.assertEqual(labels.names(), ["0", "1"])
        self.refused_set("y_train: row 1: expected a single 1 and else 0, since the targets are classes", "--targets=classes")
        one_hot = np.array([[1, 0], [0, 1], [1, 0]], "u1")
        self.write_pair(x, one_hot)
        self.assertIn("check: one label per sample on average: if they exclude each other, say --targets=classes",
                      self.read_set("--test=0").checks)
        self.assertEqual(self.read_set("--test=0", "--targets=classes").array("train/targets").tolist(), [0, 1, 0])
        self.write_pair(x, 7 * one_hot)
        self.refused_set("y_train: expected 0 or 1 for each label, got 7 (--targets=numbers?)")
        self.write_pair(x, np.array([-7, 4, -7], "<i2"))
        self.assertEqual(self.read_set("--test=0").names(), ["-7", "4"])
        numbers = self.read_set("--test=0", "--targets=numbers")
        self.assertEqual(numbers.array("train/targets").tolist(), [[-7], [4], [-7]])

    def test_floats_that_may_be_classes_are_told(self):
        x = np.array([[1], [2], [3]], "f4")
        for y, words in ((np.eye(3), "each row of the targets has a single 1: if they are classes, say --targets=classes"),
                         (np.array([1.0, 2, 1]), "all targets are whole numbers: if they are classes, say --targets=classes"),
                         (np.array([[1.0, 2], [2, 1], [3, 3]]), "all targets are whole numbers: if they are labels, say --targets=labels")):
            self.write_pair(x, y)
            self.assertIn(f"check: {words}", self.read_set("--test=0").checks)
        self.write_pair(x, np.array([1.0, 2, 1]))
        self.assertEqual(self.read_set("--test=0", "--targets=classes").names(), ["1", "2"])
        self.write_pair(x, np.array([1.0, 2.5, 1]))
        self.refused_set("y_train: target number 1 is not a whole number", "--targets=classes")

    def test_classes_that_can_hardly_be_classes_are_asked_about(self):
        x = np.zeros((30, 1), "u1")
        self.write_pair(x, np.arange(30))
        self.refused_set("y_train: 30 different whole numbers in 30 samples, 30 of them once; as classes they leave the test set empty: "
                         "say --targets=numbers or --targets=classes")
        self.read_set("--targets=classes")
        self.write_pair(x, np.zeros(30, int))
        self.refused_set("y_train: expected at least 2 classes, got `0` alone")

    def test_a_test_set_is_drawn_from_every_class_if_there_is_none(self):
        numbers = np.arange(50, dtype="u1")
        self.write_pair(numbers[:, None], numbers % 2)
        made = self.read_set("--validation=0.2")
        self.assertIn("20 % of every class are the test set, 20 % the validation set, drawn with seed 1 (--test, --validation, --seed)",
                      made.lines)
        self.assertEqual(len(made.array("train/targets")), 30)
        for part in ("train", "validation", "test"):
            self.assertEqual((made.array(f"{part}/values").reshape(-1) % 2).tolist(), made.array(f"{part}/targets").tolist())
            self.assertEqual(made.array(f"{part}/targets").mean(), 0.5)
        self.write_npz(x_train=numbers[:, None], y_train=numbers % 2, x_test=numbers[:, None], y_test=numbers % 2)
        self.refused_set("set.npz: x_test is the test set, so leave out --test", "--test=0.2")
        self.assertEqual(len(self.read_set().array("train/targets")), 50)

    def test_the_last_samples_may_be_the_test_set(self):
        self.write_pair(np.frombuffer(b"abcdefghij", "u1")[:, None], np.array([0, 1, 0, 1, 0, 1, 0, 1, 1, 1]))

        def texts(made) -> list[bytes]:
            return [made.array(f"{part}/values").tobytes() for part in ("train", "validation", "test")]

        made = self.read_set("--split=last", "--validation=0.3")
        self.assertEqual(texts(made), [b"abcde", b"fgh", b"ij"])
        self.assertEqual(self.attribute(made, "split"), "last")
        self.assertIn("samples in the order of time: a search holds out the last training samples, too (--split)", made.lines)
        self.assertEqual(texts(self.read_set("--split=last")), [b"abcdefgh", b"", b"ij"])
        self.assertEqual(texts(self.read_set("--split=last", "--test=0")), [b"abcdefghij", b"", b""])
        self.assertIsNone(self.attribute(self.read_set(), "split"))
        self.refused_set("--split: expected `drawn` or `last`, got first", "--split=first")
        self.write_pair(np.frombuffer(b"abcdefghij", "u1")[:, None], np.array([0] * 8 + [1, 1]))
        self.refused_set("y_train: 1 of the classes without a sample to train on, since the last 20 % are the test set: put the samples in "
                         "the order of time, or leave out --split=last", "--split=last")

    def test_samples_of_one_group_stay_in_one_part(self):
        of_samples = np.arange(40) % 10
        x, y = of_samples.astype("u1").reshape(40, 1, 1, 1), np.arange(40) // 10 % 2
        for groups in (100 + of_samples, 100 + of_samples[:, None], 100.0 + of_samples, np.array(list("abcdefghij"))[of_samples]):
            self.write_npz(x_train=x, y_train=y, patients=groups)
            made = self.read_set("--group=patients", "--validation=0.1")
            parts = [set(made.array(f"{part}/values").reshape(-1).tolist()) for part in ("train", "validation", "test")]
            self.assertEqual([len(part) for part in parts], [7, 1, 2])
            self.assertEqual(set.union(*parts), set(range(10)))
            self.assertEqual(made.array("train/groups").tolist(), made.array("train/values").reshape(-1).tolist())
            self.assertIn("groups: array `patients`, 10 groups; test set: 2 of them, 20 % of samples; validation set: 1 of them, 10 % of "
                          "samples (--group)", made.lines)
            self.refused_set("--group and --split=last exclude each other", "--group=patients", "--split=last")

    def test_groups_that_cannot_be_kept_together_are_refused(self):
        def write_groups(training: np.ndarray) -> None:
            self.write_npz(x_train=np.frombuffer(b"abcd", "u1").reshape(4, 1, 1, 1), y_train=np.array([0, 1, 0, 1]),
                           x_test=np.frombuffer(b"ab", "u1").reshape(2, 1, 1, 1), y_test=np.array([0, 1]),
                           group_train=training, group_test=np.array([9, 8]))

        write_groups(np.array([1, 1, 2, 2]))
        for options in ([], ["--validation=0.2"]):
            self.read_set("--group=group_train", *options)
        for training, words in ((np.array([1, 1, 9, 2]), "group_test: 1 of 2 groups are in the training set, too, e.g. `9`"),
                                (np.array([1, 1, 2]), "group_train: expected 4 groups, one for each sample, got 3"),
                                (np.array([1, np.nan, 2, 3]), "group_train: row 1: the group is missing"),
                                (np.array([1, 1.5, 2, 3]), "group_train: row 1: expected whole numbers or words for groups, got 1.5"),
                                (np.array([b"a", b"", b"b", b"c"]), "group_train: row 1: the group is missing")):
            write_groups(training)
            self.refused_set(words, "--group=group_train")
        write_groups(np.array([1, 1, 1, 1]))
        self.refused_set("group_train: groups: expected at least 2, one for each part, got 1", "--group=group_train", "--validation=0.2")
        self.refused_set("no array `patient`, there are x_train, ", "--group=patient")

    def test_idx_files_of_any_name_are_told_by_name(self):
        images = idx(8, (2, 2, 2), b"abcdABCD")
        self.write("pictures.idx", images)
        self.write("kinds.idx.gz", gzip.compress(idx(11, (2,), b"\1\0\2\1")))
        files = ("pictures.idx", "kinds.idx.gz")
        named = ("--x-train=pictures.idx", "--y-train=kinds.idx", "--layout=nhw", "--test=0")
        made = self.read("arrays", *files, *named)
        self.assertEqual(made.array("train/values").shape, (2, 1, 2, 2))
        self.assertEqual(made.names(), ["256", "513"])
        self.refused("no array `x_train`, there are pictures.idx, kinds.idx: name it by --x-train", "arrays", *files)
        self.write("pictures.idx", images[:20])
        self.refused("pictures.idx: truncated: it ends before its array does", "arrays", *files, *named)

    def test_arrays_in_fortrans_order_are_the_same(self):
        turned = np.asfortranarray(TWO_IMAGES)
        self.write_pair(turned, TWO_LABELS)
        self.write("x_train.npy", npy(turned))
        self.write("y_train.npy", npy(TWO_LABELS))
        for files in (["set.npz"], ["x_train.npy", "y_train.npy"]):
            self.assertEqual(self.read("arrays", *files, "--test=0").array("train/values").tobytes(), b"abcdefABCDEF")
        self.write_pair(npy_with_header("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1, 2, 3), }", b"abc"), TWO_LABELS)
        self.refused_set("x_train: its size is not what its header says")

    def test_npy_files_are_read_packed_and_in_blocks(self):
        x = np.arange(3 << 20, dtype="<f4").reshape(48, 1 << 16)
        self.write("x_train.npy.gz", gzip.compress(npy(x), 1))
        self.write("y_train.npy", npy(np.arange(48) % 2))
        made = self.read("arrays", "x_train.npy.gz", "y_train.npy", "--test=0", "--layout=nl")
        self.assertTrue((made.array("train/values").reshape(x.shape) == x).all())

    def test_names_of_files_may_have_any_bytes(self):
        for name, shown in (("dög.npz", "dög.npz"), (os.fsdecode(b"caf\xe9.npz"), "caf\\xe9.npz")):
            self.write(name, npz({"x_train": TWO_IMAGES, "y_train": TWO_LABELS}))
            made = self.read("arrays", name, "--test=0")
            self.assertEqual(self.attribute(made, "source"), f"arrays of {shown}")
            self.refused(f"{shown}: x_train: expected targets [N] or [N, K]", "arrays", name, "--y-train=x_train")

    def test_headers_of_python_2_are_read(self):
        self.write_pair(npy_with_header("{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L), }", b"abcdef"),
                        npy_with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (2L,), }", np.array([5, 3], "<i8").tobytes()))
        self.assertEqual(self.shape_of(), (3, 1, 1))

    def test_words_are_classes_and_objects_are_refused_with_advice(self):
        x = np.frombuffer(b"abc", "u1")[:, None]
        for order in "<>":
            self.write_pair(x, np.array(["dög", "cat", "dög"], f"{order}U3"))
            made = self.read_set("--test=0")
            self.assertEqual((made.names(), made.array("train/targets").tolist()), (["cat", "dög"], [1, 0, 1]))
        self.write_pair(x, np.array([[b"cat"], [b"horse"], [b"cat"]]))
        self.assertEqual(self.read_set("--test=0").names(), ["cat", "horse"])
        self.refused_set("y_train: expected numbers, got words", "--targets=numbers")
        self.refused_set("y_train: expected numbers, got words", "--x-train=y_train")
        for word, shown in ((b"\xe9", r"`\xe9`"), (b"\n", r"`\x0a`"), ("\u202e".encode(), r"`\xe2\x80\xae`")):
            self.write_pair(x, np.array([word] * 3))
            self.refused_set(f"set.npz: y_train: expected words in UTF-8 and without control characters, got {shown}")
        self.write_pair(x, npy_with_header("{'descr': '<U1', 'fortran_order': False, 'shape': (3,), }", b"\xff" * 12))
        self.refused_set("y_train: a word with a letter that Unicode does not have")
        self.write_pair(x, npy_with_header("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", b"pickle"))
        self.refused_set("y_train: Python objects: save words as y.astype(str), and samples of several lengths cut or filled to one length")
        self.write_pair(x, npy_with_header("{'descr': '<U9999', 'fortran_order': False, 'shape': (3,), }", b"x"))
        self.refused_set("elements of type '<U9999'")
        self.write_npz(x_train=x, y_train=np.array(["a", "b", "a"]), x_test=x, y_test=np.array(["a", "c", "a"]))
        self.refused_set("y_test: `c` is a class that the training set does not have")

    def test_an_array_of_class_names_names_the_outputs(self):
        x, names = np.frombuffer(b"abc", "u1")[:, None], np.array([b"dog", b"cat", b"owl"])

        def write_set(y: np.ndarray, class_names: np.ndarray = names) -> None:
            self.write_npz(x_train=x, y_train=y, class_names=class_names)

        write_set(np.array([1, 0, 1]))
        made = self.read_set("--test=0")
        self.assertEqual((made.names(), made.array("train/targets").tolist()), (["dog", "cat", "owl"], [1, 0, 1]))
        self.assertIn("names of the outputs: array `class_names`", made.lines)
        write_set(np.array([b"owl", b"dog", b"owl"]))
        self.assertEqual(self.read_set("--test=0").array("train/targets").tolist(), [2, 0, 2])
        write_set(np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]], "u1"))
        made = self.read_set("--test=0")
        self.assertEqual((made.names(), made.array("train/targets").shape), (["dog", "cat", "owl"], (3, 3)))
        for y, class_names, words in (
                (np.array([[1, 0], [0, 1], [1, 0]]), names, "y_train: has 2 targets of a sample, and class_names 3 names"),
                (np.array([1, 3, 2]), names,
                 "y_train: target number 1: expected a class from 0 to 2, the place of its name in class_names, got 3"),
                (np.array([b"owl", b"fox", b"owl"]), names, "`fox` is a class that class_names do not have"),
                (np.array([1, 0, 1]), np.array([b"dog", b"cat", b"dog"]), "class_names: two classes are called `dog`")):
            write_set(y, class_names)
            self.refused_set(words)

    def test_columns_that_float32_would_merge_are_centred(self):
        stamps = np.array([[1.6e9 + 0.25 * row, row] for row in range(4)])
        self.write_pair(stamps, np.array([0, 1, 0, 1]))
        made = self.read_set("--test=0")
        self.assertEqual(made.array("train/values").reshape(4, 2).tolist(), [[0, 0], [0.25, 1], [0.5, 2], [0.75, 3]])
        self.assertEqual(made.preparation()["features"], [{"column": "1", "subtract": 1.6e9, "range": [0.0, 0.75]},
                                                           {"column": "2", "range": [0.0, 3.0]}])
        self.assertIn("x_train: column 0: 1600000000 is subtracted: its 4 different values would be 1 in float32", made.text)
        self.write_pair(np.array([[0.1, 1], [0.2, 2]]), np.array([0, 1]))
        with self.assertRaises(KeyError):  # floats tell these apart
            self.read_set("--test=0").preparation()

    def test_other_arrays_whose_different_values_float32_merges_are_told(self):
        times = 1.6e9 + np.arange(40.0)
        self.write_pair(times.reshape(4, 10), np.array([0, 1, 0, 1]))
        words = "its 40 different values are 1 in float32 (subtract their mean before you save it)"
        self.assertIn(f"set.npz: x_train: {words}", self.read_set("--test=0", "--layout=nl").text)
        self.write_pair(np.zeros((40, 1, 1, 1), "u1"), times)
        self.refused_set(f"set.npz: y_train: {words}", "--test=0")
        self.write_pair(np.zeros((40, 1, 1, 1), "u1"), 1.6e9 + np.arange(40.0) * 50)
        self.assertIn("set.npz: y_train: its 40 different values are 16 in float32", self.read_set("--test=0").text)
        self.write_pair((times - 1.6e9).reshape(4, 10), np.array([0, 1, 0, 1]))
        self.assertNotIn("float32", self.read_set("--test=0", "--layout=nl").text)


if __name__ == "__main__":
    unittest.main()
