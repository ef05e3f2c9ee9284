"""What the tests of images share: they make images of all kinds."""

import io
import struct
import zlib

import numpy
import PIL.Image
import prep_case

RUN = {"shape": [1, 1, 2], "class_names": ["a", "b"], "targets": "classes", "value_scale": 255.0}


def made(channels, height, width, seed):
    """Returns an image of noise."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    return numpy.random.default_rng(seed).integers(0, 256, shape).astype("uint8")


def encoded(pixels, format, mode=None, **options):
    file = io.BytesIO()
    PIL.Image.fromarray(pixels, mode).save(file, format, **options)
    return file.getvalue()


def png(pixels):
    return encoded(pixels, "PNG")


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def raw_png(width, height, depth, colour_type, rows, extra=b""):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)) + extra
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def planes(pixels):
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


class ImagesCase(prep_case.PrepCase):
    def setUp(self):
        super().setUp()
        self.images = self.folder / "images"
        self.images.mkdir()

    def put(self, name, content):
        return self.write(f"images/{name}", content)

    def grey(self, name, two_pixels):
        """An image of 1 x 2."""
        return self.put(name, b"P5\n2 1\n255\n" + two_pixels.encode())

    def made(self, *options):
        return self.read("images", self.images, *options)

    def refuse(self, expected, *options):
        return self.refused(expected, "images", self.images, *options)

    def part(self, said, part):
        return said.array(f"{part}/values").tobytes().decode()

    def applied(self, *sources, run=RUN, has_targets=False):
        said = self.apply("images", *sources, run=run, has_targets=has_targets)
        self.assertEqual(said.code, 0, said.error)
        return said, said.rows
