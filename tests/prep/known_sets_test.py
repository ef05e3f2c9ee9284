"""Digits, MNIST, Fashion-MNIST and CIFAR from the files in which they are published."""

import gzip
import os
import shutil
import unittest
from unittest import mock

import numpy as np
from array_files import idx
from prep_case import SOURCE, PrepCase

PIXELS = bytes(number * 37 % 256 for number in range(60))


def digit(pixel: int, label: int, pixels: int = 64) -> str:
    return f"{pixel}," * pixels + f"{label}\n"


class Digits(PrepCase):
    def read_digits(self, content: "str | bytes"):
        self.write("digits.csv", content)
        return self.read("digits", "digits.csv")

    def test_the_digits_that_ship_are_read(self):
        said = self.prep("digits")
        self.assertEqual(said.code, 0, said.error)
        self.assertEqual(said.array("train/values").shape, (1442, 1, 8, 8))
        self.assertEqual(said.array("train/values")[0, 0, 0].tolist(), [0, 0, 5, 13, 9, 1, 0, 0])
        train, test = (np.bincount(said.array(f"{part}/targets")) for part in ("train", "test"))
        self.assertEqual(test.tolist(), ((train + test) // 5).tolist())
        self.assertIn("1442 training and 355 test samples of 1x8x8, 10 classes", said.text)

    def test_the_digits_are_looked_for_where_the_program_says(self):
        with mock.patch.dict(os.environ, SKYLINE_DATA=str(self.folder)):
            said = self.prep("digits")
            self.assertEqual(said.error, f"prep digits: no {self.folder}/digits.csv.gz, where an installed program has the digits that "
                                         "ship: name the file")
            shutil.copy(SOURCE / "data/digits.csv.gz", self.folder)
            self.assertEqual(self.prep("digits").code, 0)

    def test_the_last_fifth_of_every_class_is_the_test_set(self):
        made = self.read_digits("".join(digit(number, 3) + digit(number + 1, 7) for number in range(10)))
        self.assertEqual(made.array("test/targets").tolist(), [3, 7, 3, 7])
        self.assertEqual(made.array("test/values")[:, 0, 0, 0].tolist(), [8, 9, 9, 10])
        self.assertEqual(len(made.array("train/targets")), 16)

    def test_gzip_windows_lines_and_no_last_newline_are_taken(self):
        self.assertEqual(len(self.read_digits(gzip.compress(digit(1, 2).encode())).array("train/targets")), 1)
        line = digit(1, 2)[:-1]
        self.assertEqual(len(self.read_digits(f"{line}\r\n{line}").array("train/targets")), 2)

    def test_the_line_of_a_wrong_row_is_named(self):
        good = digit(1, 2)
        for wrong in (digit(1, 2, 63), digit(1, 2, 65), digit(17, 2), digit(1, 10), digit(-1, 1), "pixels" + good, "\n" + good):
            path = self.write("digits.csv", good + wrong)
            self.assertIn(f"{path}:2: expected 64 pixels from 0 to 16 and a label from 0 to 9", self.prep("digits", "digits.csv").error)

    def test_an_empty_and_a_missing_file_are_named(self):
        path = self.write("digits.csv", "")
        self.assertEqual(self.prep("digits", "digits.csv").error, f"{path}: the file is empty")
        self.assertEqual(self.prep("digits", "none.csv").error, "cannot read none.csv: No such file or directory")


class Mnist(PrepCase):
    def setUp(self) -> None:
        super().setUp()
        self.train_images = idx(8, (3, 4, 5), PIXELS)
        self.write("train-images-idx3-ubyte", self.train_images)
        self.write("train-labels-idx1-ubyte", idx(8, (3,), b"\0\x09\4"))
        self.write("t10k-images-idx3-ubyte", idx(8, (2, 4, 5), PIXELS[:40]))
        self.write("t10k-labels-idx1-ubyte", idx(8, (2,), b"\1\2"))

    def error_with(self, name: str, content: bytes) -> str:
        """Returns what is said of the file after it has been given this content, without its place."""
        path = self.write(name, content)
        return self.prep("mnist", self.folder).error.replace(f"{path}: ", "")

    def check_train(self, *place: str) -> None:
        made = self.read("mnist", self.folder.joinpath(*place))
        self.assertEqual(made.array("train/values").tobytes(), PIXELS)

    def test_plain_files_are_read(self):
        made = self.read("mnist", self.folder)
        self.assertEqual(made.array("train/values").shape, (3, 1, 4, 5))
        self.assertEqual(made.array("train/values").tobytes(), PIXELS)
        self.assertEqual((made.array("train/targets").tolist(), made.array("test/targets").tolist()), ([0, 9, 4], [1, 2]))
        self.assertEqual(made.names(), list("0123456789"))
        self.assertEqual(self.read("fashion_mnist", self.folder).names()[9], "ankle boot")

    def test_gzip_files_and_names_with_a_dot_are_read(self):
        (self.folder / "train-images-idx3-ubyte").unlink()
        self.write("train-images-idx3-ubyte.gz", gzip.compress(self.train_images[:30]) + gzip.compress(self.train_images[30:]))
        (self.folder / "t10k-labels-idx1-ubyte").rename(self.folder / "t10k-labels.idx1-ubyte")
        self.check_train()

    def test_files_are_found_in_folders_of_their_names_and_where_torchvision_keeps_them(self):
        name = "train-images-idx3-ubyte"
        (self.folder / name).unlink()
        (self.folder / name).mkdir()
        self.refused(f"expected {name} or {name}.gz, found neither", "mnist", self.folder)
        beside = self.write("train-images.idx3-ubyte", self.train_images)
        self.check_train()
        beside.rename(self.folder / name / name)
        self.check_train()
        files = list(self.folder.glob("*-ubyte"))
        (self.folder / "MNIST/raw").mkdir(parents=True)
        for file in files:
            file.rename(self.folder / "MNIST/raw" / file.name)
        self.check_train()
        self.check_train("MNIST")
        self.refused(f"expected {name}", "fashion_mnist", self.folder)

    def test_wrong_and_truncated_files_are_named(self):
        name, images = "train-images-idx3-ubyte", self.train_images
        for content, words in ((images[:70], "truncated: it ends before its array does"),
                               (images[:9], "truncated: it ends before its array does"), (images + b"x", "longer than its header says"),
                               (idx(8, (3, 0, 5), b""), "a dimension of size 0"),
                               (idx(8, (2,), b"ab"), "wrong IDX magic: expected bytes in 3 dimensions, got uint8 in 1")):
            self.assertIn(words, self.error_with(name, content))
        huge = 2**32 - 1
        self.assertIn("larger than any array", self.error_with(name, idx(8, (huge, huge, huge), b"abc")))

    def test_truncated_and_damaged_gzip_files_are_named(self):
        name = "train-images-idx3-ubyte.gz"
        (self.folder / "train-images-idx3-ubyte").unlink()
        packed = gzip.compress(self.train_images)
        for content in (packed[:-5], packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]):
            self.assertEqual(self.error_with(name, content), "damaged or truncated gzip file")

    def test_labels_and_images_that_do_not_fit_are_named(self):
        name, labels = "train-labels-idx1-ubyte", idx(8, (3,), b"\0\x09\4")
        self.assertIn("expected 3 labels, as many as images in train-images-idx3-ubyte, got 2",
                      self.error_with(name, idx(8, (2,), b"\1\2")))
        self.assertEqual(self.error_with(name, idx(8, (3,), b"\1\x0a\2")), "label number 1: expected 0 to 9, got 10")
        self.write(name, labels)
        self.assertEqual(self.error_with("t10k-images-idx3-ubyte", idx(8, (2, 5, 4), PIXELS[:40])),
                         f"{self.folder}: test images are 1x5x4, training images 1x4x5")
        (self.folder / "t10k-images-idx3-ubyte").unlink()
        self.assertEqual(self.prep("mnist", self.folder).error,
                         f"{self.folder}: expected t10k-images-idx3-ubyte or t10k-images-idx3-ubyte.gz, found neither")
        self.assertEqual(self.prep("mnist", self.folder / "none").error, f"{self.folder}/none: there is no such folder")


def record(label: int, pixel: bytes) -> bytes:
    return bytes([label]) + 3072 * pixel


class Cifar(PrepCase):
    def write_batches(self, place: str = ".") -> None:
        for number in range(1, 6):
            self.write(f"{place}/data_batch_{number}.bin", record(number, bytes([number])) + record(0, b"z"))
        self.write(f"{place}/test_batch.bin", record(9, b"t"))

    def error(self, kind: str = "cifar10") -> str:
        return self.prep(kind, self.folder).error

    def test_the_batches_are_read_in_order(self):
        self.write_batches()
        made = self.read("cifar10", self.folder)
        self.assertEqual(made.array("train/values").shape, (10, 3, 32, 32))
        self.assertEqual(made.array("train/targets").tolist(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0])
        self.assertEqual(made.array("train/values")[8, 0, 0, 0], 5)
        self.assertEqual((made.array("test/targets").tolist(), made.names()[0]), ([9], "airplane"))

    def test_the_folder_of_the_archive_is_looked_into_and_the_names_are_read(self):
        self.write_batches("cifar-10-batches-bin")
        names = self.write("cifar-10-batches-bin/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n")
        self.assertEqual(self.read("cifar10", self.folder).names()[9], "j")
        names.write_text("a\nb\n")
        self.assertEqual(self.error(), f"{names}: expected 10 class names, got 2")

    def test_truncated_files_and_labels_out_of_range_are_named(self):
        self.write_batches()
        path = self.write("data_batch_3.bin", record(1, b"x")[:3000])
        self.assertEqual(self.error(), f"{path}: truncated: expected a multiple of 3073 bytes, got 3000")
        path.write_bytes(record(1, b"x") + record(12, b"x"))
        self.assertEqual(self.error(), f"{path}: label number 1: expected 0 to 9, got 12")

    def test_the_version_for_python_is_named_and_not_read(self):
        self.write("cifar-10-batches-py/data_batch_1", b"\x80\x02}q\x01")
        self.assertEqual(self.error(), f"{self.folder}/cifar-10-batches-py: the Python version of CIFAR-10, expected the binary version, "
                                       "which is offered beside it")
        self.write("train", b"\x80\x02}q\x01")
        self.assertIn("the Python version of CIFAR-100", self.error("cifar100"))

    def test_what_is_missing_is_named(self):
        self.assertEqual(self.error(), f"{self.folder}: expected data_batch_1.bin here or in cifar-10-batches-bin (the binary version of "
                                       "CIFAR-10)")
        self.write_batches()
        (self.folder / "test_batch.bin").unlink()
        self.assertEqual(self.error(), f"cannot read {self.folder}/test_batch.bin: No such file or directory")

    def test_of_cifar_100_the_fine_labels_count(self):
        self.write("fine_label_names.txt", "".join(f"class{number}\n" for number in range(100)))
        self.write("train.bin", b"\3" + record(99, b"a") + b"\4" + record(0, b"b"))
        self.write("test.bin", b"\3" + record(7, b"c"))
        made = self.read("cifar100", self.folder)
        self.assertEqual(made.array("train/targets").tolist(), [99, 0])
        self.assertEqual(made.array("train/values")[1, 0, 0, 0], ord("b"))
        self.assertEqual((made.array("test/targets").tolist(), made.names()[99]), ([7], "class99"))


if __name__ == "__main__":
    unittest.main()
