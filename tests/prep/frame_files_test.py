"""DataFrames in files of their own: types arrive as they are."""

import datetime
import decimal
import importlib.util
import unittest

import numpy as np
import pandas as pd
from array_files import npz
from prep_case import PrepCase

from skyline.prep.errors import PrepError
from skyline.prep.frame_files import read_frame, write_frame
from skyline.prep.source_files import FRAME_ENDING


class FrameFiles(PrepCase):
    def through_file(self, frame: pd.DataFrame) -> pd.DataFrame:
        path = self.folder / f"train{FRAME_ENDING}"
        write_frame(frame, path)
        return read_frame(path)

    def check_same(self, *columns: pd.Series) -> None:
        for column in columns:
            found = self.through_file(pd.DataFrame({"a": column}))["a"]
            pd.testing.assert_series_equal(found, column.reset_index(drop=True), check_names=False)

    def test_numbers_flags_and_dates_keep_their_types(self):
        for kind in ("i1", "i8", "u4", "u8", "f2", "f4", "f8", "bool", "M8[ns]", "m8[ns]", ">i4"):
            column = pd.Series(np.array([0, 1, 3]).astype(kind))
            found = self.through_file(pd.DataFrame({"a": column}))["a"]
            self.assertEqual((found.dtype.newbyteorder("="), found.tolist()), (column.dtype.newbyteorder("="), column.tolist()))
        self.check_same(pd.Series([1.5, np.nan, np.inf, -0.0]), pd.Series([2**63 - 1, -2**63]),
                        pd.Series(pd.to_datetime(["2024-02-29 12:30:00.123456789", None])))
        zoned = pd.Series(pd.to_datetime(["2024-02-29 01:00", None])).dt.tz_localize("Europe/Berlin")
        self.assertEqual(self.through_file(pd.DataFrame({"a": zoned}))["a"][0], pd.Timestamp("2024-02-29"))

    def test_cells_of_other_types_become_plain_ones(self):
        words = ["0012", "", "Äpfel", "NA", "a\0b\0", "1.0", "a\nb", "\ud800"]
        cells = ["1", 1, 1.0, True, None, 2**80, decimal.Decimal("1.10")]
        day = datetime.datetime(2024, 2, 29, 12, 30)
        for given, kind, expected in (([*words, None, np.nan], object, [*words, None, None]),
                                      ([*cells, np.int32(7), np.float32(0.5), pd.NaT, pd.NA], object, [*cells, 7, 0.5, None, None]),
                                      ([day.date(), day, day.time(), (1, 2)], object,
                                       ["2024-02-29", "2024-02-29 12:30:00", "12:30:00", "(1, 2)"]),
                                      ([2**62 + 1, None], "Int64", [2**62 + 1, None]), ([2**64 - 1, None], "UInt64", [2**64 - 1, None]),
                                      ([True, None], "boolean", [True, None]), (["b", None], "string", ["b", None]),
                                      ([12, 7, None], pd.CategoricalDtype([7, 12]), ["12", "7", None])):
            found = self.through_file(pd.DataFrame({"a": pd.Series(given, dtype=kind)}))["a"]
            self.assertEqual([(type(each), each) for each in found], [(type(each), each) for each in expected])
        self.check_same(pd.Series([1.5, None], dtype="Float64").astype(float))
        periods = self.through_file(pd.DataFrame({"a": pd.period_range("2024-01", periods=2, freq="M")}))["a"]
        self.assertEqual(periods.tolist(), ["2024-01", "2024-02"])

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")
    def test_types_of_arrow_become_those_of_pandas(self):
        for cells, kind in (([2**62 + 1, None], "int64[pyarrow]"), ([True, None], "bool[pyarrow]"), ([1.5, 2.5], "double[pyarrow]")):
            self.assertEqual(self.through_file(pd.DataFrame({"a": pd.Series(cells, dtype=kind)}))["a"].tolist(), cells)

    def test_columns_of_one_name_and_of_none_and_frames_without_rows_arrive(self):
        frame = pd.DataFrame([[1, "x", 2.5, None]], columns=["a", "a", "", 3], index=[7])
        found = self.through_file(frame)
        self.assertEqual(list(found.columns), ["a", "a", "", "3"])
        self.assertEqual(found.iloc[0].tolist(), [1, "x", 2.5, None])
        self.assertEqual(list(found.index), [0])
        self.assertEqual(self.through_file(frame.iloc[:0]).shape, (0, 4))
        self.assertEqual(self.through_file(frame.iloc[:, :0]).shape, (1, 0))
        sparse = self.through_file(pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1])}))["a"]
        self.assertEqual(sparse.tolist(), [0, 0, 1])

    def test_other_and_damaged_files_are_refused_in_one_line(self):
        path = self.folder / f"train{FRAME_ENDING}"
        write_frame(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), path)
        whole = path.read_bytes()
        for content in (b"", whole[:100], npz({"a": np.arange(3)}), whole.replace(b'"cells"', b'"cellz"'),
                        whole.replace(b"1.npy", b"9.npy"), whole.replace(b'"rows": 2', b'"rows": 3')):
            path.write_bytes(content)
            with self.assertRaises(PrepError) as refusal:
                read_frame(path)
            self.assertRegex(str(refusal.exception), r"\A\S+train.frame.npz: expected a table as `skyline.prepare` writes it: [^\n]*\Z")


if __name__ == "__main__":
    unittest.main()
