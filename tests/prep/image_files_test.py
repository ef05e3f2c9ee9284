"""Image files of all kinds give their pixels in the size of a data set, or a reason why not."""

import io
import pathlib
import struct
import unittest
import zlib

import numpy
import PIL.features
import PIL.Image
from image_case import ImagesCase, chunk, encoded, made, planes, png, raw_png

from skyline.prep.image_files import PixelReader, read_header
from skyline.prep.image_kinds import IMAGE, image_kind
from skyline.prep.media import MediaProblem


class FileCase(ImagesCase):
    def pixels(self, content, channels=1, size=None, **options):
        path = str(self.put("image", content))
        header = read_header(path)
        return PixelReader((channels, *(size or (header.height, header.width))), **options)(path)

    def values(self, content, channels=1):
        return self.pixels(content, channels).values.transpose(1, 2, 0).ravel().tolist()

    def problem(self, content):
        with self.assertRaises(MediaProblem) as raised:
            self.pixels(content, 3)
        self.assertNotIn("\n", str(raised.exception))
        return str(raised.exception)


class Decoding(FileCase):
    def test_depths_palettes_and_transparency_become_eight_bits_of_grey_or_colour(self):
        self.assertEqual(self.values(raw_png(4, 1, 2, 0, b"\0\x1b")), [0, 85, 170, 255])
        self.assertEqual(self.values(raw_png(2, 1, 16, 0, b"\0\0\0\xff\xff")), [0, 255])
        self.assertEqual(self.values(raw_png(1, 1, 8, 4, b"\0\x2a\0")), [42])
        self.assertEqual(self.values(raw_png(1, 1, 8, 6, b"\0\1\2\3\0"), 3), [1, 2, 3])
        palette = chunk(b"PLTE", b"\x0a\x0b\x0c\x14\x15\x16")
        self.assertEqual(self.values(raw_png(2, 1, 8, 3, b"\0\1\0", palette), 3), [20, 21, 22, 10, 11, 12])
        gamma = chunk(b"gAMA", struct.pack(">I", 100000))
        self.assertEqual(self.values(raw_png(1, 1, 8, 0, b"\0\x80", gamma)), [128], "the values are those of the file")

    def test_values_of_more_than_eight_bits_are_known_as_they_are_merged(self):
        stored = numpy.array([0, 100, 200, 300], ">u2").tobytes()
        for content in (raw_png(4, 1, 16, 0, b"\0" + stored), b"P5 4 1 65535\n" + stored):
            pixels = self.pixels(content)
            self.assertEqual(pixels.values.ravel().tolist(), [0, 0, 1, 1])
            self.assertEqual(pixels.deep.tolist(), [0, 100, 200, 300])
        self.assertIsNone(self.pixels(b"P2 2 1 255 7 8").deep)

    def test_truncated_files_are_refused(self):
        image = made(3, 40, 40, 4)
        for format in ("PNG", "JPEG", "WEBP", "PPM"):
            content = encoded(image, format)
            for end in (len(content) // 2, len(content) - 30):
                self.assertIn("damaged ", self.problem(content[:end]), format)
        content = png(image)
        self.assertTrue(numpy.array_equal(self.pixels(content[:-12], 3).values, planes(image)), "a PNG that ends after its last row")

    def test_pnm_files_of_all_kinds_and_depths_are_read(self):
        self.assertEqual(self.values(b"P2 3 1\n# a comment\n255\n0 7 # another\n255\n"), [0, 7, 255])
        self.assertEqual(self.values(b"P3 1 2 15\n0 1 15 2 3 8", 3), [0, 17, 255, 34, 51, 136])
        self.assertEqual(self.values(b"P5 3 1 2\n\0\1\2"), [0, 128, 255], "halves go to the even number")
        self.assertEqual(self.values(b"P5 2 1 15\n\x0f\x10"), [255, 255], "more than the largest value")
        self.assertEqual(self.values(b"P5 3 1 65535\n\0\0\x80\0\xff\xff"), [0, 128, 255])
        self.assertEqual(self.values(b"P6 1 1 1023\n\x03\xff\0\0\2\0", 3), [255, 0, 128])
        self.assertEqual(self.values(b"P1\n3 2\n010 1 1 1"), [255, 0, 255, 0, 0, 0])
        self.assertEqual(self.values(b"P4\n9 2\n\x80\x80\x01\x00"), [0, *7 * [255], 0, *7 * [255], 0, 255])
        for content in (b"P2 2 1 9\n1 10", b"P2 2 1 9\n1", b"P1 2 1\n12", b"P4 9 1\na", b"P5 1 1 256\na", b"P5\n2 x\n255\nab",
                        b"P5\n2 0\n255\n"):
            with self.subTest(content):
                self.problem(content)

    def test_files_of_other_kinds_have_their_pixels(self):
        image = made(3, 20, 30, 5)
        formats = {"BMP": {}, "TIFF": {}, "JPEG2000": {"irreversible": False}, "PCX": {}, "SGI": {}, "DDS": {}, "QOI": {}, "AVIF": None}
        for format, options in formats.items():
            if format not in PIL.Image.SAVE or options is None and not PIL.features.check("avif"):
                continue
            values = self.pixels(encoded(image, format, **(options or {"quality": 100, "subsampling": "4:4:4"})), 3).values.astype(int)
            self.assertLessEqual(numpy.abs(values - planes(image)).max(), 0 if options is not None else 12, format)
        for compression in ("tiff_lzw", "tiff_deflate", "packbits"):
            self.assertTrue(numpy.array_equal(self.pixels(encoded(image, "TIFF", compression=compression), 3).values, planes(image)))
        grey = made(1, 20, 30, 6)
        self.assertEqual(self.pixels(encoded(grey, "GIF"), drops_colours=True).values.tolist(), [grey.tolist()])
        deep = self.pixels(encoded(grey.astype("uint16") * 257, "TIFF"))
        self.assertEqual((deep.values.tolist(), len(deep.deep)), ([grey.tolist()], len(numpy.unique(grey))))

    def test_values_that_are_no_pixels_are_refused(self):
        for kind in ("float32", "int32"):
            self.assertIn("values that are no pixels of 8 or 16 bits", self.problem(encoded(made(1, 4, 4, 1).astype(kind), "TIFF")))

    def test_the_first_of_several_frames_is_read(self):
        frames = [PIL.Image.fromarray(made(1, 8, 8, seed)) for seed in range(3)]
        for format in ("GIF", "TIFF", "PNG", "WEBP"):
            file = io.BytesIO()
            frames[0].save(file, format, save_all=True, append_images=frames[1:], **({"lossless": True} if format == "WEBP" else {}))
            path = self.put(f"a/{format}", file.getvalue())
            self.assertTrue(read_header(str(path)).has_frames, format)
            self.assertEqual(self.pixels(file.getvalue(), drops_colours=True).values.tolist(), [numpy.asarray(frames[0]).tolist()], format)
        self.put("b/1.png", png(made(1, 8, 8, 9)))
        self.assertIn("check: 4 files with several frames or pages: the first is read", self.made().lines)

    def test_photos_with_previews_are_read(self):
        photo = PIL.Image.fromarray(made(3, 96, 128, 3))
        file = io.BytesIO()
        photo.save(file, "MPO", save_all=True, append_images=[photo.resize((16, 12))])
        self.assertFalse(read_header(str(self.put("a/1.jpg", file.getvalue()))).has_frames)
        self.assertEqual(self.pixels(file.getvalue(), 3, (8, 8)).values.shape, (3, 8, 8))

    def test_jpeg_files_of_inks_become_colours(self):
        inks = numpy.full((16, 16, 4), (55, 155, 0, 127), "uint8")  # Pillow inverts them, as Adobe's programs do
        pixels = self.pixels(encoded(inks, "JPEG", "CMYK", quality=100), 3).values
        for channel, expected in zip(pixels, (100, 50, 128)):
            self.assertLessEqual(abs(channel.astype(int) - expected).max(), 2)

    def test_kinds_are_known_by_the_first_bytes(self):
        for start, kind in ((b"BM\x46\0\0\0\0\0\0\0\x36", "BMP"), (b"BMW is a car", ""), (b"GIF89a", "GIF"), (b"II*\0", "TIFF"),
                            (b"\0\0\0\x18ftypheic", "HEIC"), (b"", ""), (b"P5\n", "PNM"), (b"P5x", ""), (b"RIFFxxxxAVI ", "")):
            self.assertEqual(image_kind(start), kind, start)
        self.assertTrue(IMAGE.is_one(self.put("x.csv", png(made(1, 2, 2, 1)))))
        self.assertFalse(IMAGE.is_one(self.put("x.png", "a,b\n1,2\n")))
        self.assertFalse(IMAGE.is_one(pathlib.Path("nowhere")))

    def test_sizes_are_bounded_before_memory_is_taken(self):
        self.assertEqual(self.problem(raw_png(100_000, 2, 8, 0, b"")),
                         "expected at most 32768 pixels a side and 67108864 in all, got 2 x 100000")
        self.assertIn("got 30000 x 30000", self.problem(raw_png(30_000, 30_000, 8, 2, b"")))
        self.problem(raw_png(0, 3, 8, 2, b""))
        self.assertIn("got 99999 x 99999", self.problem(b"P5\n99999 99999\n255\nab"))
        jpeg = encoded(made(1, 8, 8, 5), "JPEG")
        frame = jpeg.index(b"\xff\xc0")
        self.assertIn("got 65535 x 65535", self.problem(jpeg[:frame + 5] + b"\xff\xff\xff\xff" + jpeg[frame + 9:]))

    def test_what_is_no_image_is_named(self):
        self.assertEqual(self.problem(b""), "the file is empty")
        for text in (b"hello", b"RIFFxxxxAVI ", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"\x89HDF\r\n\x1a\n" + bytes(90)):
            self.assertEqual(self.problem(text), "not a PNG, JPEG, WebP, PBM, PGM or PPM image, nor another that Pillow reads")

    def test_scans_and_texts_without_end_are_refused(self):
        jpeg = encoded(made(1, 32, 32, 1), "JPEG", progressive=True)
        scan = jpeg.rindex(b"\xff\xda")
        self.pixels(jpeg)
        self.assertEqual(self.problem(jpeg[:scan] + jpeg[scan:-2] * 600 + jpeg[-2:]), "damaged JPEG: more than 500 scans")
        bomb = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(100_000_000)))
        self.assertIn("damaged PNG: ", self.problem(raw_png(1, 1, 8, 0, b"\0\x07", bomb)))

    def test_mutated_files_are_decoded_or_refused(self):
        random = numpy.random.default_rng(7)
        image = made(3, 16, 16, 6)
        refused = 0
        for format in ("PNG", "JPEG", "WEBP", "PPM", "GIF", "TIFF", "BMP"):
            content = encoded(image, format)
            for _ in range(25):
                mutated = bytearray(content)
                for _ in range(random.integers(1, 5)):
                    mutated[random.integers(len(mutated))] = random.integers(256)
                if random.integers(4) == 0:
                    del mutated[random.integers(len(mutated)):]
                try:
                    self.assertEqual(self.pixels(bytes(mutated), 3, (8, 8)).values.shape, (3, 8, 8))
                except MediaProblem as problem:
                    self.assertNotIn("\n", str(problem))
                    refused += 1
        self.assertGreater(refused, 30)

    def test_files_are_turned_as_exif_says(self):
        corners = [[0, 80, 160, 240], [80, 0, 240, 160], [240, 160, 80, 0], [160, 240, 0, 80], [0, 160, 80, 240], [160, 0, 240, 80],
                   [240, 80, 160, 0], [80, 240, 0, 160]]
        y, x = numpy.mgrid[0:16, 0:32]
        image = (y // 8 * 160 + x // 16 * 80).astype("uint8")
        for format in ("JPEG", "PNG", "WEBP", "TIFF"):
            for number, expected in enumerate(corners, 1):
                exif = PIL.Image.Exif()
                exif[274] = number
                content = encoded(image, format, exif=exif)
                values = self.pixels(content, 1, drops_colours=True).values[0].astype(int)
                self.assertEqual(values.shape, (32, 16) if number >= 5 else (16, 32))
                found = [values[0, 0], values[0, -1], values[-1, 0], values[-1, -1]]
                self.assertLessEqual(numpy.abs(numpy.subtract(found, expected)).max(), 4, (format, number))

    def test_damaged_exif_parts_are_left_out(self):
        exif = PIL.Image.Exif()
        exif[274] = 6
        content = encoded(made(1, 8, 8, 9), "JPEG", exif=exif)
        begin = content.index(b"Exif") + 6
        random = numpy.random.default_rng(8)
        for _ in range(60):
            mutated = bytearray(content)
            for _ in range(random.integers(1, 7)):
                mutated[begin + random.integers(26)] = random.integers(256)
            self.assertEqual(self.pixels(bytes(mutated)).values.size, 64)


class Sizes(FileCase):
    def test_a_constant_stays_one_and_the_same_size_changes_nothing(self):
        image = made(3, 9, 14, 8)
        self.assertTrue(numpy.array_equal(self.pixels(png(image), 3).values, planes(image)))
        constant = png(numpy.full((9, 14, 3), 77, "uint8"))
        for side in (1, 5, 40):
            for fit in ("resize", "crop"):
                self.assertEqual(set(self.pixels(constant, 3, (side, side), fit=fit).values.ravel().tolist()), {77})

    def test_resizing_is_bilinear_and_antialiased(self):
        image = png((numpy.arange(24) ** 2 * 7 % 256).astype("uint8").reshape(4, 6))
        self.assertEqual(self.pixels(image, 1, (2, 3)).values.ravel().tolist(), [103, 85, 124, 200, 104, 96])

    def test_crop_takes_the_middle(self):
        image = png(numpy.array([[0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15]], "uint8"))
        self.assertEqual(self.pixels(image, 1, (2, 2), fit="crop").values.ravel().tolist(), [2, 3, 12, 13])

    def test_a_crop_of_a_long_line_takes_no_more_memory_than_its_result(self):
        self.assertEqual(self.pixels(png(made(1, 32768, 1, 1)), 1, (256, 256), fit="crop").values.size, 65536)

    def test_large_jpeg_files_are_decoded_at_a_fraction_of_their_size_with_values_within_two(self):
        y, x = numpy.mgrid[0:904, 0:1200]
        colours = 128 + 120 * numpy.sin(x / 23), 128 + 120 * numpy.cos(y / 17), numpy.abs((x + y) % 400 - 200)
        image = numpy.stack(colours, 2).astype("uint8")
        for orientation in (1, 6, 7):
            exif = PIL.Image.Exif()
            exif[274] = orientation
            jpeg = encoded(image, "JPEG", quality=90, exif=exif)
            whole = encoded(numpy.asarray(PIL.Image.open(io.BytesIO(jpeg))), "TIFF", exif=exif)
            for fit in ("resize", "crop"):
                for size in ((24, 24), (16, 64)):
                    values = [self.pixels(content, 3, size, fit=fit).values.astype(int) for content in (jpeg, whole)]
                    self.assertLessEqual(numpy.abs(values[0] - values[1]).max(), 2, (orientation, fit, size))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
