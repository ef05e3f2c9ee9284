"""From a folder or a table to a configuration that is worth searching, without writing a space."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import numpy

from prep_test import png
from skyline_runs import SOURCE, RunsCase, read_json

PRESETS = sorted(path.stem for path in (SOURCE / "configs/presets").glob("*.yaml"))
SHORT = ["--set", "search.trials=4", "--set", "training.epochs=1", "--set", "final.epochs=1", "--quiet"]


class Init(RunsCase):
    def init(self, source, *more, time="20s"):
        return self.skyline("init", source, "-o", "mine.yaml", "--time", time, "--force", *more).stdout

    def text(self):
        return (self.folder / "mine.yaml").read_text()

    def arrays(self, shape, samples=60):
        random = numpy.random.default_rng(1)
        labels = numpy.arange(samples) % 3
        values = random.normal(size=(samples, *shape)) + labels.reshape(-1, *[1] * len(shape))
        numpy.savez(self.folder / "made.npz", x_train=values.astype("float32"), y_train=labels)
        return "made.npz"

    def test_uneven_photos_become_a_search_that_ends(self):
        random = numpy.random.default_rng(2)
        for label, name in enumerate(("cat", "dog")):
            (self.folder / "photos" / name).mkdir(parents=True)
            for number in range(20):
                size = random.integers(20, 30, 2)
                image = random.integers(0, 100, (*size, 3)) + 100 * label
                (self.folder / "photos" / name / f"{number}.png").write_bytes(png(image.astype("uint8")))
        out = self.init("photos", "--parameters", "300k", "--flops", "20M")
        self.assertRegex(out, r"size: 16 x 16 pixels, by the images' shorter sides, whose median is 2\d; another one: --with size=\n")
        self.assertIn("preset images: images of 16 to 47 pixels", out)
        text = self.text()
        for line in ("augment: {crop: 1, flip: true}", "- maximize: validation_accuracy", "- minimize: flops",
                     "- {flops: [0, 20000000]}", "- {parameters: [0, 300000]}"):
            self.assertIn(line, text)
        self.assertNotIn("minimize: parameters", text)
        self.skyline("search", "mine.yaml", "--run", "photos_run", *SHORT, ranks=2)
        self.assertTrue((self.folder / "photos_run/report.html").exists())

    def test_a_table_of_pandas_becomes_a_search_that_ends(self):
        random = numpy.random.default_rng(3)
        rows = [f"{i},{random.normal():.4f},{random.choice(['red', 'green', ''])},{'' if i % 7 == 0 else i % 5},{3.5 * (i % 5)}"
                for i in range(80)]
        (self.folder / "houses.csv").write_text(",size,colour,rooms,price\n" + "\n".join(rows) + "\n")
        out = self.init("houses.csv", "--with", "label=price", "--with", "targets=numbers")
        self.assertIn("preset table", out)
        self.assertRegex(self.text(), r"- \{minimize: validation_mse, reference: \d+(\.\d+)?\} .*\n  - minimize: parameters\n")
        done = self.skyline("search", "mine.yaml", "--run", "table_run", *SHORT)
        self.assertRegex(done.stdout, r"(?m)^hypervolume 0\.\d+")

    def test_every_kind_and_size_of_samples_has_a_preset_whose_windows_fit(self):
        for shape, layout, preset in (((1, 8, 8), "nchw", "images-small"), ((3, 16, 16), "nchw", "images"),
                                      ((3, 48, 48), "nchw", "images-large"), ((2, 16), "ncl", "signals-short"),
                                      ((2, 128), "ncl", "signals"), ((5,), "", "table")):
            with self.subTest(preset):
                options = ["--with", f"layout={layout}"] if layout in ("ncl",) else []
                out = self.init(self.arrays(shape), *options)
                self.assertIn(f"preset {preset}: ", out)
                said = self.skyline("validate", "mine.yaml").stdout
                self.assertNotIn("a window is larger", said)
                count = re.search(r"at most about (\d+) different architectures", said)
                self.assertGreaterEqual(int(count.group(1)), 10**6, said)
        self.init(self.arrays((3, 16, 16)), "--preset", "images-mobile")
        self.assertIn("inverted", self.text())
        self.init(self.arrays((1, 10, 12)), "--preset", "sound")
        self.assertIn("depthwise_conv2d", self.text())
        self.init(self.arrays((1, 3, 64)), "--preset", "signals-plane")
        self.assertIn("kernel: {choice: [[1, 3], [1, 5], [1, 7], [3, 3], [3, 5]], each: true}", self.text())
        said = self.skyline("validate", "mine.yaml").stdout
        self.assertNotIn("a window is larger", said)
        self.skyline("search", "mine.yaml", "--run", "plane_run", *SHORT)

    def test_images_have_networks_in_the_manner_of_lenet5_and_a_depth_for_each_stage(self):
        self.init(self.arrays((1, 28, 28)))

        def network(*depths):
            names = "stage_0", "stage_1", "last_stage_0"
            chosen = [*(f"depth.{stage}={depth}" for stage, depth in zip(names, depths)), "stem=5", "halve=2", "pool=true", "width=6",
                      "head=flatten", "hidden=64", *(f"conv.narrowing_{stage}=separable_conv2d" for stage in range(2))]
            return json.loads(self.skyline("show", "mine.yaml", "--genotype", ",".join(chosen), "--format", "json").stdout)

        small = network(0, 0, 0)
        shapes = [layer["output"] for layer in small["layers"] if layer["kind"] in ("conv2d", "max_pool", "flatten", "linear")]
        for shape in ([6, 28, 28], [6, 14, 14], [6, 7, 7], [12, 3, 3], [216, 1, 1], [64, 1, 1], [3, 1, 1]):
            self.assertIn(shape, shapes)
        self.assertLess(small["costs"]["macs"], 416_520)
        count = lambda network: sum(layer["kind"] == "add" for layer in network["layers"])
        self.assertEqual([count(network(*depths)) for depths in ((0, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 2))], [2, 4, 3, 4])

    def test_the_list_has_a_line_for_each_file_and_for_each_board_of_the_page(self):
        of_presets, of_boards = self.skyline("init", "--list").stdout.split("\n\n")
        self.assertEqual(sorted(re.findall(r"^([a-z-]*[a-z]) +\S", of_presets, re.M)[1:]), PRESETS)
        listed = [(name, ram, flash) for name, ram, flash in re.findall(r"^ *([a-z]\S+) +(\d+Ki) +(\d+\wi)", of_boards, re.M)]
        page = (SOURCE / "docs/devices.md").read_text()
        told = re.findall(r"^\| `(\w[\w-]*)` \| [^|]+ \| (\d+ Ki)B \| (\d+ \wi)B \| \S", page, re.M)
        self.assertEqual(listed, [(name, ram.replace(" ", ""), flash.replace(" ", "")) for name, ram, flash in told])
        self.assertGreaterEqual(len(listed), 12)

    def test_a_board_bounds_the_memory_in_int8_and_wants_its_files(self):
        out = self.init(self.digits, "--board", "8Ki,16Ki", "--parameters", "300k")
        self.assertNotIn("board", out)
        text = self.text()
        for line in ("- minimize: macs\n", "- {int8_peak_activation_bytes: [0, 8192]}\n", "- {int8_weight_bytes: [0, 16384]}\n",
                     "- {parameters: [0, 300000]}\n", "int8: true, export: [onnx-int8, tflite, c]"):
            self.assertIn(line, text)
        self.assertEqual(text.count("minimize: "), 1)
        told = self.skyline("search", "mine.yaml", "--run", "board_run", *SHORT[:-1], ranks=2).stdout
        self.assertRegex(told, r"the front as int8 files +skyline export board_run --front --format c\n")
        for trial in read_json(self.folder / "board_run/models.json")["trials"]:
            self.assertLessEqual(trial["costs"]["int8_peak_activation_bytes"], 8192)
            self.assertLessEqual(trial["costs"]["int8_weight_bytes"], 16384)
        files = {path.suffix for path in (self.folder / "board_run/exports").iterdir()}
        self.assertLessEqual({".onnx", ".tflite", ".h"}, files)
        self.assertIn("int8_test_accuracy", self.skyline("status", "board_run", "--all").stdout)

    def test_a_board_by_its_name_says_what_is_left_for_the_network(self):
        out = self.init(self.digits, "--board", "nrf52840")
        self.assertIn("board nrf52840: 256Ki of RAM less 16Ki and 1Mi of flash less 200Ki for the rest of the program; for other numbers: "
                      "--board 240Ki,824Ki\n", out)
        self.assertIn("- {int8_peak_activation_bytes: [0, 245760]}\n", self.text())
        self.assertIn("- {int8_weight_bytes: [0, 843776]}\n", self.text())

    def test_every_preset_has_int8_kernels_for_all_its_layers(self):
        for shape, options in (((1, 8, 8), ()), ((3, 16, 16), ()), ((3, 48, 48), ()), ((3, 16, 16), ("--preset", "images-mobile")),
                               ((1, 3, 64), ("--preset", "signals-plane")),
                               ((2, 16), ("--with", "layout=ncl")), ((2, 128), ("--with", "layout=ncl")), ((5,), ())):
            with self.subTest(shape, options=options):
                self.init(self.arrays(shape), *options, "--board", "1Mi,4Mi")
                shown = self.skyline("show", "mine.yaml", "--sample", "20").stdout
                self.assertEqual(shown.count("in int8: peak activation bytes "), 20)
                self.assertNotIn("in float32", shown)

    def test_the_time_decides_how_many_trials_there_are_and_how_long(self):
        for _ in range(10):  # a busy machine may need longer at the second time
            out = self.init(self.digits, "--slots", "1", time="3s")
            wish = re.search(r"(?m)^check: --time 3s is too short for the 20 trials that a search needs: --time (\d+[sm]) would do", out).group(1)
            out = self.init(self.digits, "--slots", "1", time=wish)
            if "is too short" not in out:
                break
        self.assertNotIn("is too short", out)
        short = self.text()
        self.init(self.digits, "--slots", "16", time="8h")
        long = self.text()
        number = lambda key, text: float(re.search(rf"{key}: ([\d.]+)", text).group(1))
        self.assertEqual(number("trials", long), 500)
        self.assertGreater(number("trials", long), number("trials", short))
        self.assertGreater(number("epochs", long), number("epochs", short))
        self.assertIn("window: 16", long)
        self.assertNotIn("window", short)

    def test_the_configuration_names_its_data_as_seen_from_its_folder(self):
        other = self.arrays((2, 16))
        numpy.savez(self.folder / "here.npz", x_train=numpy.random.default_rng(4).normal(size=(60, 5)).astype("float32"),
                    y_train=numpy.arange(60) % 3)
        self.skyline("prep", "arrays", other, "--layout", "ncl", "-o", "moved.h5")  # where the program starts
        for out, source, named in (("deep/moved.yaml", "here.npz", "moved.h5"), ("deep/digits.yaml", "digits.h5", "../digits.h5"),
                                   (self.folder / "deep/whole.yaml", self.digits, str(self.digits)), ("flat.yaml", "digits.h5", "digits.h5")):
            self.skyline("init", source, "-o", out, "--time", "20s", "--force")
            self.assertIn(f'  file: "{named}"\n', (self.folder / out).read_text())
        for start in (".", "deep", "deep/.."):
            said = self.skyline("validate", self.folder / "deep/moved.yaml", cwd=self.folder / start).stdout
            self.assertIn("5x1x1, 3 classes", said)

    def test_options_of_prep_are_named_as_init_has_them(self):
        (self.folder / "few.csv").write_text("size,rooms,price\n" + "".join(f"{i * 1.5},{i % 4},{i % 3}\n" for i in range(60)))
        out = self.init("few.csv")
        self.assertIn("label: `price`, the last one (--with label=", out)
        self.assertIn("(--with test=, --with validation=, --with seed=)", out)
        self.assertNotRegex(out, r"--(label|test|drop|targets)\b")
        numpy.savez(self.folder / "long.npz", x_train=numpy.zeros((60, 500), "float32"), y_train=numpy.arange(60) % 3)
        self.assertIn("say --with layout=nf or nl", self.skyline("init", "long.npz", "-o", "long.yaml", expect=2).stderr)

    def test_a_refused_attempt_leaves_nothing_behind_and_can_be_repeated(self):
        source = self.arrays((2, 16))
        for arguments in (["--flops", "1"], ["--preset", "table"], ["--preset", "nothing"]):
            self.skyline("init", source, "-o", "again.yaml", "--with", "layout=ncl", *arguments, expect=2)
            self.assertEqual(list(self.folder.glob("again.*")), [])
        self.skyline("init", source, "-o", "again.yaml", "--with", "layout=ncl", "--time", "20s")
        self.assertEqual({path.name for path in self.folder.glob("again.*")}, {"again.yaml", "again.h5"})

    def test_uneven_classes_get_advice_that_works(self):
        random = numpy.random.default_rng(5)
        labels = numpy.array([0] * 90 + [1] * 10)
        numpy.savez(self.folder / "uneven.npz", x_train=random.normal(size=(100, 5)).astype("float32"), y_train=labels)
        out = self.init("uneven.npz")
        advice = re.search(r"(?m)^check: classes have 8 to 72 training samples, .*", out).group()
        metrics, objective, loss = re.findall(r"`(.*?)`", advice)
        self.skyline("validate", "mine.yaml", "--set", metrics.replace(": ", "=", 1), "--set", loss.replace(": ", "=", 1),
                     "--set", f"objectives=[{{{objective}}}, {{minimize: parameters}}]")
        for line in (metrics, objective, loss.removeprefix("training.")):  # it is what init writes itself
            self.assertIn(line.removeprefix("training."), self.text())
        self.assertNotIn("maximize: validation_accuracy\n", self.text())
        self.skyline("search", "mine.yaml", "--run", "uneven_run", *SHORT)
        self.assertIn("test_macro_f1", self.skyline("status", "uneven_run", "--all").stdout)
        self.assertNotIn("check: classes", self.init(self.arrays((5,))))
        self.assertNotIn("macro_f1", self.text())

    def test_short_trainings_are_written_as_people_write_them(self):
        random = numpy.random.default_rng(6)
        numpy.savez(self.folder / "many.npz", x=random.normal(size=(30000, 3)).astype("float32"), y=numpy.arange(30000) % 2)
        out = self.init("many.npz", time="2s")
        epochs, final = (re.search(rf"{key}epochs: (\S+?)[ }}]", self.text()).group(1) for key in ("  ", "final: {"))
        self.assertRegex(epochs, r"^(0\.0*)?[1-9]$")
        self.assertAlmostEqual(float(final), 3 * float(epochs))
        self.assertLess(len(final), 8)
        self.assertIn(f"trials of {epochs} epoch", out)

    def test_waits_for_a_processor_are_told_and_do_not_decide(self):
        if not pathlib.Path("/proc/self/schedstat").exists():
            self.skipTest("this system does not tell how long threads have waited")
        number = lambda key: float(re.search(rf"{key}: ([\d.]+)", self.text()).group(1))
        allowed = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, allowed)
        os.sched_setaffinity(0, {min(allowed)})  # affinity of everything that starts from here on, too
        self.init(self.digits, "--slots", "1", time="90s")
        alone = number("trials") * number("  epochs")
        for _ in range(3):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(busy.wait)
            self.addCleanup(busy.kill)
        out = self.init(self.digits, "--slots", "1", time="90s")
        self.assertRegex(out, r"(?m)^check: measured on a busy machine: it waited for a processor for [5-9]\d % of the time, which does not count here: "
                              r"where it stays as busy, the search takes about \d+(:\d+)+$")
        self.assertGreater(number("trials") * number("  epochs"), alone / 2)

    def test_mistakes_are_one_line(self):
        prepared = self.digits
        (self.folder / "two.csv").write_text("size,kind\n1.5,a\n2.5,b\n")
        (self.folder / "one_class.csv").write_text("size,kind\n1.5,a\n2.5,a\n")
        for arguments, expected in (
                ([prepared, "-o", "a.yaml", "--preset", "image"], "--preset: unknown preset `image`, did you mean `images`?"),
                ([prepared, "-o", "a.yaml", "--preset", "table"],
                 "--preset table: it is for rows of a table: multilayer perceptrons, and samples are 1x8x8, for which there is "
                 "images-small"),
                ([prepared, "-o", "a.yaml", "--preset", "signals-plane"], "and samples are 1x8x8, for which there is images-small"),
                ([prepared, "-o", "a.yaml", "--with", "size=8"], "--with: .*digits.h5 is a prepared data set"),
                ([prepared, "-o", "a.yaml", "--flops", "many"],
                 "--flops: expected a number above 0, e.g. 300k or 1.5M, got many"),
                ([prepared, "-o", "a.yaml", "--flops", "1"], "flops"),
                ([prepared, "-o", "a.yaml", "--board", "256"], "--board 256: 256 bytes of RAM: did you mean 256Ki?"),
                ([prepared, "-o", "a.yaml", "--board", "256Ki,1"], "--board 256Ki,1: 1 byte of flash: did you mean 1Mi?"),
                ([prepared, "-o", "a.yaml", "--board", "5,5"], "--board 5,5: 5 bytes of RAM: did you mean 5Ki?"),
                ([prepared, "-o", "a.yaml", "--board", "256Ki"], "--board 256Ki: expected RAM and flash, e.g. 256Ki,1Mi"),
                ([prepared, "-o", "a.yaml", "--board", "much,1Mi"],
                 "--board much,1Mi: expected bytes of RAM with a unit, e.g. 256Ki, got `much`"),
                ([prepared, "-o", "a.yaml", "--board", "256Ki,nan"], "--board 256Ki,nan: expected bytes of flash"),
                ([prepared, "-o", "a.yaml", "--board", "nrf52480"],
                 "--board nrf52480: expected RAM,FLASH .* or a board of `skyline init --list`: did you mean `nrf52840`"),
                ([prepared, "-o", "a.yaml", "--board", "Nano 33 BLE"], "a board of `skyline init --list`: `nrf52840` for Arduino Nano 33 BLE$"),
                ([prepared, "-o", "a.yaml", "--board", "pico"], "`rp2040` for Raspberry Pi Pico, `rp2350` for Raspberry Pi Pico 2$"),
                ([prepared], "init: missing -o FILE.yaml"),
                ([], "init: missing SOURCE"),
                (["nothing.csv", "-o", "a.yaml"], "nothing.csv"),
                (["two.csv", "-o", "a.yaml"], "two.csv: validation: a share of 0.2.* of 2 samples leaves the validation set empty.* \\(a share of the training samples is held out, to "
                 "score trials\\)$"),
                (["one_class.csv", "-o", "a.yaml"], "`kind`: expected at least 2 classes, got `a` alone"),
                ([prepared, "-o", "digits.h5"], "digits.h5")):
            with self.subTest(expected):
                done = self.skyline("init", *arguments, expect=2)
                mistake, = re.findall("^skyline: .*", done.stderr, re.MULTILINE)
                self.assertRegex(mistake, expected)
                self.assertTrue(done.stderr.endswith(mistake + "\n"), done.stderr)
                self.assertFalse((self.folder / "a.yaml").exists())
        (self.folder / "kept.yaml").write_text("mine")
        self.skyline("init", prepared, "-o", "kept.yaml", expect=2)
        self.assertEqual(pathlib.Path(self.folder / "kept.yaml").read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
