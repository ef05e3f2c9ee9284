"""Tables become data sets: columns by name, labels, words, gaps, parts, and what is refused."""

import gzip
import unittest

import numpy
from table_case import ALL, TableCase, feature_names


class TablesTest(TableCase):
    def test_columns_keep_their_names_and_the_label_is_found_by_its_name(self):
        for name in ("label", "Class", "TARGET", "y"):
            said = self.made(f"{name},width,height\na,1.5,2\nb,2.5,3\n", *ALL, features=["width", "height"], classes=["a", "b"],
                             note=f"label: `{name}`, by its name (--label")
            self.assertEqual(said.preparation()["targets"], [{"column": name}])
        self.made("width,height,kind\n1.5,2,a\n2.5,3,b\n", *ALL, note="label: `kind`, the last one (--label")
        self.made("1.5,2,a\n2.5,3,b\n", *ALL, note="label: column 3, the last one, since columns have no names (--label")
        self.refuses("y,label,x\n1.5,a,3\n2.5,b,3\n", "train.csv:1: `y` and `label` may both be the label: name it by --label", *ALL)
        self.refuses("a,b,a,label\n1,2,3,4\n", "train.csv:1: two columns are called `a`", *ALL)

    def test_years_and_numbers_may_be_names_of_columns(self):
        self.made("2019,2020,label\n1.5,2,a\n2.5,3,b\n", *ALL, features=["2019", "2020"])
        self.refuses("town,2019,2020,kind\nx,1.5,2,a\nx,2.5,3,b\n", "--drop: no column `twon`", *ALL, "--drop=twon")
        self.refuses("a,b,kind\n1.5,2,a\n2.5,3,b\n", "--drop: names `1` twice", *ALL, "--drop=a,1")
        self.refuses("1.5,2,a\n2.5,3,b\n", "--drop: no column `4`, expected a number from 1 to 3", *ALL, "--drop=4")

    def test_other_parts_are_matched_by_name(self):
        self.write("test.csv", ",b,label,a\n0,20,yes,10\n1,30,no,15\n")
        said = self.made("a,b,label\n1.5,2,no\n2.5,3,yes\n", others=["test.csv"])
        self.assertEqual(said.array("test/values").ravel().tolist(), [10, 20, 15, 30])
        self.assertEqual(said.array("test/targets").tolist(), [1, 0])
        self.write("val.csv", "a,b,c,label\n7,8,x,no\n")
        self.write("test.csv", "a,c,b,label\n9,z,10,no\n")
        said = self.made("c,a,b,label\nx,1.5,2,no\ny,2.5,3,yes\n", "--drop=c", others=["val.csv", "test.csv"])
        self.assertEqual(said.array("validation/values").ravel().tolist(), [7, 8])
        self.assertEqual(said.array("test/values").ravel().tolist(), [9, 10])
        self.write("test.csv", "a,c,d,label\n1,2,3,no\n")
        self.refuses("a,b,label\n1.5,2,no\n2.5,3,yes\n", "test.csv:1: the columns are not those of the training data: missing `b`; "
                     "unknown `c`, `d` (--drop leaves columns out)", others=["test.csv"])
        self.write("test.csv", "1,2,no\n")
        self.refuses("a,b,label\n1.5,2,no\n2.5,3,yes\n", "test.csv:1: the columns have no names", others=["test.csv"])

    def test_columns_without_a_name_that_number_the_rows_are_left_out(self):
        for text in (",a,label\n0,1.5,x\n1,2.5,y\n", ",a,label\n7,1.5,x\n3,2.5,y\n", "Unnamed: 0,a,label\n0,1.5,x\n1,2.5,y\n",
                     ",0,1,label\n0,1.5,1.5,x\n1,2.5,2.5,y\n"):
            said = self.made(text, *ALL, note="has no name: it is left out")
            self.assertEqual(len(said.preparation()["left_out"]), 1)
            self.assertNotIn("nnamed", "".join(feature_names(said.preparation())))
        self.refuses(",a,label\n0.5,1.5,x\n1.5,2.5,y\n", "train.csv: column 1 has no name: give it one", *ALL)

    def test_columns_that_look_like_an_index_are_told_and_may_be_dropped_or_name_samples(self):
        text = "PassengerId,a,when,label\n" + "".join(f"{100 + i},{i * 7 % 11}.5,{i * i},{i % 2}\n" for i in range(30))
        self.made(text, note="check: `PassengerId` looks like an index or an id", no_note="check: `a` looks like")
        self.made(text, note="check: `when` looks like an index")
        said = self.made(text, "--drop=PassengerId,3", features=["a"])
        self.assertEqual(said.preparation()["left_out"], ["PassengerId", "when"])
        said = self.made(text, "--id=PassengerId", features=["a", "when"])
        self.assertEqual(said.preparation()["id"], "PassengerId")

    def test_samples_of_one_group_stay_in_one_part_and_the_group_is_no_feature(self):
        text = "patient,a,label\n" + "".join(f"p{i % 40},{i % 40}.5,{'x' if i // 40 % 2 == 0 else 'y'}\n" for i in range(200))
        said = self.made(text, "--group=patient", features=["a"],
                         note="groups: column `patient`, 40 groups; test set: 8 of them, 20 % of samples (--group)")
        self.assertEqual(said.preparation()["left_out"], ["patient"])
        self.assertIn("about 20 % of the samples are the test set, in whole groups, drawn with seed 1 (--test, --validation, --seed)",
                      said.lines)
        test, train = (set(said.array(f"{part}/values").ravel()) for part in ("test", "train"))
        self.assertFalse(test & train)
        self.assertEqual((len(said.array("test/values")), len(said.array("train/groups"))), (40, 160))
        others = "a,patient,label\n" + "".join(f"1,q{i},x\n" for i in range(9))
        self.write("test.csv", others)
        self.assertIn("groups: column `patient`, 40 groups (--group)", self.made(text, "--group=patient", others=["test.csv"]).lines)
        self.write("test.csv", others + "1,p7,y\n")
        self.refuses(text, "test.csv: group_test: 1 of 10 groups are in the training set, too, e.g. `p7`", "--group=patient",
                     others=["test.csv"])
        self.write("test.csv", "a,label\n1,x\n2,y\n")
        self.made(text, "--group=patient", others=["test.csv"], note="the test set has no groups to compare")

    def test_groups_are_the_same_however_they_are_written(self):
        rows = "".join(f"{number // 4}{'.0' if number % 2 else ''},{number / 2},{'no' if number % 2 else 'yes'}\n" for number in range(40))
        self.made("who,a,label\n" + rows, "--group=who", note="groups: column `who`, 10 groups")
        self.write("test.csv", "who,a,label\n3.0,1,yes\n")
        self.refuses("who,a,label\n3,1,yes\n4,2,no\n", "1 of 1 group are in the training set, too, e.g. `3`", "--group=who",
                     others=["test.csv"])

    def test_groups_that_are_missing_or_are_the_label_are_refused(self):
        text = "patient,a,label\np1,1.5,x\n,2.5,y\n"
        for options, expected in ((["--group=patient"], "train.csv:3: `patient`: the group is missing"),
                                  (["--group=person"], "--group: no column `person`"), (["--group=patient,a"],
                                                                                        "--group: expected one column"),
                                  (["--group=label", "--label=label"], "--label: `label` is the label, and another option names it, too"),
                                  (["--group=a", "--split=last"], "--group and --split=last exclude each other: leave one of them out")):
            self.refuses(text, expected, *options)

    def test_all_columns_that_cannot_be_read_are_named_at_once_with_the_cause(self):
        text = ("a,sold,name,size,price,label\n1,2020-03-01,Ann,5,\"1,200\",x\n2,2021-03-01 12:00,Bob,5 m,\"2,300\",y\n"
                "3,2022-03-01,Cy,6,\"1,400\",x\n")
        said = self.refuses(text,
                            "train.csv: `sold`: expected numbers or words, got dates, `2020-03-01` in line 2: --dates=sold reads them; "
                            "`name`: expected numbers or the words of some categories, got 3 different words, "
                            "`Ann` in line 2: --id=name, if it names the rows; `size`: expected a number, got `5 m` in line 3", *ALL)
        self.assertIn("`price`: expected a number, got `1,200` in line 2: a decimal comma, or thousands", said.error)
        self.assertIn("(--drop=sold,name,size,price leaves them out)", said.error)
        self.made(text, *ALL, "--drop=sold,name,size,price", features=["a"])

    def test_the_test_set_of_targets_that_are_numbers_is_a_share_of_the_samples(self):
        self.made("a,price\n" + "".join(f"{i * i},{i * 7 % 10}.5\n" for i in range(10)),
                  note="20 % of the samples are the test set, drawn with seed 1 (--test, --validation, --seed)")
        self.made("a,price\n" + "".join(f"{i * i},{i * 7 % 10}.5\n" for i in range(10)), "--split=last", "--validation=0.3",
                  note="the last 20 % are the test set, the 30 % before them the validation set (--test, --validation, --seed)")
        self.made("a,price\n" + "".join(f"{i * i},w{i % 2}\n" for i in range(10)), "--validation=0.2",
                  note="20 % of every class are the test set, 20 % the validation set, drawn with seed 1 (")

    def test_several_columns_may_be_targets(self):
        self.made("f,a,b\n1.5,1,0\n2.5,0,1\n3.5,1,1\n", *ALL, "--label=b,a", classes=["b", "a"], targets=[0, 1, 1, 0, 1, 1])
        said = self.made("f,a,b\n1.5,1,10\n2.5,3,30\n", *ALL, "--label=a,b", targets=[-1, -1, 1, 1])
        self.assertEqual(said.preparation()["targets"][1], {"column": "b", "mean": 20, "deviation": 10})
        self.made("f,a,b\n1.5,1,0\n2.5,0,1\n3.5,1,0\n", *ALL, "--label=a,b", "--targets=classes", classes=["a", "b"], targets=[0, 1, 0])
        self.refuses("f,a,b\n1.5,red,0\n2.5,0,1\n", "train.csv:2: `a`: expected a number, as one of several targets, got `red`",
                     "--label=a,b")
        self.refuses("f,a,b\n1.5,1,1\n2.5,0,1\n", "row 0: expected a single 1 and else 0, since the targets are classes", "--label=a,b",
                     "--targets=classes")
        self.made("f,a,b\n1.5,7,10\n2.5,8,10\n3.5,8,30\n", *ALL, "--label=a,b",
                  note="check: all targets are whole numbers: if they are labels")
        self.made("f,a,b\n1.5,1,0\n2.5,0,1\n", *ALL, "--label=a,b", note="check: one label per sample on average")

    def test_numbers_that_can_hardly_be_classes_are_asked_about(self):
        text = "f,price\n" + "".join(f"{i * 37 % 100}.5,{i % 20}\n" for i in range(40))
        self.refuses(text,
                     "`price`: 20 different whole numbers in 40 samples; as classes they leave the test set empty: say "
                     "--targets=numbers or --targets=classes, or name the label by --label")
        said = self.made(text, "--targets=numbers", no_note="check: all targets")
        self.assertEqual(said.array("train/targets").shape, (32, 1))
        self.assertEqual(len(self.made(text, "--targets=classes").names()), 20)
        text = "f,grade\n" + "".join(f"{i * 37 % 100}.5,{9 if i == 7 else i % 2}\n" for i in range(40))
        self.refuses(text, "`grade`: 3 different whole numbers in 40 samples, 1 of them once")

    def test_numbers_of_which_some_are_words_are_asked_about(self):
        for other in ("typo", "inf"):
            text = "f,price\n" + "".join(f"{i * 37 % 100}.5,{other if i == 6 else f'{i}.25'}\n" for i in range(40))
            found = f"39 of 40 values are numbers; line 8 has `{other}`"
            self.refuses(text, f"`price`: {found}; 40 different values in 40 samples, 40 of them once; as classes they leave the test set "
                         "empty: correct the table, or say --targets=classes, or name the label by --label")
            self.refuses(text, f"expected numbers, got words: {found}", "--targets=numbers")
            self.made(text, "--targets=classes", note=f"check: `price`: {found}: all are taken for words")

    def test_a_single_class_is_refused(self):
        self.refuses("f,kind\n1.5,a\n2.5,a\n", "`kind`: expected at least 2 classes, got `a` alone", *ALL)
        self.refuses("f,kind\n1.5,7\n2.5,7\n", "`kind`: expected at least 2 classes, got `7` alone", *ALL)

    def test_scaled_numbers_are_judged_as_they_were_given(self):
        self.made("f,price\n1.5,2.5\n2.5,2.75\n", *ALL, no_note="whole numbers")

    def test_missing_labels_are_refused(self):
        for label in ("", "nan", "?", "NaN"):
            for other in ("1", "word"):
                self.refuses(f"a,b,label\n1,2,{other}\n3,4,{label}\n", "train.csv:3: `label`: the label is missing", *ALL)

    def test_a_missing_label_names_the_way_to_another_column(self):
        self.refuses("a,b,age\n1,2,3\n4,5,\n", "train.csv:3: `age`: the label is missing (--label names another column)")
        self.refuses("a,b,age\n1,2,x\n4,5,\n", "train.csv:3: `age`: the label is missing (--label names another column)")

    def test_words_for_missing_are_classes_only_among_other_words(self):
        for rows in ("1,2,none\n3,4,1\n5,6,2\n", "3,4,1\n1,2,none\n5,6,2\n"):
            self.refuses("a,b,label\n" + rows,
                         ": `label`: the label is missing, or a class among numbers is called `none`, and needs another name",
                         *ALL)
        for rows in ("1,2,none\n3,4,yes\n5,6,2\n", "5,6,2\n1,2,none\n3,4,yes\n"):
            self.assertIn("none", self.made("a,b,label\n" + rows, *ALL).names())

    def test_there_is_a_label_column_by_name_or_number(self):
        text = 'width,"kind, of",height\r\n1.5,"a, b",2\r\n2.5,c,3\n\n-1e3,c,4'
        expected = {"values": [1.5, 2, 2.5, 3, -1000, 4], "classes": ["a, b", "c"]}
        said = self.made(text, *ALL, "--label=kind, of", **expected)
        self.assertEqual(said.array("train/values").shape, (3, 2, 1, 1))
        self.made(text, *ALL, "--label=2", **expected)
        self.refuses(text, "no column `heigth`, did you mean `height`?", "--label=heigth")
        self.refuses(text,
                     "train.csv: `kind, of`: expected numbers or the words of some categories, got 2 different words, `a, b` in line 2")

    def test_whole_numbers_up_to_255_are_pixels_if_they_are_said_to_be(self):
        self.write("test.csv.gz", gzip.compress(b"1;2;1\n"))
        for options, kind in (((), "float32"), (("--shape=1x1x2",), "float32"), (("--shape=1x2x1",), "uint8"),
                              (("--value-scale=255",), "uint8")):
            said = self.made("10;0;1\n200;255;0\n", *options, others=["test.csv.gz"], values=[10, 0, 200, 255])
            self.assertEqual((str(said.array("train/values").dtype), said.array("test/values").ravel().tolist()), (kind, [1, 2]))
        self.refuses("10;0;1\n200;255;0\n", "train.csv: expected whole numbers from 0 to 16, --value-scale, got others, e.g. 200 in line 2, "
                     "column 1", "--value-scale=16")
        self.write("test.csv.gz", gzip.compress(b"1;2;7\n"))
        self.refuses("10;0;1\n200;255;0\n", "target number 0 is a class that the training set does not have", others=["test.csv.gz"])
    def test_files_are_of_the_part_that_is_a_word_of_their_names(self):
        for test in ("my-test2.csv", "digits_testing.csv", "MnistTest.csv", "testset.csv"):
            self.write(test, "5,6,1\n")
            self.write("valid.csv", "7,8,0\n")
            said = self.made("1,2,0\n3,4,1\n", file="retrieval_latest.csv", others=[test, "valid.csv"], values=[1, 2, 3, 4])
            self.assertEqual(said.array("test/values").ravel().tolist(), [5, 6])
            self.assertEqual(said.array("validation/values").ravel().tolist(), [7, 8])
            self.write(test, "1,2,0\n3,4,1\n")
            self.refused(f"no table to train on, there are valid.csv (validation) and {test} (test): name it by --x-train=FILE", "arrays",
                         test, "valid.csv")
            for options in ((), (f"--x-train={test}",)):  # alone it is there to train on
                self.assertEqual(len(self.read("arrays", test, *options, *ALL).array("train/values")), 2)
            self.refused(f"--x-test: no table `FILE`, known here: {test}", "arrays", test, "--x-test=FILE")
        self.assertEqual(len(self.made("1,2,0\n3,4,1\n", *ALL, file="train_val.csv").array("train/values")), 2)
        self.write("b.csv", "1,2,0\n")
        self.refuses("1,2,0\n3,4,1\n", "train.csv and ", others=["b.csv"])
        self.refuses("1,2,0\n3,4,1\n", "b.csv: both are taken for the train set: leave one out, or say what it is by --x-test=b.csv or --x-val=b.csv",
                     others=["b.csv"])
        self.write("test.csv", "1,2,0\n")
        self.refuses("1,2,0\n3,4,1\n", "is the test set, so leave out --test", "--test=0.2", others=["test.csv"])

    def test_numbers_that_happen_to_be_whole_go_with_others(self):
        self.write("test.csv", "7,8,b\n")
        said = self.made("1.5,2,a\n2.5,3,b\n", others=["test.csv"])
        self.assertEqual((said.array("test/values").ravel().tolist(), said.array("test/targets").tolist()), ([7, 8], [1]))
        self.write("test.csv", "7,8,c\n")
        self.refuses("1.5,2,a\n2.5,3,b\n", "`c` is a class that the training set does not have", others=["test.csv"])
        self.write("test.csv", "7,8,9\n")
        self.refuses("1.5,2,a\n2.5,3,b\n", f"test.csv: y_test: expected words as in {self.folder / 'train.csv'}", others=["test.csv"])

    def test_a_preparation_is_learned_from_training_samples_alone(self):
        rows = "".join(f"{'1000' if i >= 8 else '' if i == 3 else i},{'lake' if i >= 8 else 'bay'},"
                       f"{'5' if i >= 8 else f'1600000000.{i}'},1,"
                       f"{'1e6' if i >= 8 else i}\n" for i in range(10))
        said = self.made("a,near,stamp,label,price\n" + rows, "--split=last", "--drop=label", "--label=price", "--targets=numbers",
                         features=["a", "a is missing", "near = bay", "stamp"],
                         note="a feature for each that training samples have (1) (--drop")
        preparation = said.preparation()
        self.assertEqual((preparation["features"][0]["missing"], preparation["features"][3]["subtract"]), (4, 1600000000))
        self.assertEqual(preparation["targets"][0]["mean"], 3.5)
        numpy.testing.assert_allclose(said.array("test/targets")[0], (1e6 - 3.5) / preparation["targets"][0]["deviation"], rtol=1e-6)
        said = self.made("a,b,label\n1,,0.5\n3,,0.5\n5,,1.5\n7,2,2.5\n,2,2.5\n", "--split=last", "--test=0.4", features=["a",
                                                                                                                         "a is missing"],
                         note="`b` is empty where training samples are: it is left out")
        self.assertEqual(said.preparation()["features"][0]["missing"], 3)

    def test_true_and_false_are_numbers(self):
        said = self.made("a,b,label\nTrue,1,x\nFALSE,0,y\n", *ALL, values=[1, 1, 0, 0])
        self.assertEqual(str(said.array("train/values").dtype), "float32")

    def test_missing_numbers_are_filled_in_and_marked(self):
        text = "a,b,label\n1,5,x\n?,5,y\n4,5,x\nNA,5,x\n2.5,5,y\n"
        self.made(text, *ALL, features=["a", "a is missing", "b"], values=[1, 0, 5, 2.5, 1, 5, 4, 0, 5, 2.5, 1, 5, 2.5, 0, 5],
                  note="`a`: 2 values missing: the median, 2.5, and a feature that says so (--missing)")
        self.made(text, *ALL, note="check: 1 column always the same: `b` (--drop)")
        self.assertEqual(self.made(text, *ALL, "--missing=-1").array("train/values").ravel()[3], -1)
        self.refuses(text, "`a`: 2 values missing, the first in line 3: --missing=median fills", "--missing=refuse")
        self.refuses(text, "expected `median`, `refuse` or a number", "--missing=mean")
        self.write("test.csv", "a,b,label\n,1,x\n")
        self.assertEqual(self.made(text, others=["test.csv"]).array("test/values").ravel().tolist(), [2.5, 1, 1])
        self.write("test.csv", "a,b,label\n1,,x\n")
        self.refuses(text, "test.csv:2: `b`: expected a number, got ``: a missing value, where the training data have none",
                     others=["test.csv"])
        self.made("a,b,c,label\n1,,5,x\n2,,6,y\n", *ALL, features=["a", "c"], note="`b` is empty: it is left out")

    def test_words_are_categories(self):
        text = "a,near,label\n1,bay,x\n2,sea,y\n3,bay,x\n4,inland,x\n5,bay,x\n6,inland,x\n"
        said = self.made(text, *ALL, "--most-categories=2", features=["a", "near = bay", "near = inland", "near = other"],
                         note="`near` has 3 different words: a feature for each of the 2 most frequent, and one for others "
                              "(--drop, --most-categories)")
        self.assertEqual(said.array("train/values").ravel()[:8].tolist(), [1, 1, 0, 0, 2, 0, 0, 1])
        self.write("test.csv", "near,a,label\nmoon,7,x\n")
        said = self.made(text, others=["test.csv"], note="`near`: 1 row with words, or empty cells, that the training data do not have: "
                                                         "none of its features applies")
        self.assertEqual(said.array("test/values").ravel().tolist(), [7, 0, 0, 0])
        self.made(text.replace("3,bay", "3,Bay") + "7,bay,x\n8,sea,y\n", *ALL, note="check: `near`: `Bay` and `bay` differ in capitals alone, and are two words")
        self.assertIn("a = 6", feature_names(self.made(text, *ALL, "--categories=a").preparation()))
        rows = "".join(f"{i % 7}.5,w{min(i % 50, 40)},{'xy'[i % 2]}\n" for i in range(200))
        self.assertEqual(feature_names(self.made("a,w,label\n" + rows, *ALL).preparation())[-1], "w = other")

    def test_words_for_missing_are_words_among_words(self):
        for words, kept in ((("NA", "none", "x"), ["a", "w = NA", "w = none", "w = x"]), (("", "u", "x"), ["a", "w = ", "w = u", "w = x"])):
            self.made("a,w,label\n" + "".join(f"{i % 7}.5,{words[i % 3]},{'xy'[i % 2]}\n" for i in range(40)), *ALL, features=kept)

    def test_numbers_are_scaled_and_other_parts_alike(self):
        self.write("test.csv", "price,f\n200.5,3\n")
        said = self.made("f,price\n1,100.5\n2,300.5\n", others=["test.csv"], targets=[-1, 1], classes=["price"],
                         note="targets: `price` is numbers, stored as (value - 200.5) / 100; predict and exports give its own "
                              "units (--targets)")
        self.assertEqual(said.array("test/targets").tolist(), [[0]])
        self.made("1,2,0.5\n4,7,0.25\n", *ALL, targets=[1, -1])

    def test_numbers_that_floats_would_merge_are_centred_in_double(self):
        rows = "".join(f"160000000{i % 2}.{100 + i},1e30,{i * 37 % 100}.5,{i % 2}\n" for i in range(40))
        said = self.made("stamp,huge,a,label\n" + rows, *ALL,
                         note="`stamp`: 1600000000.1 is subtracted: its 40 different values would be 1 in float32")
        features = said.preparation()["features"]
        self.assertEqual((features[0]["subtract"], features[-1].get("subtract", 0)), (1600000000.1, 0))
        self.assertAlmostEqual(said.array("train/values").ravel()[3], 1.001, places=6)
        self.refuses("a,b,label\n1,1e39,x\n2,1,y\n", "`b`: a number is too large for float32", *ALL)

    def test_targets_in_other_spellings_are_refused_as_features_are(self):
        text = "rooms,price\n" + "".join(f'{i},"{90 + i},371"\n' for i in range(60))
        self.refuses(text,
                     "`price`: expected numbers or the words of classes, got `90,371` in line 2: a decimal comma, or thousands that "
                     "are set apart? `90,371` is 90371 by --numbers=point and 90.371 by --numbers=comma (or say --targets=classes)")
        self.assertEqual(len(self.made(text, "--targets=classes", *ALL).names()), 60)
        self.made("f,size\n1,5-10\n2,10-20\n", *ALL, classes=["10-20", "5-10"])

    def test_whole_numbers_that_floats_confuse_are_words(self):
        text = "a,b,label\n" + "".join(f"0.{i},1,{9007199254740992 + i % 2}\n" for i in range(40))
        self.made(text, classes=["9007199254740992", "9007199254740993"])
        text = "a,id,label\n" + "".join(f"0.{i},{9007199254740992 + i},{i % 2}\n" for i in range(40))
        self.refuses(text, "`id`: expected a number, got `9007199254740992` in line 2: a whole number of 2^53 or more")
        self.made(text, "--id=id", features=["a"])
        self.made("a,b,label\n1e20,1,x\n3e20,2,y\n", *ALL, features=["a", "b"])

    def test_guesses_that_can_be_wrong_are_told_with_the_option_that_decides(self):
        rows = "".join(f"{1 + i % 2}\t{i}.25\t{i * i}.5\t0.{i}\n" for i in range(1, 20))
        self.made(rows, file="curves.tsv",
                  note="check: curves.tsv: label: column 4, the last one, since columns have no names (--label names another; "
                                                "column 1 has 2 different whole numbers, and all others have fractions: --label=1?)")
        self.made(rows, "--label=1", file="curves.tsv", classes=["1", "2"], no_note="check: curves.tsv")
        self.made("a,y,kind\n1.5,2,u\n2.5,3,v\n", *ALL, note="check: train.csv: label: `y`, by its name (--label names another)")
        self.made("a,kind,y\n1.5,u,2\n2.5,u,3\n", *ALL, no_note="check: train.csv: label")
        self.write("blood_test.csv", "3.5,2,a\n")
        expected = "check: blood_test.csv is taken for the test set by its name (--x-train=blood_test.csv takes it for training)"
        self.made("1.5,2,a\n2.5,3,b\n", file="people.csv", others=["blood_test.csv"], note=expected)
        self.made("1.5,2,a\n2.5,3,b\n", file="train.csv", others=["blood_test.csv"], no_note=expected)
        self.made("1.5,2,a\n2.5,3,b\n", "--x-test=blood_test.csv", file="people.csv", others=["blood_test.csv"], no_note=expected)

    def test_many_columns_of_a_kind_are_counted(self):
        names = ",".join(f"g{number}" for number in range(30))
        rows = "".join(",".join([word] * 30) + f",{label}\n" for word, label in (("1.5", "no"), ("", "yes"), ("2", "no"), ("2.5", "yes")))
        said = self.made(f"{names},label\n{rows}", *ALL, note="10 more columns with missing values")
        self.assertEqual(sum("1 value missing" in line for line in said.lines), 20)


if __name__ == "__main__":
    unittest.main()
