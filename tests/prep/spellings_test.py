#!/usr/bin/env python3
"""Tests how numbers are read that people write in other ways than programs do."""

import math
import unittest

from prep_case import PrepCase

from skyline.prep.spellings import SPELLINGS, Spelling, as_category, cause_of, is_decimal_comma, numbers_in, proposal

PLAIN, COMMAS = Spelling(), Spelling(",")
POINT, COMMA = SPELLINGS["point"], SPELLINGS["comma"]


class SpellingsTest(PrepCase):
    def check(self, spelling: Spelling, expected: "dict[str, float | None]") -> None:
        """Reads each text as if it were a column of its own; None is no number."""
        for text, value in expected.items():
            number = numbers_in([text], spelling)[0]
            self.assertTrue(math.isnan(number) if value is None else number == value, f"{text!r}: {number}")

    def test_plain_numbers_are_digits_with_a_decimal_sign(self):
        self.check(PLAIN, {"1": 1, "-1.5": -1.5, "+2": 2, ".5": 0.5, "5.": 5, "1e3": 1000, " 7 ": 7, "1E-2": 0.01})
        self.check(COMMAS, {"1": 1, "-1,5": -1.5, ",5": 0.5, "1,5e3": 1500})

    def test_no_other_spelling_is_a_plain_number(self):
        for text in ("1,200", "1 200", "1'200", "12%", "$5", "5 €", "\u22125", "(5)", "1D5", "1.5D+01", "1_200", "0x10", "inf", "nan", "",
                     "1e400", "\u0663", "5-", "1.2.3", "--5", "True"):
            self.check(PLAIN, {text: None})
        self.check(COMMAS, {"1.5": None, "1.200": None, "1.200,5": None, "1,200,300": None})

    def test_the_option_reads_thousands(self):
        self.check(POINT, {"1,200": 1200, "1,234,567.5": 1234567.5, "1 200": 1200,
                           "1\u202f200.5": 1200.5, "1'200": 1200, "1\u2019200": 1200,
                           "12,34,567": 1234567, "-90,000": -90000, "1.200": 1.2, "1200": 1200})
        self.check(COMMA, {"1.200": 1200, "1.234.567,5": 1234567.5, "1 200,5": 1200.5, "1'200,5": 1200.5, "1,200": 1.2, "1200": 1200})

    def test_no_other_number_is_read_silently(self):
        self.check(POINT, {"0,200": None, "1,20": None, "1,2000": None, "12,345,6": None, "1 200,300": None, "1,200 300": None,
                           "030 123": None, "1.200.300": None, "1_200": None, "(-5)": None, "(5": None, "5)": None, "- -5": None})
        self.check(COMMA, {"0.200": None, "1.20": None, "0.5": None, "12.5": None, "1,200,300": None})

    def test_the_option_reads_units_and_signs(self):
        self.check(POINT, {"12%": 12, "12.5 %": 12.5, "$1,200.50": 1200.5, "-$5": -5, "$-5": -5, "US$ 7": 7, "1 200 €": 1200, "£3": 3,
                           "EUR 5": 5, "5 CHF": 5, "\u22125": -5, "\u20135": -5, "(5)": -5, "($1,200)": -1200, "1D5": 1e5, "1.5D+01": 15,
                           "1.5d-1": 0.15})
        self.check(COMMA, {"1.200,50 €": 1200.5, "12,5%": 12.5, "(1.200,5)": -1200.5, "1,5D+01": 15})
        self.check(POINT, {"$5%": None, "5 kg": None, "#5": None, "5*": None, "~5": None, "a5": None, "5a": None, "5/2": None, "<5": None})

    def test_units_are_not_mixed(self):
        self.assertEqual(str(numbers_in(["5 %", "7 %", "0.05", "0"], POINT)), "[ 5.  7. nan  0.]")
        self.assertEqual(str(numbers_in(["$5", "$7", "€5"], POINT)), "[ 5.  7. nan]")
        self.assertEqual(str(numbers_in(["$5", "7", "1,200"], POINT)), "[   5.    7. 1200.]")

    def test_whole_numbers_that_doubles_confuse_are_none(self):
        self.check(PLAIN, {"9007199254740991": 2.0**53 - 1, "9007199254740992": None, "9007199254740993": None, "-9007199254740993": None,
                           "1e22": 1e22})
        self.check(POINT, {"9,007,199,254,740,993": None, "9,007,199,254,740,991": 2.0**53 - 1})

    def test_a_proposal_names_what_would_be_read(self):
        self.assertEqual(proposal(["90,000", "91,371"], PLAIN), "`90,000` is 90000 by --numbers=point and 90 by --numbers=comma")
        self.assertEqual(proposal(["1,200", "1,234,567"], PLAIN), "`1,200` is 1200 by --numbers=point")
        self.assertEqual(proposal(["n.k.", "1.234,5"], PLAIN), "`1.234,5` is 1234.5 by --numbers=comma")
        self.assertEqual(proposal(["12 %"], PLAIN), "`12 %` is 12 by --numbers=point")
        self.assertEqual(proposal(["12 %"], COMMAS), "`12 %` is 12 by --numbers=comma")
        for texts in (["red", "blue"], ["2024-01-05", "12:30"], ["10-20", "A12"],
                      ["9007199254740993"], ["01234"], ["(1)", "red", "blue"], [], [""]):
            self.assertEqual(proposal(texts, PLAIN), "")
        self.assertEqual(proposal(["5"], POINT), "")

    def test_the_cause_is_named(self):
        self.assertEqual(cause_of("1,200"), ": a decimal comma, or thousands that are set apart?")
        self.assertEqual(cause_of("12 %"), ": a unit?")
        self.assertEqual(cause_of("5 £"), ": a unit?")
        self.assertEqual(cause_of("(5)"), ": a number in another spelling?")
        self.assertEqual(cause_of("9007199254740993"), ": a whole number of 2^53 or more, which floats confuse with others?")
        self.assertEqual(cause_of("red"), "")

    def test_equal_numbers_are_one_category(self):
        for text, expected in {"1.0": "1", "1.": "1", "-2.00": "-2", "1": "1", "01234": "01234", "01.0": "01.0", "1.5": "1.5",
                               "v1.0": "v1.0", "10.0": "10"}.items():
            self.assertEqual(as_category(text), expected)

    def test_a_decimal_comma_is_told_from_thousands(self):
        for text, expected in {"1,5": True, "0,200": True, ",5": True, "1,200": False, "15": False, "a,5": False, "1,2000": True}.items():
            self.assertEqual(is_decimal_comma(text), expected, text)


if __name__ == "__main__":
    unittest.main()
