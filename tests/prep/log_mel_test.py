"""Spectrograms beside a slow reference, which has each sum of the formula."""

import json
import math
import unittest

import numpy as np
from sound_case import noise, tone

from skyline.prep.errors import PrepError
from skyline.prep.log_mel import LogMel, weights
from skyline.prep.sound_preparation import SoundPreparation


def mel(hertz):
    return 2595 * math.log10(1 + hertz / 700)


def reference(samples, of):
    """The formula of docs/data.md, sum by sum."""
    corners = [700 * (10 ** ((mel(of.low) + place * (mel(of.high) - mel(of.low)) / (of.bands + 1)) / 2595) - 1)
               for place in range(of.bands + 2)]
    made = np.empty((of.bands, of.num_frames(len(samples))))
    for frame in range(made.shape[1]):
        part = [samples[frame * of.hop + n] * (0.5 - 0.5 * math.cos(2 * math.pi * n / of.window)) for n in range(of.window)]
        power = []
        for k in range(of.fft // 2 + 1):
            angles = [2 * math.pi * k * n / of.fft for n in range(of.window)]
            real = math.fsum(value * math.cos(angle) for value, angle in zip(part, angles))
            imaginary = math.fsum(value * math.sin(angle) for value, angle in zip(part, angles))
            power.append(real * real + imaginary * imaginary)
        for band in range(of.bands):
            left, middle, right = corners[band:band + 3]
            energy = 0.0
            for k, each in enumerate(power):
                hertz = k * of.rate / of.fft
                energy += each * max(0.0, min((hertz - left) / (middle - left), (right - hertz) / (right - middle)))
            made[band, frame] = math.log(energy + 1e-6)
    return made


class Spectrograms(unittest.TestCase):
    def test_all_values_are_those_of_the_formula(self):
        samples = (tone(700, 0.05) + noise(0.05)).astype("float32")
        for of in (LogMel(8000, 100, 60, 8, 20.0, 4000.0), LogMel(8000, 64, 64, 5, 0.0, 3000.0), LogMel(8000, 129, 17, 3, 300.0, 2000.0)):
            self.assertLess(np.abs(of(samples) - reference(samples.astype(float), of)).max(), 2e-6)

    def test_a_second_of_16_khz_has_49_frames_of_40_bands(self):
        of = LogMel(16000, 480, 320, 40, 20.0, 8000.0)
        self.assertEqual((of.fft, of(noise(1, 16000)).shape), (512, (40, 49)))
        self.assertEqual([of.num_frames(length) for length in (0, 479, 480, 799, 800)], [0, 0, 1, 1, 2])

    def test_a_tone_is_loudest_in_its_band(self):
        of = LogMel(16000, 480, 320, 40, 20.0, 8000.0)
        for hertz in (200, 1000, 5000):
            band = int(of(tone(hertz, 1, 16000))[:, 20].argmax())
            self.assertGreater(weights(of)[band, round(hertz * 512 / 16000)], 0.3)

    def test_silence_is_the_logarithm_of_the_floor(self):
        self.assertTrue(np.array_equal(LogMel(8000, 240, 160, 40, 20.0, 4000.0)(np.zeros(800)), np.full((40, 4), np.float32(math.log(1e-6)))))


class Preparations(unittest.TestCase):
    def setUp(self):
        self.made = SoundPreparation(8000, 1000, LogMel(8000, 240, 160, 10, 20.0, 4000.0))

    def test_short_sounds_end_in_zeros_and_long_ones_are_cut(self):
        sound = noise(0.2)
        self.assertEqual(self.made.shape, (1, 10, 5))
        cut = self.made.features(sound)
        self.assertTrue(np.array_equal(cut, self.made.features(sound[:1000])))
        self.assertTrue(np.array_equal(self.made.features(sound[:500]), self.made.features(np.append(sound[:500], np.zeros(500)))))
        samples = SoundPreparation(8000, 4)
        self.assertEqual(samples.features(np.array([0.5, -0.5])).tolist(), [[[0.5, -0.5, 0, 0]]])

    def test_json_keeps_all_of_it(self):
        for made in (self.made, SoundPreparation(8000, 1000)):
            self.assertEqual(SoundPreparation.from_json(made.to_json()), made)
        self.assertEqual(json.loads(self.made.to_json())["sound"], {
            "rate": 8000, "length": 1000, "features": "log-mel", "window": 240, "hop": 160, "bands": 10, "low": 20.0, "high": 4000.0, "fft": 256})

    def test_other_texts_are_refused_before_memory_is_taken(self):
        node = json.loads(self.made.to_json())["sound"]
        for change in ({"rate": 10**9}, {"rate": "8000"}, {"rate": 8000.5}, {"length": 10**12}, {"length": 0}, {"window": 1001}, {"hop": 0},
                       {"bands": 10**6}, {"low": float("nan")}, {"low": -1}, {"high": 4001}, {"high": 20}, {"fft": 1 << 40}, {"features": "mfcc"},
                       {"length": 4_800_000, "hop": 1}, {"other": 1}, {"bands": True}):
            with self.subTest(change=change), self.assertRaises(PrepError):
                SoundPreparation.from_json(json.dumps({"sound": {**node, **change}}))
        for text in ("", "[]", "{}", '{"sound":3}', '{"sound":{}}', "[" * 100_000):
            with self.subTest(text=text[:9]), self.assertRaises(PrepError):
                SoundPreparation.from_json(text)


if __name__ == "__main__":
    unittest.main()
