"""The handle of a run: where it is, what it signals, and what a refused call leaves."""

import copy
import errno
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import unittest
import unittest.mock

from package_case import SETTINGS, SPACE, PackageCase

import functions
import skyline
from skyline import _job


class Place(PackageCase):
    def test_a_run_is_found_after_a_change_of_the_folder(self):
        (self.folder / "own.py").write_text("def train(lr, depth):\n    return {'score': lr, 'size': depth}\n")
        (self.folder / "elsewhere").mkdir()
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        import own

        run = skyline.search(SPACE, own.train, trials=2, folder=self.name(), **SETTINGS)
        self.addCleanup(os.chdir, self.folder)
        os.chdir("elsewhere")
        self.assertEqual((run.wait().status["state"], len(run.rows), run.running), ("finished", 2, False))
        self.assertEqual(run.path, self.folder / self.name())
        self.assertEqual(len(run.resume(trials=4, quiet=True).wait().rows), 4)  # its trainer is found from where it began
        (run.path / "trainer/started_in").unlink()  # a run of Skyline's own training has no such file
        self.assertEqual(len(run.resume(trials=5, quiet=True).wait().rows), 5)
        (run.path / "trainer/started_in").write_text("/is/gone")
        self.assertEqual(len(run.resume(trials=6, quiet=True).wait().rows), 6)
        self.assertEqual((run.path / "trainer/started_in").read_text(), str(self.folder))
        other = skyline.open_run(f"../{self.name()}")
        os.chdir("..")
        self.assertEqual(len(other.rows), 6)

    def test_a_tilde_is_the_home_folder_and_a_dash_begins_no_option(self):
        with unittest.mock.patch.dict(os.environ, HOME=str(self.folder)):
            run = skyline.search(SPACE, functions.product, trials=2, folder="~/of-home/-run", **SETTINGS).wait()
            self.assertEqual(len(skyline.open_run("~/of-home/-run").rows), 2)
        self.assertEqual(run.path, self.folder / "of-home/-run")
        run = skyline.search(SPACE, functions.product, trials=2, folder="-x", **SETTINGS).wait()
        self.assertEqual((run.status["state"], run.running, len(run.front_rows) > 0), ("finished", False, True))
        self.assertEqual(len(run.resume(trials=3, quiet=True).wait().rows), 3)
        with self.assertRaisesRegex(skyline.Error, "^~nobody-of-this-name/a: expected ~/ for the home folder, or ./~ for a file of this name$"):
            skyline.open_run("~nobody-of-this-name/a")
        skyline.search(SPACE, functions.product, trials=2, folder="./~x", **SETTINGS).wait()
        self.assertTrue((self.folder / "~x/journal.jsonl").exists())

    def test_a_run_is_pickled_and_copied_also_while_its_job_works(self):
        run = skyline.search(SPACE, functions.slow, trials=4, folder=self.name(), **SETTINGS)
        for other in (pickle.loads(pickle.dumps(run)), copy.copy(run), copy.deepcopy(run)):
            self.assertEqual((other.path, other._job), (run.path, None))
        self.assertEqual(len(other.wait().rows), 4)
        run.wait()

    def test_a_run_that_another_job_resumes_is_running(self):
        pathlib.Path("go").touch()
        run = skyline.search(SPACE, functions.when_told, trials=2, folder=self.name(), **SETTINGS).wait()
        self.assertFalse(run.running)
        os.remove("go")
        other = skyline.open_run(run.path).resume(trials=4, quiet=True)
        self.assertTrue(run.running)
        pathlib.Path("go").touch()
        self.assertEqual(len(run.wait().rows), 4)
        other.wait()


class Refused(PackageCase):
    def tree(self):
        return {path: path.read_bytes() if path.is_file() else None for path in self.folder.rglob("*")}

    def test_a_search_that_is_refused_changes_nothing(self):
        before = self.tree()
        for ranks in (1, 2):
            with self.assertRaises(skyline.Error):
                skyline.search({"depth": [2, 2]}, functions.one_number, maximize="score", ranks=ranks, folder="deep/er/run", quiet=True)
            self.assertEqual(self.tree(), before)

    def test_neither_the_configuration_nor_the_run_changes_when_a_resume_is_refused(self):
        run = skyline.search(SPACE, functions.product, trials=2, folder=self.name(), **SETTINGS).wait()
        before = self.tree()
        with self.assertRaisesRegex(skyline.Error, "run.seed"):
            skyline.search(SPACE, functions.product, trials=3, folder=self.name(), resume=True, run={"seed": 7}, **SETTINGS)
        after = self.tree()
        log = run.path / "logs/skyline.log"
        self.assertEqual({path for path in after if after[path] != before.get(path)} - {log}, set())
        with self.assertRaises(skyline.Error):
            run.resume(run={"seed": 7}, quiet=True)
        self.assertEqual((run.running, run.wait().status["state"]), (False, "finished"))


class Signals(PackageCase):
    def owner(self, process, **changes):
        ticks = int(pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
        text = {"host": _job._place().split()[0], "pid": process.pid, "started_ticks": ticks, "place": _job._place(), **changes}
        (self.folder / "owner.json").write_text(repr(text).replace("'", '"'))

    def test_an_unrelated_process_gets_no_signal(self):
        bystander = subprocess.Popen(["sleep", "600"])
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        host, boot, space = _job._place().split()
        for changes, said in (({"place": f"{host} {boot} pid:[1]"}, f"in another container or on another machine of the name {host}: send SIGUSR1"),
                              ({"place": f"other {boot} {space}", "host": "other"}, f"its job runs on other: send SIGUSR1 to process {bystander.pid} there"),
                              ({"started_ticks": 1}, "is not the job that wrote it"), ({}, "is not the job that wrote it"),
                              ({"pid": "1"}, "names no process to stop")):
            with self.subTest(changes):
                self.owner(bystander, **changes)
                with self.assertRaises(skyline.Error) as refused:
                    _job.ask_owner_to_stop(self.folder)
                self.assertIn(said, str(refused.exception))
                self.assertIsNone(bystander.poll())

    def test_the_job_gets_the_signal_also_where_there_are_no_handles_of_processes(self):
        code = ("import signal, time\ntold = []\nsignal.signal(signal.SIGUSR1, lambda *_: told.append(1))\nprint(1, flush=True)\n"
                "while not told:\n    time.sleep(0.02)\nprint(2)")
        for problem in (None, OSError(errno.ENOSYS, "")):
            job = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
            self.assertEqual(job.stdout.readline(), "1\n")
            self.owner(job)
            with unittest.mock.patch("os.pidfd_open", side_effect=problem, wraps=None if problem else os.pidfd_open):
                _job.ask_owner_to_stop(self.folder)
            self.assertEqual((job.communicate()[0], job.returncode), ("2\n", 0))
        job = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.addCleanup(job.communicate)
        self.assertEqual(job.stdout.readline(), "1\n")
        self.owner(job)
        with unittest.mock.patch("signal.pidfd_send_signal", side_effect=PermissionError):
            with self.assertRaisesRegex(skyline.Error, f"process {job.pid}, its job, may not be sent signals by this user"):
                _job.ask_owner_to_stop(self.folder)
        with unittest.mock.patch.object(os, "pidfd_open"), unittest.mock.patch.object(signal, "pidfd_send_signal"):
            del os.pidfd_open, signal.pidfd_send_signal  # a Python that was built on an older system
            _job.ask_owner_to_stop(self.folder)


class Rows(PackageCase):
    def test_the_rows_of_trials_that_failed_have_the_same_keys(self):
        run = skyline.search(SPACE, functions.fails, folder=self.name(), search={"algorithm": "exhaustive"}, **SETTINGS).wait()
        self.assertEqual(len({tuple(row) for row in run.rows}), 1)
        self.assertEqual({row["score"] is None for row in run.rows if row["status"] == "program"}, {True})
        none = skyline.search(SPACE, functions.always_fails, trials=2, folder=f"{self.name()}.none", **SETTINGS)
        with self.assertRaises(skyline.Error):
            none.wait()
        self.assertEqual([row["score"] for row in none.rows], [None, None])

    def test_the_front_begins_with_the_trial_its_parameters_and_its_metrics(self):
        run = skyline.search(SPACE, functions.noisy, trials=16, folder=self.name(), search={"algorithm": "random", "repeats": 2}, **SETTINGS).wait()
        for row in run.front_rows:
            self.assertEqual(list(row)[:8], ["trial", "lr", "depth", "score", "score_deviation", "size", "size_deviation", "phase"])
        self.assertEqual(set(run.rows[0]) - set(run.front_rows[0]), set())

    def test_a_run_knows_the_folders_that_trainers_have_left(self):
        run = skyline.search(SPACE, functions.leaves_a_file, trials=12, folder=self.name(), final={"epochs": 2},
                             **{**SETTINGS, "command": {"epochs": 1}}).wait()
        self.assertEqual({row["phase"] for row in run.front_rows}, {"final"})
        for row in run.front_rows:
            self.assertEqual((run.trial_folder(f"{row['trial']}.final") / "depth.txt").read_text(), f"{row['depth']} 2")
            self.assertEqual((run.trial_folder(row["trial"]) / "depth.txt").read_text(), f"{row['depth']} 1")
        dominated = {row["trial"] for row in run.rows} - {row["trial"] for row in run.front_rows}
        for trial in (max(dominated), f"{max(dominated)}.final"):
            with self.assertRaisesRegex(skyline.Error, rf"^{self.name()}: has no folder of trial {trial}: run.keep_weights says which are kept$"):
                run.trial_folder(trial)
        for trial in (99, "99.final"):
            with self.assertRaisesRegex(skyline.Error, rf"^{self.name()}: has no trial {trial}$"):
                run.trial_folder(trial)

    def test_parameters_may_have_the_names_that_mean_something_to_a_trainer(self):
        space = {"parameters": [4], "folder": ["a"], "cache": [1], "seed": [7], "resumed": [2]}
        for parameters in (space, {**space, "parameters": skyline.range(4, 4.5, 1)}):
            run = skyline.search(parameters, functions.names_of_the_trial, maximize="score", trials=1, quiet=True,
                                 folder=f"{self.name()}.{type(parameters['parameters']).__name__}").wait()
            self.assertEqual((run.rows[0]["parameters"], run.rows[0]["score"], run.rows[0]["parameter_seed"]), (4, 4.0, 7))


if __name__ == "__main__":
    unittest.main()
