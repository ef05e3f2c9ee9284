"""What the tests of sounds share: they make WAV files of all kinds."""

import io
import struct
import wave

import numpy as np
import prep_case


def tone(hertz, seconds=0.1, rate=8000, loud=0.5):
    return loud * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def noise(seconds=0.1, rate=8000, seed=1, loud=0.1):
    return np.random.default_rng(seed).normal(0, loud, round(seconds * rate))


def whole_numbers(samples, bits):
    """Samples from -1 to 1 as bytes of whole numbers; those of 8 bits have no sign."""
    values = np.clip(np.round(np.asarray(samples, np.float64) * 2 ** (bits - 1)), -2 ** (bits - 1), 2 ** (bits - 1) - 1).astype(np.int64)
    if bits == 8:
        return (values + 128).astype(np.uint8).tobytes()
    return b"".join(int(value).to_bytes(bits // 8, "little", signed=True) for value in values.ravel())


def wav(samples, rate=8000, bits=16):
    """A file as the standard library writes it; `samples` are [n] or [n, channels]."""
    samples = np.asarray(samples)
    file = io.BytesIO()
    with wave.open(file, "wb") as opened:
        opened.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        opened.setsampwidth(bits // 8)
        opened.setframerate(rate)
        opened.writeframes(whole_numbers(samples, bits))
    return file.getvalue()


def chunk(name, content):
    return struct.pack("<4sI", name, len(content)) + content + bytes(len(content) % 2)


def riff(*chunks):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def form(tag, channels=1, rate=8000, bits=32, extra=b""):
    width = channels * bits // 8
    return chunk(b"fmt ", struct.pack("<HHIIHH", tag, channels, rate, rate * width, width, bits) + extra)


def extensible(tag, rate=8000, bits=24):
    guid = struct.pack("<H", tag) + bytes.fromhex("000000001000800000aa00389b71")
    return form(0xFFFE, rate=rate, bits=bits, extra=struct.pack("<HHI", 22, bits, 4) + guid)


class SoundsCase(prep_case.PrepCase):
    def setUp(self):
        super().setUp()
        self.sounds = self.folder / "sounds"
        self.sounds.mkdir()

    def put(self, name, content):
        return self.write(f"sounds/{name}", content)

    def words(self, count=6, seconds=0.1, rate=8000):
        """Two classes of tones."""
        for number in range(count):
            for label, hertz in (("low", 300), ("high", 2000)):
                self.put(f"{label}/{number}.wav", wav(tone(hertz + 10 * number, seconds, rate) + noise(seconds, rate, number, 0.01), rate))

    def made(self, *options):
        return self.read("sounds", self.sounds, *options)

    def refuse(self, expected, *options):
        return self.refused(expected, "sounds", self.sounds, *options)
