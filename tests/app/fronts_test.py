"""Fronts beside networks that people know: scripts/bench/fronts, on made-up sounds, pictures and tables."""

import csv
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import numpy

from prep_test import png
from signals_test import write_wave
from skyline_runs import PROGRAM, SOURCE, RunsCase, read_json

SCRIPT = SOURCE / "scripts/bench/fronts"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))
import fronts_results  # noqa: E402

PUBLISHED = {"ds_cnn_s": ((1, 10, 49), 2_656_640, 23_626), "lenet5": ((1, 28, 28), 416_520, 61_706),
             "resnet8": ((3, 32, 32), 12_501_632, 78_186)}
COUNTED = {"mobilenetv2_035": ((3, 32, 32), 11_350_144, 291_178)}  # by the sums of its paper's table, with strides for 32 x 32
TABLES = {"breast_cancer": "breast_cancer.csv", "wine": "wine_data.csv"}


class Fronts(RunsCase):
    def fronts(self, *words, expect=0):
        done = subprocess.run([sys.executable, SCRIPT, *words, "-o", "out", "--build", PROGRAM.parent.parent, "--seeds", "1"],
                              cwd=self.folder, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stdout if expect == 0 else done.stderr

    def rows(self, name):
        with open(self.folder / f"out/{name}.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def check_picture(self, name, rows):
        picture = xml.etree.ElementTree.parse(self.folder / f"out/{name}.svg").getroot()
        known = sum(row["search"] == "" for row in rows)
        self.assertEqual(len(picture.findall("{*}circle")), len(rows) - known)
        self.assertEqual(len([path for path in picture.findall("{*}path") if path.get("d").endswith("z")]), known)

    def test_spoken_digits_are_tested_by_speakers_who_are_in_no_other_part(self):
        random = numpy.random.default_rng(1)
        for speaker in range(6):
            for digit in range(10):
                for number in range(2):
                    tone = numpy.sin((600 + 300 * digit + 20 * speaker) * 2 * numpy.pi * numpy.arange(1600) / 8000)
                    write_wave(self.folder / f"spoken/{digit}_s{speaker}_{number}.wav", 0.3 * tone + random.normal(0, 0.02, 1600))
        words = "spoken_digits", "spoken", "--trials", "3", "--epochs", "1"
        told = self.fronts(*words)
        parts = self.folder / "out/spoken_digits-1"
        speakers = {part: {path.name.split("_")[1] for path in (parts / part).rglob("*.wav")} for part in ("train", "test")}
        self.assertEqual(speakers, {"test": {"s0", "s1"}, "train": {"s2", "s3", "s4", "s5"}})
        rows = self.rows("spoken_digits")
        self.assertEqual([rows[0][field] for field in ("network", "macs", "test_samples", "epochs")], ["DS-CNN-S", "2656640", "40", "3.0"])
        self.assertGreater(len(rows), 1)
        for row in rows[1:]:
            self.assertLessEqual(int(row["macs"]), 2656640)
        for run in ("ds_cnn_s", "front"):  # the samples are few enough for `init` to ask for a refit
            pareto = read_json(self.folder / f"out/spoken_digits-1-{run}/pareto.json")
            self.assertFalse([trial["trial"] for trial in pareto["final_front"] if "refit" in trial])
        self.check_picture("spoken_digits", rows)
        self.assertRegex(told, r"(?m)^DS-CNN-S +2,656,640 +23,626 +28,920 +16,000 ")
        self.assertRegex(told, r"(?m)^skyline: 3 trials, \d+ s, \d+ s of CPU$")
        self.assertEqual(self.fronts(*words), told, "runs that are there are only read")
        self.assertIn("expected files such as 7_jackson_32.wav of six speakers, found 0 speakers",
                      self.fronts("spoken_digits", "out", expect=1))

    def test_pictures_in_folders_have_resnet8_and_mobilenetv2_beside_them(self):
        random = numpy.random.default_rng(2)
        for part, count in (("train", 20), ("test", 5)):
            for label in range(10):
                folder = self.folder / "pictures" / part / str(label)
                folder.mkdir(parents=True)
                for number in range(count):
                    image = random.integers(0, 100, (32, 32, 3)) + 15 * label
                    (folder / f"{number}.png").write_bytes(png(image.astype("uint8")))
        told = self.fronts("cifar10", "pictures", "--trials", "2", "--epochs", "0.5", "--every", "2")
        names = lambda part: sorted(path.name for path in (self.folder / "out/cifar10-2" / part / "3").iterdir())
        self.assertEqual(names("train"), sorted(f"{number}.png" for number in range(20))[::2])
        self.assertEqual(len(names("test")), 5)
        rows = self.rows("cifar10")
        self.assertEqual([[row[field] for field in ("network", "macs", "test_samples")] for row in rows[:2]],
                         [["ResNet-8", "12501632", "50"], ["MobileNetV2", "11350144", "50"]])
        for network in ("ResNet-8", "MobileNetV2"):
            self.assertRegex(told, rf"(?m)^1 +{network} +(trial \d|none)")
            self.assertRegex(told, rf"(?m)^{network}: 3 trials, \d+ s, \d+ s of CPU$")
            self.assertRegex(told, rf"(?m)^front, as good as {network} +(-|[\d,]+ )")
        self.check_picture("cifar10", rows)

    def test_tables_have_boosting_and_perceptrons_beside_them_and_searches_each_other(self):
        random = numpy.random.default_rng(3)
        tables = self.folder / "tables"
        tables.mkdir()
        for file in TABLES.values():
            rows = [[*random.normal(number % 2, 1, 4), number % 2] for number in range(120)]
            (tables / file).write_text("120,4,no,yes\n" + "".join(",".join(f"{value:g}" for value in row) + "\n" for row in rows))
        told = self.fronts("tables", tables, "--trials", "3", "--epochs", "2", *(word for name in TABLES for word in ("--table", name)))
        for name in TABLES:
            for model in ("front, best", "gradient boosting, tuned", "perceptron, tuned", "linear, tuned"):
                self.assertRegex(told, rf"(?m)^{name} +{model} +0\.\d{{3}} +0\.\d{{3}} +[\d,]+ +[\d,]+ +\d+\.\d$")
        told = self.fronts("searches", SOURCE / "data", "--trials", "6", "--epochs", "1")
        for search in ("skyline", "random", "evolution_pareto"):
            self.assertRegex(told, rf"(?m)^{search}: \d trials, ")
            self.assertRegex(told, rf"(?m)^{search}, up to 20,000 MACs +(-|[\d,]+ )")
        self.assertEqual({row["search"] for row in self.rows("searches")}, {"skyline", "random", "evolution_pareto"})

    def test_networks_are_chosen_by_validation_alone(self):
        rows = [dict(macs=macs, validation=validation, test=test)
                for macs, validation, test in ((10, 0.5, 0.9), (20, 0.7, 0.6), (30, 0.7, 0.8), (40, 0.9, 0.5))]
        self.assertEqual(fronts_results.best_within(rows, "macs", 30)["macs"], 20)
        self.assertEqual(fronts_results.cheapest_as_good(rows, "macs", 0.6)["macs"], 20)
        self.assertIsNone(fronts_results.best_within(rows, "macs", 9))
        self.assertIsNone(fronts_results.cheapest_as_good(rows, "macs", 0.95))

    def test_the_cheapest_networks_that_validate_as_well_are_chosen_for_each_seed(self):
        row = lambda seed, network, macs, validation, test: dict(
            seed=seed, network=network, macs=macs, parameters=macs, int8_weight_bytes="", int8_peak_activation_bytes="",
            validation=validation, test=test, test_samples="", int8_test="")
        known = [row(1, "known", 90, 0.8, 0.8), row(2, "known", 90, 0.6, 0.6)]
        rows = [row(1, "a", 10, 0.7, 0.9), row(1, "b", 30, 0.8, 0.7), row(2, "c", 10, 0.65, 0.5), row(2, "d", 80, 0.9, 0.9)]
        lines = fronts_results.by_cost(rows, known, False, {"at most 20": 20})
        self.assertEqual([[line[0], line[1], line[5]] for line in lines],
                         [["known", "90", "0.7000"], ["front, as good as known", "20", "0.6000"], ["at most 20", "10", "0.7000"]])
        rows[3]["validation"] = rows[2]["validation"] = 0.5
        self.assertEqual(fronts_results.by_cost(rows, known, False, {})[1], ["front, as good as known", *["-"] * 8])

    def test_the_interval_is_wilsons(self):
        # Newcombe, Statistics in Medicine 17, 1998, table I, method 3
        for successes, samples, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
            for ours, theirs in zip(fronts_results.interval(successes / samples, samples), (low, high)):
                self.assertAlmostEqual(ours, theirs, 4)

    def test_the_known_networks_have_their_published_costs(self):
        networks = {**PUBLISHED, **COUNTED}
        self.assertEqual(set(networks), {path.stem for path in (SOURCE / "configs/known").iterdir()})
        for name, (shape, macs, parameters) in networks.items():
            random = numpy.random.default_rng(4)
            numpy.savez(self.folder / "made.npz", x=random.normal(size=(100, *shape)).astype("float32"), y=numpy.arange(100) % 10)
            self.skyline("prep", "arrays", "made.npz", "-o", "made.h5", "--force")
            (self.folder / "known.yaml").write_text(
                f"data: {{file: made.h5, validation: 0.2}}\nspace: {{file: {SOURCE}/configs/known/{name}.yaml}}\n"
                "training: {epochs: 1, optimizer: {adamw: {learning_rate: $rate}}}\n"
                "objectives: [{maximize: validation_accuracy}, {minimize: macs}]\nsearch: {algorithm: exhaustive}\n")
            self.skyline("search", "known.yaml", "--run", name, "--set", "training.epochs=0.1", "--quiet")
            with open(self.folder / name / "search_state.csv", encoding="utf-8") as file:
                self.assertEqual({(row["macs"], row["parameters"]) for row in csv.DictReader(file)}, {(str(macs), str(parameters))})


if __name__ == "__main__":
    unittest.main()
