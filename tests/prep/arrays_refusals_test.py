"""Arrays that are refused: damaged, hostile, or of several meanings. One line names the file, and little memory is taken."""

import gzip
import random
import unittest
import zipfile

import numpy as np
from array_files import TWO_IMAGES, TWO_LABELS, idx, npy, npy_with_header, npz
from prep_case import PrepCase


class Refusals(PrepCase):
    def refused_pair(self, expected: str, x: "np.ndarray | bytes", y: "np.ndarray | bytes", *options: str):
        self.write("set.npz", npz({"x_train": x, "y_train": y}))
        return self.refused(expected, "arrays", "set.npz", *options)

    def test_x_and_y_are_those_of_training_where_no_others_are(self):
        self.write("set.npz", npz({"x": TWO_IMAGES, "y": TWO_LABELS}))
        self.assertEqual(self.read("arrays", "set.npz", "--test=0").array("train/targets").tolist(), [1, 0])
        for x, y in (("x_train", "y"), ("x", "y_train")):
            self.write("set.npz", npz({x: TWO_IMAGES, y: TWO_LABELS}))
            self.refused("_train`, there are ", "arrays", "set.npz", "--test=0")

    def test_headers_of_npy_files_are_read_strictly(self):
        order, too_large = "'fortran_order': False, ", "larger than any array that can be read"
        for descr, shape, words in (("|O", "(2, 2)", "Python objects: save words"),
                                    ("<c8", "(2, 2)", "elements of type '<c8', expected whole numbers or floats"),
                                    ("|u1", "(99999999999999999, 2)", too_large), ("|u1", f"({1 << 60},)", too_large),
                                    ("|u1", "(1000000, 1000000)", "its size is not what its header says"),
                                    ("|u1", "(2, 0)", "a dimension of size 0"), ("|u1", "()", "expected 1 to 4 dimensions, got 0")):
            header = f"{{'descr': '{descr}', {order}'shape': {shape}, }}"
            self.refused_pair(words, npy_with_header(header, b"abcd"), TWO_LABELS)
        for header in ("{'descr': '|u1', 'shape': (2, 2), }", "{'descr': __import__('os'), " + order + "'shape': (2, 2), }",
                       "{'descr': '|u1', " + order + "'shape': (2, 2), 'more': 1}", "", "{", "{}", "[" * 60_000,
                       "{'descr': '|u1', " + order + "'shape': (2, x), }", "{'descr': '|u1', " + order + "'shape': (2, 2)",
                       "{'descr': '|u1', " + order + "'shape': (2,, 2), }", "{'descr': True, " + order + "'shape': (2, 2)}",
                       "{'descr': '|u1', " + order + "'shape': (2, 2), } trailing"):
            self.refused_pair("set.npz: x_train: not a header that NumPy writes for numbers", npy_with_header(header, b"abcd"), TWO_LABELS)

    def test_numbers_that_are_not_finite_and_parts_that_do_not_fit_are_named(self):
        self.refused_pair("x_train: sample 1: a number that is not finite", np.array([[1, 2], [np.nan, 3]], "f4"), TWO_LABELS, "--test=0")
        self.refused_pair("x_train: sample 0: a number that is not finite", np.array([[1e300], [1]]), TWO_LABELS, "--test=0")
        self.refused_pair("y_train: target number 1: expected a finite number, got nan", TWO_IMAGES, np.array([1.5, np.nan]), "--test=0")
        self.refused_pair("y_train: expected 2 targets, one for each sample, got 3", TWO_IMAGES, np.array([5, 3, 1]))
        self.refused_pair("y_train: expected targets [N] or [N, K], the same K in all parts", TWO_IMAGES, np.zeros((2, 2, 2)))
        self.refused_pair("y_train: a whole number of 2^63 or more", TWO_IMAGES, np.array([1, 2**64 - 1], "u8"))
        for more, words in (({"x_test": TWO_IMAGES}, "no array `y_test`, there are x_train, y_train, x_test: name it by --y-test=NAME"),
                            ({"X_TRAIN": TWO_IMAGES}, "two arrays `x_train`"),
                            ({"x_test": TWO_IMAGES[..., :2], "y_test": TWO_LABELS},
                             "x_test: expected samples of the same dimensions as in "),
                            ({"x_test": TWO_IMAGES.astype("f4"), "y_test": TWO_LABELS}, "x_test: is float32, and "),
                            ({"x_test": TWO_IMAGES, "y_test": np.array(["a", "b"])}, "y_test: expected numbers as in "),
                            ({"x_test": TWO_IMAGES, "y_test": np.array([5, 4])},
                             "y_test: target number 1 is a class that the training set does not have")):
            self.write("set.npz", npz({"x_train": TWO_IMAGES, "y_train": TWO_LABELS, **more}))
            self.refused(words, "arrays", "set.npz")

    def test_files_of_no_known_format_are_named(self):
        self.write("y_train.npy", npy(TWO_LABELS))
        pickle = "a Python pickle, which is not read, since it may run code: load it in Python, and save its arrays by numpy.savez"
        matlab = "a MATLAB file of version 5: save it by save(..., '-v7.3')"
        for name, content, words in (("data_batch_1", b"\x80\x02}q\x01(U\x0bbatch_label", pickle),
                                     ("set.mat", b"MATLAB 5.0 MAT-file, Platform: GLNXA64", matlab), ("set.bin", b"", "the file is empty"),
                                     ("train.csv", b"a,b\n1,2\n", "expected an npz, npy, IDX or HDF5 file beside other files of arrays")):
            self.write(name, content)
            self.refused(f"{name}: {words}", "arrays", name, "y_train.npy")
        self.refused("cannot read nothing.npy: No such file or directory", "arrays", "nothing.npy")
        self.refused(f"cannot read {self.folder}: Is a directory", "arrays", self.folder)

    def test_zip_files_that_numpy_does_not_write_are_named_by_their_packing(self):
        for packing, name in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")):
            self.write("set.npz", npz({"x_train": TWO_IMAGES, "y_train": TWO_LABELS}, packing))
            self.refused(f"x_train: packed by {name}: save it by numpy.savez or numpy.savez_compressed", "arrays", "set.npz")
        whole = npz({"x_train": TWO_IMAGES, "y_train": TWO_LABELS})
        self.write("set.npz", whole[:-30])
        self.refused("set.npz: damaged or truncated zip file", "arrays", "set.npz")
        self.write("set.npz", whole.replace(b"abcdefABCDEF", b"abcdefABCDEX"))
        self.refused("damaged: a checksum does not match", "arrays", "set.npz", "--test=0")
        self.write("set.npz", npz({f"array{number}": TWO_LABELS for number in range(1001)}))
        self.refused("set.npz: more than 1000 entries", "arrays", "set.npz")

    def test_files_that_unpack_to_far_more_than_they_are_are_refused_before_memory_is_taken(self):
        zeros = bytes(1_000_000)
        images = idx(8, (2, 0x7f000000), zeros)
        files = ("x_train", "y_train")
        for name in files:
            self.write(name, gzip.compress(images))
        self.refused("x_train: expected samples of at most 268435456 values", "arrays", *files)
        self.write("x_train", idx(8, (2,), b"ab"))
        self.refused("y_train: expected at most 268435456 targets, got 2 x 2130706432", "arrays", *files)
        self.write("y_train", gzip.compress(idx(8, (2, 1 << 20), zeros)))
        self.refused("y_train: expected at most 65536 targets of a sample, got 1048576", "arrays", *files)
        self.write("y_train", npy_with_header(f"{{'descr': '<U4096', 'fortran_order': False, 'shape': ({1 << 40},), }}"))
        self.refused("y_train: more words than can be read", "arrays", *files)
        turned = npy_with_header(f"{{'descr': '|u1', 'fortran_order': True, 'shape': (2, {1 << 28},), }}")
        self.write("x_train", turned.replace(b"(2,", b"(9,"))
        self.write("y_train", idx(8, (9,), b"ababababa"))
        self.refused("x_train: too large to be turned from Fortran's order: save it as numpy.ascontiguousarray(...)", "arrays", *files,
                     "--layout=nl", "--test=0")

    def test_more_samples_than_the_disk_has_room_for_are_refused_before_they_are_read(self):
        self.write("x_train", gzip.compress(idx(8, (1 << 20, 1 << 24), bytes(1_000_000))))
        self.write("y_train", idx(8, (1 << 20,), bytes(1 << 19) + b"\1" * (1 << 19)))
        self.refused(f"made.h5: needs {1 << 44} bytes, and ", "arrays", "x_train", "y_train", "--layout=nl")

    def test_words_that_nobody_asked_for_are_not_read(self):
        words = npy_with_header(f"{{'descr': '<U1', 'fortran_order': False, 'shape': ({1 << 25},), }}")
        self.write("set.npz", npz({"x_train": TWO_IMAGES, "y_train": TWO_LABELS}))
        self.write("words.npy", words)
        self.read("arrays", "set.npz", "words.npy", "--test=0")
        self.refused("words.npy: words: truncated: it ends before its array does", "arrays", "set.npz", "words.npy", "--y-train=words")

    def test_damaged_gzip_files_are_named(self):
        packed = gzip.compress(npy(np.arange(10_000)))
        self.write("y_train.npy", npy(TWO_LABELS))
        self.write("x_train.npy.gz", packed[:len(packed) // 2])
        options = ("--targets=classes", "--test=0")
        self.write("y_train.npy", npy(np.arange(10_000) % 2))
        self.refused("x_train.npy.gz: damaged or truncated gzip file", "arrays", "x_train.npy.gz", "y_train.npy", *options)

    def test_mutated_files_are_read_or_refused_in_one_line(self):
        self.write("set.npz", npz({"x_train": TWO_IMAGES, "y_train": TWO_LABELS}))
        self.write("x_train.npy", npy(TWO_IMAGES))
        self.write("y_train.npy", npy(TWO_LABELS))
        self.write("x.gz", gzip.compress(npy(TWO_IMAGES)))
        draw = random.Random(3)
        refused = 0
        for name, others in (("set.npz", ()), ("x_train.npy", ("y_train.npy",)), ("x.gz", ("y_train.npy", "--x-train=x"))):
            content = (self.folder / name).read_bytes()
            for _ in range(100):
                mutated = bytearray(content)
                for _ in range(draw.randint(1, 4)):
                    mutated[draw.randrange(len(mutated))] = draw.randrange(256)
                self.write(name, bytes(mutated[:draw.randrange(len(mutated))] if draw.random() < 0.25 else mutated))
                said = self.prep("arrays", name, *others)
                self.assertIn(said.code, (0, 2))
                if said.code:
                    refused += 1
                    self.assertNotIn("\n", said.error)
                    self.assertLess(len(said.error), 1000)
        self.assertGreater(refused, 50)


if __name__ == "__main__":
    unittest.main()
