#!/usr/bin/env python3
"""Tests targets that are numbers: their scale, and their logarithms where these are what is learned."""

import pathlib
import unittest

import numpy as np
from prep_case import PrepCase, Said

X = np.linspace(0, 1, 80)
PRICES = np.round(np.exp(3 + 4 * X), 2)


class TargetScalesTest(PrepCase):
    def table(self, prices: "np.ndarray | list", name: str = "train.csv") -> str:
        return str(self.write(name, "x,price\n" + "".join(f"{x},{price}\n" for x, price in zip(X, prices))))

    def arrays(self, y: np.ndarray, x: "np.ndarray | None" = None) -> str:
        np.savez(self.folder / "set.npz", x_train=np.stack([X, -X], 1)[:len(y)] if x is None else x, y_train=y)
        return "set.npz"

    def check_scale(self, said: Said, numbers: np.ndarray, transform: str) -> None:
        scale, = said.preparation()["targets"]
        self.assertEqual(scale["transform"], transform)
        np.testing.assert_allclose((scale["mean"], scale["deviation"]), (numbers.mean(), numbers.std()), rtol=1e-9)
        np.testing.assert_allclose(said.array("train/targets")[:, 0], (numbers - numbers.mean()) / numbers.std(), rtol=1e-5, atol=1e-6)

    def test_logarithms_of_a_table_are_learned_and_taken_of_new_rows(self):
        said = self.read("arrays", self.table(PRICES), "--targets=log", "--test=0")
        self.check_scale(said, np.log(PRICES), "log")
        self.assertRegex(said.text, r"targets: `price` is numbers, stored as \(log\(value\) - \S+\) / \S+; predict and exports give its")
        self.assertFalse(any("skewed" in line for line in said.checks))
        expected, run = said.array("train/targets"), said.run()
        applied = self.apply("arrays", self.table(PRICES, "new.csv"), run=run, has_targets=True)
        np.testing.assert_array_equal(applied.array("train/targets"), expected)
        self.assertIn("new.csv:3: `price`: expected a number above 0 for --targets=log, got 0",
                      self.apply("arrays", self.table([5, 0, 7], "new.csv"), run=run, has_targets=True).error)

    def test_logarithms_of_arrays_are_learned_and_taken_of_new_samples(self):
        said = self.read("arrays", self.arrays(PRICES), "--targets=log", "--test=0")
        self.check_scale(said, np.log(PRICES), "log")
        self.assertEqual([each["column"] for each in said.preparation()["features"]], ["1", "2"])
        expected = said.array("train/targets")
        applied = self.apply("arrays", self.arrays(PRICES), run=said.run(), has_targets=True)
        np.testing.assert_array_equal(applied.array("train/targets"), expected)
        self.assertEqual(applied.preparation(), said.preparation())
        images = self.read("arrays", self.arrays(PRICES[:4], np.zeros((4, 1, 2, 3), "u1") + np.arange(4, dtype="u1")[:, None, None, None]),
                           "--targets=log", "--test=0")
        self.assertEqual(len(images.preparation()["features"]), 6)

    def test_numbers_without_a_logarithm_are_refused(self):
        zero, negative = PRICES.copy(), PRICES.copy()
        zero[4], negative[5] = 0, -1.5
        way = ": --targets=log1p learns log(1 + value), also of 0"
        self.refused(f"train.csv:6: `price`: expected a number above 0 for --targets=log, got 0{way}", "arrays", self.table(zero),
                     "--targets=log")
        self.refused("train.csv:7: `price`: expected a number of at least 0 for --targets=log1p, got -1.5: say --targets=numbers", "arrays",
                     self.table(negative), "--targets=log1p")
        self.refused(f"set.npz: y_train: target number 4: expected a number above 0 for --targets=log, got 0{way}", "arrays",
                     self.arrays(zero), "--targets=log")
        self.check_scale(self.read("arrays", self.table(zero), "--targets=log1p", "--test=0"), np.log1p(zero), "log1p")
        self.check_scale(self.read("arrays", self.arrays(zero), "--targets=log1p", "--test=0"), np.log1p(zero), "log1p")

    def test_logarithms_are_proposed_for_tables_and_arrays(self):
        prices = np.exp(np.random.default_rng(1).normal(12, 0.8, 80))
        for source in (self.table(prices), self.arrays(prices)):
            said = self.read("arrays", source, "--test=0")
            self.assertTrue(any("--targets=log learns its logarithm" in line for line in said.checks), said.text)

    def test_constant_targets_are_refused(self):
        for source in (self.table([3.25] * 80), self.arrays(np.full(80, 3.25))):
            self.refused(f"{pathlib.Path(source).name}: y_train: ", "arrays", source)
            self.refused(": expected at least 2 different numbers, got 3.25 alone", "arrays", source)


if __name__ == "__main__":
    unittest.main()
