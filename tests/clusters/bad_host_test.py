"""A host on which no program of the user's works, a black hole: three hosts by their names alone. Needs root."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
del sys.argv[1]
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
RECOVERS = {"OMPI_MCA_orte_enable_recovery": "1", "OMPI_MCA_pml": "ob1"}
STOPPED, NO_FRONT = 75, 3
TIMEOUT_S = 600

# Fails at once on the hosts of BAD, and by itself where `n` has a factor of FAILS. Elsewhere it ends when five trials of this
# job have failed on a bad host, and the file `go` is there.
TRAINER = """import json, os, pathlib, sys, time
trial = json.loads(pathlib.Path(sys.argv[1]).read_text())
host, n = os.uname().nodename, trial["parameters"]["n"]
marks = pathlib.Path(os.environ["MARKS"])
(marks / f"{host}.{trial['trial']}.{os.getpid()}").touch()
if host in os.environ["BAD"].split():
    sys.exit(1)
if int(os.environ["FAILS"]) and n % int(os.environ["FAILS"]) == 0:
    sys.exit(1)
end = time.monotonic() + 600  # a test that has failed makes no more files
while time.monotonic() < end and os.environ["BAD"] and (len(list(marks.glob(f"{os.environ['BAD'].split()[0]}.*"))) < 5 or not (marks.parent / "go").exists()):
    time.sleep(0.01)
os.write(int(os.environ["SKYLINE_REPORT_FD"]), json.dumps({"result": {"score": n % 17}}).encode() + b"\\n")
"""
ON_HOST = 'hostname "h$OMPI_COMM_WORLD_RANK"; exec "$@"'


class BadHost(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-bad-host-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.marks = self.folder / "marks"
        self.marks.mkdir()
        (self.folder / "go").touch()
        (self.folder / "trainer.py").write_text(TRAINER)

    def config(self, bad="", fails=0, trials=18, command=""):
        run = json.dumps([sys.executable, str(self.folder / "trainer.py"), "{parameters}"])
        path = self.folder / "search.yaml"
        path.write_text(f"space: {{parameters: {{n: {{range: [1, {trials}]}}}}}}\n"
                        f"command: {{run: {run}, deterministic: true, metrics: {{score: {{better: higher}}}}, "
                        f"env: {{MARKS: {self.marks}, BAD: \"{bad}\", FAILS: \"{fails}\"}}{command}}}\n"
                        "objectives: [maximize: score]\nsearch: {algorithm: exhaustive}\n")
        return path

    def line(self, config, run, *arguments, ranks=3):
        return [MPIEXEC, "--oversubscribe", "-np", str(ranks), "unshare", "-u", "sh", "-c", ON_HOST, "sh", PROGRAM, "search",
                config, "--run", run, "--slots", "1", *arguments]

    def search(self, config, run, *arguments, ranks=3, expect=0, variables=None):
        done = subprocess.run(self.line(config, run, *arguments, ranks=ranks), capture_output=True, text=True,
                              timeout=TIMEOUT_S, cwd=self.folder, env={**os.environ, **(variables or {})})
        if variables is None:  # else mpirun returns 0 in any case
            self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done

    def journal(self, run):
        return [json.loads(line) for line in (self.folder / run / "journal.jsonl").read_text().splitlines()[1:]]

    def canonical(self, run):
        """The canonical journal without what differs by the configuration."""
        done = subprocess.run([PROGRAM, "journal", run, "--canonical"], capture_output=True, text=True, check=True, cwd=self.folder)
        return done.stdout.splitlines()[1:]

    def undisturbed(self, **more):
        self.search(self.config(**more), "undisturbed", ranks=1)
        return self.canonical("undisturbed")

    def check_named(self, done, host):
        deed = r"has failed its last \d+ trials, and another host trains them"
        self.assertRegex(done.stderr, f"{host} {deed}: it gets no more trials")
        self.assertRegex(done.stdout.splitlines()[-1], f"^skyline: done: .*; no more trials went to {host}, which {deed}$")

    def test_a_black_hole_fails_no_trial_and_is_named(self):
        expected = self.undisturbed()
        config = self.config(bad="h2")
        ways = {"collective": [], "window": ["--set", "run.window=12"], "recovery": []}
        for name, arguments in ways.items():
            with self.subTest(name):
                shutil.rmtree(self.marks)
                self.marks.mkdir()
                done = self.search(config, name, *arguments, variables=RECOVERS if name == "recovery" else None)
                self.assertEqual(self.canonical(name), expected)
                self.check_named(done, "h2")
                failed = [entry for line in self.journal(name) for entry in line["where"].get("failed_tries", [])]
                self.assertGreaterEqual(len(failed), 5)
                self.assertEqual({(entry["rank"], entry["host"], entry["reason"]) for entry in failed}, {(2, "h2", "exit code 1")})
                self.assertEqual(list((self.folder / name / "trials").glob("*")), [])

    def test_a_black_hole_fails_no_trial_of_a_job_that_resumes(self):
        expected = self.undisturbed()
        config = self.config(bad="h3")
        coordinated = ["--coordinator-only"]
        (self.folder / "go").unlink()
        job = subprocess.Popen(self.line(config, "resumed", *coordinated, "--set", "run.window=12", ranks=4), cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        deadline = time.monotonic() + TIMEOUT_S
        while len(list(self.marks.glob("h3.*"))) < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        job.send_signal(signal.SIGUSR1)
        text = job.communicate(timeout=TIMEOUT_S)[0]
        self.assertEqual(job.returncode, STOPPED, text)
        (self.folder / "go").touch()
        self.search(config, "resumed", *coordinated, "--set", "run.window=12", "--resume", ranks=4)
        self.assertEqual(self.canonical("resumed"), expected)

    def test_a_trainer_that_fails_by_its_architecture_has_the_same_journal_on_any_number_of_hosts(self):
        expected = self.undisturbed(fails=3)
        self.assertEqual(sum('"status":"program"' in line for line in expected), 6)
        config = self.config(fails=3)
        for ranks in (2, 3):
            done = self.search(config, f"hosts{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"hosts{ranks}"), expected)
            self.assertNotIn("no more trials", done.stdout + done.stderr)
            self.assertEqual(list((self.folder / f"hosts{ranks}" / "trials").glob("*")), [])

    def test_where_every_host_is_bad_each_trial_fails_after_two_tries(self):
        self.search(self.config(bad="h0 h1 h2", trials=6), "all", "--set", "run.most_failures=6", expect=NO_FRONT)
        lines = self.journal("all")
        self.assertEqual([line["status"] for line in lines], ["program"] * 6)
        self.assertEqual([len(line["where"]["failed_tries"]) for line in lines], [1] * 6)
        self.assertEqual(len(list(self.marks.iterdir())), 12)


if __name__ == "__main__":
    unittest.main()
