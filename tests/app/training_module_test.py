"""The training module: what computes no network runs without it and without LibTorch; the rest says in one line why it cannot."""

import os
import re
import subprocess
import unittest

import skyline_runs
from skyline_runs import PROGRAM, SOURCE, RunsCase, small_digits

MISSING = {"SKYLINE_TRAIN_LIBRARY": "/none.so"}
REFUSAL = r"networks need LibTorch 2\.\d+, which cannot be used here: SKYLINE_TRAIN_LIBRARY: /none\.so is not there\n"
LOADED = re.compile(r"calling init: .*/(lib(?:torch|c10|skyline)\w*\.so)")


class TrainingModule(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *small_digits(cls.digits), "--run", "trained", ranks=2)

    def loaded(self, *arguments):
        """The libraries of LibTorch and of our own that a command loads."""
        return set(LOADED.findall(self.skyline(*arguments, environment={"LD_DEBUG": "files"}).stderr))

    def test_commands_that_compute_no_network_never_load_libtorch(self):
        table = [SOURCE / "configs/nasbench201_table.yaml", "--set", f"table.file={SOURCE / 'data/nasbench201_cifar10.csv.gz'}"]
        for words in (["--version"], ["status", "trained"], ["journal", "trained"], ["report", "trained", "-o", "report.html"],
                      ["export", "trained", "--front", "-o", "exported"], ["validate", *small_digits(self.digits), "--set", "training.device=cpu"],
                      ["search", SOURCE / "configs/synthetic.yaml", "--run", "synthetic"], ["search", *table, "--run", "table"]):
            self.assertEqual(self.loaded(*words), set(), words)
        self.assertLess({"libskyline_train.so", "libtorch_cpu.so"}, self.loaded("evaluate", "trained", "--front", "--data", self.digits))

    def test_commands_that_need_it_say_that_it_is_missing_before_they_write(self):
        digits = small_digits(self.digits)
        for words in (["search", *digits, "--run", "refused"], ["search", "--resume", "--run", "trained"], ["init", self.digits, "-o", "mine.yaml"],
                      ["predict", "trained", "--front", "--data", self.digits, "-o", "out.csv"], ["evaluate", "trained", "--front", "--data", self.digits],
                      ["profile", "trained", "--trial", "0"], ["train", "trained", "--front", "--epochs", "1", "--run", "refused"]):
            before = sorted(self.folder.rglob("*"))
            self.assertRegex(self.skyline(*words, expect=2, environment=MISSING).stderr, REFUSAL)
            self.assertEqual(sorted(self.folder.rglob("*")), before, words)
        self.assertIn("training", self.skyline("doctor", *digits, expect=2, environment=MISSING).stdout)

    def test_ranks_of_which_one_lacks_it_are_named(self):
        arguments = " ".join(f"'{word}'" for word in small_digits(self.digits))
        shell = f"[ $OMPI_COMM_WORLD_RANK = 0 ] || export SKYLINE_TRAIN_LIBRARY=/none.so; exec {PROGRAM} search {arguments} --run differ"
        done = subprocess.run([*skyline_runs.mpirun(2), "sh", "-c", shell], cwd=self.folder, capture_output=True, text=True,
                              timeout=skyline_runs.TIMEOUT_S)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, rf"skyline: the hosts differ in what they train with: {os.uname().nodename}\S*: LibTorch 2\.\S+; "
                                      rf"{os.uname().nodename}\S*: {REFUSAL}")


if __name__ == "__main__":
    unittest.main()
