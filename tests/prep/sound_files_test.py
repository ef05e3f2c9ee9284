"""Sound files of all forms become the same samples, and damaged ones a line."""

import io
import os
import random
import struct
import sys
import types
import unittest
import unittest.mock
import wave

import numpy as np
from sound_case import SoundsCase, chunk, extensible, form, noise, riff, tone, wav, whole_numbers

from skyline.prep import sound_kinds
from skyline.prep.media import MediaProblem
from skyline.prep.resampling import frames_needed, resampled
from skyline.prep.sound_files import read_sound, read_sound_header
from skyline.prep.sound_kinds import SOUND, sound_kind


class Forms(SoundsCase):
    def problem(self, content, rate=8000):
        path = self.put("some.wav", content)
        with self.assertRaises(MediaProblem) as raised:
            read_sound(str(path), rate, 800)
        return str(raised.exception)

    def values(self, content, rate=8000, most=10_000):
        return read_sound(str(self.put("some.wav", content)), rate, most)

    def test_whole_numbers_of_all_widths_are_those_that_were_written(self):
        samples = tone(440)
        for bits in (8, 16, 24, 32):
            with self.subTest(bits=bits):
                self.assertLess(np.abs(self.values(wav(samples, bits=bits)) - samples).max(), 1.01 * 2.0 ** (1 - bits) + 1e-7)
        ends = np.array([-1.0, 1.0])
        self.assertEqual(self.values(wav(ends, bits=16)).tolist(), [-1.0, np.float32(32767 / 32768)])
        self.assertEqual(self.values(wav(ends, bits=8)).tolist(), [-1.0, np.float32(127 / 128)])

    def test_floats_and_extensible_formats_are_read(self):
        samples = tone(440)
        for bits in (32, 64):
            content = riff(form(3, bits=bits), chunk(b"data", samples.astype(f"<f{bits // 8}").tobytes()))
            self.assertTrue(np.array_equal(self.values(content), samples.astype("float32")))
        content = riff(extensible(1), chunk(b"data", whole_numbers(samples, 24)))
        self.assertLess(np.abs(self.values(content) - samples).max(), 2e-7)
        self.assertEqual(self.problem(riff(form(3), chunk(b"data", struct.pack("<2f", 1, np.nan)))), "a value that is not finite")
        self.assertEqual(self.problem(riff(form(3, bits=64), chunk(b"data", struct.pack("<d", 1e300)))), "a value that is not finite")

    def test_channels_become_their_mean(self):
        left, right = tone(440), tone(1000)
        self.assertLess(np.abs(self.values(wav(np.stack([left, right], 1))) - (left + right) / 2).max(), 4e-5)
        self.assertFalse(self.values(wav(np.stack([left, -left], 1))).any())
        self.assertEqual(read_sound_header(str(self.sounds / "some.wav")).channels, 2)

    def test_chunks_around_the_samples_are_passed_over(self):
        samples = tone(440)
        plain = wav(samples)
        body = [chunk(b"LIST", b"odd"), form(1, bits=16), chunk(b"bext", bytes(700)), chunk(b"data", whole_numbers(samples, 16)),
                chunk(b"id3 ", b"tag")]
        self.assertTrue(np.array_equal(self.values(riff(*body)), self.values(plain)))

    def test_a_stream_of_unknown_length_ends_with_its_file(self):
        content = wav(tone(440))
        place = content.index(b"data") + 4
        self.assertTrue(np.array_equal(self.values(content[:place] + b"\xff\xff\xff\xff" + content[place + 4:]), self.values(content)))

    def test_claims_that_the_file_does_not_hold_are_damage(self):
        content = wav(tone(440))
        place = content.index(b"data") + 4
        claim = content[:place] + struct.pack("<I", 0xFFFFFFF0) + content[place + 4:]
        self.assertEqual(self.problem(claim), "damaged WAV: its header claims 4294967280 bytes of samples, and there are 1600")
        self.assertEqual(self.problem(content[:-1]), "damaged WAV: its header claims 1600 bytes of samples, and there are 1599")
        self.assertEqual(self.problem(content[:44]), "damaged WAV: its header claims 1600 bytes of samples, and there are 0")
        self.assertEqual(self.problem(content[:30]), "damaged WAV: a format of 10 bytes")
        self.assertEqual(self.problem(content[:12]), "damaged WAV: no format in it")
        self.assertEqual(self.problem(riff(chunk(b"data", b"12"), form(1, bits=16))), "damaged WAV: no samples in it")
        self.assertEqual(self.problem(riff(form(1, bits=16), chunk(b"data", b""))), "a sound without samples")
        self.assertEqual(self.problem(riff(form(1, channels=0), chunk(b"data", b"12"))), "damaged WAV: 0 channels, 0 bytes for all of them")
        self.assertEqual(self.problem(riff(form(1, channels=65, bits=8), chunk(b"data", bytes(65)))), "expected at most 64 channels, got 65")
        self.assertEqual(self.problem(riff(form(1, rate=10, bits=8), chunk(b"data", bytes(65)))),
                         "expected 1000 to 768000 samples of a second, got 10")
        self.assertEqual(self.problem(b""), "the file is empty")
        self.assertEqual(self.problem(b"no sound"), "not a WAV sound, nor another that the package soundfile reads")
        self.assertEqual(self.problem(riff(*[chunk(b"junk", b"")] * 2000)), "damaged WAV: no format in it")

    def test_other_codecs_and_kinds_need_the_package_and_say_so(self):
        with unittest.mock.patch.dict(sys.modules, {"soundfile": None}):
            sound_kinds.has_soundfile.cache_clear()
            self.addCleanup(sound_kinds.has_soundfile.cache_clear)
            self.assertEqual(self.problem(riff(form(17, bits=4, channels=2), chunk(b"data", bytes(64)))),
                             "a WAV file of codec 17 with 0 bytes for a value, which needs the package soundfile")
            self.assertEqual(self.problem(b"fLaC" + bytes(60)), "a FLAC file, which is not read")
            self.assertEqual((SOUND.other_kind(str(self.sounds / "some.wav")), SOUND.is_read("WAV")), (("FLAC", True), True))

    def test_the_package_reads_what_it_knows_and_its_errors_are_damage(self):
        class Opened:
            samplerate, frames, channels = 8000, 4, 2

            def __init__(self, descriptor, closefd):
                assert not closefd
                if b"bad" in os.read(descriptor, 100):
                    raise RuntimeError("no frame\nto read")

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

            def read(self, frames, dtype, always_2d):
                assert (dtype, always_2d) == ("float32", True)
                return np.full((min(frames, 3), 2), 0.25, "float32")

        library = types.ModuleType("soundfile")
        library.SoundFile = Opened
        with unittest.mock.patch.dict(sys.modules, {"soundfile": library}):
            sound_kinds.has_soundfile.cache_clear()
            self.addCleanup(sound_kinds.has_soundfile.cache_clear)
            self.assertEqual(self.values(b"fLaC good", most=3).tolist(), [0.25] * 3)
            self.assertEqual(self.problem(b"fLaC short"), "damaged FLAC: its header claims 4 samples, and there are 3")
            self.assertEqual(self.problem(b"fLaC bad"), "damaged FLAC: no frame\\x0ato read")

    def test_kinds_are_known_by_their_first_bytes(self):
        for start, kind in ((b"RIFF\0\0\0\0WAVEfmt ", "WAV"), (b"RF64\0\0\0\0WAVEds64", "RF64"), (b"fLaC", "FLAC"), (b"OggS", "OGG"),
                            (b"FORM\0\0\0\0AIFC", "AIFF"), (b"ID3\4", "MP3"), (b"\xff\xfb\x90", "MP3"), (b"\0\0\0 ftypM4A ", "M4A"),
                            (b"RIFF\0\0\0\0WEBP", ""), (b"\xff\xd8\xff", ""), (b"", "")):
            self.assertEqual(sound_kind(start), kind)

    def test_mutated_files_are_read_or_are_a_problem(self):
        draw = random.Random(7)
        contents = [wav(noise(0.02)), riff(extensible(3, bits=32), chunk(b"LIST", b"abc"), chunk(b"data", noise(0.02).astype("<f4").tobytes())),
                    wav(np.stack([noise(0.02), noise(0.02)], 1), bits=24)]
        problems = 0
        for number in range(600):
            content = bytearray(contents[number % 3])
            for _ in range(draw.randint(1, 6)):
                place = draw.randrange(min(len(content), 70))
                choice = draw.randrange(4)
                if choice == 0:
                    content[place] = draw.randrange(256)
                elif choice == 1:
                    content[place:place + 4] = struct.pack("<I", draw.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000]))
                elif choice == 2:
                    del content[place:place + draw.randint(1, 9)]
                else:
                    content[place:place] = bytes(draw.randint(1, 9))
            path = self.put("mutated.wav", bytes(content))
            try:
                values = read_sound(str(path), 8000, 400)
                self.assertTrue(len(values) <= 400 and np.isfinite(values).all())
            except MediaProblem as problem:
                self.assertNotIn("\n", str(problem))
                problems += 1
        self.assertGreater(problems, 150)
        self.assertLess(problems, 600)


class Rates(unittest.TestCase):
    def test_a_tone_stays_a_tone_at_another_rate(self):
        for source, target in ((44100, 16000), (8000, 16000), (16000, 8000), (48000, 44100), (11025, 8000), (8001, 8000), (8000, 8000)):
            with self.subTest(source=source, target=target):
                made = resampled(tone(1000, 0.5, source), source, target)
                self.assertEqual(len(made), -(-round(0.5 * source) * target // source))
                inner = slice(len(made) // 4, 3 * len(made) // 4)
                self.assertLess(np.abs(made - tone(1000, 1, target)[:len(made)])[inner].max(), 1e-4)

    def test_tones_above_half_the_new_rate_vanish(self):
        made = resampled(tone(6000, 0.5, 44100), 44100, 8000)
        self.assertLess(np.abs(made[200:-200]).max(), 1e-3)

    def test_a_constant_stays_and_the_beginning_depends_on_the_frames_that_are_needed(self):
        self.assertLess(np.abs(resampled(np.ones(2000), 44100, 16000)[50:-50] - 1).max(), 1e-12)
        sound = np.random.default_rng(3).normal(size=9000)
        for source, target in ((44100, 16000), (8000, 16000), (16000, 16000)):
            needed = frames_needed(300, source, target)
            self.assertTrue(np.array_equal(resampled(sound[:needed], source, target)[:300], resampled(sound, source, target)[:300]))

    def test_what_the_standard_library_reads_is_the_same(self):
        content = wav(noise(0.05), bits=16)
        with wave.open(io.BytesIO(content)) as opened:
            expected = np.frombuffer(opened.readframes(opened.getnframes()), "<i2") / 32768
        case = Forms()
        case.setUp()
        self.addCleanup(case.doCleanups)
        self.assertTrue(np.array_equal(case.values(content), expected.astype("float32")))


if __name__ == "__main__":
    unittest.main()
