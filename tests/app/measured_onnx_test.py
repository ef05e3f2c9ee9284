"""A search by accuracy and by ONNX Runtime's time of the exported network."""

import json
import sys
import unittest

from skyline_runs import SOURCE, RunsCase, read_json, small_digits

LATENCY = SOURCE / "configs/command/onnx_latency.py"


class MeasuredOnnx(RunsCase):
    def test_the_latency_in_onnx_runtime_is_an_objective_one_at_a_time(self):
        """A lock around the script of the documentation proves it: the script fails if another one has the lock."""
        alone = self.folder / "alone.py"
        alone.write_text(f"import os, runpy, sys\nlock = {str(self.folder / 'lock')!r}\n"
                         "os.close(os.open(lock, os.O_CREAT | os.O_EXCL))\n"
                         f"sys.argv[0] = {str(LATENCY)!r}\nrunpy.run_path(sys.argv[0])\nos.unlink(lock)\n")
        metrics = json.dumps(["accuracy", {"onnx_ms": {"run": [sys.executable, str(alone), "{onnx}", "onnx_ms"], "better": "lower",
                                                       "unit": "ms", "at_once": 1}}])
        self.skyline("search", *small_digits(self.digits), "--set", f"training.metrics={metrics}", "--set",
                     "objectives=[{maximize: validation_accuracy}, {minimize: onnx_ms}]", "--run", "latency", "--slots", 2, ranks=2)
        trials = read_json(self.folder / "latency/models.json")["trials"]
        self.assertGreaterEqual(len(trials), 8)
        for trial in trials:
            self.assertEqual(trial["status"], "ok", trial)
        times = {(trial["parameters"]["depth"], trial["parameters"]["width"], trial["parameters"]["kernel"]): trial["metrics"]["onnx_ms"]
                 for trial in trials if trial["phase"] == "search"}
        self.assertTrue(all(0 < time_ms < 1000 for time_ms in times.values()), times)
        print({str(key): round(value, 4) for key, value in sorted(times.items())}, file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
