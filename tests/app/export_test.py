"""Models are taken out of a run: exported and measured by programs that are not Skyline, used, and trained further."""

import csv
import io
import json
import os
import shutil
import unittest

import h5py
import numpy
import onnxruntime

from skyline_runs import RunsCase, read_json, small_digits


class Export(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *small_digits(cls.digits), "--set", "run.keep_weights=all", "--run", "run")
        cls.trials = [trial for trial in read_json(cls.folder / "run/models.json")["trials"] if trial["phase"] == "search"]
        cls.front = cls.final_front("run")
        with h5py.File(cls.digits) as file:
            cls.images = file["test/values"][:].astype(numpy.float32)
            cls.labels = file["test/targets"][:]

    @classmethod
    def final_front(cls, run):
        trials = read_json(cls.folder / run / "models.json")["trials"]
        return [trial for trial in trials if trial["phase"] == "search" and trial.get("final", {}).get("on_front")]

    def outputs(self, path):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(None, {"input": self.images})[0]

    def refusal(self, *arguments):
        return self.skyline(*arguments, expect=2).stderr

    def test_the_front_has_its_test_accuracy_in_onnx_runtime(self):
        written = self.skyline("export", "run", "--front").stdout.split()
        self.assertEqual(len(written), len(self.front))
        for trial in self.front:
            outputs = self.outputs(self.folder / f"run/exports/{trial['trial']}.onnx")
            accuracy = (outputs.argmax(1) == self.labels).mean()
            self.assertAlmostEqual(accuracy, trial["final"]["test_accuracy"], 9)

    def test_a_model_says_where_it_comes_from(self):
        trial = self.front[0]
        self.skyline("export", "run", "--trial", trial["trial"])
        session = onnxruntime.InferenceSession(self.folder / f"run/exports/{trial['trial']}.onnx")
        metadata = session.get_modelmeta().custom_metadata_map
        self.assertEqual((metadata["run"], metadata["arch_id"], metadata["weights"]), ("run", trial["arch_id"], "final"))
        self.assertEqual(float(metadata["objective.flops"]), trial["costs"]["flops"])
        self.assertEqual(float(metadata["test_accuracy"]), trial["final"]["test_accuracy"])
        self.assertIn(f"width={trial['parameters']['width']}", metadata["genotype"])

    def test_the_weights_of_the_search_can_be_asked_for(self):
        number = self.front[0]["trial"]
        for weights in ("search", "final"):
            self.skyline("export", "run", "--trial", number, "--weights", weights, "-o", weights)
        search, final = (self.outputs(self.folder / weights / f"{number}.onnx") for weights in ("search", "final"))
        self.assertGreater(numpy.abs(search - final).max(), 1e-3)

    def test_a_search_can_export_its_front_at_the_end(self):
        self.skyline("search", *small_digits(self.digits), "--set", "search.iterations=1", "--set",
                     "final.export=[onnx, safetensors]", "--run", "exporting")
        front = self.final_front("exporting")
        self.assertEqual({path.name for path in (self.folder / "exporting/exports").iterdir()},
                         {f"{trial['trial']}.{format}" for trial in front for format in ("onnx", "safetensors")})

    def test_several_trials_can_be_named(self):
        written = self.skyline("export", "run", "--trial", "0,1", "--format", "safetensors").stdout.split()
        self.assertEqual(written, ["run/exports/0.safetensors", "run/exports/1.safetensors"])

    def test_a_pytorch_module_brings_its_weights(self):
        self.skyline("export", "run", "--trial", 0, "--format", "pytorch", "-o", "modules")
        self.assertEqual(sorted(path.name for path in (self.folder / "modules").iterdir()),
                         ["trial_0.py", "trial_0.safetensors"])
        compile((self.folder / "modules/trial_0.py").read_text(), "trial_0.py", "exec")

    def test_files_of_another_folder_are_not_overwritten_unasked(self):
        mine = self.folder / "mine/0.onnx"
        mine.parent.mkdir()
        mine.write_text("precious")
        self.assertIn("mine/0.onnx: exists already (--force overwrites it)",
                      self.refusal("export", "run", "--trial", 0, "-o", "mine"))
        self.assertEqual(mine.read_text(), "precious")
        self.skyline("export", "run", "--trial", 0, "-o", "mine", "--force")
        self.assertNotEqual(mine.read_bytes(), b"precious")

    def test_a_damaged_model_is_named_after_the_others_are_written(self):
        shutil.copytree(self.folder / "run", self.folder / "damaged")
        for number in (0, 2):
            file = self.folder / f"damaged/weights/{number}.h5"
            file.write_bytes(file.read_bytes()[:-100])
        done = self.skyline("export", "damaged", "--trial", "0,1,2,3", "--weights", "search", "-o", "sound", expect=2)
        self.assertEqual(done.stdout.split(), ["sound/1.onnx", "sound/3.onnx"])
        self.assertRegex(done.stderr, r"\Askyline: damaged/weights/0\.h5: .*\nskyline: damaged/weights/2\.h5: .*\n\Z")

    def test_a_search_exports_the_models_of_its_front_that_are_not_damaged(self):
        arguments = ["search", *small_digits(self.digits), "--set", "final.export=onnx", "--run", "half"]
        self.skyline(*arguments)
        exports = sorted((self.folder / "half/exports").iterdir())
        self.assertGreater(len(exports), 1)
        for path in exports:
            path.unlink()
        damaged = exports[0].stem
        (self.folder / f"half/weights/{damaged}.final.h5").write_bytes(b"")
        told = self.skyline(*arguments, "--resume").stderr
        self.assertRegex(told, rf"warning: not exported: half/weights/{damaged}\.final\.h5: ")
        self.assertEqual(sorted((self.folder / "half/exports").iterdir()), exports[1:])

    def test_weights_of_the_full_training_that_are_missing_are_not_replaced_by_those_of_the_search(self):
        shutil.copytree(self.folder / "run", self.folder / "missing")
        trial = self.front[0]["trial"]
        for kind, other, left in (("final", "search", f"{trial}.h5"), ("search", "final", f"{trial}.final.h5")):
            gone = self.folder / f"missing/weights/{trial}{'.final' * (kind == 'final')}.h5"
            kept = gone.read_bytes()
            gone.unlink()
            told = self.refusal("export", "missing", "--trial", trial, *(["--weights", kind] if kind == "search" else []))
            self.assertRegex(told, rf"{gone.name}: is not there; `--weights {other}` takes those of the trial's ")
            self.assertTrue((self.folder / "missing/weights" / left).exists())
            self.skyline("export", "missing", "--trial", trial, "--weights", other, "-o", f"missing-{other}")
            gone.write_bytes(kept)

    def test_weights_of_another_training_are_not_taken(self):
        shutil.copytree(self.folder / "run", self.folder / "mixed")
        shutil.copy(self.folder / "mixed/weights/1.h5", self.folder / "mixed/weights/0.h5")
        self.assertIn("mixed/weights/0.h5: is not of the last committed training of trial 0",
                      self.refusal("export", "mixed", "--trial", 0, "--weights", "search"))

    def test_a_run_may_have_any_name(self):
        name = os.fsdecode(b"mod\xe8le")  # no UTF-8
        shutil.copytree(self.folder / "run", self.folder / name)
        for format in ("pytorch", "onnx"):
            self.skyline("export", name, "--trial", 0, "--format", format, "-o", "named")
        compile((self.folder / "named/trial_0.py").read_bytes(), "trial_0.py", "exec")
        session = onnxruntime.InferenceSession(self.folder / "named/0.onnx")
        self.assertEqual(session.get_modelmeta().custom_metadata_map["run"], "mod\\xe8le")

    def test_mistakes_are_told_in_one_line(self):
        last = self.trials[-1]["trial"]
        for arguments, message in (
                (["run"], "expected either --trial NUMBER or --front"),
                (["run", "--front", "--trial", 1], "expected either --trial NUMBER or --front"),
                (["run", "--trial", last + 1], f"--trial {last + 1}: run has no such trial"),
                (["nothing", "--front"], "nothing: not a run folder"),
                (["run", "--front", "--format", "tf"], "--format: got `tf`, known here: c, onnx, onnx-int8, pytorch, safetensors, tflite")):
            with self.subTest(arguments):
                text = self.refusal("export", *arguments)
                self.assertIn(message, text)
                self.assertEqual(text.count("\n"), 1)

    def predictions(self, *arguments):
        rows = list(csv.reader(io.StringIO(self.skyline("predict", "run", "--trial", self.front[0]["trial"], "--data",
                                                        *arguments).stdout)))
        self.assertEqual(rows[0], ["row", "class", *map(str, range(10))])
        self.assertEqual([row[0] for row in rows[1:]], [str(i) for i in range(len(rows) - 1)])
        return rows[1:]

    def expect_same(self, found, expected):
        """Rows of predictions are equal but for rounding: some processors add in another order in a batch of another size."""
        self.assertEqual([row[:-10] for row in found], [row[:-10] for row in expected])
        values = [numpy.array([row[-10:] for row in rows], float) for rows in (found, expected)]
        self.assertLess(numpy.abs(values[0] - values[1]).max(), 1e-5)

    def test_predictions_are_those_of_onnx_runtime(self):
        number = self.front[0]["trial"]
        self.skyline("export", "run", "--trial", number)
        outputs = self.outputs(self.folder / f"run/exports/{number}.onnx").astype(float)
        expected = numpy.exp(outputs) / numpy.exp(outputs).sum(1, keepdims=True)
        rows = self.predictions(self.digits)
        self.assertLess(numpy.abs(numpy.array([row[2:] for row in rows], float) - expected).max(), 1e-4)
        self.assertEqual([row[1] for row in rows], [str(each) for each in expected.argmax(1)])

    def test_samples_without_targets_are_read_as_prep_reads_them(self):
        numpy.savez(self.folder / "samples.npz", x=self.images[:9].astype(numpy.uint8))
        self.expect_same(self.predictions("samples.npz"), self.predictions(self.digits)[:9])
        folder = self.folder / "pictures/deep"
        folder.mkdir(parents=True)
        for name in ("1.pgm", "2.pgm"):
            (folder / name).write_bytes(b"P5\n10 12\n255\n" + bytes(range(120)))
        (folder / "3.pgm").write_bytes(b"P5\n10")
        self.assertIn("pictures: more than 0 files cannot be read as images (--with skip=N allows N), the last of them pictures/"
                      "deep/3.pgm", self.refusal("predict", "run", "--trial", 0, "--data", "pictures", "--with", "skip=0"))
        self.assertIn("pictures: the largest value is 255, that of the run's data 16",
                      self.refusal("predict", "run", "--trial", 0, "--data", "pictures"))

    def test_samples_are_read_as_the_run_has_them_and_need_no_options(self):
        images = self.images[:9].astype(numpy.uint8)
        numpy.savez(self.folder / "last.npz", x=images.reshape(9, 8, 8, 1))
        numpy.savez(self.folder / "grey.npz", x=images.reshape(9, 8, 8))
        numpy.savez(self.folder / "rows.npz", x=images.reshape(9, 64))
        rows = images.reshape(9, 64).tolist()
        (self.folder / "rows.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        (self.folder / "labelled.csv").write_text(
            "".join(",".join(map(str, [*row, label])) + "\n" for row, label in zip(rows, self.labels)))
        for name in ("last.npz", "grey.npz", "rows.npz", "rows.csv", "labelled.csv"):
            with self.subTest(name):
                self.expect_same(self.predictions(name), self.predictions(self.digits)[:9])
        self.assertIn("rows.csv:1: expected a column with targets (--with label=), got 64 with features",
                      self.refusal("evaluate", "run", "--trial", 0, "--data", "rows.csv"))

    def test_an_array_that_is_not_found_is_named_by_an_option_of_the_command(self):
        numpy.savez(self.folder / "named.npz", pictures=self.images[:9].astype(numpy.uint8))
        self.assertIn("no array `x_test`, there are pictures: name it by --with x-test=NAME",
                      self.refusal("predict", "run", "--trial", 0, "--data", "named.npz"))
        self.expect_same(self.predictions("named.npz", "--with", "x-test=pictures"), self.predictions(self.digits)[:9])

    def test_a_test_set_alone_is_evaluated(self):
        images = self.images.astype(numpy.uint8)
        numpy.savez(self.folder / "alone.npz", x_test=images, y_test=self.labels)
        numpy.savez(self.folder / "plain.npz", x=images, y=self.labels)
        trial = self.front[0]
        for name in ("alone.npz", "plain.npz"):
            for part in ([], ["--part", "test"]):
                told = self.skyline("evaluate", "run", "--trial", trial["trial"], "--data", name, *part).stdout
                self.assertAlmostEqual(float(told.split()[1]), trial["final"]["test_accuracy"], delta=1e-4)
                classes = {row[0]: (int(row[1]), int(row[2]), float(row[3])) for row in map(str.split, told.splitlines()) if row[0].isdigit()}
                self.assertEqual({name: samples for name, (samples, _, _) in classes.items()},
                                 {str(label): int((self.labels == label).sum()) for label in set(self.labels)})
                right = sum(number for _, number, _ in classes.values())
                self.assertAlmostEqual(right / len(self.labels), trial["final"]["test_accuracy"], 9)
                for samples, number, recall in classes.values():
                    self.assertAlmostEqual(recall, number / samples, 4)
            self.assertIn("no samples in this part",
                          self.refusal("evaluate", "run", "--trial", 0, "--data", name, "--part", "train"))

    def test_a_validation_set_alone_is_evaluated(self):
        numpy.savez(self.folder / "held.npz", x_val=self.images.astype(numpy.uint8), y_val=self.labels)
        for part in ([], ["--part", "validation"]):
            told = self.skyline("evaluate", "run", "--trial", self.front[0]["trial"], "--data", "held.npz", *part).stdout
            self.assertAlmostEqual(float(told.split()[1]), self.front[0]["final"]["test_accuracy"], delta=1e-4)

    def test_a_data_set_in_the_layout_is_evaluated_as_it_is_and_a_damaged_one_refused(self):
        with h5py.File(self.digits) as source, h5py.File(self.folder / "own.h5", "w") as file:
            file.attrs.update(format="skyline-dataset", version=2, value_scale=16.0)
            for name in ("class_names", "train/values", "train/targets", "test/values", "test/targets"):
                file[name] = source[name][:]
            values = source["test/values"][:].tobytes()
        told = self.skyline("evaluate", "run", "--trial", self.front[0]["trial"], "--data", "own.h5").stdout
        self.assertAlmostEqual(float(told.split()[1]), self.front[0]["final"]["test_accuracy"], delta=1e-4)
        damaged = bytearray(self.digits.read_bytes())
        damaged[damaged.index(values)] ^= 1
        (self.folder / "damaged.h5").write_bytes(damaged)
        self.assertIn("damaged: the checksum of test/values does not match",
                      self.refusal("evaluate", "run", "--trial", 0, "--data", "damaged.h5"))

    def test_numbers_that_are_no_pixels_are_named(self):
        rows = self.images[:2].astype(int).reshape(2, 64).tolist()
        rows[1][0] = 300
        (self.folder / "large.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        self.assertIn("large.csv: expected whole numbers from 0 to 16, as the run's data are, got others",
                      self.refusal("predict", "run", "--trial", 0, "--data", "large.csv"))

    def test_the_front_predicts_and_is_evaluated_as_a_whole(self):
        numpy.savez(self.folder / "few.npz", x=self.images[:3].astype(numpy.uint8))
        said = list(csv.DictReader(io.StringIO(self.skyline("predict", "run", "--front", "--data", "few.npz").stdout)))
        members = [str(each["trial"]) for each in self.front]
        self.assertGreater(len(members), 1)
        self.assertEqual([(row["row"], row["trial"]) for row in said],
                         [(str(row), trial) for trial in sorted(members, key=int) for row in range(3)])
        one = self.predictions("few.npz")
        self.assertEqual([row["class"] for row in said if row["trial"] == members[0]], [row[1] for row in one])
        told = self.skyline("evaluate", "run", "--front", "--data", self.digits, "-o", "all.json").stdout
        measured = {each["trial"]: each["metrics"]["accuracy"] for each in read_json(self.folder / "all.json")}
        self.assertEqual(measured, {str(each["trial"]): each["final"]["test_accuracy"] for each in self.front})
        self.assertEqual([line for line in told.splitlines() if line.startswith("trial ")],
                         [f"trial {trial}" for trial in sorted(members, key=int)])

    def test_the_trials_that_have_weights_are_named(self):
        without = next(each["trial"] for each in self.trials if each["trial"] not in [one["trial"] for one in self.front])
        shutil.copytree(self.folder / "run", self.folder / "fewer")
        for path in (self.folder / "fewer/weights").glob(f"{without}.*"):
            path.unlink()
        self.assertRegex(self.refusal("predict", "fewer", "--trial", without, "--data", self.digits),
                         rf"trial {without} has no weights in fewer/weights: run.keep_weights was \w+, those that have are [\d, ]+\n")

    def test_rows_are_numbered_as_in_the_source_whatever_is_drawn(self):
        images = self.images[:20].astype(numpy.uint8)
        numpy.savez(self.folder / "drawn.npz", x_train=images)
        said = list(csv.reader(io.StringIO(self.skyline(
            "predict", "run", "--trial", self.front[0]["trial"], "--data", "drawn.npz", "--with", "test=0.5").stdout)))[1:]
        rows = [int(row[0]) for row in said]
        self.assertEqual(len(rows), 10)
        self.assertEqual(rows, sorted(rows))
        self.assertNotEqual(rows, list(range(10)))
        self.expect_same([row[1:] for row in said], [self.predictions(self.digits)[row][1:] for row in rows])

    def test_predictions_are_of_the_part_that_is_asked_for(self):
        images = self.images.astype(numpy.uint8)
        numpy.savez(self.folder / "parts.npz", x_train=images[:5], x_val=images[5:9], x_test=images[9:20])
        rows = [row[1:] for row in self.predictions(self.digits)]
        for part, begin, end in (("train", 0, 5), ("validation", 5, 9), ("test", 9, 20)):
            said = self.predictions("parts.npz", "--part", part)
            self.expect_same([row[1:] for row in said], rows[begin:end])
        self.assertEqual(len(self.predictions("parts.npz")), 11)

    def test_an_evaluation_repeats_the_test_of_a_full_training(self):
        trial = self.front[0]
        told = self.skyline("evaluate", "run", "--trial", trial["trial"], "--data", self.digits, "-o", "measured.json").stdout
        self.assertIn("of 355 samples", told)
        measured = read_json(self.folder / "measured.json")
        self.assertEqual(measured["metrics"], {"accuracy": trial["final"]["test_accuracy"]})
        self.assertEqual((measured["arch_id"], measured["samples"]), (trial["arch_id"], 355))

    def test_classes_are_matched_by_name(self):
        fives = self.labels == 5
        arrays = {"x_train": self.images[fives].astype(numpy.uint8), "y_train": self.labels[fives]}
        arrays = {name: numpy.concatenate([each, each]) for name, each in arrays.items()}
        numpy.savez(self.folder / "fives.npz", **arrays)
        told = self.skyline("evaluate", "run", "--trial", self.front[0]["trial"], "--data", "fives.npz").stdout
        found = [row[1] for row in self.predictions(self.digits)]
        share = numpy.mean([found[i] == "5" for i in numpy.flatnonzero(fives)])
        self.assertAlmostEqual(float(told.split()[1]), share, delta=1e-4)
        numpy.savez(self.folder / "others.npz", x_train=arrays["x_train"], y_train=arrays["y_train"] + 7)
        self.assertIn("others.npz: the run does not know the class `12`",
                      self.refusal("evaluate", "run", "--trial", 0, "--data", "others.npz"))

    def test_samples_of_another_shape_are_refused(self):
        numpy.savez(self.folder / "wide.npz", x=numpy.zeros((3, 1, 8, 9), numpy.uint8))
        self.assertIn("wide.npz: samples are 1x8x9, the run's are 1x8x8",
                      self.refusal("predict", "run", "--trial", 0, "--data", "wide.npz"))

    def test_a_pipe_in_the_place_of_samples_is_refused_at_once(self):
        os.mkfifo(self.folder / "pipe")
        for command in ("predict", "evaluate"):
            self.assertIn("pipe: expected a file, found a pipe or a device", self.refusal(command, "run", "--trial", 0, "--data", "pipe"))

    def test_models_json_has_the_layers_of_models_with_weights(self):
        for trial in self.trials:
            kinds = [layer["kind"] for layer in trial["layers"]]
            self.assertEqual(kinds.count("conv2d"), trial["parameters"]["depth"])
            self.assertEqual(sum(layer["parameters"] for layer in trial["layers"]), trial["costs"]["parameters"])

    def test_trials_are_trained_further_as_a_run_of_their_own(self):
        files = {path: path.read_bytes() for path in (self.folder / "run").rglob("*") if path.is_file()}
        for name, ranks in (("long", 0), ("long2", 2)):
            self.skyline("train", "run", "--trial", "1,0", "--epochs", 2, "--run", name, "--quiet", ranks=ranks)
        self.assertEqual(self.canonical("long"), self.canonical("long2"))
        self.assertEqual({path: path.read_bytes() for path in files}, files)
        trials = read_json(self.folder / "long/models.json")["trials"]
        searched, trained = trials[:2], trials[2:]
        for taken, number in zip(searched, (1, 0)):
            self.assertEqual(taken["metrics"], self.trials[number]["metrics"])
            self.assertEqual(taken["arch_id"], self.trials[number]["arch_id"])
        self.assertEqual([(trial["phase"], trial["epochs"]) for trial in trained], [("final", 2.0)] * 2)
        self.assertTrue(all(trial["metrics"]["test_accuracy"] > 0 for trial in trained))
        self.assertTrue((self.folder / "long/weights/1.final.h5").exists())
        self.assertIn("numbers: [1, 0]", (self.folder / "long/config.yaml").read_text())

    def test_a_further_training_is_resumed_like_a_search(self):
        arguments = ["train", "run", "--front", "--epochs", 2, "--run", "resumed", "--quiet"]
        self.skyline(*arguments, "--resume")
        whole = self.canonical("resumed")
        journal = self.folder / "resumed/journal.jsonl"
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
        self.assertIn("holds a run already: add --resume", self.refusal(*arguments))
        self.skyline(*arguments, "--resume")
        self.assertEqual(self.canonical("resumed"), whole)
        self.assertIn("`search.genotypes", self.refusal("train", "run", "--trial", self.trials[-1]["trial"], "--epochs", 2,
                                                        "--run", "resumed", "--resume"))
        self.assertIn("is only read", self.refusal("train", "run", "--front", "--epochs", 2, "--run", "run"))

    def test_trials_are_trained_with_several_seeds(self):
        arguments = ["train", "run", "--trial", "1,0", "--epochs", 1, "--seeds", 3, "--quiet", "--run"]
        told = self.skyline(*arguments, "seeds").stdout
        trained = [trial for trial in read_json(self.folder / "seeds/models.json")["trials"] if trial["phase"] == "final"]
        self.assertEqual(len({trial["seed"] for trial in trained}), 6)
        groups = read_json(self.folder / "seeds/pareto.json")["seeds"]
        self.assertEqual({group["arch_id"] for group in groups}, {self.trials[number]["arch_id"] for number in (0, 1)})
        for group in groups:
            of_group = [trial for trial in trained if trial["arch_id"] == group["arch_id"]]
            self.assertEqual(group["trials"], [trial["trial"] for trial in of_group])
            for metric in ("validation_accuracy", "test_accuracy"):
                values = [trial["metrics"][metric] for trial in of_group]
                self.assertEqual(group["metrics"][metric]["count"], 3)
                self.assertAlmostEqual(group["metrics"][metric]["mean"], numpy.mean(values), 12)
                self.assertAlmostEqual(group["metrics"][metric]["deviation"], numpy.std(values, ddof=1), 12)
                self.assertIn(f"{numpy.mean(values):.4f}", told[told.index("over their seeds"):])
        self.kill_after(7, *arguments, "killed")
        self.skyline(*arguments, "killed", "--resume")
        self.assertEqual(self.canonical("killed"), self.canonical("seeds"))
        killed, whole = (read_json(self.folder / run / "pareto.json") for run in ("killed", "seeds"))
        self.assertEqual({**killed, "run": ""}, {**whole, "run": ""})

    def test_a_training_that_was_killed_before_its_journal_begins_anew(self):
        arguments = ["train", "run", "--trial", "0", "--epochs", 1, "--quiet", "--run", "early"]
        self.skyline(*arguments)
        whole = self.canonical("early")
        for more in (["--resume"], []):
            for path in (self.folder / "early").iterdir():
                if path.is_dir() and path.name != "logs":
                    shutil.rmtree(path)
                elif path.name not in ("config.yaml", "logs"):
                    path.unlink()
            self.assertIn("repeat that command", self.refusal("search", "--run", "early", "--resume"))
            self.skyline(*arguments, *more)
            self.assertEqual(self.canonical("early"), whole)

    def test_a_profile_tells_what_each_layer_takes(self):
        trial = self.trials[0]
        told = json.loads(self.skyline("profile", "run", "--trial", trial["trial"], "--json").stdout)
        names = [name for layer in told["layers"] for name in (layer["name"], *layer["with"])]
        self.assertEqual(sorted(names), sorted(layer["name"] for layer in trial["layers"]))
        parts = sum(layer["forward_s"] + layer["backward_s"] for layer in told["layers"])
        parts += told["batch_s"] + told["loss_s"] + told["update_s"]
        self.assertAlmostEqual(parts, told["parts_s"], 12)
        self.assertLess(abs(told["parts_s"] / told["step_s"] - 1), 0.25, told)
        self.assertEqual((told["device"], told["batch"], told["threads"]), ("CPU", 32, 1))
        self.assertGreater(told["most_bytes"], max(layer["grown_bytes"] for layer in told["layers"]))
        table = self.skyline("profile", "run", "--trial", trial["trial"]).stdout
        for name in names:
            self.assertIn(name, table)
        self.assertIn("--trial 999: run has no such trial", self.refusal("profile", "run", "--trial", 999))

    def test_a_run_is_only_read(self):
        files = {path: path.stat().st_mtime_ns for path in (self.folder / "run").rglob("*") if "exports" not in path.parts}
        self.skyline("export", "run", "--front", "--format", "pytorch")
        self.assertEqual({path: path.stat().st_mtime_ns for path in files}, files)


if __name__ == "__main__":
    unittest.main()
