#!/usr/bin/env python3
"""Tests how dates are read, and which numbers are made of them."""

import datetime
import math
import unittest

import numpy as np
from prep_case import PrepCase

from skyline.prep.dates import date_number, days_in, days_of, is_date, possible_orders


def day(year: int, month: int, number: int) -> int:
    return (datetime.date(year, month, number) - datetime.date(1970, 1, 1)).days


class DatesTest(PrepCase):
    def test_dates_are_days_since_1970(self):
        for order, texts in {"ymd": ("2024-03-01", "2024/3/1", "2024.03.01", "20240301", " 2024-03-01 ", "2024 03 01"),
                             "dmy": ("1.3.2024", "01/03/2024", "01-03-24", "1-Mar-24", "1 March 2024", "1 Mar. 2024"),
                             "mdy": ("3/1/2024", "03-01-2024", "03/01/24", "March 1, 2024", "Mar 1 2024", "Mar-1-2024",
                                     "Mar-1-24")}.items():
            for text in texts:
                self.assertEqual(days_in([text], order)[0], day(2024, 3, 1), text)
        self.assertEqual(days_in(["1.1.70", "31.12.68", "1.1.1969", "15-Sept-99"], "dmy").tolist(),
                         [0, day(2068, 12, 31), -365, day(1999, 9, 15)])

    def test_times_are_fractions_of_days(self):
        for text, hours in {"2024-03-01 06:00": 6, "2024-03-01T06:00:00": 6, "2024-03-01T06:00:00.000Z": 6, "2024-03-01 18:30": 18.5,
                            "2024-03-01T06:00+02:00": 4, "2024-03-01T06:00:00-0130": 7.5, "2024-03-01 06:00 PM": 18,
                            "2024-03-01, 12:15 AM": 0.25, "2024-03-01 23:59:60": 24}.items():
            self.assertAlmostEqual(days_in([text], "ymd")[0], day(2024, 3, 1) + hours / 24, 9, text)

    def test_what_is_no_date_has_no_number(self):
        for order in ("ymd", "dmy", "mdy"):
            for text in ("", "x", "12:30", "2024", "2024-13-01", "30.2.2024x", "1.2", "1/2-2024", "5-Foo-24", "10-20", "32/32/2024",
                         "2024-03-01 25:00", "2024-03-01 10:61"):
                self.assertTrue(math.isnan(days_in([text], order)[0]), f"{text} {order}")
        self.assertTrue(np.isnan(days_in(["31.2.2024", "2024-02-30", "1.3.2024"], "ymd")).all())

    def test_texts_are_known_as_dates_or_times(self):
        dates = ("2024-03-01", "1.3.2024", "03/01/24 10:00", "1-Mar-24", "01 March 2024", "Mar 1, 2024", "12:30", "12:30:59")
        self.assertEqual([date for date in (*dates, "March", "may be 3", "1-2", "3 Marches 2024") if is_date(date)], [*dates])

    def test_the_order_is_found_where_it_is_certain(self):
        for texts, orders in ((["2024-03-01"], ["ymd"]), (["03/04/2024", "25/12/2024"], ["dmy"]), (["03/04/2024", "12/25/2024"], ["mdy"]),
                              (["03/04/2024"], ["dmy", "mdy"]), (["03/04/2024", "red"], []), ([], []), (["1-Mar-24", ""], ["dmy"]),
                              (["March 1, 2024"], ["mdy"]), (["13/13/2024"], [])):
            self.assertEqual(possible_orders(texts), orders, texts)

    def test_year_month_and_weekday(self):
        days = days_in(["2024-03-01", "1969-12-31", "2000-02-29 23:00", ""], "ymd")
        for kind, expected in {"year": [2024, 1969, 2000], "month": [3, 12, 2], "weekday": [4, 2, 1], "hour": [0, 0, 23]}.items():
            numbers = date_number(days, kind)
            self.assertEqual(numbers[:3].tolist(), expected, kind)
            self.assertTrue(np.isnan(numbers[3]))
        np.testing.assert_array_equal(date_number(days, "days"), days)

    def test_types_of_dates_are_read(self):
        for unit in ("D", "s", "ms", "ns"):
            days = days_of(np.array(["2024-03-01", "NaT"], f"datetime64[{unit}]"))
            self.assertEqual((days[0], math.isnan(days[1])), (day(2024, 3, 1), True))
        self.assertEqual(days_of(np.array(["1969-12-31T12:00"], "datetime64[ns]"))[0], -0.5)

    def table(self, *dates: str) -> str:
        rows = "".join(f"{number},{each},{'xy'[number % 2]}\n" for number, each in enumerate(dates))
        return str(self.write("train.csv", "a,sold,label\n" + rows))

    def test_dates_of_a_table_become_features_that_new_rows_get_again(self):
        texts = [f"{number % 28 + 1}.{number % 12 + 1}.{2020 + number % 3}" for number in range(40)]
        said = self.read("arrays", self.table(*texts), "--dates=sold", "--test=0")
        self.assertIn("`sold` has dates: days, year, month, weekday are features (--dates)", said.lines)
        values = said.array("train/values").reshape(40, 5)
        self.assertEqual(values[7].tolist(), [7, day(2021, 8, 8), 2021, 8, 6])
        features = said.preparation()["features"]
        self.assertEqual([(each.get("date"), each.get("order")) for each in features],
                         [(None, None), *((kind, "dmy") for kind in ("days", "year", "month", "weekday"))])
        new = self.write("new.csv", "sold,a\n01.02.2022,5\n3.2.2022 12:00,6\n2022-02-01,7\n,8\n")
        applied = self.apply("arrays", new, run=said.run())
        self.assertEqual(applied.code, 0, applied.error)
        self.assertEqual(applied.array("train/values").reshape(-1, 5)[:, 1].tolist(), [day(2022, 2, 1), day(2022, 2, 3) + 0.5])
        self.assertEqual(applied.rows["problems"][2:], ["`sold`: expected a date, got `2022-02-01`",
                                        "`sold`: expected a date, got ``: a missing value, where the training data have none"])

    def test_missing_dates_get_the_median_and_a_feature(self):
        texts = [f"2024-03-{number + 1:02} 0{number}:30" if number else "?" for number in range(9)]
        said = self.read("arrays", self.table(*texts), "--dates=sold", "--test=0")
        values = said.array("train/values").reshape(9, -1)
        self.assertIn("`sold` has dates: days, weekday, hour, is missing are features (--dates)", said.lines)
        subtract = said.preparation()["features"][1]["subtract"]
        self.assertEqual((subtract, values[0].tolist()), (day(2024, 3, 2), [0, np.float32(3.5 + 5 / 24), 3.5, 5, 1]))
        self.refused("`sold`: 1 value missing, the first in line 2: --missing=median fills them in (--drop=sold leaves it out)", "arrays", "train.csv", "--dates=sold", "--missing=refuse")

    def test_dates_that_cannot_be_read_are_refused(self):
        for texts, options, expected in ((["3/4/24", "5/6/24"], "sold", "`sold`: day and month cannot be told apart, e.g. in `3/4/24`: "
                                          "--dates=sold:dmy or --dates=sold:mdy"),
                                         (["3/14/24", "soon"], "sold", "`sold`: expected a date, got `soon` in line 3"),
                                         (["3/14/24", "5/6/24"], "sold:dmy", "`sold`: expected a date, got `3/14/24` in line 2"),
                                         (["3/14/24", "5/6/24"], "date", "--dates: no column `date`"),
                                         (["3/14/24", "5/6/24"], "", "in line 2: --dates=sold reads them")):
            self.refused(expected, "arrays", self.table(*texts), *([f"--dates={options}"] if options else []), "--test=0")
        months = self.read("arrays", self.table("3/4/24", "5/6/24"), "--dates=sold:mdy", "--test=0").array("train/values")[:, 2].ravel()
        self.assertEqual(months.tolist(), [3, 5])


if __name__ == "__main__":
    unittest.main()
