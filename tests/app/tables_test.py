"""Tables are taken by the names of their columns, from `prep` to predictions and exported models."""

import csv
import io
import json
import unittest

import numpy

from skyline_runs import SOURCE, RunsCase, read_json

CONFIG = """
data: {file: %s.h5, validation: 0.2}
space:
  parameters: {width: {choice: [8, 16]}}
  network: [{linear: {features: $width}}, relu, {linear: {features: $classes}}]
training: {epochs: %d, batch: 16, optimizer: {adam: {learning_rate: 1.0e-2}}}
objectives: [{%s}, {minimize: parameters}]
search: {algorithm: exhaustive}
final: {epochs: %d}
run: {seed: 1, events: false}
"""


def table(columns):
    """@param columns  texts by name"""
    rows = [",".join(columns)] + [",".join(row) for row in zip(*columns.values())]
    return "\n".join(rows) + "\n"


def texts(values, layout="%.3f"):
    return [layout % value for value in values]


class TablesTest(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.random = numpy.random.default_rng(1)

    def write(self, name, columns):
        (self.folder / name).write_text(table(columns))

    def searched(self, name, objective="maximize: validation_accuracy", epochs=5, final=10, prep=()):
        """@return  the test metrics of a trial on the front, and its number"""
        self.skyline("prep", "arrays", f"{name}.csv", "-o", f"{name}.h5", *prep)
        (self.folder / f"{name}.yaml").write_text(CONFIG % (name, epochs, objective, final))
        self.skyline("search", f"{name}.yaml", "--run", name, "--quiet")
        trial = next(trial for trial in read_json(self.folder / name / "models.json")["trials"] if "final" in trial)
        return trial["final"], trial["trial"]

    def predicted(self, run, trial, data, *options):
        return self.skyline("predict", run, "--trial", trial, "--data", data, *options).stdout

    def test_the_index_of_rows_tells_nothing_about_noise(self):
        columns = {"": [str(i) for i in range(600)]}
        for name in "abcde":
            columns[name] = texts(self.random.normal(size=600))
        columns["label"] = [word for word in "xyz" for _ in range(200)]
        self.write("noise.csv", columns)
        metrics, _ = self.searched("noise", epochs=20, final=20)
        self.assertLess(metrics["test_accuracy"], 0.5)

    def test_columns_in_another_order_and_an_index_change_no_prediction(self):
        x = self.random.normal(size=(300, 4))
        columns = {name: texts(x[:, i]) for i, name in enumerate(["a", "b", "c d", "e"])}
        columns["kind"] = numpy.where(x[:, 0] > x[:, 1], "left", "right").tolist()
        train = {name: values[:240] for name, values in columns.items()}
        test = {name: values[240:] for name, values in columns.items()}
        self.write("flowers.csv", train)
        metrics, trial = self.searched("flowers")
        self.assertGreater(metrics["test_accuracy"], 0.8)
        features = {name: test[name] for name in ["a", "b", "c d", "e"]}
        self.write("new.csv", features)
        self.write("reversed.csv", dict(reversed(features.items())))
        self.write("index.csv", {"": [str(i) for i in range(60)], **dict(reversed(features.items()))})
        self.write("labelled.csv", {"kind": test["kind"], **features})
        self.write("test.csv", test)
        expected = self.predicted("flowers", trial, "new.csv")
        for other in ("reversed.csv", "index.csv", "labelled.csv"):
            self.assertEqual(self.predicted("flowers", trial, other), expected, other)
        scores = self.skyline("evaluate", "flowers", "--trial", trial, "--data", "test.csv").stdout
        self.assertEqual(self.skyline("evaluate", "flowers", "--trial", trial, "--data", "labelled.csv").stdout, scores)
        self.skyline("prep", "arrays", "labelled.csv", "-o", "labelled.h5", "--test", "0", "--label", "kind")
        self.assertEqual(self.predicted("flowers", trial, "labelled.h5"), expected)
        refusal = self.skyline("evaluate", "flowers", "--trial", trial, "--data", "new.csv", expect=2).stderr
        self.assertIn("new.csv:1: the columns are not those of the training data: missing `kind`", refusal)
        self.write("other.csv", {"a": test["a"], "b": test["b"], "c": test["e"], "e": test["e"]})
        refusal = self.skyline("predict", "flowers", "--trial", trial, "--data", "other.csv", expect=2).stderr
        self.assertIn("missing `c d`; unknown `c` (--with drop= leaves columns out)", refusal)
        self.write("named.csv", {"who": [f"p{i}" for i in range(60)], **features})
        named = list(csv.reader(io.StringIO(self.predicted("flowers", trial, "named.csv", "--with", "id=who"))))
        self.assertEqual([row[0] for row in named], ["who", *(f"p{i}" for i in range(60))])
        self.assertEqual([row[1:] for row in named], [row[1:] for row in csv.reader(io.StringIO(expected))])
        self.write("gap.csv", {name: [""] for name in features})
        (row,) = csv.DictReader(io.StringIO(self.predicted("flowers", trial, "gap.csv")))
        self.assertEqual((row["row"], row["class"], row["error"][:23]), ("0", "", "`a`: expected a number,"))
        (self.folder / "said.csv").write_text("mine")
        refusal = self.skyline("predict", "flowers", "--trial", trial, "--data", "none.csv", "-o", "said.csv", expect=2).stderr
        self.assertIn("said.csv: exists already (--force overwrites it)", refusal, "told before the data are read")
        self.write("more.csv", {"z": test["e"], **features})
        self.assertEqual(self.predicted("flowers", trial, "more.csv", "--with", "drop=z"), expected)

    def test_tables_as_scikit_learn_has_them_give_the_same_bytes_for_any_order_of_columns(self):
        wine = ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids",
                "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280/od315_of_diluted_wines", "proline"]
        measures = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points",
                    "symmetry", "fractal dimension"]
        forms = {"wines": (178, wine, ["class_0", "class_1", "class_2"]),
                 "cancer": (569, [f"{kind} {name}" for kind in ("mean", "worst") for name in measures]
                            + [f"{name} error" for name in measures], ["0", "1"]),
                 "images": (400, [f"pixel_{row}_{column}" for row in range(8) for column in range(8)], list("0123456789"))}
        for name, (rows, features, classes) in forms.items():
            with self.subTest(name):
                self.check_orders(name, rows, features, classes)

    def check_orders(self, name, rows, features, classes):
        labels = self.random.integers(0, len(classes), rows)
        scale = 10.0 ** self.random.integers(-2, 4, len(features))
        centre = self.random.normal(size=(len(classes), len(features)))
        x = scale * (self.random.normal(size=(rows, len(features))) + 2 * centre[labels])
        if name == "images":
            x = numpy.clip(8 + 4 * x / scale, 0, 16).round()
        columns = {feature: texts(x[:, i], "%.6g") for i, feature in enumerate(features)}
        columns["target"] = [classes[label] for label in labels]
        cut = rows * 4 // 5
        test = {key: values[cut:] for key, values in columns.items()}
        self.write(f"{name}.csv", {key: values[:cut] for key, values in columns.items()})
        self.write("test.csv", test)
        metrics, trial = self.searched(name)
        self.assertGreater(metrics["test_accuracy"], 1.5 / len(classes))
        given = {}
        index = {"": texts(range(rows - cut), "%d")}
        for order in (list(test), list(reversed(test)), list(self.random.permutation(list(test)))):
            for first in ({}, index):
                table_of = {**first, **{key: test[key] for key in order}}
                self.write("test.csv", table_of)
                self.write("new.csv", {key: values for key, values in table_of.items() if key != "target"})
                self.skyline("prep", "arrays", f"{name}.csv", "test.csv", "-o", "set.h5", "--force")
                results = {"set": (self.folder / "set.h5").read_bytes(), "predict": self.predicted(name, trial, "new.csv"),
                           "predict with labels": self.predicted(name, trial, "test.csv"),
                           "evaluate": self.skyline("evaluate", name, "--trial", trial, "--data", "test.csv").stdout}
                for command, result in results.items():
                    self.assertEqual(given.setdefault(command, result), result, (command, order[:3], bool(first)))
        self.assertEqual(given["predict"], given["predict with labels"])

    def test_classes_of_one_sample_and_those_that_are_never_trained_are_told(self):
        columns = {"a": texts(self.random.normal(size=42)), "label": [f"w{i}" for i in range(12)] + 30 * ["many"]}
        self.write("rare.csv", columns)
        said = self.skyline("prep", "arrays", "rare.csv", "-o", "rare.h5").stdout
        self.assertIn("check: 12 of 13 classes with one sample: `w0`, `w1`, ", said)
        self.write("few.csv", {"a": columns["a"][:12], "label": columns["label"][:12]})
        self.assertIn("check: the test set is empty\n", self.skyline("prep", "arrays", "few.csv", "-o", "few.h5").stdout)
        (self.folder / "rare.yaml").write_text(CONFIG % ("rare", 1, "maximize: validation_accuracy", 1))
        told = self.skyline("validate", "rare.yaml")
        self.assertIn("2 of 13 classes have no sample to train on", told.stdout + told.stderr)

    def test_pixels_of_a_table_stay_with_their_names(self):
        x = self.random.integers(0, 256, size=(200, 6))
        columns = {f"p{i}": texts(x[:, i], "%d") for i in range(6)}
        self.write("pixels.csv", {"label": texts(x[:, 0] > x[:, 1], "%d"), **columns})
        _, trial = self.searched("pixels")
        self.write("right.csv", columns)
        self.write("wrong.csv", {"": texts(range(200), "%d"), **dict(reversed(columns.items()))})
        self.assertEqual(self.predicted("pixels", trial, "wrong.csv"), self.predicted("pixels", trial, "right.csv"))

    def test_rows_are_prepared_as_the_training_set_and_numbers_have_their_own_units(self):
        n = 300
        size = self.random.normal(size=n)
        near = self.random.choice(["bay", "inland", "sea"], n)
        stamp = 1.6e9 + self.random.uniform(-1, 1, n)
        price = 3e5 + 5e4 * size + 4e4 * (near == "sea") + 3e4 * (stamp - 1.6e9)
        columns = {"size": ["" if i % 10 == 3 else text for i, text in enumerate(texts(size))], "near": near.tolist(),
                   "stamp": texts(stamp, "%.4f"), "price": texts(price, "%.1f")}
        self.write("houses.csv", columns)
        metrics, trial = self.searched("houses", "minimize: validation_mse", epochs=10, final=60, prep=("--split", "last"))
        self.assertLess(metrics["test_mse"], 0.5)
        rows = list(csv.DictReader(io.StringIO(self.predicted("houses", trial, "houses.csv"))))
        said = numpy.array([float(row["price"]) for row in rows])
        self.assertLess(numpy.mean((said - price) ** 2), 0.5 * price.var())
        scored = self.skyline("evaluate", "houses", "--trial", trial, "--data", "houses.csv").stdout
        mse = float(scored.split("mse ")[1].split()[0])
        self.assertAlmostEqual(mse, numpy.mean((said - price) ** 2) / price[:n * 4 // 5].var(), delta=0.02 * mse)
        # The function of docs/models.md makes the samples that are in the data set.
        scope = {}
        code = (SOURCE / "docs/models.md").read_text().split("```python\nimport csv, json, numpy\n", 1)[1].split("```", 1)[0]
        exec("import numpy\n" + code, scope)
        self.skyline("export", "houses", "--trial", trial, "--format", "safetensors")
        file = (self.folder / f"houses/exports/{trial}.safetensors").read_bytes()
        header = json.loads(file[8:8 + int.from_bytes(file[:8], "little")])
        rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
        samples = scope["samples_of"](rows, json.loads(header["__metadata__"]["preparation"]))
        import h5py
        with h5py.File(self.folder / "houses.h5") as data:
            stored = numpy.concatenate([data["train/values"][:], data["test/values"][:]])
        numpy.testing.assert_array_equal(samples, stored.reshape(n, -1))
        self.assertEqual(samples.shape, (n, 6))
        # Samples that were made otherwise are none of the run's.
        numpy.savez(self.folder / "plain.npz", x_train=samples.astype("float32"), y_train=price.astype("float32"))
        self.skyline("prep", "arrays", "plain.npz", "-o", "plain.h5", "--test", "0")
        for command in ("predict", "evaluate"):
            refusal = self.skyline(command, "houses", "--trial", trial, "--data", "plain.h5", expect=2).stderr
            self.assertIn("was not prepared as the run's data: give the table or the arrays by --data", refusal)


if __name__ == "__main__":
    unittest.main()
