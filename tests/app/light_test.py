"""The program without LibTorch: the same runs of tables and commands, and one line where it would have to compute networks."""

import re
import subprocess
import unittest

import skyline_runs
from skyline_runs import LIGHT, PROGRAM, SOURCE, RunsCase

REFUSAL = "this program was built without LibTorch"


def records_of(path):
    """Records of a TensorBoard file, without the time at the begin of each."""
    data, place, records = path.read_bytes(), 0, []
    while place < len(data):
        length = int.from_bytes(data[place:place + 8], "little")
        records.append(data[place + 21:place + 12 + length])
        place += 16 + length
    return records


class Light(RunsCase):
    def program(self, words):
        return PROGRAM

    def light(self, *arguments, ranks=0, expect=0):
        words = [str(word) for word in [*skyline_runs.mpirun(ranks), LIGHT, *arguments]]
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder, timeout=skyline_runs.TIMEOUT_S)
        self.assertEqual(done.returncode, expect, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def test_it_needs_no_library_of_torch(self):
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", LIGHT], capture_output=True, text=True, check=True).stdout)
        self.assertIn("libmpi.so.40", needed)
        self.assertEqual([name for name in needed if re.match(r"lib(torch|c10|cud|gomp)", name)], [])

    def test_a_search_has_the_journal_of_the_whole_program_for_any_ranks(self):
        config = SOURCE / "configs/synthetic.yaml"
        self.skyline("search", config, "--run", "whole")
        for ranks in (1, 2, 3):
            self.light("search", config, "--run", f"light{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"light{ranks}"), self.canonical("whole"))

    def test_training_is_refused_with_what_to_do(self):
        done = self.light("search", SOURCE / "configs/digits.yaml", "--set", f"data.file={self.digits}", "--run", "refused", expect=2)
        self.assertRegex(done.stderr, rf"digits\.yaml:\d+:\d+: training: {REFUSAL}: expected one of the sections command, synthetic, table, or the program, or wheel, that has it\n")
        self.assertFalse((self.folder / "refused").exists())
        self.assertIn(REFUSAL, self.light("doctor").stdout)
        self.assertIn(REFUSAL, self.light("init", self.digits, "-o", "mine.yaml", expect=2).stderr)

    def test_a_run_that_trained_can_be_read_and_exported_but_not_used(self):
        self.skyline("search", SOURCE / "configs/digits.yaml", "--set", f"data.file={self.digits}", "--set", "search={algorithm: random, trials: 4}",
                     "--set", "training.epochs=1", "--set", "final=none", "--run", "trained", ranks=2)
        self.assertEqual(self.light("status", "trained").stdout, self.skyline("status", "trained").stdout)
        self.assertEqual(self.light("journal", "trained", "--canonical").stdout, self.canonical("trained"))
        for form in ("onnx", "pytorch"):
            self.light("export", "trained", "--front", "--format", form, "-o", f"light_{form}")
            self.skyline("export", "trained", "--front", "--format", form, "-o", f"whole_{form}")
            for file in (self.folder / f"whole_{form}").iterdir():
                self.assertEqual(file.read_bytes(), (self.folder / f"light_{form}" / file.name).read_bytes())
        pages, events = {}, {}
        for name, program in (("light", self.light), ("whole", self.skyline)):
            program("report", "trained", "-o", f"{name}.html")
            pages[name] = re.sub(r'"made":\d+', "", (self.folder / f"{name}.html").read_text())
            program("tensorboard", "trained", "-o", f"{name}_events")
            events[name] = {path.parent.name: records_of(path) for path in (self.folder / f"{name}_events").rglob("*") if path.is_file()}
        self.assertEqual(pages["light"], pages["whole"])
        self.assertEqual(events["light"], events["whole"])
        self.assertEqual(len(events["whole"]), 4)
        self.skyline("search", "trained/config.yaml", "--set", "run.seed=2", "--run", "other")
        self.assertEqual(self.light("compare", "trained", "other").stdout, self.skyline("compare", "trained", "other").stdout)
        self.light("prep", "digits", "-o", "light.h5")
        self.skyline("prep", "digits", "-o", "whole.h5")
        self.assertEqual((self.folder / "light.h5").read_bytes(), (self.folder / "whole.h5").read_bytes())
        for words in (["predict", "trained", "--front", "--data", self.digits, "-o", "out.csv"], ["evaluate", "trained", "--front", "--data", self.digits],
                      ["search", "--resume", "--run", "trained"]):
            self.assertIn(REFUSAL, self.light(*words, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
