"""Copies of a run on the mount of an object store (skyline-aml --mirror): searches that are killed at random moments, lose their local
disk and go on from the last copy.

usage: mirror_test.py PROGRAM SOURCE [--rounds=N] [unittest's arguments]
"""

import contextlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
ROUNDS = int(sys.argv.pop(1).partition("=")[2]) if sys.argv[1:2] and sys.argv[1].startswith("--rounds=") else 1
TIMEOUT_S = 600
MPIRUN = [os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe", "-np"]
sys.path.insert(0, str(SOURCE / "aml"))

import mirror as mirrors  # noqa: E402
import run_look  # noqa: E402

RANKS = {"synthetic": 1, "folders": 2}
TRAINER = [sys.executable, str(SOURCE / "tests/support/saving_trainer.py"), "{parameters}", "seconds=0.01"]
SEARCHES = {
    # Trials of some 30 ms.
    "synthetic": (SOURCE / "configs/synthetic.yaml").read_text().replace("seconds_per_gflop: 0.05", "seconds_per_gflop: 1"),
    # Trials that continue others and inherit from others in their folders, which come and go.
    "folders": "space: {parameters: {a: {range: [1, 9]}, b: {range: [1, 40]}}}\n"
               f"command: {{run: {json.dumps(TRAINER)}, metrics: {{score: {{better: higher, range: [0, 100]}}, size: {{better: lower}}}}, "
               "epochs: 3, deterministic: true, inherit: true}\n"
               "objectives: [maximize: score, minimize: size]\nsearch: {trials: 30, budgets: [1, 3]}\n"}
HEADER = '{"config_hash":"a","seed":"1"}\n'
# In place of the search: when it is told to stop it saves, and ends once that is in a copy.
STOPS_LATE = """
import pathlib, signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
asked = []
(pathlib.Path(RUN) / "weights").mkdir()
(pathlib.Path(RUN) / "journal.jsonl").write_text(HEADER)
while not asked:
    time.sleep(0.01)
(pathlib.Path(RUN) / "weights/1.h5").write_text("saved")
while not any("weights/1.h5" in copy.read_text() for copy in pathlib.Path(MIRROR).glob("copies/*.json")):
    time.sleep(0.01)
sys.exit(75)
"""


class Mirrors(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-mirror-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_folder, self.mirror = self.folder / "disk/run", self.folder / "blob/run"
        for name, text in SEARCHES.items():
            (self.folder / f"{name}.yaml").write_text(text)

    def start(self, search, *options, every=0.2, program=PROGRAM):
        """A job in a session of its own."""
        launcher = [*MPIRUN, str(RANKS[search])] if RANKS[search] > 1 else []
        line = [*launcher, SOURCE / "aml/run", f"{search}.yaml", "--run", self.run_folder, "--mirror", self.mirror, "--", "--quiet", *options]
        variables = {"SKYLINE": str(program), "SKYLINE_MIRROR_EVERY": str(every), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(line, cwd=self.folder, env={**os.environ, **variables}, text=True, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self, search, *options, expect=0, **more):
        job = self.start(search, *options, **more)
        said, _ = job.communicate(timeout=TIMEOUT_S)
        self.assertEqual(job.returncode, expect, said)
        return said

    def kill_after(self, seconds, search):
        """Kills all of a job at once, so long after its journal has begun, and loses its disk. Returns what it said."""
        job = self.start(search)
        self.wait_for(job, self.run_folder / "journal.jsonl")
        timer = threading.Timer(seconds, self.kill_session, (job.pid,))
        timer.start()
        said, _ = job.communicate(timeout=TIMEOUT_S)  # the pipe ends when all are gone
        timer.join()
        self.lose_disk()
        return said

    def wait_for(self, job, file):
        while not file.exists():
            self.assertTrue(job.poll() is None or file.exists())
            time.sleep(0.01)

    @staticmethod
    def kill_session(leader):
        """Ranks have groups of their own."""
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(path.read_text().rpartition(")")[2].split()[3]) == leader:
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def lose_disk(self):
        if self.run_folder.exists():
            lost = self.run_folder.rename(self.folder / f"lost.{time.monotonic_ns()}")
            shutil.rmtree(lost, ignore_errors=True)  # a trainer may be dying there

    def canonical(self, run):
        return subprocess.run([PROGRAM, "journal", run, "--canonical"], check=True, capture_output=True, timeout=TIMEOUT_S).stdout

    def undisturbed(self, search):
        whole = self.folder / f"whole-{search}"
        begun = time.monotonic()
        subprocess.run([PROGRAM, "search", f"{search}.yaml", "--run", whole, "--quiet"], cwd=self.folder, check=True, capture_output=True,
                       timeout=TIMEOUT_S)  # a search by one rank
        return self.canonical(whole), time.monotonic() - begun

    def newest(self):
        return mirrors.Mirror(self.mirror).numbers()[0]

    def test_a_search_that_is_killed_at_random_moments_has_the_journal_of_an_undisturbed_one(self):
        for search in SEARCHES:
            whole, seconds = self.undisturbed(search)
            for number in range(ROUNDS):
                seed = random.randrange(1 << 30)
                with self.subTest(search, round=number, seed=seed):
                    draw = random.Random(seed)
                    for _ in range(2):
                        self.kill_after(draw.uniform(0, 0.2 + 0.6 * seconds), search)
                        has_copies = bool(mirrors.Mirror(self.mirror).numbers())
                    said = self.finish(search)
                    self.assertEqual("is copy" in said, has_copies, said)
                    self.assertEqual(self.canonical(self.run_folder), whole)
                    self.lose_disk()
                    shutil.rmtree(self.mirror)

    def test_a_stop_is_copied_and_the_next_job_goes_on_from_it(self):
        whole, _ = self.undisturbed("synthetic")
        for _ in range(20):  # the search may end before it hears of the stop
            job = self.start("synthetic", every=60)
            self.wait_for(job, self.run_folder / "journal.jsonl")
            job.terminate()
            said, _ = job.communicate(timeout=TIMEOUT_S)
            if job.returncode != 0:
                break
            shutil.rmtree(self.run_folder)
            shutil.rmtree(self.mirror)
        self.assertEqual(job.returncode, 75, said)
        stopped = self.canonical(self.run_folder)
        self.lose_disk()
        self.finish("synthetic", every=60)
        self.assertEqual(self.canonical(self.run_folder), whole)
        self.assertTrue(whole.startswith(stopped))

    def test_the_notice_of_a_preemption_makes_a_copy_while_the_search_stops(self):
        program = self.folder / "program"
        program.write_text(f"#!{sys.executable}\nRUN, MIRROR, HEADER = {str(self.run_folder)!r}, {str(self.mirror)!r}, {HEADER!r}\n{STOPS_LATE}")
        program.chmod(0o755)
        job = self.start("synthetic", every=3600, program=program)
        self.wait_for(job, self.run_folder / "journal.jsonl")
        job.terminate()
        said, _ = job.communicate(timeout=TIMEOUT_S)
        self.assertEqual(job.returncode, 75, said)

    def test_a_mirror_that_cannot_be_written_costs_one_warning_until_it_can(self):
        self.mirror.mkdir(parents=True)
        (self.mirror / "files").touch()  # no user, root included, can write below it
        said = self.finish("synthetic", expect=76)
        self.assertEqual(said.count("cannot copy"), 1, said)
        self.assertRegex(said, r"cannot copy \S+ to \S+: .*; the search goes on, and it is tried again every 0.2 s")
        self.assertIn("skyline-aml: exit code 0; results", said)
        self.assertIn(f"not copied: the run to {self.mirror}", said)
        (self.mirror / "files").unlink()
        self.finish("synthetic")
        self.lose_disk()
        self.assertIn("is copy", self.finish("synthetic"))

    def test_what_cannot_be_a_mirror_is_refused_in_one_line(self):
        for mirror, size, text in (("m", "4", "--mirror: expected a job of one node"), ("run/m", "2", "lies in the run folder")):
            done = subprocess.run([SOURCE / "aml/run", "synthetic.yaml", "--run", "run", "--mirror", mirror], cwd=self.folder, text=True,
                                  capture_output=True, env={**os.environ, "OMPI_COMM_WORLD_SIZE": size, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"})
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(text, done.stderr)


class Copies(unittest.TestCase):
    """Copies of a folder that is filled by hand."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-mirror-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.run_folder = self.folder / "run"
        self.write("journal.jsonl", HEADER)
        self.mirror = mirrors.Mirror(self.folder / "mirror")
        self.copier = mirrors.Copier(self.mirror, self.run_folder)

    def write(self, name, text, age_s=0):
        path = self.run_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - age_s,) * 2)

    def at_second_look(self, change):
        """Makes a change when the second look has seen the journal and nothing else."""
        walk, changes = run_look.walk, iter([None, change])

        def walk_late(*arguments):
            if len(arguments) == 1 and (again := next(changes, None)):
                again()
            yield from walk(*arguments)
        run_look.walk = walk_late
        self.addCleanup(setattr, run_look, "walk", walk)

    def restored(self):
        self.assertTrue(self.copier.copy())
        return self.contents()

    def contents(self):
        place = self.folder / f"restored-{time.monotonic_ns()}"
        with contextlib.redirect_stderr(io.StringIO()) as self.said:
            mirrors.restore(self.mirror, place)
        return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}

    def test_weights_that_a_commit_removes_stay_with_the_journal_that_needs_them(self):
        self.write("weights/1.h5", "one")

        def commit():
            with open(self.run_folder / "journal.jsonl", "a") as file:
                file.write("{}\n")
            self.write("weights/2.h5", "two")
            (self.run_folder / "weights/1.h5").unlink()
        self.at_second_look(commit)
        files = self.restored()
        self.assertEqual((files["journal.jsonl"].count("\n"), files["weights/2.h5"]), (2, "two"))

    def test_a_file_that_goes_after_the_first_look_is_copied(self):
        self.write("weights/1.h5", "one")
        self.at_second_look((self.run_folder / "weights/1.h5").unlink)
        self.assertEqual(self.restored()["weights/1.h5"], "one")

    def test_contents_that_the_store_has_lost_are_stored_again(self):
        self.write("weights/1.h5", "one")
        self.restored()
        for lost in (self.mirror.folder / "files").iterdir():
            lost.unlink()
        (self.mirror.folder / "job").unlink()
        self.write("weights/2.h5", "two")
        files = self.restored()
        self.assertEqual((files["weights/1.h5"], files["weights/2.h5"]), ("one", "two"))

    def test_the_folder_of_a_trial_is_never_a_mixture(self):
        def save(names, text, age_s):
            for name in names:
                self.write(f"trials/3/ab/{name}", text, age_s)
            return self.restored()

        both = ("state", "epoch")
        self.assertEqual(save(both, "1", 9)["trials/3/ab/epoch"], "1")
        self.at_second_look(lambda: [self.write(f"trials/3/ab/{name}", "2", 5) for name in both])
        for files in (self.restored(), save(["state"], "3", 0)):
            self.assertEqual((files["trials/3/ab/state"], files["trials/3/ab/epoch"]), ("1", "1"))
        self.write("trials/3/done", "ab")
        files = self.restored()
        self.assertEqual((files["trials/3/ab/state"], files["trials/3/ab/epoch"]), ("3", "2"))

    def test_the_folder_of_a_trial_that_ends_comes_with_its_result(self):
        self.write("trials/3/ab/state", "1")

        def end():
            self.write("trials/3/done", "ab")
            self.write("checkpoints/results.0.jsonl", "3")
        self.at_second_look(end)
        files = self.restored()
        self.assertEqual((files["checkpoints/results.0.jsonl"], files["trials/3/ab/state"]), ("3", "1"))

    def test_a_journal_that_never_rests_has_the_folders_that_it_needs(self):
        self.write("trials/3/ab/state", "1")
        self.write("trials/3/done", "ab")

        def commit_and_remove():
            with open(self.run_folder / "journal.jsonl", "a") as file:
                file.write("{}\n")
            (self.run_folder / "trials/3/done").unlink()
        self.at_second_look(commit_and_remove)
        self.addCleanup(setattr, run_look, "MOST_LOOKS", run_look.MOST_LOOKS)
        run_look.MOST_LOOKS = 0
        self.assertEqual(self.restored(), {"journal.jsonl": HEADER, "trials/3/ab/state": "1", "trials/3/done": "ab"})

    def test_only_what_has_changed_is_written_again(self):
        self.write("weights/1.h5", "one")
        self.restored()
        before = {path: path.stat().st_mtime_ns for path in (self.folder / "mirror/files").iterdir()}
        self.write("weights/2.h5", "two")
        self.copier = mirrors.Copier(self.mirror, self.run_folder)  # copier of a next job
        self.restored()
        after = {path: path.stat().st_mtime_ns for path in (self.folder / "mirror/files").iterdir()}
        self.assertEqual({**after, **before}, after)
        self.assertEqual(len(after), len(before) + 1)

    def test_only_the_newest_copies_and_their_contents_are_kept(self):
        for number in range(8):
            self.write("weights/1.h5", str(number))
            self.copier.copy()
        copies = dict(self.mirror.copies())
        self.assertEqual(sorted(copies), [4, 5, 6, 7, 8])
        used = {entry["sha256"] for copy in copies.values() for entry in copy["files"].values() if "sha256" in entry}
        self.assertEqual({path.name for path in (self.mirror.folder / "files").iterdir()}, used)
        self.copier.copy()
        self.assertEqual(self.mirror.numbers()[0], 8, "a copy of nothing new")

    def test_what_a_kill_leaves_is_removed_by_the_next_copy(self):
        self.copier.copy()
        left = self.mirror.folder / "files" / ("0" * 64)
        left.touch()
        self.write("owner.json", "{}")
        self.write("weights/1.h5", "new")
        mirrors.Copier(self.mirror, self.run_folder).copy()
        self.assertFalse(left.exists())
        self.assertEqual(set(self.contents()), {"journal.jsonl", "weights/1.h5"})

    def test_a_copy_that_is_not_whole_is_left_out(self):
        self.write("weights/1.h5", "one")
        self.copier.copy()
        self.write("weights/1.h5", "two")
        self.copier.copy()
        self.mirror.path_of(3).write_text('{"format": "skyline-mi')
        entry = self.mirror.read(2)["files"]["weights/1.h5"]
        self.mirror.contents(entry).write_text("tw0")
        for _ in range(2):
            self.assertEqual(self.contents()["weights/1.h5"], "one")
            self.assertRegex(self.said.getvalue(), "^skyline-aml: copy 2 of .* is left out: the contents of weights/1.h5 are (damaged|missing)\n")
        mirrors.Copier(self.mirror, self.run_folder).copy()
        self.assertEqual(self.contents()["weights/1.h5"], "two", "what was damaged was not stored again")
        shutil.rmtree(self.mirror.folder / "files")
        with self.assertRaisesRegex(mirrors.Refusal, "none of its copies is whole: name another folder to begin a run"):
            self.contents()

    def test_a_job_makes_no_copies_once_another_one_does(self):
        self.assertTrue(self.copier.copy())
        second = mirrors.Copier(self.mirror, self.run_folder)
        self.write("weights/1.h5", "new")
        self.assertFalse(self.copier.copy())
        self.assertEqual(self.mirror.numbers(), [1])
        self.assertTrue(second.copy())

    def test_a_mirror_of_another_run_is_refused(self):
        self.copier.copy()
        late = mirrors.Copier(self.mirror, self.run_folder)
        self.write("journal.jsonl", HEADER.replace("1", "2"))
        with self.assertRaisesRegex(mirrors.Refusal, "expected config_hash a and seed 2, got config_hash a and seed 1: give each run a mirror"):
            mirrors.restore(self.mirror, self.run_folder)
        late.copies = {}  # it came before there were copies
        with self.assertRaisesRegex(mirrors.Refusal, "holds copies of another run"):
            late.copy()
        self.assertEqual(self.mirror.numbers(), [1])

    def test_an_older_run_in_the_folder_is_not_taken_for_the_copy(self):
        self.write("journal.jsonl", HEADER + "{}\n")
        self.copier.copy()
        mirrors.restore(self.mirror, self.run_folder)
        self.write("journal.jsonl", HEADER)
        with self.assertRaisesRegex(mirrors.Refusal, r"has 1 lines, and that of copy 1 in \S+ has 2: remove the folder to resume from the copy"):
            mirrors.restore(self.mirror, self.run_folder)

    def test_links_modes_and_times_of_trial_folders_are_kept(self):
        self.write("trials/3/ab/run.sh", "x", age_s=100)
        (self.run_folder / "trials/3/ab/run.sh").chmod(0o750)
        (self.run_folder / "trials/3/ab/latest").symlink_to("run.sh")
        (self.run_folder / "trials/3/ab/empty").mkdir(mode=0o700)
        (self.run_folder / "trials/3/done").write_text("ab")
        self.copier.copy()
        place = self.folder / "restored"
        mirrors.restore(self.mirror, place)
        seen = [((each / "trials/3/ab/run.sh").stat(), os.readlink(each / "trials/3/ab/latest"), (each / "trials/3/ab/empty").stat().st_mode)
                for each in (self.run_folder, place)]
        facts = [(status.st_mode, status.st_mtime_ns, *rest) for status, *rest in seen]
        self.assertEqual(facts[0], facts[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
