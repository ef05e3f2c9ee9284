"""Tables in files: dialects of CSV, formats with types, frames, and what is named or refused."""

import argparse
import contextlib
import gzip
import io
import pathlib
import sys
import unittest
import unittest.mock
import zipfile

import numpy
import pandas
from prep_case import Said
from table_case import ALL, TableCase, feature_names

from skyline.prep.errors import PrepError
from skyline.prep.frame_files import write_frame


def zipped(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


class TableFilesTest(TableCase):
    def test_tables_of_spreadsheets_are_read(self):
        expected = {"features": ["length, cm", "width"], "values": [1.5, 2, 2.5, 3], "classes": ["a", "b"]}
        commas = '"length, cm",width,kind\n1.5,2,a\n2.5,3,b\n'
        for text, note in ((commas, ""), ('"length, cm";width;kind\n1,5;2;a\n2,5;3;b\n',
                                          "`;` separates fields, numbers have decimal commas"),
                           ('sep=;\r\n"length, cm";width;kind\r\n1.5;2;a\r\n2.5;3;b\r\n', ""),
                           ('"length, cm"\twidth\tkind\r1.5\t2\ta\r2.5\t3\tb\r', ""), ('"length, cm"|width|kind\n1.5|2|a\n2.5|3|b', ""),
                           ('"length, cm",width,kind,\n1.5,2,a,\n2.5,3,b,\n', "an empty last column is left out"),
                           ('"length, cm",width,kind\n1.5,2,a,\n2.5,3,b,\n', "an empty last column is left out"),
                           (b"\xff\xfe" + commas.encode("utf-16-le"), "the text is UTF-16"),
                           (b"\xfe\xff" + commas.encode("utf-16-be"), "the text is UTF-16")):
            self.made(text, *ALL, note=note, **expected)
        self.made(commas, *ALL, no_note="decimal")

    def test_quoted_line_breaks_are_parts_of_their_field(self):
        self.refuses("\"a\nb\",c,label\n1,2,\"x\r\ny\"\n3,4,z\n5,6\n", "train.csv:6: expected 3 columns, got 2", *ALL)
        self.refuses('a,b,label\n1,"2,x\n3,4,y\n', "train.csv:2: a quote that begins in this row never ends", *ALL)
        self.refuses('a,b,label\n1,2,"x\n3,4,y\n', "train.csv:2: a quote that begins in this row never ends", *ALL)
        self.made('a,b\n"x ""y""",1\n"x ""y""",2\n",2\n""",3\n",2\n""",4\n', *ALL, "--label=a", classes=['",2\n"'.strip('"') + '"',
                                                                                                         'x "y"'])

    def test_rows_of_another_length_are_refused(self):
        self.refuses("1,2,3\n4,5\n", "train.csv:2: expected 3 columns, got 2")
        self.refuses("a,b,label\n1,2,x\n3,4,y\n5,6,x,9\n", "train.csv:4: expected 3 columns, got 4", *ALL)
        self.refuses("a,b,label\n1,2,x\n\n3,4\n5,6,x\n", "train.csv:4: expected 3 columns, got 2", *ALL)
        self.refuses("1 2 a\n3 4\n", "train.csv:2: expected 3 columns, got 2", *ALL)

    def test_columns_may_be_counted_as_pandas_does(self):
        for names in ("0,1,2", "0,1,label", "label,0,1"):
            is_first = names.startswith("label")
            self.made(names + ("\n7,300,5\n8,30,6\n" if is_first else "\n300,5,7\n30,6,8\n"), *ALL,
                      f"--label={'label' if 'label' in names else 3}",
                      values=[300, 5, 30, 6], classes=["7", "8"])
        self.assertEqual(len(self.made("0,1\n300,0\n", *ALL).array("train/values")), 2)

    def test_files_may_begin_with_a_byte_order_mark_and_quote_quotes(self):
        self.made('\ufeffkind,width\n"5"" pipe",0.5\n5 pipe,1.5\n', *ALL, "--label=kind", classes=["5 pipe", '5" pipe'])
        self.made("\ufeff1,2,0\n3,4,1\n", *ALL, values=[1, 2, 3, 4])

    def test_blanks_at_the_ends_of_a_cell_do_not_count(self):
        self.made('width,kind\n" 1.5"," x"\n 2.5 , x\n"3.5 ",y \n', *ALL, "--label=kind", values=[1.5, 2.5, 3.5], classes=["x", "y"])

    def test_packed_files_that_end_too_early_are_refused(self):
        packed = gzip.compress("".join(f"{i * 7919 % 1000},{i % 2}\n" for i in range(20000)).encode())
        for size in (len(packed) // 2, len(packed) - 4):
            self.refuses(packed[:size], "train.csv.gz: damaged or truncated gzip file", file="train.csv.gz")

    def test_texts_are_bounded(self):
        self.refuses("1," + "x" * 300 + "\n", "train.csv:1: a label of more than 255 bytes")
        self.refuses(gzip.compress(b"1,2\n" + b"," * (1 << 21) + b"\n"), "train.csv.gz:2: expected 2 columns, got 2097153",
                     file="train.csv.gz")
        self.refuses(gzip.compress(b"1" * (1 << 25) + b"\n1,2\n"), "train.csv.gz:1: a line of more than 16777216 bytes",
                     file="train.csv.gz")
        self.refuses("", "train.csv: the file is empty")
        self.refuses("a,b\n", "train.csv: no rows after the names of the columns")
        self.refuses("a\n1\n2\n", "train.csv:1: expected at least 2 columns, got 1")
        self.refuses("a,b\n1,\x002\n", "train.csv: neither text (CSV), nor another format that is read: Parquet, Feather, Excel, npz")
        self.refuses("a,b\n" + "1,2\n" * 200000 + "1,2\x003\n", "a NUL in the text")

    def test_words_that_are_not_utf_8_are_named_with_their_line(self):
        self.refuses("a,label\n1,x\n2,caf\u00e9\n".encode("latin-1"),
                     "train.csv:3: `label`: expected words in UTF-8 and without control characters, got `caf\\xe9`: "
                     "save the table as UTF-8")
        self.refuses("a,caf\u00e9,label\n1,2,x\n".encode("latin-1"),
                     "train.csv:1: column 2: its name is not UTF-8, or has control characters: save the table as UTF-8")
        self.refuses("a,w,label\n1,caf\u00e9,x\n1,caf\u00e9,y\n".encode("latin-1"),
                     "`w`: its words are not UTF-8, or have control characters", *ALL)
        self.refuses("a,label\n1,x\n2,b\x1b[1m\n",
                     "train.csv:3: `label`: expected words in UTF-8 and without control characters, got `b\\x1b[1m`")
        self.made("\u00e4,\u00df\n1,\u00c4pfel\n2,\u6885\n", *ALL, features=["\u00e4"], classes=["\u00c4pfel", "\u6885"])

    def test_labels_are_words_as_soon_as_one_is_no_number_and_blanks_may_separate(self):
        self.made("1 2 10\n3 4 9 \n5 6 red\n", *ALL, classes=["10", "9", "red"], targets=[0, 1, 2], values=[1, 2, 3, 4, 5, 6])
        self.made("a,b\n1,True\n2,False\n", *ALL, classes=["False", "True"], targets=[1, 0])

    def test_decimal_commas_stay_numbers_beside_gaps_and_words(self):
        self.made("a;b;label\n1,5;2;0,5\n?;3;1,5\n2,5;4;typo\n", *ALL, "--targets=classes", features=["a", "a is missing", "b"],
                  values=[1.5, 0, 2, 2, 1, 3, 2.5, 0, 4], note="2 of 3 values are numbers; line 4 has `typo`")

    def test_empty_lines_do_not_count(self):
        self.made("\n \na,b,label\n\n0.5,2,x\n   \n1.5,3,y\n\n", *ALL, features=["a", "b"], values=[0.5, 2, 1.5, 3])
        self.refuses("\n\na,b,a\n1,2,3\n", "train.csv:3: two columns are called `a`")
        self.refuses("\n\na,b,label\n1,2,x\n\n3,4\n", "train.csv:6: expected 3 columns, got 2")

    def test_lines_above_the_table_are_named(self):
        for above in ("Report of March\n", "% made by MATLAB\n"):
            self.refuses(above + "a,b,label\n1,2,no\n3,4,yes\n", "train.csv:1: expected 3 columns as below, got 1: leave out what is above")
        self.refuses("\nReport, of\na;b;label\n1;2;no\n3;4;yes\n", "train.csv:2: expected 3 columns as below, got 1")

    def test_points_that_may_stand_between_thousands_are_told(self):
        told = "check: 1 column of numbers whose points may stand between thousands, and are read as decimal points: `price`"
        self.made("a;price;label\n1.5;999;no\n2.25;1.234;yes\n", *ALL, values=[1.5, 999, 2.25, 1.234], note=told)
        self.made("a;price\n1.5;999\n2.25;1.234\n0.5;2.000\n", *ALL, note=told)
        self.made("a;price;label\n1;999;no\n2;1.234;yes\n", *ALL, "--numbers=comma", values=[1, 999, 2, 1234], no_note="thousands")
        for first, second in (("999", "1.25"), ("9.125", "1.234"), ("0.999", "1"), ("1000", "1.234"), ("99", "7")):
            self.made(f"a;price;label\n1.5;{first};no\n2.25;{second};yes\n", *ALL, no_note="thousands")
        self.made("a,price,label\n1.5,999,no\n2.25,1.234,yes\n", *ALL, no_note="thousands")

    def test_comments_at_the_start_are_left_out(self):
        self.made("# measured 2024\n# by me\na,b,label\n0.5,2,x\n1.5,3,y\n", *ALL, features=["a", "b"],
                  note="train.csv: 2 lines at the start that begin with # are left out")
        self.refuses("# measured 2024\na,b,label\n0.5,2,x\n1.5,y\n", "train.csv:4: expected 3 columns, got 2", *ALL)
        self.made("# a,b,label\n0.5,2,x\n1.5,3,y\n", *ALL, features=["# a", "b"], no_note="begins with #")

    def test_formats_that_are_not_read_are_named(self):
        for content, expected in (("@relation x\n@attribute a numeric\n@attribute class {p,q}\n@data\n1,p\n", "an ARFF file"),
                                  ("1 1:0.5 3:2\n0 2:1.5\n1 1:1\n", "a file of svmlight"), ('{"a": 1}\n{"a": 2}\n', "JSON"),
                                  ("<!DOCTYPE html>\n<html></html>\n", "a page of HTML"), (b"PAR1\0\0\0\0PAR1", "Parquet"),
                                  (b"BZh91AY", "unpack it by bunzip2"), (b"SQLite format 3\0", "a database of SQLite"),
                                  (zipped({"train.csv": b"a,b\n1,2\n"}), "a zip archive: unpack it by unzip"),
                                  (zipped({"content.xml": b""}), "a spreadsheet that is not read: save it as .xlsx or CSV"),
                                  (zipped({"xl/workbook.xml": b""}), "Excel"), (b"PK\3\4abc", "zip")):
            self.refuses(content, expected)

    def test_tables_with_types_are_read_as_they_are(self):
        frame = pandas.DataFrame({"zip": pandas.Categorical(["01234", "00001", "01234", "00001"]), "a": [1.5, None, 2.5, 3.5],
                                  "n": pandas.array([1, None, 3, 4], dtype="Int64"), "b": [True, False, True, False],
                                  "label": ["x", "y", "x", "y"]})
        for name, save in (("train.parquet", frame.to_parquet), ("train.feather", frame.to_feather), ("train.xlsx", frame.to_excel),
                           ("train.frame.npz", lambda path: write_frame(frame, path))):
            with self.subTest(name):
                try:
                    save(self.folder / name, **({"index": False} if name.endswith("xlsx") else {}))
                except ImportError:
                    continue
                said = self.read("arrays", name, *ALL)
                self.assertEqual(feature_names(said.preparation()),
                                 ["zip = 00001", "zip = 01234", "a", "a is missing", "n", "n is missing", "b"])
                numpy.testing.assert_allclose(said.array("train/values").reshape(4, -1)[1], [1, 0, 2.5, 1, 3, 1, 0])
        with contextlib.suppress(ImportError), pandas.ExcelWriter(self.folder / "two.xlsx", engine="openpyxl") as file:
            frame.to_excel(file, sheet_name="a", index=False)
            frame.to_excel(file, sheet_name="b", index=False)
        if (self.folder / "two.xlsx").exists():
            self.assertIn("check: two.xlsx: the first of 2 sheets is read, not `b`: save another as CSV", self.read("arrays",
                                                                                                                    "two.xlsx").text)
        with contextlib.suppress(ImportError):
            frame.set_index("zip").to_parquet(self.folder / "index.parquet")
            self.assertEqual(feature_names(self.read("arrays", "index.parquet", *ALL).preparation())[0], "zip = 00001")
        with unittest.mock.patch("pandas.read_parquet", side_effect=ImportError):
            self.refuses(b"PAR1", f"train.parquet: Parquet needs pyarrow: {sys.executable} -m pip install pyarrow, or save the table as CSV",
                         file="train.parquet")
        self.write("train.csv", frame.to_csv(index=False))
        self.assertEqual(feature_names(self.read("arrays", "train.csv", *ALL).preparation())[0], "zip")

    def test_frames_are_taken_with_their_types(self):
        from skyline.prep.dataset import TRAIN, DatasetWriter
        from skyline.prep.kinds import Job, find_kind
        from skyline.prep.report import Report
        from skyline.prep.table_files import table_of
        from skyline.prep.tables import prepare_frames

        parser = argparse.ArgumentParser()
        find_kind("arrays").add_options(parser)
        frame = pandas.DataFrame({"zip": pandas.Categorical([1234, 1, 1234, 1]), "code": ["1", "2", "1", "2"], "n": [1, 2, 3, 2**40],
                                  "n2": pandas.array([1, None, 3, 4], dtype="Int64"), "b": [True, None, True, False],
                                  "f": numpy.array([1.5, 2, 3, 4], "f4"), 7: [0.25, 0.5, 0.75, 1.0], "label": ["x", "y", "x", "y"]},
                                 index=[5, 5, 6, 7])
        writer = DatasetWriter(self.folder / "made.h5")
        prepare_frames({TRAIN: table_of(frame, pathlib.Path("frame"))},
                       Job([], parser.parse_args(["--test", "0", "--label", "label"]), writer, Report()))
        writer.finish()
        said = Said(0, file=writer.path)
        self.assertEqual(feature_names(said.preparation()), ["zip = 1", "zip = 1234", "code = 1", "code = 2", "n", "n2", "n2 is missing",
                                                             "b",
                                                             "b is missing", "f", "7"])
        self.assertEqual(said.array("train/values").reshape(4, -1)[1].tolist(), [1, 0, 0, 1, 2, 3, 1, 1, 1, 2, 0.5])
        bad = {"when": pandas.to_datetime(["2024-03-01"] * 4), "mixed": [1, "a", 2, 3], "object": [[1], [2], [3], [4]]}
        with self.assertRaisesRegex(PrepError,
                                    "frame: `when`: expected numbers or words, got dates: --dates=when reads them; `mixed`: expected "
                                               "a number, got `a` in row 1: --missing-words=a takes it for "
                                               "missing; `object`: expected numbers or the words"):
            prepare_frames({TRAIN: table_of(frame.assign(**bad), pathlib.Path("frame"))},
                           Job([], parser.parse_args(["--label", "label"]), writer, Report()))
        images = [{"bytes": bytes([137, 39, number]), "path": ""} for number in range(4)]
        for column, expected in ((["1.5", "2", "3", "4"], "--id=n, if it names the rows, or save them as numbers, not as texts"),
                                 (images, "`n`: expected numbers or words, got images: save them as files")):
            with self.assertRaisesRegex(PrepError, expected):
                prepare_frames({TRAIN: table_of(frame.assign(n=column), pathlib.Path("frame"))},
                               Job([], parser.parse_args(["--label", "label"]), writer, Report()))

    def test_a_table_beyond_memory_is_refused_before_it_is_read(self):
        text = "a,b,c,d,label\n" + "1.5,2,x,y,p\n2.5,3,x,y,q\n" * 2
        with unittest.mock.patch("skyline.prep.table_files.available_bytes", lambda: 300):
            self.refuses(text, "GiB are left: leave out columns by --drop, or save it as Parquet with float32 columns", *ALL)
            self.made(text, *ALL, "--drop=b,c,d", features=["a"])
            self.refuses(text.replace("1.5,2,x,y,p", "1.5,2,x,p", 1), "train.csv:2: expected 5 columns, got 4", *ALL, "--drop=b,c,d")


if __name__ == "__main__":
    unittest.main()
