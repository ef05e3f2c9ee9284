"""What people type in a hurry: each line of the table is a command, its exit code, and words of its one line."""

import os
import subprocess
import tempfile
import unittest

from skyline_runs import SOURCE, RunsCase, read_json

USER_ERROR = 2
SYNTHETIC = str(SOURCE / "configs/synthetic.yaml")
DIGITS = str(SOURCE / "configs/digits.yaml")
ON_DIGITS = ["validate", DIGITS, "--set", "data.file=digits.h5"]

# Exit code 0: the words are on standard output or error, and the command is carried out.
CARELESS = [
    # The command line.
    (["serach", DIGITS, "--run", "a"], 2, "unknown command `serach`, did you mean `search`?"),
    ([], 2, "a command is needed, known here: "),
    (["search", DIGITS], 2, "search: --run is required (see skyline search --help)"),
    (["search", SYNTHETIC, "--run", "a", "--slot", "2"], 2, "search: unknown option `--slot`, did you mean `--slots`?"),
    (["search", SYNTHETIC, "--run", "a", "--slots", "0"], 2, "--slots: expected a whole number from 1 to 1000000, got 0"),
    (["search", SYNTHETIC, "--run", "a", "--slots", "two"], 2, "--slots: expected a whole number from 1 to 1000000, got two"),
    (["search", SYNTHETIC, "--run", "a", "--wait", "10"], 2, "--wait: expected a duration, e.g. 90s or 3m, got 10"),
    (["search", SYNTHETIC, "--run", "a", "--resume=mus"], 2, "--resume: got `mus`, did you mean `must`?"),
    (["search", "--run", "a"], 2, "search: name a configuration, or add --resume to resume the run in a"),
    (["search", "digit.yaml", "--run", "a"], 2, "digit.yaml: No such file"),
    (["search", SYNTHETIC, "--run", "a", "-np", "4"], 2, "not expected: "),
    (["validate", SYNTHETIC, "--set", "search.iterations"], 2, "--set search.iterations: expected key=value"),
    (["validate", SYNTHETIC, "--set", "search.itertions=3"], 2, "did you mean `iterations`?"),
    (["validate", SYNTHETIC, "--iterations=3"], 2, "validate: unknown option `--iterations`, a key of `search`, for `--set`"),
    (["validate", SYNTHETIC, "--colour=3"], 2, "validate: unknown option `--colour`, known here: "),
    (["validate", "--set", "search.iterations=3"], 2, "validate: config is required"),
    (["show", "mine", "--trial", "-18446744073709551615"], 2,
     "--trial: expected a whole number from 0 to 9223372036854775807, got -18446744073709551615"),
    (["predict", "mine", "set.npy", "--trial", "1,-1"], 2, "--trial: expected a whole number from 0 to 9223372036854775807, got -1"),
    (["profile", "mine", "--trial", "9223372036854775808"], 2, "got 9223372036854775808"),
    (["train", "mine", "--trial", "1", "--epochs", "1", "--run", "a", "--seed=-1"], 2, "--seed: expected a whole number from 0 to "),
    (["status", "nowhere"], 2, "nowhere: not a run folder (no journal.jsonl)"),
    (["status", ""], 2, "status: run: expected a path, got nothing"),
    (["search", "c.yaml", "--run", ""], 2, "search: --run: expected a path, got nothing"),
    (["journal", "."], 2, "journal.jsonl"),
    (["show", SYNTHETIC, "--genotype", "deepth=3"], 2, "depth"),
    # Data.
    (["prep", "mnits", ".", "-o", "a.h5"], 2, "prep: unknown kind of data `mnits`, did you mean `mnist`?"),
    (["prep", "digits"], 2, "prep digits: --out is required (see skyline prep digits --help)"),
    (["prep", "digits", "-o", "digits.h5"], 2, "digits.h5: exists already (--force overwrites it)"),
    (["prep", "digits", "-o", "."], 2, ".: a folder, expected the name of a file, e.g. ./set.h5"),
    (["prep", "images", "nowhere", "-o", "a.h5"], 2, "nowhere"),
    (["prep", "images", ".", "-o", "a.h5", "--sise", "32"], 2, "images: unknown option `--sise`, did you mean `--size`?"),
    (["prep", "arrays", "digits.h5", "-o", "digits.h5", "--force"], 2, "digits.h5: is the source, too"),
    (["validate", DIGITS], 2, "there is no data/digits.h5, nor is it beside the configuration; make it, e.g.: skyline prep digits"),
    (["validate", DIGITS, "--set", "data.file=~/none.h5"], 2, "there is no /home/nobody/none.h5"),
    (["validate", DIGITS, "--set", "data.file=~nobody/d.h5"], 2, "~nobody/d.h5: expected ~/ for the home folder"),
    (["validate", DIGITS, "--set", "data.file=notes.txt"], 2, "notes.txt: not an HDF5 file"),
    # Configurations.
    (["validate", "tabs.yaml"], 2, "tabs.yaml:2:1: a tab at the start of a line: indent by blanks"),
    (["validate", "two.yaml"], 2, "two.yaml:4:1: a second document begins here: expected one"),
    (["validate", "large.yaml"], 2, "large.yaml: expected a configuration of at most 4194304 bytes, got 4194305"),
    (["validate", "list.yaml"], 2, "list.yaml:1:1: expected a map with the sections"),
    (["validate", "empty.yaml"], 2, "expected a map with the sections"),
    ([*ON_DIGITS, "--set", "run.time_limit=10"], 2, "run.time_limit: expected `none` or a duration above 0, e.g. 90 s, 15 min"),
    ([*ON_DIGITS, "--set", "training.batch=5000"], 0, "training.batch is more than the 1154 samples to train on"),
    ([*ON_DIGITS, "--set", "training.augment.crop=8"], 2, "expected less than the image's 8 pixels, got 8"),
    ([*ON_DIGITS, "--set", "training.augment.cutout=99"], 2, "expected less than the image's 8 pixels, got 99"),
    ([*ON_DIGITS, "--set", "objectives=[{maximise: validation_accuracy}]"], 2, "maximise"),
    ([*ON_DIGITS, "--set", "training.schedule.warmup=50"], 0, "training.schedule.warmup is longer than a trial (training.epochs)"),
    ([*ON_DIGITS, "--set", "training.threads=64"], 0, "training.threads is 64, and this process may use "),
    # Run folders.
    (["search", SYNTHETIC, "--run", "."], 2, ".: holds files that are no run's ("),
    (["search", "mine/config.yaml", "--run", "mine"], 2, "mine: holds files that are no run's (config.yaml): name a new folder"),
    (["search", SYNTHETIC, "--run", "mine", "--resume"], 2, "mine: holds files that are no run's (config.yaml): name a new folder"),
    (["search", SYNTHETIC, "--run", "plain"], 2, "plain: holds files that are no run's (config.yaml): name a new folder"),
    (["search", SYNTHETIC, "--run", "edited"], 2, "edited: holds files that are no run's (config.yaml): name a new folder"),
    (["search", SYNTHETIC, "--run", "told"], 2, "told: holds files that are no run's (mlflow.json, owner.json, status.json): name a new folder"),
    (["search", SYNTHETIC, "--run", "lost", "--resume"], 2,
     "lost: holds checkpoints, weights of a run, whose journal.jsonl is gone: restore it, or name another folder"),
    (["search", SYNTHETIC, "--run", "new", "--resume=must"], 2, "--resume=must: there is no run in new (no journal.jsonl)"),
    (["search", "--run", "new", "--resume"], 2, "--resume without a configuration takes that of the run, and there is no new/config.yaml"),
    (["search", SYNTHETIC, "--run=~nobody/a"], 2, "~nobody/a: expected ~/ for the home folder"),
    (["search", SYNTHETIC, "--run", "notes.txt"], 2, "notes.txt"),
    (["status", "--run", "a"], 2, "status: unknown option `--run`"),
]


class Careless(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        files = {"tabs.yaml": "data:\n\tfile: x\n", "two.yaml": "data:\n  file: x\n---\nsearch: {}\n", "list.yaml": "- data\n",
                 "large.yaml": "#" * ((4 << 20) + 1), "empty.yaml": "", "notes.txt": "remember the milk\n",
                 "mine/config.yaml": (SOURCE / "configs/synthetic.yaml").read_text(),
                 "plain/config.yaml": "experiment: mine\n",
                 "edited/config.yaml": "# written by skyline for this run, sum 0123\nexperiment: mine\n",
                 "told/status.json": '{"state": "mine"}', "told/owner.json": '{"name": "me"}', "told/mlflow.json": "[]",
                 "lost/weights/3.h5": "x", "lost/checkpoints/mine.ckpt": "x"}
        for name, text in files.items():
            (cls.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.folder / name).write_text(text)

    def contents(self):
        return {path.relative_to(self.folder): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def test_a_careless_command_is_refused_in_one_line_and_changes_nothing(self):
        before = self.contents()
        self.assertGreaterEqual(len(CARELESS), 40)
        for arguments, code, words in CARELESS:
            with self.subTest(" ".join(arguments)):
                done = subprocess.run(self.command(*arguments), capture_output=True, text=True, cwd=self.folder, timeout=600,
                                      env={**os.environ, "HOME": "/home/nobody"})
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(words, done.stdout + done.stderr)
                if code == USER_ERROR:
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertTrue(done.stderr.startswith("skyline: "), done.stderr)
        self.assertEqual(self.contents(), before)

    def search(self, run, *more, **expectations):
        return self.skyline("search", SYNTHETIC, "--run", run, "--quiet", "--set", "synthetic.seconds_per_gflop=0", *more, **expectations)

    def test_a_run_begins_among_logs_and_what_an_ended_start_left(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as run:
            for name in ("logs/skyline.log", "slurm-17.log", "status.json", "owner.json.tmp.elsewhere.17.0"):
                path = self.folder / run / name
                path.parent.mkdir(exist_ok=True)
                path.touch()
            said = self.skyline("search", SYNTHETIC, "--run", run, "--resume", "--set", "synthetic.seconds_per_gflop=0")
            self.assertIn(f"nothing to resume in {run}: starting from the beginning", said.stderr)

    def test_a_run_is_resumed_by_its_own_configuration_and_extended_by_settings(self):
        short = ["--set", "search.iterations=1"]
        self.search("own", *short)
        self.skyline("search", "--run", "own", "--resume=must", "--quiet")
        self.skyline("search", "--run", "own", "--resume", "--quiet", "--set", "search.iterations=2")
        self.search("alone", "--set", "search.iterations=2")
        self.assertEqual(self.canonical("own"), self.canonical("alone"))
        (self.folder / "alone/journal.jsonl").unlink()
        self.assertIn("of a run, whose journal.jsonl is gone", self.search("alone", "--resume", expect=USER_ERROR).stderr)

    def test_the_log_ends_with_how_the_job_ended_and_status_tells_its_exit_code(self):
        self.search("ends")
        log = (self.folder / "ends/logs/skyline.log").read_text().splitlines()
        self.assertRegex(log[-2], r" info done: \d+ trials \(0 failed\), results in ends: ends/report.html shows them in a browser$")
        self.assertRegex(log[-1], r" info this job ends with exit code 0$")
        self.assertEqual(self.skyline("status", "ends", "--exit-code", "--json").returncode, 0)
        self.search("ends", "--resume", "--set", "run.seed=7", expect=USER_ERROR)
        log = (self.folder / "ends/logs/skyline.log").read_text().splitlines()
        self.assertIn("error --resume ends: `run.seed` differs", log[-2])
        self.assertRegex(log[-1], r" error this job ends with exit code 2$")

    def ending(self, run):
        status = read_json(self.folder / run / "status.json")
        return status["state"], status["exit_code"], status["job"], status["restart"]

    def test_status_json_tells_a_batch_script_how_each_of_its_jobs_ended(self):
        batch = {"SLURM_JOB_ID": "812", "SLURM_ARRAY_JOB_ID": "811", "SLURM_ARRAY_TASK_ID": "3", "SLURM_RESTART_COUNT": "2"}
        self.search("batch", environment=batch)
        self.assertEqual(self.ending("batch"), ("finished", 0, "811_3", 2))
        self.search("batch", "--resume", "--set", "run.seed=7", expect=USER_ERROR, environment={"SLURM_JOB_ID": "813"})
        self.assertEqual(self.ending("batch"), ("failed", USER_ERROR, "813", 0))
        self.search("batch", expect=USER_ERROR)  # a person has asked in vain
        self.assertEqual(self.ending("batch"), ("failed", USER_ERROR, "813", 0))
        self.search("batch", "--resume")
        self.assertEqual(self.ending("batch"), ("finished", 0, "", 0))

    def test_a_batch_job_leaves_no_status_in_a_folder_that_is_no_runs(self):
        (self.folder / "letters").mkdir()
        (self.folder / "letters/to_her.txt").touch()
        self.search("letters", expect=USER_ERROR, environment={"SLURM_JOB_ID": "813"})
        self.search("no-folder", "--set", "run.seed=x", expect=USER_ERROR, environment={"SLURM_JOB_ID": "813"})
        self.assertEqual(os.listdir(self.folder / "letters"), ["to_her.txt"])
        self.assertFalse((self.folder / "no-folder").exists())


if __name__ == "__main__":
    unittest.main()
