"""New samples in arrays, for the networks of a run."""

import json
import unittest

import numpy as np
from array_files import npz
from prep_case import PrepCase

IMAGES = np.arange(9 * 8 * 8).reshape(9, 1, 8, 8).astype("u1")
LABELS = np.arange(9) % 3


class ArraysForRuns(PrepCase):
    def new(self, *options: str, has_targets: bool = True, run: "dict[str, object] | None" = None, **entries: np.ndarray):
        self.write("new.npz", npz(entries))
        data = {"shape": [1, 8, 8], "class_names": ["0", "1", "2"], "targets": "classes", "value_scale": 255.0, **(run or {})}
        return self.apply("arrays", "new.npz", *options, run=data, has_targets=has_targets)

    def applied(self, *options: str, **more):
        said = self.new(*options, **more)
        self.assertEqual(said.code, 0, said.error)
        return said

    def test_samples_without_targets_are_read_by_themselves(self):
        made = self.applied(has_targets=False, x=IMAGES)
        self.assertEqual(made.array("test/values").tolist(), IMAGES.tolist())
        self.assertEqual(made.rows, {"title": "row", "may_fail": False, "names": [str(row) for row in range(9)], "problems": [""] * 9,
                                       "parts": [2] * 9})
        self.assertIn("no array `x_test`, there are pictures: name it by --x-test=NAME",
                      self.new(has_targets=False, pictures=IMAGES).error)
        named = self.applied("--x-test=pictures", has_targets=False, pictures=IMAGES)
        self.assertEqual(len(named.array("test/values")), 9)

    def test_parts_keep_their_rows(self):
        made = self.applied(has_targets=False, x_train=IMAGES[:2], x_val=IMAGES[2:5], x_test=IMAGES[5:])
        self.assertEqual(made.rows["parts"], [0, 0, 1, 1, 1, 2, 2, 2, 2])
        self.assertEqual(made.rows["names"], ["0", "1", "0", "1", "2", "0", "1", "2", "3"])
        made = self.applied("--test=0.5", "--seed=4", has_targets=False, x_train=IMAGES)
        drawn = made.rows
        of_test = [int(name) for name, part in zip(drawn["names"], drawn["parts"]) if part == 2]
        self.assertEqual(made.array("test/values").tolist(), IMAGES[of_test].tolist())

    def test_targets_are_read_with_and_without_a_training_set(self):
        for names in (("x_test", "y_test"), ("x", "y"), ("x_val", "y_val"), ("x_train", "y_train")):
            made = self.applied(**{names[0]: IMAGES, names[1]: LABELS})
            part = {"x_val": "validation", "x_train": "train"}.get(names[0], "test")
            self.assertEqual(made.array(f"{part}/targets").tolist(), LABELS.tolist(), names)
        made = self.applied(run={"targets": "numbers", "class_names": ["0"]}, x_test=IMAGES, y_test=LABELS)
        self.assertEqual(made.array("test/targets")[:, 0].tolist(), LABELS.tolist())
        made = self.applied(x_test=IMAGES[:2], y_test=np.array([1, 1]))  # one class is enough here
        self.assertEqual(made.names(), ["1"])

    def test_the_shape_of_the_runs_samples_decides_what_dimensions_are(self):
        for array in (IMAGES.reshape(9, 8, 8, 1), IMAGES.reshape(9, 8, 8), IMAGES.reshape(9, 64)):
            made = self.applied(has_targets=False, x=array)
            self.assertEqual(made.array("test/values").tolist(), IMAGES.tolist())
        rgb = np.arange(9 * 4 * 4 * 3).reshape(9, 4, 4, 3).astype("u1")
        made = self.applied(has_targets=False, run={"shape": [3, 4, 4]}, x=rgb)
        self.assertEqual(made.array("test/values").tolist(), rgb.transpose(0, 3, 1, 2).tolist())
        made = self.applied(has_targets=False, run={"shape": [50, 1, 1], "value_scale": 1.0}, x=np.zeros((9, 50), "f4"))
        self.assertEqual(made.array("test/values").shape, (9, 50, 1, 1))
        made = self.applied(has_targets=False, run={"shape": [5, 1, 20], "value_scale": 1.0}, x=np.zeros((9, 20, 5), "f4"))
        self.assertEqual(made.array("test/values").shape, (9, 5, 1, 20))

    def test_dimensions_that_fit_in_two_ways_are_asked_about(self):
        for dimensions, first, last in (((3, 3, 3), "nchw", "nhwc"), ((8, 8), "ncl", "nlc")):
            x = np.arange(9 * np.prod(dimensions)).reshape(9, *dimensions).astype("f4")
            run = {"shape": [x.shape[1], 1 if x.ndim == 3 else x.shape[1], x.shape[1]], "value_scale": 1.0}
            self.assertIn(f"may have its channels first or last: say --layout={first} or {last}",
                          self.new(has_targets=False, run=run, x=x).error)
            made = self.applied(f"--layout={last}", has_targets=False, run=run, x=x).array("test/values")
            self.assertEqual(made.reshape(x.shape).tolist(), np.moveaxis(x, -1, 1).tolist())
        self.applied(has_targets=False, run={"shape": [1, 1, 1], "value_scale": 1.0}, x=np.zeros((9, 1, 1, 1), "f4"))

    def test_the_scale_of_pixels_is_the_runs(self):
        for options, scale in (((), 16), (("--value-scale=255",), 255)):
            made = self.applied(*options, has_targets=False, run={"value_scale": 16.0}, x=IMAGES)
            self.assertEqual(self.scale_of(made), scale)

    def scale_of(self, made) -> float:
        import h5py

        with h5py.File(made.file) as file:
            return file.attrs["value_scale"]

    def test_what_was_subtracted_from_the_training_samples_is_subtracted_again(self):
        preparation = {"has_names": False, "features": [{"column": "1", "subtract": 1.6e9, "range": [0, 8]}, {"column": "2"}]}
        run = {"shape": [2, 1, 1], "value_scale": 1.0, "preparation": json.dumps(preparation)}
        times = np.array([[1.6e9 + row / 4, row] for row in range(9)])
        made = self.applied(has_targets=False, run=run, x=times)
        self.assertEqual(made.array("test/values").reshape(9, 2).tolist(), [[row / 4, row] for row in range(9)])
        self.assertEqual(made.preparation(), preparation)
        made = self.applied(has_targets=False, run=run, x=times.astype("f4"))
        self.assertEqual(made.array("test/values").reshape(9, 2).tolist(), [[0, row] for row in range(9)])
        words = {"has_names": True, "features": [{"column": "a", "is": "x"}, {"column": "b"}]}
        made = self.applied(has_targets=False, run={**run, "preparation": json.dumps(words)}, x=times)
        with self.assertRaises(KeyError):  # the words of a table: the program refuses these samples
            made.preparation()


if __name__ == "__main__":
    unittest.main()
