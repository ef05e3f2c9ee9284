"""Trainers whose storage fails: full disks, quotas and file servers are no failures of trials. As root, also on a disk of 6 MB."""

import json
import os
import shutil
import subprocess
import sys
import unittest

if os.geteuid() == 0 and "SKYLINE_OWN_MOUNTS" not in os.environ:  # mounts made here end with this process
    os.environ["SKYLINE_OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])

from skyline_runs import RunsCase  # noqa: E402

FAULT = 76
TRIALS = 40

# It fails as its option `does` says, where a file below `marks` is still to be used up: one for each failure.
TRAINER = """
import errno, json, os, pathlib, sys, time
trial = json.loads(pathlib.Path(sys.argv[1]).read_text())
number = trial["parameters"]["a"]
marks = pathlib.Path(sys.argv[2])
(marks / "starts").open("a").write(f"{number}\\n")
if trial["resumed"]:
    (marks / "resumed").open("a").write(f"{number}\\n")
assert not trial["resumed"] or (marks / "kept").exists(), "files of an attempt without a result"
with (pathlib.Path(trial["folder"]) / "state").open("wb") as file:
    file.write(b"x" * 300_000)
    file.flush()
    os.fsync(file.fileno())
    while number == int(os.environ.get("FILLS", -1)) and os.environ.get("RANK", "1") == "1":  # in a group the second member
        file.write(b"y" * 100_000)
for mark in sorted(marks.glob(f"{number}.*")):
    says = mark.read_text()
    if not mark.name.endswith("always"):
        mark.unlink()
    if mark.name.endswith("slow"):
        time.sleep(float(os.environ["SLOW"]))
    if mark.name.endswith("silent"):
        print(says)
        sys.exit(0)
    if mark.name.endswith("temporary"):
        (pathlib.Path(os.environ["TMPDIR"]) / "much").write_bytes(b"x" * 9_000_000)
    sys.exit(says)
os.write(int(os.environ["SKYLINE_REPORT_FD"]), json.dumps({"result": {"score": number % 7, "size": number}}).encode())
"""


class StorageCase(RunsCase):
    def setUp(self):
        self.marks = self.folder / f"{self.id().rsplit('.', 1)[-1]}.marks"
        self.marks.mkdir()

    def config(self, trials, variables=""):
        (self.folder / "trainer.py").write_text(TRAINER)
        path = self.folder / "search.yaml"
        run = json.dumps([sys.executable, "trainer.py", "{parameters}", str(self.marks)])
        path.write_text(f"space: {{parameters: {{a: {{range: [1, {trials}]}}}}}}\n"
                        f"command: {{run: {run}, metrics: {{score: {{better: higher, range: [0, 100]}}, size: {{better: lower}}}}, "
                        f"deterministic: true{variables}}}\n"
                        "objectives: [maximize: score, minimize: size]\nsearch: {algorithm: exhaustive}\n"
                        "run: {keep_weights: all}\n")
        return path

    def search(self, config, run, *options, patience="60 s", expect=0, ranks=0):
        return self.skyline("search", config, "--run", run, "--set", f"run.storage_patience={patience}", *options, expect=expect, ranks=ranks)

    def starts(self):
        return [int(line) for line in (self.marks / "starts").read_text().split()]

    def statuses(self, run):
        return [trial["status"] for trial in map(json.loads, self.canonical(run).splitlines()[1:])]


class CommandStorage(StorageCase):
    def test_what_the_system_says_through_a_trainer_is_no_result_and_is_tried_again(self):
        config = self.config(8)
        self.search(config, "undisturbed")
        (self.marks / "kept").touch()  # only where room is short an attempt's files are removed
        for number, says in ((1, "OSError: [Errno 122] Disk quota exceeded: 'state'"), (3, "cp: error writing 'x': Input/output error"),
                             (4, "torch: Stale file handle"), (6, "write failed: EDQUOT")):
            (self.marks / f"{number}.once").write_text(says)
        (self.marks / "7.silent").write_text("No space left on device: no result, but exit code 0")
        done = self.search(config, "disturbed", ranks=2)
        self.assertIn("Disk quota exceeded: it has no result, and is tried again for 60 s", done.stdout + done.stderr)
        self.assertEqual(self.canonical("disturbed"), self.canonical("undisturbed"))
        self.assertEqual(sorted(self.starts()[8:]), sorted([*range(1, 9), 1, 3, 4, 6, 7]))
        self.assertEqual(list((self.folder / "disturbed/trainer/attempts").iterdir()), [])

    def test_a_fault_that_stays_ends_the_job_and_fails_no_trial(self):
        config = self.config(4)
        self.search(config, "whole")
        (self.marks / "kept").touch()
        mark = self.marks / "2.always"
        mark.write_text("IOError: Stale file handle")
        done = self.search(config, "staying", patience="0.5 s", expect=FAULT)
        self.assertIn("meets this at each try: Stale file handle (mend that, then run again with --resume)", done.stderr)
        self.assertNotIn("program", self.statuses("staying"))
        mark.unlink()
        self.search(config, "staying", "--resume")
        self.assertEqual(self.canonical("staying"), self.canonical("whole"))

    def test_the_time_of_attempts_does_not_use_up_the_patience(self):
        (self.marks / "kept").touch()
        for patience_s in (2, 10, 60):  # a job may wait for a core for as long
            for mark in ("1.a", "1.b.slow", "1.c"):
                (self.marks / mark).write_text("IOError: Stale file handle")
            (self.marks / "starts").unlink(missing_ok=True)
            run = f"slow{patience_s}"
            done = subprocess.run(self.command("search", self.config(1, f', env: {{SLOW: "{patience_s + 0.1}"}}'), "--run", run, "--set",
                                               f"run.storage_patience={patience_s} s"), cwd=self.folder, capture_output=True, text=True)
            if done.returncode == 0:
                break
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.starts(), [1] * 4)

    def test_a_trial_that_lacks_room_where_there_is_much_fails_when_it_has_met_that_twice(self):
        if shutil.disk_usage(self.folder).free < min(shutil.disk_usage(self.folder).total / 2, 1 << 30):
            self.skipTest("needs a disk with room")
        (self.marks / "2.always").write_text("unable to write to file </torch_1>: No space left on device (28)")
        config = self.config(4)
        self.search(config, "lacking", ranks=2)
        failed = [trial for trial in map(json.loads, self.canonical("lacking").splitlines()[1:]) if trial["status"] != "ok"]
        self.assertEqual([(trial["genotype"], trial["status"], trial["reason"]) for trial in failed],
                         [({"a": 2}, "program", "its files filled a disk")])
        self.assertEqual(self.starts().count(2), 2)


@unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
class SmallDisk(StorageCase):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / f"{self.id().rsplit('.', 1)[-1]}.disk"
        self.disk.mkdir()
        self.mount("-t", "tmpfs", "-o", "size=6m", "tmpfs", self.disk)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def mount(self, *arguments):
        subprocess.run(["mount", *arguments], check=True)

    def test_a_full_disk_fails_no_trial_and_the_run_resumes_when_there_is_room(self):
        config = self.config(TRIALS)
        self.search(config, "ample")
        for ranks in (0, 3):
            run = self.disk / f"run{ranks}"
            done = self.search(config, run, patience="2 s", expect=FAULT, ranks=ranks)
            self.assertIn("No space left on device (free some space and run again)", done.stderr)
            self.assertNotIn("program", self.statuses(run))
            self.mount("-o", "remount,size=60m", self.disk)
            (self.marks / "kept").touch()  # trainers were killed when the job ended
            self.search(config, run, "--resume", ranks=ranks)
            (self.marks / "kept").unlink()
            self.assertEqual(self.canonical(run), self.canonical("ample"))
            shutil.rmtree(run)
            self.mount("-o", "remount,size=6m", self.disk)

    def test_a_trial_that_fills_a_disk_by_itself_fails_and_the_search_goes_on(self):
        config = self.config(3, variables=", env: {FILLS: \"2\"}")
        for ranks in (0, 2):
            run = self.disk / f"run{ranks}"
            self.search(config, run, ranks=ranks)
            lines = [json.loads(line) for line in self.canonical(run).splitlines()[1:]]
            self.assertEqual([line.get("reason") for line in lines if line["genotype"] == {"a": 2}], ["its files filled a disk"])
            self.assertEqual([line["status"] for line in lines].count("ok"), 2, lines)
            shutil.rmtree(run)

    def test_a_second_process_that_fills_a_disk_fails_its_trial(self):
        config = self.config(2, variables=", processes: 2, env: {FILLS: \"2\"}")
        self.search(config, self.disk / "group", ranks=2)
        lines = [json.loads(line) for line in self.canonical(self.disk / "group").splitlines()[1:]]
        self.assertEqual([line.get("reason") for line in lines], [None, "its files filled a disk"])

    def test_what_a_trial_has_saved_stays_if_another_disk_is_full(self):
        (self.marks / "kept").touch()
        (self.marks / "2.temporary").write_text("")
        self.skyline("search", self.config(3), "--run", "saved", environment={"TMPDIR": str(self.disk)})
        self.assertEqual(self.statuses("saved"), ["ok"] * 3)
        self.assertEqual((self.marks / "resumed").read_text(), "2\n")


if __name__ == "__main__":
    unittest.main()
