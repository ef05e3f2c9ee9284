"""Data sets from DataFrames, arrays, data sets of torch and images of Pillow."""

import contextlib
import io
import pathlib
import unittest
import wave

from package_case import PackageCase

import skyline

try:
    import h5py
    import numpy
    import pandas
    import PIL.Image
    import torch
except ImportError as problem:
    raise SystemExit(f"{problem}: install it with SKYLINE_EXPORT_TESTS=1 scripts/setup")


class Prepared(PackageCase):
    def prepare(self, data, **options):
        """What `skyline.prepare` shows, and the data set."""
        shown, out = io.StringIO(), f"{self.name()}.h5"
        with contextlib.redirect_stdout(shown):
            self.assertEqual(skyline.prepare(data, out=out, force=True, **options), pathlib.Path(out))
        self.assertEqual([path.name for path in pathlib.Path(out).parent.iterdir() if path.name.startswith(".")], [])
        file = h5py.File(out)
        self.addCleanup(file.close)
        return shown.getvalue(), file

    def refusal(self, data, **options):
        with self.assertRaises(skyline.Error) as refused:
            skyline.prepare(data, out="never.h5", **options)
        self.assertFalse(pathlib.Path("never.h5").exists())
        return str(refused.exception)

    def test_a_frame_is_prepared_by_the_rules_for_tables(self):
        frame = pandas.DataFrame({"age": [20.5 + i for i in range(60)], "zip": [f"0{i % 5}12" for i in range(60)],
                                  "town": pandas.Categorical([["a", "b, c", 'd"'][i % 3] for i in range(60)]),
                                  "member": [i % 4 == 0 for i in range(60)], "kind": pandas.Categorical([7 * (i % 2) for i in range(60)])})
        frame.loc[3, "age"] = None
        shown, file = self.prepare(frame, label="kind", test=0.5)
        for guess in ("`age`: 1 value missing", "`zip` has 5 different words", "`town` has 3 different words", "50 % of every class"):
            self.assertIn(guess, shown)
        self.assertEqual((file["train/values"].shape, file["class_names"][:].tolist()), ((30, 11, 1, 1), [b"0", b"7"]))
        _, file = self.prepare(frame[["age", "kind"]].set_axis([2019, "kind, or none"], axis=1), label="kind, or none")
        self.assertEqual(file["train/values"].shape, (48, 2, 1, 1))
        shown, file = self.prepare({"train": frame[:40], "val": frame[40:50], "test": frame[50:]}, label="kind", drop=["zip", "town"])
        self.assertEqual([len(file[f"{part}/values"]) for part in ("train", "validation", "test")], [40, 10, 10])
        self.assertEqual(file["class_names"][:].tolist(), [b"0", b"7"])

    def test_arrays_and_data_sets_of_torch_are_stored_as_they_are(self):
        pixels = numpy.random.default_rng(0).integers(0, 256, (30, 3, 5, 4)).astype("uint8")
        classes = [["cat", "dog", "emu"][i % 3] for i in range(30)]

        class Tensors(torch.utils.data.Dataset):
            classes = ["cat", "dog", "emu"]

            def __len__(self):
                return len(pixels)

            def __getitem__(self, number):
                return torch.from_numpy(pixels[number]), number % 3

        class Images(Tensors):
            def __getitem__(self, number):
                return PIL.Image.fromarray(pixels[number].transpose(1, 2, 0)), classes[number]

        for data, options in (((pixels, classes), {}), ((torch.from_numpy(pixels), pandas.Series(classes)), {}), (Tensors(), {}),
                              (Images(), {}), ((pixels.transpose(0, 2, 3, 1), numpy.array(classes)), {"layout": "nhwc"})):
            _, file = self.prepare({"train": data, "test": data}, **options)
            self.assertTrue((file["train/values"][:] == pixels).all())
            self.assertEqual([file["class_names"][target].decode() for target in file["test/targets"][:].ravel()], classes)

    def test_a_folder_may_hold_images_of_any_format_that_pillow_reads(self):
        for name in ("red", "blue"):
            folder = pathlib.Path("photos") / name
            folder.mkdir(parents=True)
            (folder / "notes.txt").write_text("no image")
            for number, ending in enumerate(("png", "bmp", "tiff", "gif", "ppm")):
                PIL.Image.new("RGB", (16, 16), (200, number, 0) if name == "red" else (0, number, 200)).save(folder / f"{number}.{ending}")
        before = sorted(pathlib.Path("photos").rglob("*"))
        _, file = self.prepare("photos", test=0)
        self.assertEqual(file["train/values"].shape, (10, 3, 16, 16))
        self.assertEqual(sorted(file["train/values"][:, 1, 0, 0]), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
        self.assertEqual(sorted(pathlib.Path("photos").rglob("*")), before)

    def test_a_folder_may_hold_sounds_or_recordings(self):
        random = numpy.random.default_rng(5)
        for number in range(10):
            path = pathlib.Path("words", "ab"[number % 2], f"{number}.wav")
            path.parent.mkdir(parents=True, exist_ok=True)
            with wave.open(str(path), "wb") as file:
                file.setparams((1, 2, 8000, 0, "NONE", ""))
                file.writeframes(random.integers(-9000, 9000, 800).astype("<i2").tobytes())
        shown, file = self.prepare("words", bands=20)
        self.assertEqual(file["train/values"].shape, (8, 1, 20, 4))
        self.assertIn("20 % of every class are the test set, drawn with seed 1", shown)
        pathlib.Path("days").mkdir()
        for day in range(3):
            pandas.DataFrame({"x": random.normal(size=40), "label": ["up", "down"] * 20}).to_csv(f"days/{day}.csv", index=False)
        shown, file = self.prepare("days", length=5, step=5)
        self.assertEqual(file["train/values"].shape, (16, 1, 1, 5))
        self.assertIn("24 windows of 5 rows, one each 5 rows (length, step)", shown)

    def test_images_of_the_user_are_only_read(self):
        for name in ("red", "blue"):
            folder = pathlib.Path("mine") / name
            folder.mkdir(parents=True)
            for number, file in enumerate(("0.bmp", "0.bmp.png", "1.png")):
                PIL.Image.new("RGB", (8, 8), (200, number, 0)).save(folder / file)
        pathlib.Path("pool.png").write_bytes(pathlib.Path("mine/red/1.png").read_bytes())
        pathlib.Path("mine/red/linked.png").symlink_to("../../pool.png")
        before = {path: path.read_bytes() for path in pathlib.Path("mine").rglob("*.*")}
        with contextlib.redirect_stdout(io.StringIO()):
            out = skyline.prepare("mine", out="mine/set.h5", test=0)
        with h5py.File(out) as file:
            self.assertEqual(sorted(file["train/values"][:, 1, 0, 0]), [0, 0, 1, 1, 2, 2, 2])
        out.unlink()
        self.assertEqual({path: path.read_bytes() for path in pathlib.Path("mine").rglob("*.*")}, before)

    def test_images_of_16_bits_are_not_cut_off(self):
        values = (numpy.arange(64, dtype="uint16") * 1000).reshape(8, 8)
        pairs = [(PIL.Image.fromarray(values), number % 2) for number in range(10)]
        _, file = self.prepare(pairs)
        self.assertTrue((file["train/values"][0, 0] == values).all())
        for name in "ab":
            pathlib.Path("deep", name).mkdir(parents=True)
            for number in range(2):
                PIL.Image.fromarray(values).save(f"deep/{name}/{number}.tiff")
        _, file = self.prepare("deep", test=0)
        self.assertTrue((file["train/values"][0, 0] == numpy.rint(values / 257)).all())
        for dtype in ("float32", "int32"):
            PIL.Image.fromarray(values.astype(dtype) * 2).save("deep/a/9.tiff")
            shown, file = self.prepare("deep", test=0)
            self.assertIn("check: left out: deep/a/9.tiff: values that are no pixels of 8 or 16 bits", shown)
            self.assertEqual(len(file["train/values"]), 4)

    def test_what_cannot_be_prepared_is_refused(self):
        frame = pandas.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
        self.assertIn("the DataFrame: label: no column `c`, known here: a, b", self.refusal(frame, label="c"))
        self.assertNotIn("skyline-prepare", self.refusal(frame, label="c"))
        self.assertIn("label: expected names without commas, got 'a', 'price, EUR'", self.refusal(frame, label=["a", "price, EUR"]))
        self.assertIn("arrays: unknown option `shade`, did you mean `shape`?", self.refusal(frame, shade=1))
        self.assertIn("layout: an option of arrays, and the DataFrame is a table", self.refusal(frame, layout="nf"))
        self.assertIn("the DataFrame: two columns are called `b`", self.refusal(frame.set_axis(["b", "b"], axis=1), label="b"))
        self.assertIn("expected the parts train, val and test, got 'trian'", self.refusal({"trian": frame}))
        self.assertIn("expected a DataFrame, a pair of arrays, a data set of torch, a folder or a file, got int", self.refusal(3))
        self.assertIn("sample 1 is float64 [2], and the first one float64 [1]", self.refusal([([1.5], 0), ([1.5, 2.5], 1), ([2.5], 0)]))
        pathlib.Path("there.h5").touch()
        with self.assertRaisesRegex(skyline.Error, "there.h5: is there already: give another file, or force=True"):
            skyline.prepare(frame, out="there.h5")


if __name__ == "__main__":
    unittest.main()
