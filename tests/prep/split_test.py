"""Draws of validation and test sets: shares of every class, whole groups, the last samples."""

import sys
import unittest

import numpy

from prep_case import SOURCE

sys.path.insert(0, str(SOURCE / "python"))

from skyline.prep.dataset import TEST, TRAIN, VALIDATION  # noqa: E402  (the tree's package)
from skyline.prep.errors import PrepError  # noqa: E402
from skyline.prep.split import Shares, draw_parts, shuffled  # noqa: E402

SEEDS = range(20)


def grouped(*members):
    """@param members  (group, class, number of samples) @return  labels and groups of all samples"""
    rows = [(label, group) for group, label, count in members for _ in range(count)]
    return numpy.array([row[0] for row in rows]), numpy.array([row[1] for row in rows])


class SplitTest(unittest.TestCase):
    def moved(self, labels, groups, seed=1, **shares):
        """@return  the groups of each part"""
        parts = draw_parts(labels, Shares(**{"test": 0.0, **shares}, seed=seed), groups)
        return [set(groups[parts == part].tolist()) for part in range(3)]

    def test_every_class_gives_its_share_rounded_down(self):
        random = numpy.random.default_rng(3)
        for seed in SEEDS:
            labels = random.choice(4, 100 + 13 * seed, p=[0.5, 0.1, 0.35, 0.05])
            parts = draw_parts(labels, Shares(0.15, 0.1, seed))
            for label in numpy.unique(labels):
                own, size = parts[labels == label], int((labels == label).sum())
                self.assertEqual(((own == TEST).sum(), (own == VALIDATION).sum()), (int(size * 0.15 + 1e-9), int(size * 0.1 + 1e-9)))

    def test_a_draw_is_known_by_its_seed_and_is_the_same_everywhere(self):
        labels = numpy.arange(60) % 3
        draws = [draw_parts(labels, Shares(0.2, 0.0, seed)) for seed in SEEDS]
        self.assertGreater(len({draw.tobytes() for draw in draws}), 15)
        self.assertTrue((draws[1] == draw_parts(labels, Shares(0.2, 0.0, 1))).all())
        self.assertEqual(shuffled(numpy.arange(10), 1, "class 0").tolist(), [2, 8, 4, 1, 6, 5, 9, 7, 3, 0])

    def test_the_last_samples_are_taken_in_their_order(self):
        parts = draw_parts(numpy.array([0, 1] * 5), Shares(0.2, 0.3, last=True))
        self.assertEqual(parts.tolist(), [TRAIN] * 5 + [VALIDATION] * 3 + [TEST] * 2)

    def test_shares_that_leave_nothing_to_train_on_are_refused(self):
        with self.assertRaisesRegex(PrepError, "--test and --validation: together they leave nothing to train on"):
            Shares(0.5, 0.5)

    def test_shares_are_described(self):
        for shares, options, expected in (
                (Shares(0.2), {}, "20 % of every class are the test set, drawn with seed 1"),
                (Shares(0.2, 0.125, 7), {}, "20 % of every class are the test set, 12.5 % the validation set, drawn with seed 7"),
                (Shares(0.0, 0.1), {}, "10 % the validation set, drawn with seed 1"),
                (Shares(0.2), {"has_classes": False}, "20 % of the samples are the test set, drawn with seed 1"),
                (Shares(0.2), {"is_grouped": True}, "about 20 % of the samples are the test set, in whole groups, drawn with seed 1"),
                (Shares(0.2, last=True), {}, "the last 20 % are the test set"),
                (Shares(0.0, 0.2, last=True), {}, "the last 20 % are the validation set"),
                (Shares(0.2, 0.1, last=True), {}, "the last 20 % are the test set, the 10 % before them the validation set"),
                (Shares(0.0), {}, "")):
            self.assertEqual(shares.text(**options), expected)

    def test_whole_groups_are_moved_up_to_the_share_of_each_class(self):
        labels, groups = grouped(*((group, group % 2, 20) for group in range(40)))
        choices = set()
        for seed in SEEDS:
            train, _, test = self.moved(labels, groups, seed, test=0.2)
            self.assertEqual((len(train), len(test), sum(group % 2 for group in test)), (32, 8, 4))
            choices.add(frozenset(test))
        self.assertGreater(len(choices), 15)

    def test_groups_of_unequal_sizes_come_close_to_the_share(self):
        random = numpy.random.default_rng(5)
        labels, groups = grouped(*((group, label, int(random.integers(12))) for group in range(60) for label in range(3)))
        for seed in SEEDS:
            moved = (draw_parts(labels, Shares(0.0, 0.25, seed), groups) == VALIDATION).sum()
            self.assertAlmostEqual(moved, 0.25 * len(labels), delta=40)  # a large group

    def test_one_group_is_moved_where_none_comes_closer_and_the_largest_never(self):
        labels, groups = grouped((0, 0, 90), (1, 0, 6), (2, 0, 4))
        for seed in SEEDS:
            self.assertEqual(self.moved(labels, groups, seed, test=0.01)[TEST], {2})
            self.assertLessEqual(self.moved(labels, groups, seed, test=0.3)[TEST], {1, 2})

    def test_as_many_groups_are_left_as_other_parts_need(self):
        labels, groups = grouped(*((group, 0, 5) for group in range(4)))
        self.assertEqual([len(each) for each in self.moved(labels, groups, test=0.8, validation=0.1)], [1, 1, 2])

    def test_the_only_group_of_a_class_stays_in_the_training_set(self):
        labels, groups = grouped(*((group, 0, 10) for group in range(10)), (10, 1, 10))
        for seed in SEEDS:
            self.assertNotIn(10, self.moved(labels, groups, seed, test=0.4)[TEST])

    def test_too_few_groups_and_groups_that_are_the_classes_are_refused(self):
        labels, groups = grouped((0, 0, 10), (1, 1, 10))
        with self.assertRaisesRegex(PrepError, "groups: expected at least 3, one for each part, got 2"):
            self.moved(labels, groups, test=0.2, validation=0.1)
        with self.assertRaisesRegex(PrepError, "groups: none can be the test set, since each has all training samples of a class"):
            self.moved(labels, groups, test=0.2)


if __name__ == "__main__":
    unittest.main()
