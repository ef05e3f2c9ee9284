"""Images as Pillow writes them, and as people have them, give Pillow's pixels or a line that tells why not."""

import random
import unittest

import h5py
import numpy
import PIL.Image
import PIL.ImageOps

from skyline_runs import RunsCase

HEIGHT, WIDTH = 24, 36
ORIENTATION = 274  # in EXIF


def pattern():
    y, x = numpy.mgrid[0:60, 0:90]
    return PIL.Image.fromarray(numpy.stack([x * 5 // 2 % 256, y * 4 % 256, (x + y) % 256], 2).astype("uint8")), x


class Pillow(RunsCase):
    def write_all_kinds(self, folder):
        image, x = pattern()
        grey = image.convert("L")
        for number in range(1, 9):
            exif = PIL.Image.Exif()
            exif[ORIENTATION] = number
            image.save(folder / f"exif{number}.jpg", quality=95, exif=exif)
        image.save(folder / "progressive.jpg", progressive=True)
        image.save(folder / "lossless.webp", lossless=True)
        image.save(folder / "colour.png")
        grey.save(folder / "grey.png")
        PIL.Image.fromarray(numpy.asarray(grey).astype("uint16") * 257).save(folder / "grey16.png")
        palette = image.convert("P", palette=PIL.Image.Palette.ADAPTIVE)
        palette.save(folder / "palette.png")
        palette.save(folder / "transparent.png", transparency=5)
        image.putalpha(PIL.Image.fromarray((x * 3 % 256).astype("uint8")))
        image.save(folder / "rgba.png")
        image.convert("LA").save(folder / "la.png")
        image.convert("1").save(folder / "bits.png")

    def test_all_kinds_have_the_pixels_of_pillow(self):
        for name in ("kinds", "others"):
            (self.folder / "px" / name).mkdir(parents=True)
        self.write_all_kinds(self.folder / "px/kinds")
        pattern()[0].save(self.folder / "px/others/0.png")
        self.skyline("prep", "images", "px", "--size", f"{HEIGHT}x{WIDTH}", "--test", "0", "-o", "px.h5")
        with h5py.File(self.folder / "px.h5") as file:
            values = file["train/values"][:].astype(int)
        files = sorted((self.folder / "px/kinds").iterdir())
        self.assertEqual(len(values), len(files) + 1)
        for pixels, path in zip(values, files):
            image = PIL.ImageOps.exif_transpose(PIL.Image.open(path))
            if image.mode.startswith("I"):
                image = PIL.Image.fromarray((numpy.asarray(image) // 256).astype("uint8"))
            image = image.convert("RGB").resize((WIDTH, HEIGHT), PIL.Image.Resampling.BILINEAR)
            difference = numpy.abs(pixels - numpy.asarray(image).transpose(2, 0, 1).astype(int)).max()
            self.assertLessEqual(difference, 1 if path.name in ("exif5.jpg", "exif6.jpg", "exif7.jpg", "exif8.jpg") else 0, path.name)

    def photos(self):
        """Photos of several sizes and kinds in two classes, with what lies beside them on people's disks."""
        rng = random.Random(1)
        folder = self.folder / "photos"
        for name in ("Äpfel", "rote Birnen"):
            (folder / name).mkdir(parents=True)
            for i in range(10):
                image = pattern()[0].resize((rng.randint(40, 400), rng.randint(40, 300)))
                (image.convert("CMYK") if i == 3 else image).save(folder / name / f"{name} Nr. {i:03}.JPG", format="JPEG")
        odd = folder / "rote Birnen"
        (odd / "empty.jpg").touch()
        (odd / "text.jpg").write_text("hello, I am not a picture\n")
        (odd / "half.jpg").write_bytes((odd / "rote Birnen Nr. 000.JPG").read_bytes()[:2000])
        for name in ("Thumbs.db", ".DS_Store"):
            (odd / name).write_bytes(bytes(512))
        for name in ("scan.bmp", "scan.tif", "animated.gif"):
            pattern()[0].save(odd / name)
        return folder

    def test_a_folder_of_photos_is_read_and_what_is_left_out_is_told(self):
        folder = self.photos()
        (folder / "empty class").mkdir()
        command = ["prep", "images", "photos", "--size", "32", "-o", "photos.h5"]
        self.assertIn("photos/empty class: a class without an image to train on", self.skyline(*command, expect=2).stderr)
        (folder / "empty class").rmdir()
        done = self.skyline(*command)
        for line in ("left out: photos/rote Birnen/empty.jpg: the file is empty",
                     "left out: photos/rote Birnen/text.jpg: not a PNG, JPEG, WebP, PBM, PGM or PPM image, nor another that Pillow reads",
                     "left out: photos/rote Birnen/half.jpg: damaged JPEG",
                     "photos: files that are no images are not read: 1 .db", "3 files left out"):
            self.assertIn(f"check: {line}", done.stdout)
        self.assertIn("photos.h5: 19 training and 4 test samples of 3x32x32, 2 classes", done.stdout)

    def test_signals_are_read_in_the_layout_that_is_meant(self):
        rng = numpy.random.default_rng(1)
        targets = numpy.arange(60) % 4
        signals = rng.normal(scale=4000, size=(60, 500)).astype("int16")
        nan = signals[:, None].astype("float32")
        nan[3, 0, 5] = numpy.nan
        ragged = numpy.empty(60, object)
        ragged[:] = [signal[:100 + i] for i, signal in enumerate(signals)]
        words = numpy.array(["rest", "walk", "run", "jump"])[targets]
        shape = "48 training and 12 test samples of {}, 4 classes"
        for values, labels, options, code, line in (
                (signals, targets, (), 2, "x_train: [60, 500] may be features or sequences: say --layout=nf or nl"),
                (signals, targets, ("--layout", "nl"), 0, shape.format("1x1x500")),
                (numpy.stack([signals, -signals, signals // 2], 2), targets, (), 2, "may be grey images or sequences: say --layout=nhw, ncl or nlc"),
                (numpy.stack([signals, -signals, signals // 2], 2), targets, ("--layout", "nlc"), 0, shape.format("3x1x500")),
                (signals[:, None], targets, (), 0, shape.format("1x1x500")),
                (signals[:, None], words, (), 0, shape.format("1x1x500")),
                (nan, targets, (), 2, "x_train: sample 3: a number that is not finite"),
                (ragged, targets, (), 2, "samples of several lengths cut or filled to one length")):
            numpy.savez(self.folder / "signals.npz", x_train=values, y_train=labels, subject=targets, scale=3)
            done = self.skyline("prep", "arrays", "signals.npz", *options, "-o", "signals.h5", "--force", expect=code)
            self.assertIn(line, done.stdout + done.stderr)
            self.assertNotIn("scale", done.stdout + done.stderr)
            if code == 0:
                self.assertIn("array `subject` is not read (--group=subject keeps its groups of samples together)", done.stdout)


if __name__ == "__main__":
    unittest.main()
