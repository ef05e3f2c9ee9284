"""scripts/gpu_check: without a GPU one line; with a planted driver and a planted bundle every kind of outcome."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, FAKE_DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
del sys.argv[1:3]

REPORT = '{"tests": 1, "testsuites": [{"testsuite": [{"name": "works", "time": "0.25s"}]}]}'
TEST = f"""#!/bin/bash
for word in "$@"; do
  if [[ $word == --gtest_output=json:* ]]; then echo '{REPORT}' > "${{word#--gtest_output=json:}}"; fi
done
"""
SKYLINE = """#!/bin/bash
if [[ $1 == journal ]]; then echo "the same"; fi
if [[ $1 == doctor ]]; then echo "ok GPU"; fi
if [[ $1 == search ]]; then
  while [[ $1 != --run ]]; do shift; done
  mkdir -p "$2"; echo '{"hypervolume": {"search": 0.5}}' > "$2/pareto.json"
  echo '{"status": "ok", "where": {"setup_s": 0.002, "train_s": 0.05, "validate_s": 0.001}}' > "$2/journal.jsonl"
  echo "utilization 88.3 %: 2.1 s of training in 1 slot over 3.2 s"
fi
"""
SAMPLES = """#!/bin/bash
if [[ $* != *--loop-ms* ]]; then exit 0; fi
printf '0, 3\\n1, 50\\n0, 5\\n1, 70\\n'
touch "$OUT"
exec sleep 60
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "driver").mkdir()
        (self.root / "driver/libcuda.so.1").symlink_to(FAKE_DRIVER)
        self.bundle = self.root / "bundle"
        (self.bundle / "bin").mkdir(parents=True)
        self.program("../run", '#!/bin/bash\nexec "$(dirname "$0")/bin/$1" "${@:2}"\n')
        self.program("../skyline", SKYLINE)

    def tearDown(self):
        self.folder.cleanup()

    def program(self, name, text):
        file = self.bundle / "bin" / name
        file.write_text(text)
        file.chmod(0o755)

    def check(self, programs, *options, **environment):
        (self.bundle / "bundle.json").write_text(json.dumps({"torch": "2.11.0", "programs": programs}))
        base = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(self.root / "driver")} | environment
        out = self.root / "figures.json"
        self.page = self.root / "figures.md"
        command = [sys.executable, SOURCE / "scripts/gpu_check", self.bundle, "--out", out, "--page", self.page, *options]
        result = subprocess.run(command, env=base, cwd=self.root, capture_output=True, text=True, timeout=600)
        return result, json.loads(out.read_text()) if out.exists() else None

    def test_a_machine_without_a_gpu_gets_one_line_and_2(self):
        result, figures = self.check([], FAKE_DEVICES="0", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^gpu_check: no GPU: .*CUDA_VISIBLE_DEVICES=''.*\n$")
        self.assertIsNone(figures)

    def test_everything_passes(self):
        self.program("gpu_good_test", TEST)
        self.program("gpu_fast_bench", '#!/bin/bash\necho \'{"steps_per_s": 1234.5}\'\n')
        result, figures = self.check([{"kind": "test", "name": "good", "program": "gpu_good_test"},
                                      {"kind": "benchmark", "name": "fast", "program": "gpu_fast_bench"}])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        items = {item["name"]: item for item in figures["items"]}
        self.assertEqual(items["doctor"]["figures"], {"findings": ["ok GPU"]})
        self.assertEqual(items["good"]["figures"], {"works": 0.25})
        self.assertEqual(items["fast"]["figures"], {"steps_per_s": 1234.5})
        self.assertEqual(items["digits"]["figures"],
                         {"hypervolume": {"search": 0.5}, "utilization_percent": 88.3, "wall_s": 3.2, "trials": 1,
                          "median_setup_ms": 2.0, "median_train_ms": 50.0, "median_validate_ms": 1.0,
                          "gpu_busy_percent": None})
        self.assertEqual(list(items), ["doctor", "good", "digits", "digits_1_slot", "digits_again", "equal_journals",
                                       "little_memory", "fast"])
        self.assertEqual(figures["devices"], ["Fake GPU 0"])
        self.assertIn("gpu_check: passed: 8 of 8 items on Fake GPU 0", result.stdout.splitlines()[-1])
        page = self.page.read_text()
        self.assertIn("1 x Fake GPU 0", page)
        self.assertIn("| search digits | passed |", page)
        self.assertIn("| median_train_ms | 50 |", page)

    def test_journals_that_differ_are_a_failure(self):
        self.program("../skyline", SKYLINE.replace("the same", "$RANDOM$RANDOM"))
        result, figures = self.check([], "--only", "search")
        self.assertEqual(result.returncode, 1)
        items = {item["name"]: item for item in figures["items"]}
        self.assertIn("the journals differ", items["equal_journals"]["reason"])

    def test_a_journal_that_cannot_be_read_is_a_failure(self):
        self.program("../skyline", SKYLINE.replace('echo "the same"', "exit 2"))
        _, figures = self.check([], "--only", "search")
        items = {item["name"]: item for item in figures["items"]}
        self.assertEqual(items["equal_journals"]["status"], "failed")

    def test_a_trial_that_fails_fails_its_search(self):
        self.program("../skyline", SKYLINE.replace('"status": "ok"', '"status": "failed"'))
        _, figures = self.check([], "--only", "search")
        self.assertIn("of 1 trials 1 failed", figures["items"][1]["reason"])

    def test_holds_memory_in_pieces_and_says_if_it_cannot(self):
        _, figures = self.check([], "--only", "search", FAKE_PIECE_MB="1000")
        items = {item["name"]: item for item in figures["items"]}
        self.assertEqual(items["little_memory"]["status"], "passed")
        self.assertGreater(items["little_memory"]["figures"]["held_bytes"], (5 << 30) - (64 << 20) - 1)
        _, figures = self.check([], "--only", "search", FAKE_PIECE_MB="0")
        items = {item["name"]: item for item in figures["items"]}
        self.assertEqual(items["little_memory"]["reason"], "no memory of the GPU could be held")

    def test_does_the_kinds_that_are_asked_for(self):
        self.program("gpu_good_test", TEST)
        _, figures = self.check([{"kind": "test", "name": "good", "program": "gpu_good_test"}], "--only", "test")
        self.assertEqual([item["name"] for item in figures["items"]], ["doctor", "good"])
        result, _ = self.check([], "--only", "tests")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--only: tests: expected some of test, benchmark, search, sanitizer", result.stderr)

    def test_a_benchmark_may_record_nothing_and_a_search_may_not(self):
        warning = "warning: the device did not record a trial's steps, so they are slower: no"
        self.program("gpu_eager_bench", f'#!/bin/bash\necho "{warning}" >&2\necho "{{}}"\n')
        self.program("../skyline", SKYLINE.replace("mkdir", f'echo "{warning}" >&2; mkdir'))
        _, figures = self.check([{"kind": "benchmark", "name": "eager", "program": "gpu_eager_bench"}])
        items = {item["name"]: item for item in figures["items"]}
        self.assertEqual(items["eager"]["status"], "passed")
        self.assertEqual(items["digits"]["reason"], "the device did not record all steps")

    def test_says_how_busy_the_busiest_gpu_was(self):
        self.program("nvidia-smi", SAMPLES)
        self.program("../skyline", SKYLINE.replace("mkdir", "until [[ -e $OUT ]]; do sleep 0.05; done; mkdir"))
        result, figures = self.check([], PATH=f"{self.bundle}/bin:/usr/bin:/bin", OUT=str(self.root / "sampled"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        items = {item["name"]: item for item in figures["items"]}
        self.assertEqual(items["digits"]["figures"]["gpu_busy_percent"], 60.0)

    def test_a_tool_that_does_not_answer_has_no_version(self):
        self.program("nvidia-smi", SAMPLES.replace("exit 0", "sleep 60"))
        result, figures = self.check([], PATH=f"{self.bundle}/bin:/usr/bin:/bin", OUT=str(self.root / "sampled"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIsNone(figures["versions"]["driver"])

    def test_two_gpus_train_groups_where_there_is_an_mpirun(self):
        self.program("mpirun", '#!/bin/bash\ntouch "$OUT"\nexec "${@:5}"\n')
        started = self.root / "started"
        for devices, names in (("1", []), ("2", ["digits_group"])):
            _, figures = self.check([], "--only", "search", FAKE_DEVICES=devices, PATH=f"{self.bundle}/bin:/usr/bin:/bin",
                                    OUT=str(started))
            self.assertEqual([item["name"] for item in figures["items"] if item["name"] == "digits_group"], names)
            self.assertEqual(started.exists(), bool(names))

    def test_packing_is_measured_with_fewer_connections_too(self):
        self.program("gpu_packing_bench", '#!/bin/bash\necho "{\\"connections\\": ${CUDA_DEVICE_MAX_CONNECTIONS:-0}}"\n')
        _, figures = self.check([{"kind": "benchmark", "name": "packing", "program": "gpu_packing_bench"}], "--only",
                                "benchmark")
        self.assertEqual({item["name"]: item["figures"] for item in figures["items"]},
                         {"packing": {"connections": 0}, "packing_8_connections": {"connections": 8}})

    def test_uses_mnist_where_it_is_given(self):
        self.program("gpu_data_bench", '#!/bin/bash\necho "{\\"words\\": \\"$*\\"}"\n')
        mnist = self.root / "mnist.h5"
        program = {"kind": "benchmark", "name": "data", "program": "gpu_data_bench"}
        result, figures = self.check([program], "--mnist", mnist)
        items = {item["name"]: item for item in figures["items"]}
        self.assertEqual(items["data"]["figures"], {"words": f"--data {mnist}"})
        self.assertEqual(items["mnist_cnn"]["status"], "passed", result.stdout)

    def test_a_failed_item_does_not_stop_the_others(self):
        self.program("gpu_bad_test", "#!/bin/bash\necho broken >&2\nexit 3\n")
        self.program("gpu_good_test", TEST)
        self.program("gpu_mute_bench", "#!/bin/bash\necho no figures\n")
        result, figures = self.check([{"kind": "test", "name": "bad", "program": "gpu_bad_test"},
                                      {"kind": "test", "name": "good", "program": "gpu_good_test"},
                                      {"kind": "benchmark", "name": "mute", "program": "gpu_mute_bench"}])
        self.assertEqual(result.returncode, 1)
        items = {item["name"]: item for item in figures["items"]}
        bad = items["bad"]
        self.assertEqual((bad["status"], bad["reason"], bad["errors"]), ("failed", "exit code 3", "broken\n"))
        self.assertEqual(items["good"]["status"], "passed")
        self.assertIn("figures cannot be read", items["mute"]["reason"])
        self.assertEqual(figures["result"], "failed")

    def test_a_test_program_that_runs_nothing_has_not_passed(self):
        self.program("gpu_empty_test", TEST.replace('"tests": 1', '"tests": 0'))
        result, figures = self.check([{"kind": "test", "name": "empty", "program": "gpu_empty_test"}])
        self.assertEqual(result.returncode, 1)
        self.assertIn("no test was run", figures["items"][1]["reason"])

    @staticmethod
    def has_ended(state):
        try:
            return state.read_text().split()[2] == "Z"
        except OSError:
            return True

    def test_an_item_that_hangs_is_ended_with_its_children(self):
        self.program("gpu_slow_test", '#!/bin/bash\nsleep 600 & echo $! > "$(dirname "$0")/pid"; wait\n')
        for budget_s in (9, 60):  # others may wait for a core
            result, figures = self.check([{"kind": "test", "name": "slow", "program": "gpu_slow_test"}],
                                         SKYLINE_GPU_CHECK_BUDGET_S=str(budget_s))
            if "took more than" in figures["items"][1]["reason"]:
                break
        self.assertEqual(result.returncode, 1)
        self.assertIn("took more than", figures["items"][1]["reason"])
        state = pathlib.Path("/proc", (self.bundle / "bin/pid").read_text().strip(), "stat")
        for _ in range(600):  # a signal takes its time on a busy machine
            if self.has_ended(state):
                break
            time.sleep(0.1)
        self.assertTrue(self.has_ended(state))
        self.assertIn("not run", figures["items"][-1]["reason"])

    def test_a_bundle_that_is_not_there_is_named(self):
        self.bundle = self.root / "nothing.tar.gz"
        base = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(self.root / "driver")}
        result = subprocess.run([sys.executable, SOURCE / "scripts/gpu_check", self.bundle], env=base,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such bundle", result.stderr)


if __name__ == "__main__":
    unittest.main()
