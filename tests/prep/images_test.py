"""Folders of images become data sets, and what is left out is told."""

import os
import unittest

import numpy
import PIL.Image
from image_case import RUN, ImagesCase, encoded, made, planes, png, raw_png

from skyline.prep.image_files import PixelReader


class Folders(ImagesCase):
    def test_classes_are_folders_by_name_and_a_fifth_of_each_is_drawn_for_the_test_set(self):
        for letter in "abcde":
            self.grey(f"dog/{letter}.pgm", 2 * letter)
            self.grey(f"cat/{letter}.pgm", 2 * letter.upper())
        self.put("cat/.hidden", "no image")
        self.put("README.txt", "no folder")
        said = self.made()
        self.assertEqual(said.array("train/values").shape, (8, 1, 1, 2))
        self.assertEqual(said.names(), ["cat", "dog"])
        self.assertEqual(said.array("train/targets").tolist(), [0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual(said.array("test/targets").tolist(), [0, 1])
        self.assertEqual("".join(sorted(self.part(said, "train") + self.part(said, "test"))), "AABBCCDDEEaabbccddee")
        test = self.part(said, "test")
        self.assertEqual(self.part(self.made(), "test"), test, "the same seed draws the same")
        self.assertTrue(any(self.part(self.made("--seed", seed), "test") != test for seed in (2, 3, 4, 5)))
        self.assertIn(f"check: {self.images}: not read, beside the folders of the classes: 1 .txt", said.lines)

    def test_the_parts_may_be_folders_and_classes_may_have_folders_inside(self):
        self.grey("train/cat/1.pgm", "ab")
        self.grey("train/cat/deep/er/2.pgm", "AB")
        self.grey("train/dog/1.pgm", "cd")
        self.grey("val/dog/1.pgm", "xy")
        self.grey("test/dog/1.pgm", "ef")
        said = self.made()
        self.assertEqual(said.array("train/targets").tolist(), [0, 0, 1])
        self.assertEqual([self.part(said, part) for part in ("train", "validation", "test")], ["abABcd", "xy", "ef"])
        self.refuse(f"{self.images}: it has a folder for the validation set, so leave out --validation", "--validation", 0.1)
        self.grey("test/cow/1.pgm", "gh")
        self.refuse("test/cow: a class that the training set does not have")

    def test_part_folders_are_known_in_any_case_and_as_kaggle_names_them(self):
        for number, (train, val, test) in enumerate((("Training", "Valid", "Testing"), ("TRAIN", "Validation", "TEST"),
                                                     ("seg_train/seg_train", "valid_set", "seg_test/seg_test"),
                                                     ("train2017", "val2017", "test2017"), ("TrainingSet", "ValData", "test_images"))):
            self.images = self.folder / f"kaggle{number}"
            for name, letters in ((f"{train}/cat", "ab"), (f"{train}/dog", "cd"), (f"{val}/dog", "ef"), (f"{test}/cat", "gh")):
                self.write(f"{self.images}/{name}/1.pgm", b"P5\n2 1\n255\n" + letters.encode())
            self.write(f"{self.images}/__MACOSX/train/cat/._1.pgm", "not a picture")
            self.write(f"{self.images}/{train}/set.h5.tmp.node-1.example.4711.0/report", "of a program that writes there")
            said = self.made()
            self.assertEqual(said.names(), ["cat", "dog"], train)
            self.assertEqual("".join(self.part(said, part) for part in ("train", "validation", "test")), "abcdefgh")

    def test_what_is_not_read_or_may_be_meant_otherwise_is_told(self):
        for name in ("Train/cat/1.pgm", "Train/dog/1.pgm", "Train/loose.pgm", "Test/1.pgm", "plane/1.pgm"):
            self.grey(name, "ab")
        self.put("LIESMICH.TXT", "text")
        lines = self.made().lines
        self.assertEqual(lines[:2], [
            f"check: {self.images}: not read, beside the folders of the parts: `Test`, `plane`, 1 .txt",
            f"check: {self.images}/Train: not read, beside the folders of the classes: 1 .pgm"])
        self.grey("training/cat/1.pgm", "ab")
        self.refuse("`Train` and `training` are both named like the train set")

    def test_folders_of_classes_that_all_have_the_same_folders_are_doubted(self):
        for name in ("x-train/cat", "x-train/dog", "x-test/cat", "x-test/dog"):
            self.grey(f"{name}/1.pgm", "ab")
        self.assertIn("2 folders are taken for classes, although each has `cat`, `dog`: if these are the classes, call the folders above "
                      "them `train`, `val` and `test`, or put the images of a class into one folder", self.made().text)

    def test_a_class_may_be_called_train_with_a_word(self):
        self.grey("train/1.pgm", "ab")
        self.grey("test tube/1.pgm", "cd")
        said = self.made()
        self.assertEqual(said.names(), ["test tube", "train"])
        self.assertIn("train: taken for a class, although it is named like a part of the set", said.text)

    def test_a_folder_around_the_classes_is_named(self):
        self.grey("photos/cat/1.pgm", "ab")
        self.grey("photos/dog/1.pgm", "ab")
        said = self.refuse("got 1")
        self.assertEqual(said.error, f"{self.images}: expected a folder of images for each of at least 2 classes, or the folders train, "
                                     f"val and test with such, got 1: did you mean {self.images}/photos?")

    def test_a_class_whose_name_is_not_utf8_is_named_by_its_folder(self):
        self.grey(os.fsdecode(b"caf\xe9/1.pgm"), "ab")
        self.grey("tea/1.pgm", "ab")
        self.refuse("/caf\\xe9: expected a class's name in UTF-8 and without control characters: rename the folder")

    def test_names_of_files_may_have_any_bytes(self):
        self.grey("a/1.pgm", "ab")
        self.grey("b/2.pgm", "cd")
        self.put(os.fsdecode(b"b/caf\xe9.png"), "damaged")
        self.assertIn(f"check: left out: {self.images}/b/caf\\xe9.png: not a PNG", self.made().text)
        _, rows = self.applied(self.images / "b")
        self.assertEqual(rows["names"], [f"{self.images}/b/2.pgm", f"{self.images}/b/caf\\xe9.png"])

    def test_an_empty_class_is_refused(self):
        self.grey("a/1.pgm", "ab")
        self.refuse("expected a folder of images for each of at least 2 classes")
        (self.images / "b").mkdir()
        self.assertEqual(self.refuse("").error, f"{self.images}/b: a class without an image to train on")
        self.put("b/1.png", png(made(1, 1, 2, 1))[:44])
        self.assertEqual(self.refuse("").error, f"{self.images}/b: a class without an image to train on")
        self.put("a/1.pgm", "P5\n2")
        self.put("b/1.png", "no image")
        self.refuse(": no image that can be read: ")
        self.refused("cannot read the folder nowhere: No such file or directory", "images", "nowhere")

    def test_the_kept_class_without_a_readable_image_is_found_when_it_is_read(self):
        self.grey("a/1.pgm", "ab")
        self.put("b/1.pgm", "P5\n2 1\n255\na")
        self.assertEqual(self.refuse("").error, f"{self.images}/b: a class without an image to train on")


class LeftOut(ImagesCase):
    def test_other_files_are_counted_apart_from_damaged_images(self):
        for name in ("a/1", "b/1"):
            self.put(f"{name}.png", png(made(1, 9, 9, 1)))
            self.put(f"{name}.xml", "<annotation/>")
            self.put(f"{name}DICOM.PNG", bytes(128) + b"DICM")
        self.assertEqual(len(self.made("--test", 0, "--skip", 0).array("train/targets")), 2)
        self.put("a/text.png", "no image")
        self.refuse("a/text.png: not a PNG, JPEG", "--skip", 0)
        said = self.made("--test", 0)
        self.assertIn(f"check: {self.images}: files that are no images are not read: 2 .xml", said.lines)
        self.assertIn(f"check: {self.images}: images of these kinds are left out, since they are not read: 2 DICOM", said.lines)
        self.assertIn(f"check: left out: {self.images}/a/text.png: not a PNG", said.text)
        self.assertIn("check: 1 file left out", said.lines)

    def test_files_that_are_no_images_are_left_out_up_to_a_bound(self):
        content = png(made(1, 9, 9, 1))
        for name in ("a/1", "a/2", "b/1", "b/2"):
            self.put(f"{name}.png", content)
        self.put("a/text.png", "not an image")
        self.put("a/cut.png", content[:-40])
        self.put("b/damaged.png", content[:50] + bytes([content[50] ^ 1]) + content[51:])
        self.assertEqual(len(self.made().array("train/targets")), 4)
        self.assertEqual(len(self.made("--skip", 3).array("train/targets")), 4)
        said = self.refuse(f"{self.images}: more than 2 files cannot be read as images (--skip=N allows N), the last of them ", "--skip", 2)
        self.assertIn("b/damaged.png: damaged PNG: ", said.error)

    def test_a_pipe_is_left_out_instead_of_waited_for(self):
        self.grey("a/1.pgm", "ab")
        self.grey("b/1.pgm", "ab")
        os.mkfifo(self.images / "b/2.pgm")
        self.assertEqual(len(self.made().array("train/targets")), 2)
        self.refuse("b/2.pgm: expected a file, found a pipe or a device", "--skip", 0)

    def test_links_to_folders_and_to_nowhere_are_left_out(self):
        self.grey("a/1.pgm", "ab")
        self.grey("b/1.pgm", "ab")
        (self.images / "b/loop").symlink_to(self.images)
        (self.images / "b/nowhere.png").symlink_to("missing")
        said = self.made()
        self.assertIn(f"check: left out: cannot read {self.images}/b/loop: Is a directory", said.lines)
        self.assertIn(f"check: left out: cannot read {self.images}/b/nowhere.png: No such file or directory", said.lines)


class Pixels(ImagesCase):
    def test_files_of_all_formats_give_the_same_pixels_on_any_number_of_threads(self):
        images = [made(3, 5, 4, seed) for seed in range(70)]
        for number, image in enumerate(images):
            self.put(f"train/png/{1000 + number}", png(image))
            self.put(f"train/ppm/{1000 + number}", encoded(image, "PPM"))
            self.put(f"train/webp/{1000 + number}", encoded(image, "WEBP", lossless=True))
        expected = numpy.stack(3 * [planes(image) for image in images])
        for threads in (1, 2, 5):
            self.assertTrue(numpy.array_equal(self.made("--test", 0, "--threads", threads).array("train/values"), expected), threads)

    def test_grey_stays_grey_unless_there_are_colours(self):
        self.put("a/1.png", png(numpy.array([[7, 8]], "uint8")))
        self.put("b/1.png", png(numpy.array([[9, 10]], "uint8")))
        self.assertEqual(self.made().array("train/values").shape, (2, 1, 1, 2))
        self.put("b/2.png", png(numpy.array([[[1, 2, 3], [4, 5, 6]]], "uint8")))
        said = self.made()
        self.assertEqual(said.array("train/values")[:2].ravel().tolist(), [7, 8, 7, 8, 7, 8, 9, 10, 9, 10, 9, 10])
        self.assertIn("2 of 3 images are grey: all become RGB", said.lines)

    def test_images_of_several_sizes_need_a_size(self):
        self.put("a/1.png", png(made(1, 8, 8, 1)))
        self.put("b/2.png", png(made(1, 6, 9, 2)))
        self.refuse(f"b/2.png: 6 x 9 pixels, and {self.images}/a/1.png has 8 x 8: make them one size by --size")
        for fit in ("resize", "crop"):
            said = self.made("--size", "4x5", "--fit", fit)
            reader = PixelReader((1, 4, 5), fit)
            self.assertTrue(numpy.array_equal(said.array("train/values")[0], reader(str(self.images / "a/1.png")).values))
        for size in ("0", "4x", "x4", "99999", "4x5x6", "big"):
            self.refuse(f"--size: expected a number of pixels up to 32768, HEIGHTxWIDTH, or auto, got {size}", "--size", size)
        for option, value, expected in (("fit", "squeeze", "`resize` or `crop`"), ("labels", "*x", "a pattern with {class} once, at most 3 `*`, and a text between them, e.g. *_{class}_*"),
                                        ("test", 1, "a number of at least 0 and below 1"), ("skip", -1, "a whole number of at least 0")):
            self.refuse(f"--{option}: expected {expected}, got {value}", f"--{option}={value}")
        self.refuse("--seed: expected a whole number of at least 0, got 9999999999", "--seed=" + 5000 * "9")

    def test_a_size_is_chosen_by_the_shorter_sides(self):
        for number, (height, width) in enumerate(((20, 30), (40, 26), (50, 70))):
            self.put(f"a/{number}.png", png(made(1, height, width, 1)))
            self.put(f"b/{number}.png", png(made(1, height, width, 2)))
        said = self.made("--size", "auto")
        self.assertEqual(said.array("train/values").shape[1:], (1, 24, 24))
        self.assertIn("size: 24 x 24 pixels, by the images' shorter sides, whose median is 26; another one: --size", said.lines)
        for path in self.images.rglob("*.png"):
            path.write_bytes(png(made(1, 30, 96, 3)))
        self.assertEqual(self.made("--size", "auto").array("train/values").shape[1:], (1, 30, 96))

    def test_values_that_eight_bits_merge_are_told(self):
        self.put("a/1.pgm", "P2 2 1 65535 0 257")
        self.put("b/1.pgm", "P2 2 1 65535 65535 514")
        self.assertNotIn("8 bits", self.made("--test", 0).text)
        self.put("b/2.pgm", "P2 2 1 65535 1 258")
        self.assertIn("check: 3 images with more than 8 bits per value: their 6 different values are 4 as pixels (`skyline prep arrays` "
                      "keeps those of an array)", self.made("--test", 0).lines)
        self.put("b/3.png", raw_png(2, 1, 16, 2, b"\0" + bytes(12)))
        self.assertIn("check: 1 image with more than 8 bits per value and several channels: the upper 8 are read",
                      self.made("--test", 0).text)

    def test_jpeg_files_that_lie_on_their_side_stand_up(self):
        exif = PIL.Image.Exif()
        exif[274] = 6
        self.put("a/1.jpg", encoded(made(1, 8, 16, 1), "JPEG", exif=exif))
        self.put("b/1.pgm", encoded(made(1, 16, 8, 2), "PPM"))
        self.assertEqual(self.made().array("train/values").shape[1:], (1, 16, 8))


class ForARun(ImagesCase):
    def test_rows_name_their_files_and_keep_what_cannot_be_read(self):
        self.grey("new/b.pgm", "ab")
        self.put("new/a.png", "damaged")
        self.put("new/c.txt", "text")
        self.put("new/d.dcm", bytes(128) + b"DICM")
        self.put("new/e.pgm", b"P5\n2 1\n255\na")
        self.grey("one.pgm", "cd")
        said, rows = self.applied(self.images / "new", self.images / "one.pgm")
        self.assertEqual(self.part(said, "train"), "abcd")
        self.assertEqual(rows["title"], "file")
        names = [str(self.images / name) for name in ("new/a.png", "new/b.pgm", "new/d.dcm", "new/e.pgm", "one.pgm")]
        self.assertEqual(rows["names"], names)
        self.assertEqual(rows["problems"][:3], ["not a PNG, JPEG, WebP, PBM, PGM or PPM image, nor another that Pillow reads", "",
                                                "a DICOM file, which is not read"])
        self.assertIn("damaged PNM: ", rows["problems"][3])
        self.assertEqual((rows["problems"][4], rows["parts"]), ("", [0, 0, 0, 0, 0]))

    def test_samples_may_be_single_files_and_have_the_channels_of_the_run(self):
        self.grey("new/a.pgm", "ab")
        self.grey("b.pgm", "cd")
        said, _ = self.applied(self.images / "b.pgm", self.images / "new", run={**RUN, "shape": [3, 1, 2]})
        self.assertEqual(said.array("train/values").shape, (2, 3, 1, 2))
        self.assertEqual(self.part(said, "train"), "cdcdcdababab")

    def test_samples_for_a_run_of_grey_images_lose_their_colours(self):
        self.grey("a.pgm", "ab")
        self.put("b.png", png(numpy.array([[[255, 0, 0], [0, 255, 0]]], "uint8")))
        said, _ = self.applied(self.images)
        self.assertEqual(said.array("train/values").ravel().tolist(), [97, 98, 76, 150])

    def test_a_file_that_cannot_be_read_is_answered_alone_too(self):
        self.put("a.png", "damaged")
        said, rows = self.applied(self.images / "a.png")
        self.assertEqual((said.array("train/values").shape, [bool(problem) for problem in rows["problems"]]), ((0, 1, 1, 2), [True]))

    def test_images_are_no_samples_of_a_table(self):
        self.grey("a.pgm", "ab")
        said = self.apply("images", self.images, run={**RUN, "shape": [5, 1, 1]})
        self.assertEqual(said.error, f"{self.images}: has images, and the run's samples are 5 numbers each, of a table or an array")

    def test_samples_with_classes_keep_their_parts(self):
        self.grey("train/a/1.pgm", "ab")
        self.grey("train/b/1.pgm", "cd")
        self.grey("test/b/2.pgm", "ef")
        self.put("test/b/3.png", "damaged")
        said, rows = self.applied(self.images, has_targets=True)
        self.assertEqual(self.part(said, "test"), "ef")
        self.assertEqual(said.names(), ["a", "b"])
        self.assertEqual(rows["parts"], [0, 0, 2, 2])
        self.assertEqual([bool(problem) for problem in rows["problems"]], [False, False, False, True])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
