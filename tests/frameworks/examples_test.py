"""The worked examples in configs/command, two trials of each.

usage: examples_test.py PROGRAM SOURCE
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
TIMEOUT_S = 1200


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name, words in (("python3", ""), ("torchrun", "-m torch.distributed.run")):  # torch may have come without its programs
            program = cls.folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
            program.chmod(0o755)
        launcher = pathlib.Path(os.environ.get("MPIEXEC", "mpirun"))
        cls.launcher = launcher.name  # by its path Open MPI would put its own folder, and the python3 there, first in PATH
        cls.environment = {**os.environ, "PATH": f"{cls.folder}/bin:{os.environ['PATH']}:{launcher.parent}",
                           "PYTHONPATH": str(SOURCE / "python")}

    def searched(self, name):
        """The trials of a search by an example."""
        run = self.folder / name
        done = subprocess.run([self.launcher, "--oversubscribe", "-np", "2", PROGRAM, "search",
                               SOURCE / f"configs/command/{name}.yaml", "--set", "search.trials=2", "--set", "run.keep_weights=all", "--run", run],
                              cwd=SOURCE, env=self.environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        logs = [f"{path.name}:\n{path.read_text()[-2000:]}" for path in run.glob("logs/**/*failed*")]
        self.assertEqual(done.returncode, 0, "\n".join([done.stdout, done.stderr, *logs]))
        trials = json.loads((run / "models.json").read_text())["trials"]
        self.assertEqual([trial["status"] for trial in trials], ["ok", "ok"], "\n".join(logs))
        self.assertGreater(json.loads((run / "pareto.json").read_text())["hypervolume"]["search"], 0)
        return trials

    def test_lora_of_a_small_transformer(self):
        for trial in self.searched("lora"):
            rank = trial["parameters"]["rank"]
            self.assertEqual(trial["metrics"]["trained"], 2 * 2 * 2 * 32 * rank + 32 * 10 + 10)  # layers, projections, factors
        [*adapters] = (self.folder / "lora/trials").glob("*/*/adapter/adapter_config.json")
        self.assertEqual(len(adapters), 2)

    def test_a_script_of_lightning(self):
        for trial in self.searched("lightning"):
            self.assertEqual(trial["metrics"]["weights"], 75 * trial["parameters"]["width"] + 10)

    def test_a_line_of_torchrun(self):
        for trial in self.searched("torchrun"):
            self.assertEqual(trial["metrics"]["weights"], 75 * trial["parameters"]["width"] + 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
