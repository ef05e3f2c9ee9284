"""Folders of sounds become data sets and new samples of a run, and what is left out or changed is told."""

import sys
import unittest
import unittest.mock

import numpy as np
from sound_case import SoundsCase, chunk, form, noise, riff, tone, wav

from skyline.prep import sound_kinds
from skyline.prep.errors import PrepError
from skyline.prep.sound_preparation import SoundPreparation


class Folders(SoundsCase):
    def test_a_folder_of_classes_becomes_spectrograms(self):
        self.words()
        said = self.made("--bands", "20")
        self.assertEqual((said.names(), said.array("train/values").shape), (["high", "low"], (10, 1, 20, 4)))
        self.assertEqual(said.array("test/targets").tolist(), [0, 1])
        made = SoundPreparation.from_json(said.run()["preparation"])
        self.assertEqual((made.rate, made.length, made.mel.window, made.mel.hop, made.mel.high), (8000, 800, 240, 160, 4000.0))
        samples = [made.read(path) for path in sorted(self.sounds.glob("high/*.wav"))]
        stored = said.array("train/values")[said.array("train/targets") == 0]
        self.assertTrue(all(any(np.array_equal(each, sample) for sample in samples) for each in stored))
        self.assertTrue(np.array_equal(self.made("--bands", "20", "--threads", "7").array("train/values"), said.array("train/values")))

    def test_samples_as_they_are_are_a_sequence(self):
        self.words(2)
        said = self.made("--features", "samples", "--test", 0)
        self.assertEqual(said.array("train/values").shape, (4, 1, 1, 800))
        self.assertLess(np.abs(said.array("train/values")[0, 0, 0] - tone(2000) - noise(seed=0, loud=0.01)).max(), 1e-4)

    def test_speakers_stay_in_one_part(self):
        for number, speaker in enumerate(["ann", "bob", "cy", "dee", "eve"]):
            for label in "01":
                self.put(f"{label}_{speaker}_{number}.wav", wav(noise(seed=2 * number + int(label))))
        said = self.made("--labels", "{class}_*", "--group", "*_{group}_*")
        self.assertIn("5 groups of sounds, e.g. `ann` (--group)", said.lines)
        self.assertEqual(np.unique(said.array("train/groups"), return_counts=True)[1].tolist(), [2, 2, 2, 2])
        self.assertEqual(said.array("test/targets").tolist(), [0, 1])

    def test_a_table_beside_the_sounds_has_classes_and_speakers(self):
        for number in range(8):
            self.put(f"audio/{number}.wav", wav(noise(seed=number)))
        self.put("metadata.csv", "filename,category,fold\n" + "".join(f"{number}.wav,{'ab'[number % 2]},{number // 2}\n" for number in range(8)))
        said = self.made("--label", "category", "--group", "fold")
        self.assertEqual(said.array("train/targets").tolist(), [0, 0, 0, 1, 1, 1])
        self.assertEqual(len(np.unique(said.array("train/groups"))), 3)

    def test_other_lengths_and_rates_need_an_option(self):
        self.words(3)
        self.put("high/9.wav", wav(noise(0.25)))
        self.refuse(f"{self.sounds}/high/9.wav: 0.25 s, and {self.sounds}/high/0.wav has 0.1 s: make them one length by --length")
        self.put("low/9.wav", wav(noise(0.04)))
        said = self.made("--length", 0.1)
        self.assertIn("length: 0.1 s: zeros follow 1 of 8 sounds, and 1 are cut at their ends (--length)", said.lines)
        self.assertEqual(said.array("train/values").shape[1:], (1, 40, 4))
        self.assertEqual(self.made("--length", "0.1s").preparation(), said.preparation())  # as --length of recordings is written
        said = self.made("--length", "auto")
        self.assertIn("length: 0.3 s, which leaves 95 of 100 sounds whole where that is at most 10 s; another one: --length", said.lines)
        self.put("low/9.wav", wav(tone(500, 0.1, 16000), 16000))
        self.put("high/9.wav", wav(noise(0.1)))
        self.refuse(f"{self.sounds}/low/9.wav: 16000 Hz, and {self.sounds}/high/0.wav has 8000 Hz: make them one rate by --rate")
        said = self.made("--rate", 8000, "--features", "samples", "--test", 0)
        self.assertIn("rate: 8000 Hz: 1 of 8 sounds are resampled (--rate)", said.lines)
        last = said.array("train/values")[-1, 0, 0]
        self.assertLess(np.abs(last - tone(500))[60:-60].max(), 2e-4)

    def test_options_that_make_no_sample_are_refused(self):
        self.words(2)
        for option, expected in (("--length=0.02", "--length: 0.02 s are shorter than a frame of 30 ms (--window)"),
                                 ("--high=5000", "--low and --high: expected 0 <= low < high <= 4000, half the rate, got 20 and 5000"),
                                 ("--low=4000", "--low and --high: expected 0 <= low < high <= 4000, half the rate, got 4000 and 4000"),
                                 ("--bands=200", "bands lie between two frequencies of a frame of 240 samples"),
                                 ("--rate=10", "--rate: expected a whole number from 1000 to 768000, got 10"),
                                 ("--length=601", "--length: expected a number of seconds above 0, at most 600, or auto, got 601"),
                                 ("--length=nan", "--length: expected a number of seconds above 0, at most 600, or auto, got nan"),
                                 ("--features=mfcc", "--features: expected `log-mel` or `samples`, got mfcc"),
                                 ("--size=4", "sounds: --size is an option of images")):
            self.refuse(expected, option)
        with self.assertRaisesRegex(PrepError, "^--length: samples of 1x1x16777217, expected at most 16777216 values$"):
            SoundPreparation(48000, 16777217).check()

    def test_damaged_sounds_are_left_out_by_name_and_silent_ones_counted(self):
        self.words()
        content = wav(noise())
        place = content.index(b"data") + 4
        self.put("high/claim.wav", content[:place] + b"\xf0\xff\xff\xff" + content[place + 4:])
        self.put("low/empty.wav", b"")
        self.put("low/notes.txt", b"no sound")
        self.put("low/quiet.wav", wav(np.zeros(800)))
        self.put("low/nan.wav", riff(form(3), chunk(b"data", np.full(800, np.nan, "<f4").tobytes())))
        said = self.made()
        self.assertIn(f"check: left out: {self.sounds}/high/claim.wav: damaged WAV: its header claims 4294967280 bytes of samples, and there are "
                      "1600", said.lines)
        self.assertIn(f"check: left out: {self.sounds}/low/empty.wav: the file is empty", said.lines)
        self.assertIn(f"check: left out: {self.sounds}/low/nan.wav: a value that is not finite", said.lines)
        self.assertIn("check: 3 files left out", said.lines)
        self.assertIn(f"check: {self.sounds}: files that are no sounds are not read: 1 .txt", said.lines)
        self.assertEqual([line for line in said.checks if "without any" in line or "one value" in line],
                         [f"check: 1 sound without any sound, e.g. `{self.sounds}/low/quiet.wav`"])
        self.assertEqual(len(said.array("train/values")) + len(said.array("test/values")), 13)
        self.refuse(f"{self.sounds}: more than 1 file cannot be read as sounds (--skip=N allows N)", "--skip", 1)

    def test_kinds_that_need_the_package_are_counted_with_what_to_install(self):
        self.words(2)
        self.put("low/a.flac", b"fLaC" + bytes(60))
        self.put("low/b.m4a", b"\0\0\0 ftypM4A " + bytes(60))
        with unittest.mock.patch.dict(sys.modules, {"soundfile": None}):
            sound_kinds.has_soundfile.cache_clear()
            self.addCleanup(sound_kinds.has_soundfile.cache_clear)
            said = self.made("--test", 0)
        self.assertIn(f"check: {self.sounds}: sounds of these kinds are left out, since they are not read: 1 FLAC, 1 M4A; {sys.executable} -m pip "
                      "install 'soundfile'", said.lines)

    def test_a_folder_without_sounds_says_so(self):
        self.put("a/1.txt", b"text")
        self.put("b/2.txt", b"text")
        self.refuse(f"{self.sounds}: no sound that can be read")
        self.put("a/1.wav", wav(noise()))
        self.refuse(f"{self.sounds}/b: a class without a sound to train on")

    def test_the_kind_of_a_folder_is_that_of_most_of_its_files(self):
        self.words(2)
        self.put("cover.png", b"no picture")
        said = self.prep("auto", "--", self.sounds)
        self.assertEqual((said.code, said.array("train/values").shape[1:]), (0, (1, 40, 4)))


class Runs(SoundsCase):
    def setUp(self):
        super().setUp()
        self.words()
        self.trained = self.made("--bands", "20", "--length", "0.1")

    def test_new_sounds_are_made_like_those_of_the_run(self):
        samples = tone(440, 0.3, 16000)
        new = self.write("new/other.wav", wav(samples, 16000))
        self.write("new/short.wav", wav(tone(440, 0.05)))
        self.write("new/bad.wav", b"RIFF")
        said = self.apply("auto", "--", self.folder / "new", run=self.trained.run())
        self.assertEqual(said.code, 0, said.error)
        self.assertEqual(said.rows["names"], [str(self.folder / "new" / name) for name in ("bad.wav", "other.wav", "short.wav")])
        self.assertEqual([bool(problem) for problem in said.rows["problems"]], [True, False, False])
        self.assertIn("rate: 8000 Hz: 1 of 2 sounds are resampled (--rate)", said.lines)
        made = SoundPreparation.from_json(self.trained.run()["preparation"])
        self.assertTrue(np.array_equal(said.array("train/values")[0], made.read(new)))
        self.assertEqual(said.run()["preparation"], self.trained.run()["preparation"])

    def test_new_sounds_far_outside_of_the_training_ranges_are_told(self):
        for number, (loud, expected) in enumerate(((1, False), (1e-3, True))):
            for name in range(3):
                self.write(f"new{number}/{name}.wav", wav((tone(440 + name) + noise(seed=name, loud=0.01)) * loud))
            said = self.apply("auto", "--", self.folder / f"new{number}", run=self.trained.run())
            told = [line for line in said.lines if line.startswith("check: 3 of 3 samples have values outside of those of the training data: "
                                                                   "`log-mel` has ")]
            self.assertEqual((said.code, bool(told)), (0, expected), said.lines)

    def test_classes_of_new_sounds_are_read_for_an_evaluation(self):
        said = self.apply("sounds", self.sounds, run=self.trained.run(), has_targets=True)
        self.assertEqual((said.code, len(said.array("train/targets")), said.names()), (0, 12, ["high", "low"]))

    def test_what_the_run_decides_and_other_sources_are_refused(self):
        run = self.trained.run()
        said = self.apply("sounds", self.sounds, "--rate=16000", run=run)
        self.assertEqual(said.error, "--rate: new sounds are prepared as the run's were")
        table = self.write("rows.csv", "a,label\n1,x\n2,y\n")
        said = self.apply("arrays", table, run=run)
        self.assertEqual(said.error, f"{table}: the run's samples are made of sounds, which are needed here, too (--kind sounds)")
        said = self.apply("auto", "--", table, run=run)
        self.assertEqual((said.code, said.error), (2, f"{table}: no sound that can be read"))
        said = self.apply("sounds", self.sounds, run={**run, "preparation": ""})
        self.assertEqual(said.error, f"{self.sounds}: has sounds, and the run's samples were made otherwise")
        said = self.apply("sounds", self.sounds, run={**run, "shape": [1, 40, 4]})
        self.assertIn("the run's preparation makes samples of (1, 20, 4), and its samples are (1, 40, 4)", said.error)
        said = self.apply("sounds", self.sounds, run={**run, "preparation": '{"sound":{"rate":8000}}'})
        self.assertIn("expected a preparation of sounds as `skyline prep` writes it", said.error)


if __name__ == "__main__":
    unittest.main()
