"""Sounds and recordings from their folder to a front, and new ones through `predict`, `evaluate` and an exported model."""

import csv
import io
import json
import sys
import unittest
import wave

import h5py
import numpy
import onnxruntime

from skyline_runs import SOURCE, RunsCase, read_json

sys.path.insert(0, str(SOURCE / "python"))

from skyline.prep.sound_files import read_sound  # noqa: E402
from skyline.prep.sound_preparation import SoundPreparation  # noqa: E402  (the tree's package)

RATE = 8000
SHORT = ["--set", "search.trials=4", "--set", "training.epochs=3", "--set", "final.epochs=6", "--quiet"]


def write_wave(path, samples, rate=RATE):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(numpy.round(32767 * numpy.clip(samples, -1, 1)).astype("<i2").tobytes())


def said(text):
    return list(csv.DictReader(io.StringIO(text)))


class Signals(RunsCase):
    def spoken(self, folder, label, speaker, number, rate=RATE):
        """A rising or a falling tone with noise."""
        random = numpy.random.default_rng([number, speaker, label])
        times = numpy.arange(int(random.uniform(0.2, 0.3) * rate)) / rate
        hertz = 600 + 100 * speaker + (2 * label - 1) * 1500 * times
        path = self.folder / folder / f"{'fall rise'.split()[label]}_s{speaker}_{number}.wav"
        write_wave(path, 0.3 * numpy.sin(2 * numpy.pi * numpy.cumsum(hertz) / rate) + random.normal(0, 0.02, len(times)), rate)
        return path

    def test_sounds_from_a_folder_to_predictions(self):
        for speaker in range(6):
            for number in range(8):
                self.spoken("words", number % 2, speaker, number)
        out = self.skyline("init", "words", "-o", "words.yaml", "--time", "20s", "--with", "labels={class}_*", "--with",
                           "group=*_{group}_*", "--with", "bands=20").stdout
        for line in ("preset sound: ", "6 groups of sounds, e.g. `s0` (--with group=)", "length: 0.3 s, which leaves 95 of 100 sounds whole"):
            self.assertIn(line, out)
        self.assertIn("  augment: {time_shift: 1, time_mask: 2, frequency_mask: 3} ", (self.folder / "words.yaml").read_text())
        self.skyline("search", "words.yaml", "--run", "words_run", *SHORT, ranks=2)
        for number in range(3):
            self.spoken("new", 1, 7, number, rate=16000)
        (self.folder / "new/broken.wav").write_bytes(b"RIFF")
        done = self.skyline("predict", "words_run", "--trial", self.best("words_run"), "--data", "new")
        rows = {row["file"]: row for row in said(done.stdout)}
        self.assertEqual(sorted(rows), ["new/broken.wav", *(f"new/rise_s7_{number}.wav" for number in range(3))])
        self.assertEqual(rows["new/broken.wav"]["error"], "not a WAV sound, nor another that the package soundfile reads")
        self.check_export(rows)
        self.check_evaluation("words_run", "words", "words.h5")
        refused = self.skyline("predict", "words_run", "--trial", self.best("words_run"), "--data", "digits.h5", expect=2).stderr
        self.assertIn("samples are 1x8x8, the run's are 1x20x14", refused)
        numpy.savez(self.folder / "alike.npz", x=numpy.zeros((4, 1, 20, 14), "float32"), y=numpy.arange(4) % 2)
        refused = self.skyline("predict", "words_run", "--trial", self.best("words_run"), "--data", "alike.npz", "--kind", "arrays",
                               expect=2).stderr
        self.assertIn("alike.npz: the run's samples are made of sounds, which are needed here, too (--kind sounds)", refused)
        self.skyline("prep", "arrays", "alike.npz", "-o", "alike.h5", "--test", "0")
        refused = self.skyline("predict", "words_run", "--trial", self.best("words_run"), "--data", "alike.h5", expect=2).stderr
        self.assertIn("alike.h5: was not prepared as the run's data: give the sounds or the recordings themselves by --data", refused)

    def best(self, run):
        return read_json(self.folder / run / "pareto.json")["final_front"][0]["trial"]

    def check_export(self, rows):
        """The exported models say of features from the package, and of the samples of the sound, what `predict` says of the files."""
        written = self.skyline("export", "words_run", "--trial", self.best("words_run"), "--format", "onnx", "-o", "models").stdout.split()
        sessions = [onnxruntime.InferenceSession(str(self.folder / name)) for name in written]
        metadata = sessions[1].get_modelmeta().custom_metadata_map
        made = SoundPreparation.from_json(metadata["preparation"])
        self.assertEqual(metadata["input"], "2400 samples of a sound at 8000 Hz, from -1 to 1; the model makes the spectrogram")
        for name, row in rows.items():
            if row["error"]:
                continue
            path = str(self.folder / name)
            inputs = [made.read(path), made.whole(read_sound(path, made.rate, made.length))]
            outputs, of_sound = [session.run(None, {"input": values[None]})[0] for session, values in zip(sessions, inputs)]
            self.assertLessEqual(numpy.abs(of_sound - outputs).max(), 1e-5 * numpy.abs(outputs).max())
            logits = outputs[0].astype(float)
            shares = numpy.exp(logits - logits.max())
            shares = shares / shares.sum() if not 0.999 < logits.sum() < 1.001 else logits
            for share, label in zip(shares, json.loads(metadata["class_names"])):
                self.assertAlmostEqual(float(row[label]), share, delta=1e-4)

    def check_evaluation(self, run, folder, prepared):
        """The raw sounds of the run's own folder have the accuracy of its samples, of all parts together."""
        trial = self.best(run)

        def accuracy(*words):
            self.skyline("evaluate", run, "--trial", trial, *words, "-o", "measured.json", "--force")
            return read_json(self.folder / "measured.json")["metrics"]["accuracy"]

        with h5py.File(self.folder / prepared) as file:
            counts = {part: len(file[part]["targets"]) for part in ("train", "test")}
        expected = sum(count * accuracy("--data", prepared, "--part", part) for part, count in counts.items()) / sum(counts.values())
        self.assertAlmostEqual(accuracy("--data", folder, "--with", "labels={class}_*"), expected, 6)

    def test_recordings_from_a_folder_to_predictions(self):
        random = numpy.random.default_rng(3)

        def recording(activities):
            rows, time = [], 0.0
            for activity in activities:
                for _ in range(100):
                    time += 0.02
                    loud = 2.0 if activity == "run" else 0.1
                    rows.append(f"{time:.2f},{loud * numpy.sin(18 * time) + random.normal(0, 0.05):.4f},{9.8 + random.normal(0, 0.05):.4f},"
                                f"{activity}")
            return "time,x,z,activity\n" + "\n".join(rows) + "\n"

        (self.folder / "week").mkdir()
        for day in range(6):
            (self.folder / f"week/day{day}.csv").write_text(recording(["sit", "run", "sit", "run"]))
        refused = self.skyline("init", "week", "-o", "week.yaml", expect=2).stderr
        self.assertIn("--with length: the rows of a window are needed, e.g. --with length=128", refused)
        out = self.skyline("init", "week", "-o", "week.yaml", "--time", "20s", "--with", "length=0.64s").stdout
        self.assertIn("preset signals-short: ", out)
        self.assertIn("groups: files, 6 groups; test set: 1 of them", out)
        self.skyline("search", "week.yaml", "--run", "week_run", *SHORT)
        text = recording(["run", "sit"])
        (self.folder / "new.csv").write_text("\n".join(line.rpartition(",")[0] for line in text.split()) + "\n")
        rows = said(self.skyline("predict", "week_run", "--trial", self.best("week_run"), "--data", "new.csv").stdout)
        self.assertEqual(len(rows), (200 - 32) // 16 + 1)
        self.assertEqual(rows[1]["window"], "new.csv rows 17-48")
        self.assertEqual((rows[0]["class"], rows[-1]["class"]), ("run", "sit"))
        (self.folder / "loud.csv").write_text("time,x,z\n" + "".join(f"{0.02 * row:.2f},1,900\n" for row in range(50)))
        told = self.skyline("predict", "week_run", "--trial", self.best("week_run"), "--data", "loud.csv").stderr
        self.assertIn("2 of 2 samples have values outside of those of the training data: `z` has 900 to 900, in training ", told)
        (self.folder / "slow.csv").write_text("time,x,z\n" + "".join(f"{0.1 * row:.1f},1,2\n" for row in range(50)))
        refused = self.skyline("predict", "week_run", "--trial", self.best("week_run"), "--data", "slow.csv", expect=2).stderr
        self.assertIn("slow.csv: a row each 0.1 s, and those of the run each 0.02 s: bring them to one rate", refused)

    def test_numbers_of_recordings_are_predicted_in_their_units(self):
        random = numpy.random.default_rng(4)

        def recording():
            speeds = numpy.repeat(random.uniform(1, 5, 8), 40)
            phases = numpy.cumsum(0.4 * speeds)
            rows = [f"{numpy.sin(phase):.4f},{100 + 20 * speed:.2f}" for phase, speed in zip(phases, speeds)]
            return "x,pulse\n" + "\n".join(rows) + "\n"

        (self.folder / "days").mkdir()
        for day in range(6):
            (self.folder / f"days/{day}.csv").write_text(recording())
        self.skyline("init", "days", "-o", "days.yaml", "--time", "20s", "--with", "length=20", "--with", "label=pulse", "--with", "targets=numbers")
        self.skyline("search", "days.yaml", "--run", "days_run", *SHORT)
        rows = said(self.skyline("predict", "days_run", "--trial", self.best("days_run"), "--data", "days/0.csv").stdout)
        self.assertEqual((len(rows), rows[0]["window"]), (31, "days/0.csv rows 1-20"))
        self.assertTrue(100 < numpy.mean([float(row["pulse"]) for row in rows]) < 220, rows[0])
        self.skyline("evaluate", "days_run", "--trial", self.best("days_run"), "--data", "days/0.csv", "-o", "measured.json")
        self.assertGreater(read_json(self.folder / "measured.json")["samples"], 30)


if __name__ == "__main__":
    unittest.main()
