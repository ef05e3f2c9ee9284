"""Long recordings become windows, which stay in one part by recording, and new ones become windows of a run."""

import gzip
import json
import random
import re
import unittest

import numpy as np
from prep_case import PrepCase

from skyline.prep.errors import PrepError
from skyline.prep.window_preparation import WindowPreparation


def csv(labels, step=0.02, begin=0.0, seed=1, values=None):
    """A recording with a row for each label."""
    values = np.random.default_rng(seed).normal(size=(len(labels), 3)).round(4) if values is None else values
    rows = [f"{begin + step * row:.4f},{','.join(map(str, own))},{label}" for row, (own, label) in enumerate(zip(values.tolist(), labels))]
    return "time,x,y,z,activity\n" + "\n".join(rows) + "\n"


def values_in(text):
    return np.array([row.split(",")[1:4] for row in text.split()[1:]], float)


class RecordingsCase(PrepCase):
    def setUp(self):
        super().setUp()
        self.week = self.folder / "week"
        self.week.mkdir()

    def put(self, name, content):
        return self.write(f"week/{name}", content)

    def days(self, count=4):
        for day in range(count):
            self.put(f"day{day}.csv", csv(["sit"] * 20 + ["walk"] * 20, seed=day))

    def made(self, *options):
        return self.read("recordings", self.week, "--length=8", *options)

    def refuse(self, expected, *options):
        return self.refused(expected, "recordings", self.week, "--length=8", *options)


class Windows(RecordingsCase):
    def test_windows_are_rows_in_their_order_and_have_the_class_of_most_of_them(self):
        text = csv(["sit"] * 20 + ["walk"] * 20)
        self.put("day.csv", text)
        said = self.made("--test=0", "--step=6")
        rows = values_in(text)
        begins = range(0, 33, 6)
        expected = np.stack([rows[begin:begin + 8].T[:, None, :] for begin in begins]).astype("float32")
        self.assertTrue(np.array_equal(said.array("train/values"), expected))
        self.assertEqual(said.names(), ["sit", "walk"])
        self.assertEqual(said.array("train/targets").tolist(), [0, 0, 0, 1, 1, 1])  # of rows 18 to 25 two sit
        self.assertEqual(self.made("--test=0", "--step=8", "--label-of=last").array("train/targets").tolist(), [0, 0, 1, 1, 1])
        self.assertEqual(self.made("--test=0", "--step=8").array("train/targets").tolist(), [0, 0, 0, 1, 1])  # four of each: the first
        for line in ("label: `activity`, by its name (--label)", "time: `time`, by its name (--time)",
                     "channels: `x`, `y`, `z` (--drop leaves columns out)", "6 windows of 8 rows (0.16 s), one each 6 rows (--length, --step)"):
            self.assertIn(line, said.lines)

    def test_lengths_may_be_seconds(self):
        self.days()
        said = self.read("recordings", self.week, "--length=0.16s", "--step=0.08s")
        self.assertTrue(np.array_equal(said.array("train/values"), self.made("--step=4").array("train/values")))
        self.refused("--length: 0.01 s are less than the time from a row to the next, 0.02 s (--time-unit)", "recordings", self.week,
                     "--length=0.01s")

    def test_groups_that_are_shorter_than_a_window_are_refused_with_their_length(self):
        self.put("day.csv", csv(["sit"] * 20))
        self.refuse(f"{self.week}: no window of 8 rows: at most 1 rows belong together (--length, --group)", "--test=0", "--group=x")

    def test_windows_cross_neither_gaps_nor_the_end_of_a_recording_nor_missing_values(self):
        first, second = csv(["sit"] * 12 + ["walk"] * 8), csv(["walk"] * 12, begin=3.0, seed=2)
        self.put("day.csv", first + second.partition("\n")[2])
        said = self.made("--test=0", "--step=1")
        self.assertEqual(len(said.array("train/values")), 13 + 5)
        self.assertIn("check: 1 gap in the time, which windows do not cross", said.lines)
        rows = first.split("\n")
        rows[5] = rows[5].replace(rows[5].split(",")[1], "", 1)
        self.put("day.csv", "\n".join(rows))
        said = self.made("--test=0", "--step=1")
        self.assertEqual(len(said.array("train/values")), 13 - 5)
        self.assertIn(f"check: 5 windows with a missing value left out, e.g. of `x` in {self.week}/day.csv", said.lines)

    def test_rows_without_a_class_make_windows_that_are_left_out(self):
        self.put("day.csv", csv(["sit"] * 8 + [""] * 8 + ["walk"] * 8))
        said = self.made("--test=0", "--step=4")
        self.assertEqual(said.array("train/targets").tolist(), [0, 0, 1, 1])
        self.assertIn("check: 1 window without a class left out", said.lines)


class Numbers(RecordingsCase):
    def numbers(self, *options):
        """Windows of 8 rows with the target `activity`, which counts the rows of a day and is missing in one of them."""
        for day in range(4):
            self.put(f"day{day}.csv", csv(["" if (day, row) == (3, 30) else row * row for row in range(40)], seed=day))
        return self.made("--step=8", "--targets=numbers", *options)

    def stored(self, said):
        scale, = json.loads(said.run()["preparation"])["targets"]
        return said.array("train/targets")[:, 0] * scale["deviation"] + scale["mean"]

    def test_the_target_of_a_window_is_the_mean_of_its_rows_or_the_number_of_the_last_one(self):
        said = self.numbers("--test=0")
        means = [float(np.mean(np.arange(begin, begin + 8) ** 2)) for begin in range(0, 40, 8)]
        np.testing.assert_allclose(self.stored(said), (4 * means)[:18] + means[4:], rtol=1e-5)
        np.testing.assert_allclose(self.stored(self.numbers("--test=0", "--label-of=last"))[:5], [7**2, 15**2, 23**2, 31**2, 39**2], rtol=1e-5)
        self.assertEqual((said.names(), said.array("train/values").shape[1:]), (["activity"], (3, 1, 8)))
        self.assertIn("check: 1 window without a number left out", said.lines)
        line = next(line for line in said.lines if line.startswith("targets: "))
        self.assertRegex(line, r"^targets: `activity` is numbers, stored as \(value - [\d.]+\) / [\d.]+; predict and exports give its own units \(--targets\)$")

    def test_scales_are_those_of_the_training_windows_and_new_recordings_have_them(self):
        said = self.numbers()
        np.testing.assert_allclose([said.array("train/targets").mean(), said.array("train/targets").std()], [0, 1], atol=1e-6)
        run = {**said.run(), "targets": "numbers"}
        new = self.write("new.csv", csv([row * row for row in range(40)], seed=9))
        measured = self.apply("recordings", new, run=run, has_targets=True)
        self.assertEqual(measured.code, 0, measured.error)
        np.testing.assert_allclose(self.stored(measured), [np.mean(np.arange(begin, begin + 8) ** 2) for begin in range(0, 40, 8)], rtol=1e-5)
        without = self.write("new.csv", "\n".join(row.rpartition(",")[0] for row in new.read_text().split()) + "\n")
        self.assertEqual(self.apply("auto", "--", without, run=run).array("train/targets").tolist(), [[0.0]] * 5)

    def test_logarithms_of_windows_are_learned_and_taken_of_new_recordings(self):
        for day in range(4):
            self.put(f"day{day}.csv", csv([row % 10 + day for row in range(40)], seed=day))
        options = ("--step=8", "--label-of=last", "--test=0")
        self.refuse("day0.csv: rows 24-31: `activity`: expected a number above 0 for --targets=log, got 0: --targets=log1p learns log(1 + value), "
                    "also of 0", "--targets=log", "--step=23", "--label-of=last", "--test=0")
        said = self.made("--targets=log1p", *options)
        numbers = np.log1p([(row % 10) + day for day in range(4) for row in range(7, 40, 8)])
        scale, = said.preparation()["targets"]
        self.assertEqual((scale["column"], scale["transform"]), ("activity", "log1p"))
        np.testing.assert_allclose((scale["mean"], scale["deviation"]), (numbers.mean(), numbers.std()), rtol=1e-9)
        np.testing.assert_allclose(said.array("train/targets")[:, 0], (numbers - numbers.mean()) / numbers.std(), atol=1e-5)
        run = {**said.run(), "targets": "numbers"}
        applied = self.apply("recordings", self.week, run=run, has_targets=True)
        np.testing.assert_array_equal(applied.array("train/targets"), said.array("train/targets"))
        new = self.write("new.csv", csv([-2] * 8))
        self.assertIn("new.csv: rows 1-8: `activity`: expected a number of at least 0 for --targets=log1p, got -2",
                      self.apply("recordings", new, run=run, has_targets=True).error)
        for wrong in ('"transform":"sqrt"', '"transform":1'):
            with self.subTest(wrong), self.assertRaises(PrepError):
                WindowPreparation.from_json(run["preparation"].replace('"transform":"log1p"', wrong))

    def test_several_columns_are_learned_and_the_logarithm_of_skewed_ones_is_proposed(self):
        for day in range(4):
            values = np.stack([np.arange(40) + day, np.exp(np.random.default_rng(day).normal(0, 2, 40)), np.ones(40)], 1)
            self.put(f"day{day}.csv", csv(range(40), values=values))
        said = self.read("recordings", self.week, "--length=1", "--step=1", "--label=x,y", "--targets=numbers", "--drop=activity", "--test=0")
        self.assertEqual((said.names(), said.array("train/values").shape), (["x", "y"], (160, 1, 1, 1)))
        said = self.read("recordings", self.week, "--length=1", "--step=1", "--label=y", "--targets=numbers", "--test=0")
        self.assertRegex(said.text, r"check: `y` is positive and skewed \(median \S+, largest \S+\): --targets=log learns its logarithm")
        for day in range(4):
            self.put(f"day{day}.csv", csv(range(40)).replace("activity", "effort"))
        self.refuse("day0.csv:1: which column has the numbers? Name it by --label: `time`, ", "--targets=numbers")
        self.refuse("which column has the classes? Name it by --label, or numbers by --label and --targets=numbers: `time`, ")

    def test_mistakes_are_refused_in_one_line(self):
        self.numbers()
        for options, expected in ((["--label=x,y"], "--label: expected one column"),
                                  (["--targets=logs"], "--targets: expected `classes`, `numbers`, `log` or `log1p`, got logs"),
                                  (["--targets=numbers", "--label-of=majority"], "--label-of=majority is for classes: expected mean or last"),
                                  (["--label-of=mean"], "--label-of=mean is for numbers (--targets): expected majority or last"),
                                  (["--targets=numbers", "--label=none"], "--label: no column `none`"),
                                  (["--targets=numbers", "--label=x,x"], "--label: names `x` twice"),
                                  (["--targets=numbers", "--label=x", "--time=x"], "`x` is named by several of --label, --time and --drop")):
            self.refuse(expected, *options)
        self.days()
        self.refuse("`activity`: expected a number, got `sit` (--targets=classes learns words)", "--targets=numbers")
        for day in range(4):
            self.put(f"day{day}.csv", csv([5] * 40, seed=day))
        self.refuse("expected at least 2 different numbers, got 5 alone", "--targets=numbers")

    def test_numbers_that_can_hardly_be_classes_are_asked_about(self):
        self.days(2)
        for day in range(2, 4):
            self.put(f"day{day}.csv", csv([row / 50 for row in range(40)], seed=day))
        self.made("--step=4")  # two of the classes are words
        for day in range(4):
            self.put(f"day{day}.csv", csv([row / 50 for row in range(40)], seed=day))
        self.assertEqual(len(self.made("--step=4", "--label-of=last").names()), 9)  # 9 in 36 windows
        for day in range(4):
            self.put(f"day{day}.csv", csv([row // 8 + day / 7 for row in range(40)], seed=day))
        self.refuse(f"{self.week}: `activity`: 20 different numbers in 36 windows: say --targets=numbers or --targets=classes", "--step=4",
                    "--label-of=last")
        self.assertEqual(len(self.made("--step=4", "--targets=classes", "--test=0").names()), 20)


class Parts(RecordingsCase):
    def test_windows_of_one_file_stay_in_one_part(self):
        self.days(6)
        said = self.made("--step=4", "--validation=0.2")
        groups = said.array("train/groups")
        self.assertEqual(np.unique(groups, return_counts=True)[1].tolist(), [9] * 4)
        self.assertEqual([len(said.array(f"{part}/values")) for part in ("train", "validation", "test")], [36, 9, 9])
        self.assertIn("groups: files, 6 groups; test set: 1 of them, 17 % of samples; validation set: 1 of them, 17 % of samples (--group)",
                      said.lines)

    def test_a_column_of_persons_makes_the_groups_and_ends_windows(self):
        names = ["ann"] * 12 + ["bob"] * 12 + ["cy"] * 12
        text = csv(["sit", "walk"] * 18)
        rows = [f"{row},{name}" for row, name in zip(text.split(), ["person", *names])]
        self.put("all.csv", "\n".join(rows) + "\n")
        self.refuse(f"{self.week}: one recording alone cannot be divided into parts: name the column of persons, days or recordings by --group, "
                    "or cut it into files, of which a search needs 3, and 2 with --test=0", "--drop=person", "--step=1", "--label-of=last")
        said = self.made("--group=person", "--step=1", "--label-of=last")
        self.assertEqual([len(said.array(f"{part}/values")) for part in ("train", "test")], [10, 5])
        self.assertEqual(len(np.unique(said.array("train/groups"))), 2)

    def test_folders_may_state_the_parts(self):
        for name in ("train/a.csv", "train/b.csv", "test/c.csv"):
            self.put(name, csv(["sit"] * 10 + ["walk"] * 10, seed=len(name)))
        self.put("notes.txt", "text")
        self.put("test2.csv", csv(["sit"] * 10 + ["walk"] * 10))
        said = self.made("--step=4")
        self.assertEqual([len(said.array(f"{part}/values")) for part in ("train", "test")], [12, 4])
        self.assertIn(f"check: {self.week}/test2.csv: taken for training, although it is named like the test set: parts are folders `train`, "
                      "`val` and `test`", said.lines)
        self.assertIn(f"check: {self.week}: files that are no tables are not read: 1 .txt", said.lines)

    def test_what_cannot_be_a_set_is_refused_in_one_line(self):
        self.days()
        self.refused("--length: the rows of a window are needed", "recordings", self.week)
        for option, expected in (("--label=none", "--label: no column `none`"), ("--time=none", "--time: no column `none`"),
                                 ("--group=none", "--group: no column `none`"), ("--drop=activity", "`activity` is named by several of"),
                                 ("--length=1.5", "--length: expected a number of rows up to 65536, or of seconds, as 2.56s, got 1.5"),
                                 ("--length=0", "got 0"), ("--step=-1", "--step: expected"), ("--length=nans", "got nans")):
            self.refused(expected, "recordings", self.week, *([] if option.startswith("--length") else ["--length=8"]), option)
        self.refused("day0.csv: 40 rows, expected at least 41, those of a window (--length)", "recordings", self.week, "--length=41")
        self.put("day3.csv", csv(["sit"] * 20, step=0.04))
        self.refuse(f"{self.week}/day3.csv: a row each 0.04 s, and {self.week}/day0.csv each 0.02 s: bring them to one rate")
        self.put("day3.csv", csv(["sit"] * 20).replace("\n0.1000", "\n0.0100"))
        self.refuse("day3.csv:7: `time`: the time goes back: expected rows in its order")
        self.put("day3.csv", csv(["sit"] * 20).replace("0.1000", "noon"))
        self.refuse("day3.csv:7: `time`: expected a time, a number or a date such as 2026-11-30 21:13:05, got `noon` (--time)")
        self.put("day3.csv", csv(["sit"] * 20).replace("0.1000", ""))
        self.refuse("day3.csv:7: `time`: expected a time, a number or a date such as 2026-11-30 21:13:05, got nothing (--time)")
        self.put("day3.csv", csv(["sit"] * 20).replace("x,y", "x,w"))
        self.refuse("day3.csv:1: the columns are not those of the other recordings: missing `y`; unknown `w` (rename the columns, or take the file "
                    "away)")
        self.put("day3.csv", csv(["sit"] * 20).replace("activity", "w,activity").replace(",sit", ",1,sit"))
        self.refuse("day3.csv:1: the columns are not those of the other recordings: unknown `w` (--drop leaves columns out)")
        self.put("day3.csv", csv(["sit"] * 20).replace("0.1000,", "0.1000,high"))
        self.refuse("day3.csv:7: `x`: expected a number, got `high")
        self.put("day3.csv", "time,x,y,z\n" + "0.1,1,2,3\n" * 9)
        self.refuse("day3.csv:1: the columns are not those of the other recordings: missing `activity`")
        self.put("day3.csv", csv(["sit"] * 20))
        for values, label, expected in ((np.full((20, 3), np.nan), "sit", "12 windows with a missing value left out, e.g. of `x`, `y`, `z` in "
                                         f"{self.week}/day0.csv"), (None, "", "12 windows without a class left out")):
            for day in range(4):
                self.put(f"day{day}.csv", csv([label] * 20, values=values))
            self.refuse(f"{self.week}: no window of 8 rows: {expected}", "--step=6")
        for day in range(4):
            self.put(f"day{day}.csv", csv(["sit"] * 20))
        self.refuse("`activity`: expected at least 2 classes of windows, got `sit` alone")

    def test_damaged_files_among_others_are_left_out_by_name(self):
        self.days()
        whole = self.made("--step=4")
        whole_day = csv(["sit"] * 20 + ["walk"] * 20)
        faults = {"a_empty.csv": ("", "the file is empty"), "blank.csv": ("\n\n", "the file is empty"),
                  "names.csv": ("time,x,y,z,activity\n", "no rows after the names of the columns"),
                  "cut.csv": (whole_day[:-20], "expected 5 columns, got "), "zero.csv": (whole_day[:99] + "\0", "neither text (CSV), nor"),
                  "packed.csv.gz": (gzip.compress(whole_day.encode())[:-9], "damaged or truncated gzip file"),
                  "odd.csv": (b"PK\3\4 is no archive", "damaged or truncated zip archive")}
        for name, (content, _) in faults.items():
            self.put(name, content)
        said = self.made("--step=4")
        self.assertTrue(np.array_equal(said.array("train/values"), whole.array("train/values")))
        left_out = [line for line in said.lines if line.startswith("check: left out: ")]
        self.assertEqual(len(left_out), len(faults))
        for (name, (_, problem)), line in zip(sorted(faults.items()), left_out):
            self.assertIn(f"{self.week}/{name}:", line)
            self.assertIn(problem, line)
        self.refuse(f"{self.week}: more than 6 files cannot be read (--skip=N allows N), the last of them {self.week}/zero.csv: ", "--skip=6")
        new = self.apply("recordings", self.week, run=said.run())
        self.assertEqual(sum(problem != "" for problem in new.rows["problems"]), len(faults))
        self.assertIn((f"{self.week}/a_empty.csv", f"{self.week}/a_empty.csv: the file is empty"), zip(new.rows["names"], new.rows["problems"]))
        for day in range(4):
            (self.week / f"day{day}.csv").unlink()
        self.refuse(f"{self.week}/zero.csv: neither text (CSV), nor")

    def test_mutated_tables_are_read_or_refused_in_one_line(self):
        draw = random.Random(5)
        contents = [csv(["sit"] * 12 + ["walk"] * 12, seed=day).encode() for day in range(2)]
        refused = 0
        for _ in range(200):
            content = bytearray(draw.choice(contents))
            for _ in range(draw.randint(1, 3)):
                place = draw.randrange(len(content))
                content[place:place + draw.randint(0, 3)] = bytes(draw.choice(b",\n\"-.e9 x\xff\0") for _ in range(draw.randint(0, 2)))
            self.put("day.csv", bytes(content))
            said = self.prep("recordings", self.week, "--length=4", "--test=0")
            self.assertIn(said.code, (0, 2))
            self.assertEqual("\n" in said.error, False, said.error)
            refused += said.code == 2
        self.assertTrue(20 < refused < 180, refused)

    def test_dates_are_times_too(self):
        for day in range(3):
            rows = [f"2026-11-{day + 1:02} 10:{second // 60:02}:{second % 60:02},{second % 7},{'ab'[second // 50]}" for second in range(100)]
            self.put(f"{day}.csv", "timestamp,heart,label\n" + "\n".join(rows) + "\n")
        said = self.read("recordings", self.week, "--length=10s")
        self.assertEqual(said.array("train/values").shape[1:], (1, 1, 10))

    def test_times_may_be_nanoseconds_since_1970(self):
        self.days()
        seconds = self.read("recordings", self.week, "--length=0.16s").array("train/values")
        for day in range(4):
            rows = (self.week / f"day{day}.csv").read_text().split()
            times = [1_796_073_600 * 10**9 + day * 86_400 * 10**9 + row * 20_000_000 for row in range(len(rows) - 1)]
            self.put(f"day{day}.csv", "\n".join([rows[0], *(f"{time},{row.partition(',')[2]}" for time, row in zip(times, rows[1:]))]) + "\n")
        said = self.read("recordings", self.week, "--length=0.16s", "--time-unit=ns")
        self.assertTrue(np.array_equal(said.array("train/values"), seconds))
        self.refused("day1.csv:3: `time`: the time goes back", "recordings", self.put("day1.csv", "time,x,activity\n" + "".join(
            f"{1_796_073_600 * 10**9 - row},1,sit\n" for row in range(9))), "--length=2", "--time-unit=ns")

    def test_a_table_with_the_length_of_a_window_is_a_recording(self):
        table = self.write("all.csv", csv(["sit"] * 20 + ["walk"] * 20))
        for named in (table, self.write("all.csv.gz", gzip.compress(table.read_bytes()))):
            said = self.read("auto", "--length=0.16s", "--test=0", "--", named)
            self.assertEqual(said.array("train/values").shape[1:], (3, 1, 8))
        self.assertEqual(self.read("auto", "--drop=time", "--label=activity", "--", table).array("train/values").shape[1:], (3, 1, 1))

    def test_a_forgotten_kind_is_named_by_what_the_source_has(self):
        self.days()
        self.refused(f"prep: the kind of data comes first: skyline prep recordings {self.week}", str(self.week))


class Runs(RecordingsCase):
    def setUp(self):
        super().setUp()
        self.days()
        self.trained = self.made("--step=4")

    def test_new_recordings_become_windows_of_the_run_without_classes(self):
        text = csv([""] * 18, seed=9)
        new = self.write("new.csv", "\n".join(row.rpartition(",")[0] for row in text.split()) + "\n")
        said = self.apply("auto", "--", new, run=self.trained.run())
        self.assertEqual(said.code, 0, said.error)
        self.assertEqual(said.rows["names"], [f"{new} rows {begin}-{begin + 7}" for begin in (1, 5, 9)])
        self.assertTrue(np.array_equal(said.array("train/values")[1, :, 0], values_in(text)[4:12].T.astype("float32")))
        self.assertEqual(said.run()["preparation"], self.trained.run()["preparation"])
        every = self.apply("auto", "--step=1", "--", new, run=self.trained.run())
        self.assertEqual(len(every.array("train/values")), 11)
        short = self.write("short.csv", "\n".join(row.rpartition(",")[0] for row in text.split()[:6]) + "\n")
        said = self.apply("auto", "--", short, run=self.trained.run())
        self.assertEqual((said.rows["names"], said.rows["problems"]), ([f"{short} rows 1-5"], ["5 rows, a window has 8"]))

    def test_new_recordings_far_outside_of_the_training_ranges_are_told(self):
        alike, other = np.zeros((20, 3)), np.full((20, 3), [0.5, 1000.0, 0.5])
        for values, expected in ((alike, []), (other, ["check: 4 of 4 samples have values outside of those of the training data: `y` has "])):
            said = self.apply("recordings", self.write("new.csv", csv(["sit"] * 20, values=values)), run=self.trained.run())
            found = [line.partition("1000 to")[0] for line in said.lines if "outside" in line]
            self.assertEqual(found, expected)
        old = re.sub(r',"features".*', "}", self.trained.run()["preparation"])  # of a run from before
        said = self.apply("recordings", self.folder / "new.csv", run={**self.trained.run(), "preparation": old})
        self.assertEqual((said.code, [line for line in said.lines if "outside" in line]), (0, []))

    def test_an_evaluation_needs_the_classes_of_the_run(self):
        said = self.apply("recordings", self.week, run=self.trained.run(), has_targets=True)
        self.assertEqual((said.code, len(said.array("train/targets")), said.names()), (0, 36, ["sit", "walk"]))
        other = self.write("other.csv", csv(["run"] * 20))
        said = self.apply("recordings", other, run=self.trained.run(), has_targets=True)
        self.assertEqual(said.error, f"{other}: `activity`: a class that the run does not know: `run`")

    def test_what_the_run_decides_and_other_rates_are_refused(self):
        run = self.trained.run()
        said = self.apply("recordings", self.week, "--length=4", run=run)
        self.assertEqual(said.error, "--length: new recordings are prepared as the run's were")
        other = self.write("other.csv", csv(["sit"] * 20, step=0.01))
        said = self.apply("recordings", other, run=run)
        self.assertEqual(said.error, f"{other}: a row each 0.01 s, and those of the run each 0.02 s: bring them to one rate")
        for old, new, expected in (("x,y", "x,w", "the columns are not those of the run: missing `y`; unknown `w`"),
                                   ("0.1000", "0.0100", "`time`: the time goes back: expected rows in its order"),
                                   ("0.1000,", "0.1000,high", "`x`: expected a number, got `high")):
            said = self.apply("recordings", self.write("changed.csv", csv(["sit"] * 20).replace(old, new)), run=run)
            self.assertRegex(said.error, f"changed.csv:[17]: {re.escape(expected)}[^()]*$")  # no advice: the run has decided
        said = self.apply("arrays", other, run=run)
        self.assertEqual(said.error, f"{other}: the run's samples are made of recordings, which are needed here, too (--kind recordings)")
        said = self.apply("recordings", other, run={**run, "shape": [3, 1, 9]})
        self.assertIn("the run's preparation makes samples of (3, 1, 8), and its samples are (3, 1, 9)", said.error)

    def test_other_preparations_are_refused(self):
        known = self.trained.run()["preparation"]
        self.assertEqual(WindowPreparation.from_json(known).to_json(), re.sub(r',"range":\[[^]]*\]', "", known))
        for old, new in (('"length":8', '"length":0'), ('"length":8', '"length":1e9'), ('"columns":["x","y","z"]', '"columns":[]'),
                         ('"columns":["x","y","z"]', '"columns":[1]'), ('"majority"', '"first"'), ('"time_unit":"s"', '"time_unit":"h"'),
                         ('"step":4', '"steps":4'), ('"step_s":0.02', '"step_s":"a"'), ('"step_s":0.02', '"step_s":NaN')):
            with self.subTest(new=new), self.assertRaises(PrepError):
                WindowPreparation.from_json(known.replace(old, new))


if __name__ == "__main__":
    unittest.main()
