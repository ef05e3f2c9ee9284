"""New rows of a table for the networks of a run, and what a preparation remembers."""

import pathlib
import time
import unittest

import numpy
import pandas
from table_case import ALL, TableCase, feature_names

from skyline.prep.errors import PrepError
from skyline.prep.preparation import Feature, Preparation, Reading
from skyline.prep.table_columns import match_columns
from skyline.prep.table_files import Table
from skyline.prep.targets import Target


class TablesForRunsTest(TableCase):
    def test_preparations_are_read_as_they_are_written(self):
        features = [Feature('a "b"', subtract=1e9 + 0.1), Feature("c", missing=2.5), Feature("c", is_missing=True),
                    Feature("d", is_word=""), Feature("d", is_not=("", "x"))]
        written = Preparation(features, [Target("price", 3, 2)], ["", "n"], "id", True, Reading("comma", (".",), (-9999.0,)))
        text = written.to_json()
        self.assertEqual((Preparation.from_json(text), Preparation.from_json(text).to_json()), (written, text))
        plain = Preparation([Feature("a")], [Target("b")]).to_json()
        self.assertEqual(plain, '{"has_names":true,"features":[{"column":"a"}],"targets":[{"column":"b"}]}')
        for wrong in ("", "[]", "{}", '{"has_names":1,"features":[]}', '{"has_names":true,"features":' + "[" * 100_000,
                      '{"has_names":true,"features":[],"targets":[{"column":"p","mean":1,"deviation":0}]}',
                      '{"has_names":true,"features":[],"numbers":"other"}'):
            with self.assertRaisesRegex(PrepError, "expected a preparation as `skyline prep` writes it, got "):
                Preparation.from_json(wrong)

    def test_new_rows_are_taken_by_the_names_of_their_columns(self):
        run = self.learned("who,a,near,b,label\n1,1.5,bay,2,yes\n2,2.5,sea,,no\n3,2.5,sea,5,no\n4,2.5,bay,5,no\n", "--drop=who")
        expected = [[4.5, 1, 0, 7, 0], [3.5, 0, 1, 5, 1]]
        for text in ("a,near,b\n4.5,bay,7\n3.5,sea,\n", "b,near,a\n7,bay,4.5\n,sea,3.5\n", ",b,near,a\n0,7,bay,4.5\n1,,sea,3.5\n",
                     "b,label,near,a\n7,no,bay,4.5\n?,huh,sea,3.5\n", "who,b,near,a\nx,7,bay,4.5\nx,,sea,3.5\n"):
            with self.subTest(text):
                said, rows = self.applied(text, run)
                self.assertEqual(said.error, "")
                self.assertEqual(said.array("train/values").reshape(2, -1).tolist(), expected)
                self.assertEqual((rows["title"], rows["names"], rows["problems"], rows["parts"]), ("row", ["0", "1"], ["", ""], [0, 0]))
        said, rows = self.applied("a,near,b,name\n4.5,bay,7,x\n3.5,sea,,y\n", run, "--id=name")
        self.assertEqual((rows["title"], rows["names"]), ("name", ["x", "y"]))
        self.applied("a,near,b,z\n4.5,bay,7,x\n3.5,sea,,y\n", run, "--drop=z")
        for text, expected in (("a,near,c\n1,bay,2\n",
                                "new.csv:1: the columns are not those of the training data: missing `b`; unknown `c` (--drop"),
                               ("1,bay,2\n",
                                "new.csv:1: the columns have no names, and those of the training data have: expected a "
                                "first row with `a`")):
            self.assertIn(expected, self.applied(text, run)[0].error)
        said, _ = self.applied("near,a,b\nmoon,4.5,7\n", run)
        self.assertIn("`near`: 1 row with words, or empty cells, that the training data do not have", said.text)

    def test_many_columns_are_matched_in_little_time(self):
        names = [f"gene{number}" for number in range(20_000)]
        table = Table(pandas.DataFrame(), names[::-1], pathlib.Path("new.csv"))
        begin = time.process_time()
        columns = match_columns(table, Preparation([Feature(name) for name in names], [Target("label")]), needs_targets=False)
        self.assertLess(time.process_time() - begin, 30)  # name by name, minutes
        self.assertEqual(columns.features[:2], [19_999, 19_998])

    def test_numbers_that_a_run_of_pixels_cannot_have_are_named(self):
        run = self.learned("a,b,label\n10,0,yes\n200,255,no\n", "--value-scale=255")
        self.assertIn("expected whole numbers from 0 to 255, as the run's data are, got others, e.g. 2.5 in line 3, `b`",
                      self.applied("b,a\n1,2\n2.5,3\n", run)[0].error)

    def test_parts_of_dates_outside_of_the_training_data_are_named(self):
        rows = "".join(f"2024-01-{day:02d} 10:00,{'yes' if day % 2 else 'no'}\n" for day in range(1, 20))
        run = self.learned("sold,label\n2024-01-20 12:00,no\n" + rows, "--dates=sold")
        self.assertIn("outside of those of the training data: `sold (hour)` has 22 to 23, in training 10 to 12",
                      self.applied("sold\n2024-01-05 23:00\n2024-01-06 22:00\n", run)[0].text)

    def test_new_rows_may_have_targets_and_be_of_a_part(self):
        run = self.learned("a,label\n1.5,yes\n2.5,no\n")
        said, rows = self.applied("label,a\nyes,4.5\nno,3\nyes,2\n", run, file="test.csv", targets=True)
        self.assertEqual((said.array("test/targets").tolist(), rows["parts"], len(said.array("train/targets"))), ([1, 0, 1], [2, 2, 2], 0))
        self.assertIn("missing `label`", self.applied("a\n1\n2\n", run, targets=True)[0].error)
        self.assertIn("the run does not know the class `maybe`, known here: no, yes", self.applied("a,label\n1,maybe\n", run,
                                                                                                   targets=True)[0].error)
        run = self.learned("a,price\n1.5,100.5\n2.5,300.5\n")
        said, _ = self.applied("a,price\n1.5,200.5\n", run, targets=True)
        self.assertEqual(said.array("train/targets").tolist(), [[0]])
        run = self.learned("a,grade\n1.5,1\n2.5,2\n")
        self.assertEqual(self.applied("a,grade\n1.5,2.0\n2,1\n", run, targets=True)[0].array("train/targets").tolist(), [1, 0])

    def test_rows_that_cannot_be_samples_have_their_reason(self):
        run = self.learned("size,age,color,bought\n0.5,41,red,no\n1.5,44,blue,yes\n2.5,3,red,no\n3.5,4,red,no\n")
        said, rows = self.applied("size,age,color\n0.5,,red\n1.5,30,blue\nx,30,blue\n", run)
        self.assertEqual(rows["problems"], ["`age`: expected a number, got ``: a missing value, where the training data have none", "",
                                            "`size`: expected a number, got `x`"])
        self.assertEqual(said.array("train/values").reshape(1, -1).tolist(), [[1.5, 30, 1, 0]])
        self.assertIn(f"check: 2 of 3 rows cannot be samples, e.g. {self.folder / 'new.csv'}:2: `age`: expected a number, got ``",
                      said.text)
        said, rows = self.applied("size,age,color\n0.5,,red\n", run)
        self.assertEqual((said.error, len(said.array("train/values")), [bool(each) for each in rows["problems"]]), ("", 0, [True]))
        self.assertIn("new.csv:2: `age`: expected a number",
                      self.applied("size,age,color,bought\n0.5,,red,no\n", run, targets=True)[0].error)

    def test_columns_without_names_are_taken_by_their_places(self):
        run = self.learned("10,0,1\n200,255,0\n")
        for text in ("7,8\n", "7,8,1\n", ",0,1,2\n0,7,8,1\n"):
            said, _ = self.applied(text, run)
            self.assertEqual((said.error, said.array("train/values").ravel().tolist()), ("", [7, 8]))
        self.assertIn("new.csv:1: expected 2 columns, or 3 with targets, as the training data have, got 4", self.applied("1,2,3,4\n",
                                                                                                                         run)[0].error)
        self.assertEqual(self.applied("7,256.5\n", run)[0].array("train/values").ravel().tolist(), [7, 256.5])

    def test_tables_are_for_runs_of_arrays_too(self):
        run = self.learned("10,0,1\n200,255,0\n")
        about = {"shape": [2, 1, 1], "class_names": ["0", "1"], "targets": "classes", "value_scale": 255.0}
        for text, targets in (("7,8\n", False), ("7,8,1\n", True), (",a,b\n0,7,8\n", False), ("label,a,b\n1,7,8\n", True)):
            self.write("new.csv", text)
            said = self.apply("arrays", "new.csv", run=about, has_targets=targets)
            self.assertEqual((said.error, said.array("train/values").ravel().tolist()), ("", [7, 8]))
            self.assertEqual(said.array("train/targets").tolist(), [1] if targets else [0])
        self.assertEqual(run.names(), ["0", "1"])

    def test_words_and_numbers_may_be_told_to_stand_for_missing_values(self):
        text = "a,b,label\n0.5,-9999,x\n.,2,y\n1.5,3,x\n\\N,4,y\n"
        self.refuses(text, "`a`: expected a number, got `.` in line 3", *ALL)
        run = self.learned(text, "--missing-words=.,\\N", "--missing-values=-9999,-999")
        self.assertEqual(feature_names(run.preparation()), ["a", "a is missing", "b", "b is missing"])
        self.assertEqual(run.array("train/values").reshape(4, -1).tolist(), [[0.5, 0, 3, 1], [1, 1, 2, 0], [1.5, 0, 3, 0], [1, 1, 4, 0]])
        said, _ = self.applied("a,b\n.,-999\n", run)
        self.assertEqual((said.error, said.array("train/values").ravel().tolist()), ("", [1, 1, 3, 1]))
        self.refuses(text, "--missing-values: expected numbers with commas between them, got -9999,x", "--missing-values=-9999,x")
        for label in ("unknown", "1"):
            self.refuses(f"a,label\n1,x\n2,{label}\n".replace("x", "3" if label == "1" else "x"),
                         "train.csv:3: `label`: the label is missing",
                         *ALL, "--missing-words=unknown", "--missing-values=1")

    def test_numbers_in_other_spellings_are_read_if_told(self):
        text = 'a,price\n"1,200","90,000"\n"2,300","91,371.5"\n"1,400","-1,000"\n'
        self.refuses(text, "`a`: expected a number, got `1,200` in line 2: a decimal comma, or thousands that are set apart? "
                           "`1,200` is 1200 by --numbers=point and 1.2 by --numbers=comma", *ALL, "--targets=classes")
        run = self.learned(text, "--numbers=point", "--targets=numbers")
        numpy.testing.assert_allclose(run.array("train/values").ravel(), [1200, 2300, 1400])
        self.assertAlmostEqual(run.preparation()["targets"][0]["mean"], (90000 + 91371.5 - 1000) / 3)
        said, _ = self.applied('a\n"5,000"\n', run)
        self.assertEqual(said.array("train/values").ravel().tolist(), [5000])
        self.made("a;b;label\n1.234,5;2;x\n2.000;3;y\n", *ALL, "--numbers=comma", values=[1234.5, 2, 2000, 3])

    def test_equal_categories_are_the_same_however_they_are_written(self):
        run = self.learned("a,grade,label\n0.5,1,x\n1.5,2,y\n2.5,1.0,x\n", "--categories=grade")
        self.assertEqual(feature_names(run.preparation()), ["a", "grade = 1", "grade = 2"])
        said, _ = self.applied("a,grade\n0.5,1.0\n1.5,2.00\n2.5,2\n", run)
        self.assertEqual(said.array("train/values").reshape(3, -1)[:, 1:].tolist(), [[1, 0], [0, 1], [0, 1]])
        self.assertNotIn("check: ", said.text)


if __name__ == "__main__":
    unittest.main()
