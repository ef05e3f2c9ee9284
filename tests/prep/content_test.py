#!/usr/bin/env python3
"""Tests what is said of a data set's content: equal samples, constants, values far outside, few samples of a class."""

import json
import re
import unittest

import numpy as np
import pandas
from prep_case import PrepCase

from skyline.prep.content import sample_hashes
from skyline.prep.content_checks import content_lines
from skyline.prep.dataset import TEST, TRAIN, VALIDATION, DatasetWriter, Facts
from skyline.prep.ranges import outside_lines, with_ranges
from skyline.prep.split import Shares, draw_parts
from skyline.prep.preparation import Reading
from skyline.prep.table_files import table_of

_OPTIONS = {"targets"}


class ContentTest(PrepCase):
    def lines(self, parts: dict, facts: Facts, options: "set[str]" = _OPTIONS, drawn: bool = False) -> "list[str]":
        """Writes samples and targets of some parts, and returns what is said."""
        writer = DatasetWriter(self.folder / "made.h5")
        writer.is_drawn = drawn
        writer.describe(facts, [len(parts.get(part, ((),))[0]) for part in range(3)])
        for part, (values, targets) in parts.items():
            values = np.asarray(values).reshape(-1, *facts.shape)
            for begin in range(0, len(values), 100):
                writer.append(part, values[begin:begin + 100], np.asarray(targets)[begin:begin + 100])
        writer.finish()
        return list(content_lines(writer, options))

    def classes(self, features: int, names: str = "ab", preparation: str = "") -> Facts:
        return Facts((features, 1, 1), list(names), "classes", "", False, 1.0, preparation, is_table=bool(preparation))

    def numbers(self, features: int, **target) -> Facts:
        columns = [{"column": f"c{number}"} for number in range(features)]
        preparation = {"features": columns, "targets": [{"column": "y", **target}]}
        return Facts((features, 1, 1), ["y"], "numbers", "", False, 1.0, json.dumps(preparation), is_table=True)

    def setUp(self) -> None:
        super().setUp()
        self.rng = np.random.default_rng(1)

    def both(self, count: int) -> np.ndarray:
        return np.arange(count) % 2

    def test_an_ordinary_set_gives_no_line(self):
        values = {part: self.rng.normal(size=(count, 4)) for part, count in ((TRAIN, 400), (VALIDATION, 50), (TEST, 100))}
        self.assertEqual(self.lines({part: (each, self.both(len(each))) for part, each in values.items()}, self.classes(4)), [])

    def test_test_samples_that_are_in_the_training_set_are_counted(self):
        values = self.rng.normal(size=(100, 4))
        tests = np.concatenate([values[:7], -values[:30]]), np.r_[self.both(7), self.both(30)]
        line, = self.lines({TRAIN: (values, self.both(100)), TEST: tests}, self.classes(4), drawn=True)
        self.assertEqual(line, "check: 7 of 37 test samples are in the training set as well, which makes their scores too good "
                               "(--equal-samples=together draws equal ones into one part)")

    def test_zeros_of_both_signs_are_equal_and_padding_is_not(self):
        hashes = sample_hashes(np.array([[0.0, 1], [-0.0, 1], [0, 2]], np.float32))
        self.assertEqual((hashes[0] == hashes[1], hashes[0] == hashes[2]), (True, False))
        self.assertEqual(len(np.unique(sample_hashes(np.eye(50, dtype=np.uint8)))), 50)
        both = sample_hashes(np.array([1.0, 1.0, 2.0]), np.array([[1, 2], [1, 2], [1, 2]], np.uint8))
        self.assertEqual((both[0] == both[1], both[0] == both[2]), (True, False))

    def test_one_sample_under_several_classes_is_told(self):
        values = self.rng.normal(size=(300, 2))
        values[[10, 21]] = values[4]
        lines = self.lines({TRAIN: (values, self.both(300))}, self.classes(2))
        self.assertEqual(lines, ["check: 1 different sample is there under several targets, e.g. `a` and `b`, 3 times in all: "
                                 "correct them, or leave them out"])
        categories = self.rng.integers(0, 3, (300, 2))  # rows of categories repeat by their nature
        self.assertEqual(self.lines({TRAIN: (categories, self.both(300))}, self.classes(2)), [])

    def test_features_that_are_always_the_same_are_named(self):
        values = self.rng.normal(size=(60, 3))
        values[:, 1] = 7
        self.assertEqual(self.lines({TRAIN: (values, self.both(60))}, self.classes(3)), ["check: 1 feature always the same: `feature 1`"])
        names = json.dumps({"features": [{"column": "x"}, {"column": "y", "is": "red"}, {"column": "z"}]})
        self.assertEqual(self.lines({TRAIN: (values, self.both(60))}, self.classes(3, preparation=names)),
                         ["check: 1 column always the same: `y = red` (--drop)"])
        lines = self.lines({TRAIN: (np.zeros((60, 3)), self.both(60))}, self.classes(3))
        self.assertIn("check: 3 features always the same: `feature 0`, `feature 1`, `feature 2`", lines)

    def test_images_of_one_colour_are_counted_and_black_borders_are_not(self):
        pixels = self.rng.integers(0, 255, (50, 1, 8, 8))
        pixels[:, :, 0] = 0
        facts = Facts((1, 8, 8), ["a", "b"], "classes", "", True)
        self.assertEqual(self.lines({TRAIN: (pixels, self.both(50))}, facts), [])
        pixels[3], pixels[4] = 0, 255
        self.assertEqual(self.lines({TRAIN: (pixels, self.both(50))}, facts),
                         ["check: 2 of 50 samples are of a single colour (leave them out if they are faults)"])

    def test_samples_with_one_value_in_all_features_are_counted_where_that_is_no_chance(self):
        values = self.rng.normal(size=(200, 10))
        values[:3] = [[0], [1], [2]]
        self.assertEqual(self.lines({TRAIN: (values, self.both(200))}, self.classes(10)),
                         ["check: 3 of 200 samples have one value everywhere (leave them out if they are faults)"])
        answers = self.rng.integers(0, 2, (2000, 8)) + self.rng.integers(0, 2, (2000, 1))
        words = np.where(self.rng.random((300, 10)) < 0.1, self.rng.random((300, 10)), 0)
        for usual in (answers, words):
            lines = self.lines({TRAIN: (usual, self.both(len(usual)))}, self.classes(usual.shape[1]))
            self.assertFalse(any("everywhere" in line for line in lines))

    def test_labels_that_never_change_are_told(self):
        labels = np.stack([self.both(20), np.zeros(20), np.ones(20)], 1)
        facts = Facts((2, 1, 1), ["a", "b", "c"], "labels", "", False)
        self.assertEqual(self.lines({TRAIN: (self.rng.normal(size=(20, 2)), labels)}, facts),
                         ["check: 1 label in no training sample: `b`", "check: 1 label in all training samples: `c`"])

    def test_marks_for_missing_values_are_found(self):
        for mark in (-9999, -999, 1e20, 9.96921e36):
            values = self.rng.normal(size=(200, 2))
            values[::9, 1] = mark
            line, = self.lines({TRAIN: (values, self.rng.normal(size=(200, 1)))}, self.numbers(2))
            self.assertRegex(line, r"check: values far outside: `c1`: \S+ in 23 of 200, the others are -\S+ to \S+, and scaling leaves \S+ "
                                   r"deviations to their middle half \(--missing-values=\S+ takes them for missing\)")
            self.assertEqual(np.float32(line.split("--missing-values=")[1].split()[0]), np.float32(mark))

    def test_marks_within_the_range_of_wide_columns_are_found(self):
        values = np.stack([self.rng.integers(0, 90, 200), self.rng.random(200) * 5000], 1).astype(float)
        values[:8, 0], values[20:25, 1] = 999, -999
        line, = self.lines({TRAIN: (values, self.both(200))}, self.classes(2))
        self.assertIn("`feature 0`: 999 in 8 of 200", line)
        self.assertIn("`feature 1`: -999 in 5 of 200", line)
        self.assertNotIn("--missing-values", line)  # arrays have no columns

    def test_marks_in_images_of_numbers_are_found(self):
        values = self.rng.normal(size=(300, 2, 40, 40)).astype(np.float32) + np.arange(300, dtype=np.float32)[:, None, None, None]
        values[::50, 1, :3] = -9999
        line, = self.lines({TRAIN: (values, self.both(300))}, Facts((2, 40, 40), ["a", "b"], "classes", "", False, 1.0))
        self.assertIn("`channel 1`: -9999 in 720 of 480000, the others are ", line)

    def test_skewed_sparse_and_rare_values_are_no_marks(self):
        count, rng = 3000, self.rng
        columns = [rng.lognormal(8, 2, count), rng.exponential(1, count), rng.poisson(0.1, count), rng.random(count) < 0.001,
                   np.where(rng.random(count) < 0.95, 0, rng.lognormal(8, 1, count)), np.minimum(rng.lognormal(7, 1, count).round(), 9999),
                   rng.integers(1950, 2024, count), np.arange(count), rng.standard_t(3, count), 1.7e9 + rng.random(count) * 1e7]
        self.assertEqual(self.lines({TRAIN: (np.stack(columns, 1), self.both(count))}, self.classes(len(columns))), [])

    def test_targets_far_outside_are_found(self):
        targets = self.rng.normal(size=(200, 1)) + 5
        targets[:4] = -9999
        mean, deviation = targets.mean(), targets.std()
        line, = self.lines({TRAIN: (self.rng.normal(size=(200, 2)), (targets - mean) / deviation)},
                           self.numbers(2, mean=mean, deviation=deviation))
        self.assertIn("`y`: -9999 in 4 of 200", line)

    def test_logarithms_of_skewed_targets_are_proposed(self):
        values = self.rng.normal(size=(500, 2))
        claims = np.where(values[:, 0] < 0, 0, self.rng.lognormal(7, 1, 500))
        for targets, way in ((self.rng.lognormal(8, 1, 500), "log"), (claims, "log1p"),
                             (self.rng.normal(size=500), ""), (self.rng.exponential(1, 500), ""), (self.rng.integers(1, 6, 500), "")):
            lines = self.lines({TRAIN: (values, targets.reshape(-1, 1))}, self.numbers(2))
            self.assertEqual([f"--targets={way} learns its logarithm" in line for line in lines], [True] * bool(way), lines)
        self.assertEqual(self.lines({TRAIN: (values, self.rng.lognormal(8, 1, (500, 1)))}, self.numbers(2, transform="log")), [])
        for targets, way in ((self.rng.lognormal(0, 3, 500), "log"), (np.maximum(self.rng.lognormal(0, 3, 500) - 1, 0), "log1p")):
            mean, deviation = targets.mean(), targets.std()  # float32 rounds the least ones to 0 or below
            lines = self.lines({TRAIN: (values, ((targets - mean) / deviation)[:, None])}, self.numbers(2, mean=mean, deviation=deviation))
            self.assertTrue(any(f"--targets={way} learns its logarithm" in line for line in lines), lines)

    def test_classes_with_few_samples_are_named(self):
        targets = np.r_[np.zeros(50, int), np.ones(50, int), np.full(4, 2), 3]
        lines = self.lines({TRAIN: (self.rng.normal(size=(105, 2)), targets), TEST: (self.rng.normal(size=(20, 2)), self.both(20))},
                           self.classes(2, "abcde"))
        self.assertEqual(lines, ["check: 1 of 5 classes with one sample: `d`", "check: 1 of 5 classes with fewer than 10 samples: `c`",
                                 "check: 1 of 5 classes without training samples: `e`",
                                 "check: 3 of 5 classes without test samples: `c`, `d`, `e`"])


class RangesTest(PrepCase):
    def told(self, values: np.ndarray, preparation: str, is_pixels: bool = False) -> "tuple[str, list[str]]":
        """Writes samples, and returns the preparation with ranges, and what is said of samples outside of those that were known."""
        writer = DatasetWriter(self.folder / "made.h5")
        writer.describe(Facts((values.shape[1], 1, 1), ["a", "b"], "classes", "", is_pixels, 1.0, preparation), [len(values), 0, 0])
        writer.append(TRAIN, values.reshape(*values.shape, 1, 1), np.zeros(len(values)))
        writer.finish()
        return with_ranges(preparation, writer.content), list(outside_lines(writer))

    def test_samples_outside_of_the_training_samples_are_counted(self):
        rng = np.random.default_rng(1)
        preparation = json.dumps({"features": [{"column": "size", "subtract": 100.0}, {"column": "kind", "is": "x"}]})
        known, lines = self.told(np.stack([np.linspace(-5, 5, 50), np.arange(50) % 2], 1), preparation)
        self.assertEqual((json.loads(known)["features"][0]["range"], lines), ([-5.0, 5.0], []))
        self.assertNotIn("range", json.loads(known)["features"][1])
        self.assertEqual(self.told(np.stack([rng.uniform(-5.1, 5.1, 100), np.ones(100)], 1), known)[1], [])
        values = np.zeros((40, 2))
        values[:2, 0] = 7, 900
        self.assertEqual(self.told(values, known)[1], ["check: 2 of 40 samples have values outside of those of the training data: "
                                                       "`size` has 100 to 1000, in training 95 to 105"])
        values[:10, 0] = 5.5
        self.assertEqual([line[:24] for line in self.told(values, known)[1]], ["check: 10 of 40 samples "])

    def test_pixels_and_samples_of_other_kinds_have_no_ranges(self):
        preparation = json.dumps({"features": [{"column": "1"}, {"column": "2"}]})
        self.assertEqual(self.told(np.ones((3, 2)), preparation, is_pixels=True), (preparation, []))
        self.assertEqual(self.told(np.ones((3, 2)), ""), ("", []))
        self.assertEqual(self.told(np.ones((3, 3)), preparation), (preparation, []))


class ProposalsTest(PrepCase):
    """Lines that name an option, from tables as people bring them."""

    def rows(self, *cells: str) -> str:
        rows = (f"{number},{each},{'xy'[number % 2]}\n" for number, each in enumerate(cells))
        return str(self.write("train.csv", "a,code,label\n" + "".join(rows)))

    def test_numbers_with_zeros_before_them_may_be_codes(self):
        codes = [f"0{number % 4 + 1234}" if number % 3 else "54321" for number in range(40)]
        said = self.read("arrays", self.rows(*codes))
        self.assertIn("check: 1 column of numbers with zeros before them, as codes have: `code` (--categories=code takes them for words)",
                      said.checks)
        said = self.read("arrays", self.rows(*codes), "--categories=code")
        self.assertEqual([each["is"] for each in said.preparation()["features"] if "is" in each],
                         ["01234", "01235", "01236", "01237", "54321"])
        self.assertFalse(any("zeros" in line for line in said.checks))
        for other in ("0", "0.5", "10"):
            self.assertFalse(any("zeros" in line for line in self.read("arrays", self.rows(*[other, "20", "30"] * 20)).checks), other)

    def test_a_word_for_missing_numbers_is_proposed(self):
        cells = ["1.5", "."] + ["2.5", "3.5"] * 10
        self.refused("`code`: expected a number, got `.` in line 3: --missing-words=. takes it for missing (--drop=code", "arrays",
                     self.rows(*cells))
        self.assertIn("`code`: 1 value missing: the median, ", self.read("arrays", self.rows(*cells), "--missing-words=.", "--test=0").text)

    def test_marks_that_are_proposed_are_missing_then(self):
        cells = ["9.96921e36" if number % 9 == 4 else f"{number % 7}.5" for number in range(60)]
        line, = [each for each in self.read("arrays", self.rows(*cells)).checks if "far outside" in each]
        option = re.search("--missing-values=[^ ]*", line)[0]
        said = self.read("arrays", self.rows(*cells), option)
        self.assertIn("`code`: 7 values missing", said.text)
        self.assertFalse(any("far outside" in each for each in said.checks))

    def test_names_of_rows_are_proposed_as_id(self):
        self.refused("`code`: expected numbers or the words of some categories, got 20 different words, `n0` in line 2: --id=code, if it "
                     "names the rows", "arrays", self.rows(*(f"n{number}" for number in range(20))))

    def test_words_that_are_numbers_in_another_spelling_are_refused(self):
        self.refused("`code`: expected a number, got `5 %` in line 2: a unit? `5 %` is 5 by --numbers=point, and a word by "
                     "--categories=code", "arrays", self.rows(*["5 %", "10 %"] * 20))
        self.read("arrays", self.rows(*["5 %", "10 %"] * 20), "--categories=code")
        said = self.read("arrays", self.rows(*["5 %", '"1,010 %"'] * 20), "--numbers=point", "--test=0")
        self.assertEqual(sorted(set(said.array("train/values")[:, 1].ravel())), [5, 1010])

    def test_words_by_their_type_are_numbers_only_if_they_are_spelled_so(self):
        frame = pandas.DataFrame({"a": np.arange(40.0), "code": [f"0{number % 3}234" for number in range(40)],
                                  "price": [f"1,{number + 100} $" for number in range(40)], "label": [*"xy"] * 20})
        table = table_of(frame, self.folder / "frame")
        self.assertTrue(table.has_typed_words(1) and table.has_typed_words(2))
        table.reading = Reading("point")
        self.assertEqual((table.has_typed_words(1), table.has_typed_words(2)), (True, False))
        self.assertEqual(table.numbers(2).values[:2].tolist(), [1100, 1101])


class HeldOutTest(PrepCase):
    def test_equal_training_samples_are_groups_that_a_search_holds_out_together(self):
        rows = [f"{number % 50}.5,{number % 7},{'xy'[number % 2]}\n" for number in range(100)]
        self.write("train.csv", "a,b,label\n" + "".join(rows[:52] + rows[:4] + rows[:2]))
        said = self.read("arrays", "train.csv")
        self.assertIn("10 samples of 58 equal others: equal ones are drawn into one part (--equal-samples)", said.lines)
        values, groups = said.array("train/values").reshape(-1, 2), said.array("train/groups")
        self.assertEqual(len(set(groups)), len({tuple(row) for row in values.tolist()}))
        self.assertTrue(all((groups[(values == row).all(1)] == group).all() for row, group in zip(values, groups)))
        self.assertEqual(groups[0], 0)
        with self.assertRaises(KeyError):
            self.read("arrays", "train.csv", "--equal-samples=apart").array("train/groups")


class EqualSamplesTest(unittest.TestCase):
    def test_equal_samples_are_drawn_into_one_part(self):
        rng = np.random.default_rng(1)
        labels, samples = rng.integers(0, 2, 1000), np.r_[np.arange(900), np.arange(100)]
        equal, lines = Shares(0.2, 0.1).find_equal(samples)
        self.assertEqual(lines, ["200 samples of 1000 equal others: equal ones are drawn into one part (--equal-samples)"])
        parts = draw_parts(labels, Shares(0.2, 0.1), equal=equal)
        self.assertTrue(all(len(set(parts[samples == each])) == 1 for each in range(100)))
        for part, count in zip(range(3), (700, 100, 200)):
            self.assertLess(abs((parts == part).sum() - count), 8)

    def test_without_equal_samples_the_draw_is_the_same(self):
        labels = np.arange(500) % 3
        for shares in (Shares(0.2), Shares(0.3, 0.2, 7), Shares(0.1, 0.1, last=True)):
            expected = draw_parts(labels, shares)
            np.testing.assert_array_equal(draw_parts(labels, shares, equal=np.random.default_rng(1).permutation(500)), expected)
            self.assertEqual(shares.find_equal(np.arange(500)), (None, []))

    def test_many_equal_samples_are_kept_together_only_where_it_is_told(self):
        samples = np.repeat(np.arange(60), 4)
        self.assertIsNone(Shares(0.2).find_equal(samples)[0])
        self.assertIsNone(Shares(0.2, equal_samples="apart").find_equal(np.r_[samples, np.arange(100, 1000)])[0])
        equal, _ = Shares(0.2, equal_samples="together").find_equal(samples)
        parts = draw_parts(np.arange(240) % 2, Shares(0.2), equal=equal)
        self.assertEqual((parts == TEST).sum(), 48)
        self.assertTrue(all(len(set(parts[samples == each])) == 1 for each in range(60)))

    def test_a_sample_that_is_half_of_all_leaves_no_part_empty(self):
        samples = np.r_[np.zeros(100, int), np.arange(1, 101)]
        parts = draw_parts(np.zeros(200, int), Shares(0.2, 0.1), equal=samples)
        self.assertEqual(np.bincount(parts).tolist(), [140, 20, 40])
        self.assertEqual(set(parts[:100]), {TRAIN})


if __name__ == "__main__":
    unittest.main()
