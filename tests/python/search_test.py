"""Searches that Python starts, waits for, stops and resumes."""

import contextlib
import decimal
import errno
import io
import os
import signal
import subprocess
import sys
import unittest
import unittest.mock

from package_case import METRICS, PROGRAM, SETTINGS, SPACE, PackageCase

import functions
import skyline
from skyline import _search
from skyline._files import publish, read_json
from skyline._progress import Progress


ASKED = ("import json, os, sys; open(os.environ['SKYLINE_REPORT_FILE'], 'w').write("
         "json.dumps(dict(result=dict(board=int(sys.argv[1])))) + chr(10))")


class Search(PackageCase):
    def test_a_plain_function_has_the_same_canonical_journal_on_any_number_of_ranks(self):
        runs = [skyline.search(SPACE, functions.product, trials=8, ranks=ranks, folder=f"{self.name()}.{ranks}", **SETTINGS)
                for ranks in (1, 2, 3)]
        journals = [self.canonical(run.wait()) for run in runs]
        self.assertEqual(journals[0].count(b'"status":"ok"'), 8)
        self.assertEqual(journals[0], journals[1])
        self.assertEqual(journals[0], journals[2])
        best = runs[1].front_rows[0]
        self.assertEqual((best["score"], best["size"], best["phase"]), (best["lr"] * best["depth"], best["depth"], "search"))

    def test_a_parameter_that_a_trial_does_not_use_is_no_argument(self):
        space = {"optimizer": ["adam", "sgd"], "momentum": skyline.range(0.1, 0.9, count=3, when="$optimizer == sgd")}
        run = skyline.search(space, functions.with_momentum, trials=9, folder=self.name(), **SETTINGS).wait()
        self.assertEqual(sorted((row["optimizer"], row["momentum"] or 0) for row in run.rows),
                         [("adam", 0), ("sgd", 0.1), ("sgd", 0.5), ("sgd", 0.9)])

    def test_an_unused_parameter_that_a_trainer_reads_fails_the_trial_with_what_to_write(self):
        space = {"optimizer": ["adam", "sgd"], "momentum": {"choice": [0.5, 0.9], "when": "$optimizer == sgd"}}
        run = skyline.search(space, functions.reads_what_is_unused, trials=3, folder=self.name(), **SETTINGS).wait()
        self.assertEqual([row["score"] for row in sorted(run.rows, key=lambda row: row["momentum"] or 0)], [None, 0.5, 0.9])
        failed, = (row for row in run.rows if row["optimizer"] == "adam")
        self.assertIn("momentum: this trial does not use it (it uses optimizer): read a parameter with a condition by .get('momentum')", failed["reason"])

    def test_no_trial_is_outside_of_a_bound_on_what_an_expression_gives(self):
        run = skyline.search(SPACE, functions.one_score, trials=20, folder=self.name(), maximize="score", minimize="area",
                             metrics={"score": {"range": [0, 2]}, "area": {"is": "$depth * $lr", "unit": "m2"},
                                      "half": {"is": "$depth / 2"}},
                             constraints=[{"half": [0, 1.5]}], quiet=True).wait()
        self.assertEqual(len(run.rows), 9, "three depths, three rates")
        for row in run.rows:
            self.assertLessEqual(row["depth"], 3)
            self.assertEqual((row["half"], row["area"]), (row["depth"] / 2, round(row["depth"] * row["lr"], 9)))
        self.assertEqual(list(run.front_rows[0])[:5], ["trial", "lr", "depth", "score", "area"])

    def test_a_search_of_expressions_trains_nothing(self):
        run = skyline.search({"a": range(1, 9), "b": range(1, 9)}, maximize="area", minimize="edge", folder=self.name(), quiet=True,
                             metrics={"area": {"is": "$a * $b"}, "edge": {"is": "2 * ($a + $b)"}},
                             search={"algorithm": "exhaustive"}).wait()
        self.assertEqual(len(run.rows), 64)
        for row in run.front_rows:
            self.assertLessEqual(abs(row["a"] - row["b"]), 1)
            self.assertEqual(row["area"], row["a"] * row["b"])
        with self.assertRaisesRegex(skyline.Error, "metrics: without a function or a program they are expressions"):
            skyline.search({"a": [1, 2]}, maximize="area", folder=self.name(), metrics={"area": {"range": [0, 1]}})

    def test_a_program_is_asked_before_a_trial(self):
        metrics = {"score": {"range": [0, 2]}, "board": {"run": [sys.executable, "-c", ASKED, "{depth}"], "better": "lower",
                                                         "when": "before"}}
        run = skyline.search(SPACE, functions.one_score, trials=4, folder=self.name(), maximize="score", metrics=metrics,
                             constraints=[{"board": [0, 2]}], quiet=True).wait()
        self.assertEqual(len([row for row in run.rows if row["status"] == "ok"]), 4)
        for row in run.rows:
            self.assertEqual(row["status"], "ok" if row["depth"] <= 2 else "outside")

    def test_the_front_has_the_means_of_repeats(self):
        run = skyline.search(SPACE, functions.noisy, trials=16, folder=self.name(), search={"algorithm": "random", "repeats": 2}, **SETTINGS).wait()
        members = read_json(run.path / "pareto.json")["search_front"]
        self.assertEqual([row["score"] for row in run.front_rows], [member["objectives"]["score"] for member in members])
        repeated = [row for row in run.front_rows if row.get("score_deviation")]
        self.assertTrue(repeated)
        for row in repeated:
            scores = [each["score"] for each in run.rows if each["arch_id"] == row["arch_id"]]
            self.assertEqual(len(scores), 2)
            self.assertAlmostEqual(row["score"], sum(scores) / 2)

    def test_a_stopped_search_is_resumed_to_the_journal_of_one_that_was_not_stopped(self):
        whole = skyline.search(SPACE, functions.product, trials=12, folder=f"{self.name()}.whole", **SETTINGS).wait()
        for ranks, then in ((1, 2), (2, 1)):
            run = self.held_search(trials=12, ranks=ranks, folder=f"{self.name()}.{ranks}")
            self.wait_until(lambda: len(run.rows) > 1, "no trial ended")
            self.assertTrue(run.running)
            run.stop()
            self.assertEqual((run.running, run.status["state"], run.status["exit_code"]), (False, "stopped", 75))
            self.assertLess(len(run.rows), 12)
            self.go_on()
            run.resume(ranks=then, quiet=True).wait()
            self.assertEqual(run.status["state"], "finished")
            self.assertEqual([(row["trial"], row["arch_id"], row["score"]) for row in run.rows],
                             [(row["trial"], row["arch_id"], row["score"]) for row in whole.rows])

    def test_a_finished_search_is_extended(self):
        run = skyline.search(SPACE, functions.product, trials=4, folder=self.name(), **SETTINGS).wait()
        run.resume(trials=6, quiet=True).wait()
        self.assertEqual(len(run.rows), 6)
        with self.assertRaises(skyline.Error) as refused:
            run.resume(run={"seed": 9}, quiet=True)
        self.assertIn("run.seed", str(refused.exception))

    def test_a_function_whose_file_was_edited_is_refused_unless_that_is_said(self):
        trainer = self.folder / "edited_trainer.py"
        trainer.write_text("def train(depth, lr):\n    return {'score': lr * depth, 'size': depth}\n")
        with unittest.mock.patch("sys.path", [str(self.folder), *sys.path]):
            import edited_trainer
        given = {"folder": self.name(), **SETTINGS}
        run = skyline.search(SPACE, edited_trainer.train, trials=3, **given).wait()
        trainer.write_text(trainer.read_text() + "\n")
        for again in (lambda **more: skyline.search(SPACE, edited_trainer.train, trials=4, resume=True, **more, **given),
                      lambda **more: run.resume(trials=5, quiet=True, **more)):
            with self.assertRaisesRegex(skyline.Error, r"`edited_trainer.py` has changed since its trials were trained.* or give changed=True \(checksum [0-9a-f]{12}, was [0-9a-f]{12}\)$"):
                again()
            again(changed=True).wait()
            trainer.write_text(trainer.read_text() + "\n")
        self.assertEqual(self.canonical(run).count(b"changed"), 2)

    def test_a_number_will_do_for_one_objective_and_a_text_for_a_time_or_a_size(self):
        run = skyline.search({"depth": [1, 2]}, functions.one_number, maximize="score", folder=self.name(), quiet=True,
                             search={"algorithm": "exhaustive"}, checkpoint={"interval": "0.5 epochs"},
                             run={"time_limit": "5 min", "memory": "4 GB", "virtual_slots": 2, "window": "2x"},
                             command={"grace": "3 s", "folder_limit": "1 MiB"})
        self.assertEqual([row["score"] for row in run.wait().rows], [0.1, 0.2])

    def test_an_exception_is_a_failed_trial_that_says_why(self):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            run = skyline.search(SPACE, functions.fails, folder=self.name(), search={"algorithm": "exhaustive"},
                                 **{**SETTINGS, "quiet": False}).wait()
        failed = [row for row in run.rows if row["status"] == "program"]
        self.assertEqual({row["depth"] for row in failed}, {2})
        self.assertEqual(failed[0]["reason"], "exit code 1: ValueError: depth 2 is not for me")
        self.assertTrue(run.log(failed[0]["trial"]).startswith('Traceback (most recent call last):\n  File "' + functions.__file__))
        self.assertIn("ValueError: depth 2 is not for me", shown.getvalue())
        self.assertIn("algorithm: exhaustive", shown.getvalue())
        self.assertNotIn("\r", shown.getvalue())
        with self.assertRaisesRegex(skyline.Error, "has no log of trial 99"):
            run.log(99)

    def test_a_search_in_which_all_trials_fail_raises_what_the_program_says(self):
        for ranks in (1, 2):
            with self.assertRaises(skyline.Error) as failed:
                skyline.search(SPACE, functions.always_fails, ranks=ranks, folder=f"{self.name()}.{ranks}", **SETTINGS).wait()
            self.assertEqual(failed.exception.exit_code, 3)
            self.assertRegex(str(failed.exception), r"^there is no front: every trial failed, most often as program \((\d+) of \1\): exit code 1: OSError: no such luck$")

    def test_values_reach_the_function_as_they_are(self):
        texts = ["plain", "true", "1", "nan", "~", "a: b", "x, y", "#", "-", "'", '"', "{lr}", "$y", "\u00fc\n"]
        numbers = [1, 1.5, 1e-5, True]
        run = skyline.search({"text": texts}, functions.any_text, maximize="score", folder=self.name(), quiet=True,
                             search={"algorithm": "exhaustive"}).wait()
        self.assertEqual([row["text"] for row in run.rows], texts)
        self.assertEqual([row["score"] for row in run.rows], [len(text) for text in texts])
        for number in numbers:
            folder = f"{self.name()}.{number}"
            run = skyline.search({"lr": [number], "depth": [1]}, functions.product, trials=1, folder=folder, **SETTINGS).wait()
            self.assertEqual((run.rows[0]["lr"], type(run.rows[0]["lr"])), (number, type(number)))

    def test_none_is_a_value_and_whole_epochs_are_whole(self):
        run = skyline.search({"depth": [None, 5], "word": ["a", None]}, functions.with_none, maximize="score", folder=self.name(), quiet=True,
                             search={"algorithm": "exhaustive"}, command={"epochs": 3}).wait()
        self.assertEqual([(row["depth"], row["word"], row["status"]) for row in run.rows],
                         [(None, "a", "ok"), (None, None, "ok"), (5, "a", "ok"), (5, None, "ok")])
        self.assertRegex((run.path / "search_state.csv").read_text(), r"\n\w+,\w+,1,,,")
        self.assertIn("choice: [~, 5]", (run.path / "config.yaml").read_text())
        known = skyline.search({"depth": [None, 5], "word": ["a", None]}, functions.with_none, maximize="score", folder=f"{self.name()}.known",
                               quiet=True, trials=1, search={"algorithm": "local_search", "initial": 1, "known": [str(run.path)]}).wait()
        self.assertEqual(known.rows[0]["depth"], 5)

    def test_a_bad_space_is_refused_with_the_line_of_the_program(self):
        for ranks in (1, 2):
            for values, said in (({"choise": [1]}, "unknown key `choise`, did you mean `choice`?"), ([], "a list of values"), ({"range": [2, 1]}, "range")):
                with self.subTest(values=values, ranks=ranks):
                    with self.assertRaises(skyline.Error) as refused:
                        skyline.search({"depth": values}, functions.one_number, maximize="score", ranks=ranks, folder=self.name(),
                                       quiet=True)
                    self.assertRegex(str(refused.exception), "^space: depth")
                    self.assertIn(said, str(refused.exception))
                    self.assertNotIn("\n", str(refused.exception))
                    self.assertEqual(refused.exception.exit_code, 2)

    def test_what_the_program_refuses_names_the_argument(self):
        for said, more in ((r"trials: expected a whole number from 1 to 1000000, got 0", {"trials": 0}),
                           (r"algorithm: unknown algorithm `nsga`, did you mean `nsga2`\?", {"algorithm": "nsga"}),
                           (r"metrics: score\.range: expected \[low, high\]", {"metrics": {"score": {"range": [1, 0]}}}),
                           (r"minimize: unknown metric `aera`, did you mean `area`\?", {"metrics": {"area": {"is": "$lr"}}, "minimize": "aera", "maximize": "area", "train": None}),
                           (r"unknown argument `trails`, did you mean `trials`\?", {"trails": 4}),
                           (r"unknown key `colour`, known here: data, ", {"colour": 4}),
                           (r"constraints\[0\]: unknown metric `depht`", {"constraints": [{"depht": [0, 1]}]}),
                           (r"train: expected a function of the parameters, or a program", {"train": None}),
                           (r"run\.window: expected `generation`", {"run": {"window": "x"}})):
            with self.subTest(said), self.assertRaisesRegex(skyline.Error, rf"\A{said}[^\n]*\Z"):
                skyline.search(SPACE, **{"train": functions.product, "maximize": "score", "folder": self.name(), "quiet": True, **more})

    def test_what_the_package_refuses_itself_names_the_argument(self):
        search, once = skyline.search, {"maximize": "score"}
        for said, call in (("objectives: expected at least one", lambda: search(SPACE, functions.product)),
                           ("space: depth: expected a list of values", lambda: search({"depth": 3}, functions.product, **once)),
                           ("space: expected parameters by name", lambda: search([1], functions.product, **once)),
                           ("n_trials: the argument of skyline.search is `trials`", lambda: search(SPACE, functions.product, n_trials=5, **SETTINGS)),
                           ("maximise: the argument of skyline.search is `maximize`", lambda: search(SPACE, functions.product, maximise="score")),
                           ("rank: the argument of skyline.search is `ranks`", lambda: search(SPACE, functions.product, rank=4, **SETTINGS)),
                           ("direction: the argument of skyline.search is `maximize` or `minimize`",
                            lambda: search(SPACE, functions.product, direction="maximize", **SETTINGS)),
                           ("seed: the argument of skyline.search is `run={'seed': 1}`", lambda: search(SPACE, functions.product, seed=3, **SETTINGS)),
                           ("sampler: the argument of skyline.search is `algorithm`",
                            lambda: search(SPACE, functions.product, sampler=object(), **SETTINGS)),
                           ("n_jobs: the argument of skyline.search is `slots`", lambda: search(SPACE, functions.product, n_jobs=5, **SETTINGS)),
                           (r"train: `product\(lr, depth\)` gets the parameters of the space by name, lr, width: missing",
                            lambda: search({"lr": [1], "width": [2]}, functions.product, **once)),
                           ("ranks: expected a whole number of at least 1", lambda: search(SPACE, functions.product, ranks=0, **once)),
                           ("command.python: is given twice", lambda: search(SPACE, functions.product, command={"python": "a:b"}, **once)),
                           ("space: lr: a value is .* got Decimal", lambda: search({"lr": [decimal.Decimal("0.1")], "depth": [1]}, functions.product, **once)),
                           (r"space: lr: a value is .* got \(1, 2\): give it a name", lambda: search({"lr": {"choice": [(1, 2)]}}, functions.product, **once)),
                           ("space: lr: a value is .* got <Signals.SIGINT: 2>", lambda: search({"lr": [signal.SIGINT]}, functions.product, **once)),
                           (r"command.env.A: expected a number, a text", lambda: search(SPACE, functions.product, command={"env": {"A": object()}}, **once)),
                           (r"space.parameters.lr.choice\[0\]: expected a number, .* got nan",
                            lambda: search({"lr": [float("nan")], "depth": [1]}, functions.product, **once))):
            with self.subTest(said), self.assertRaisesRegex(skyline.Error, said):
                call()

    def test_a_search_that_goes_on_is_followed_and_not_resumed(self):
        run = self.held_search(trials=12, folder=self.name())
        with self.assertRaisesRegex(skyline.Error, rf"is in use by process .*; skyline.open_run\('{self.name()}'\).wait\(\) follows it"):
            skyline.search(SPACE, functions.told_after_two, trials=12, folder=self.name(), resume=True, **SETTINGS)
        run.stop()

    def test_neither_a_run_nor_a_file_of_the_user_is_overwritten(self):
        run = skyline.search(SPACE, functions.product, trials=2, folder=self.name(), **SETTINGS).wait()
        with self.assertRaisesRegex(skyline.Error, "holds a run already: give another folder, or resume=True"):
            skyline.search(SPACE, functions.product, trials=2, folder=self.name(), **SETTINGS)
        skyline.search(SPACE, functions.product, trials=3, folder=self.name(), resume=True, **SETTINGS).wait()
        self.assertEqual(len(run.rows), 3)
        (self.folder / "mine.yaml").write_text("mine\n")
        with self.assertRaisesRegex(skyline.Error, "mine.yaml: is no file of skyline.search"):
            skyline.search(SPACE, functions.product, folder="mine", **SETTINGS)
        self.assertEqual((self.folder / "mine.yaml").read_text(), "mine\n")
        (self.folder / "kept.yaml").write_text(_search._FIRST_LINE)
        for where, problem in (("os.replace", OSError(errno.ENOSPC, "full")), ("skyline._run.Run._start", KeyboardInterrupt())):
            with unittest.mock.patch(where, side_effect=problem), self.assertRaises(type(problem)):
                skyline.search(SPACE, functions.product, folder="kept", **SETTINGS)
            self.assertEqual([file.read_text() for file in self.folder.glob("*kept*")], [_search._FIRST_LINE])

    def test_a_link_that_somebody_put_beside_the_configuration_is_not_followed(self):
        (self.folder / "victim").write_text("mine\n")
        written = []
        with unittest.mock.patch("os.replace", side_effect=lambda new, file: written.append(new.name)):
            for _ in range(2):
                publish(self.folder / "a.yaml", b"{}\n")
        self.assertNotEqual(*written, "nobody foresees the name")
        with unittest.mock.patch("secrets.token_hex", return_value="guessed"), self.assertRaises(FileExistsError):
            (self.folder / ".b.yaml.guessed").symlink_to("victim")
            publish(self.folder / "b.yaml", b"{}\n")
        self.assertEqual((self.folder / "victim").read_text(), "mine\n")

    def test_wait_gives_up_after_its_time_and_the_search_goes_on(self):
        run = self.held_search(trials=6, folder=self.name())
        with self.assertRaises(TimeoutError):
            run.wait(timeout=0.1)
        self.go_on()
        self.assertEqual(len(run.wait().rows), 6)

    def test_a_process_of_an_mpi_job_starts_searches_of_their_own(self):
        of_a_rank = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1", "PMIX_NAMESPACE": "nobody",
                     "PMIX_SERVER_URI4": "nobody.0;tcp4://127.0.0.1:1", "OMPI_MCA_ess_base_jobid": "7"}
        os.environ.update(of_a_rank)
        try:
            for ranks in (1, 2):
                run = skyline.search(SPACE, functions.product, trials=2, ranks=ranks, folder=f"{self.name()}.{ranks}", **SETTINGS)
                self.assertEqual(run.wait().status["ranks"], ranks)
        finally:
            for name in of_a_rank:
                del os.environ[name]


class Killed(PackageCase):
    def test_a_job_that_was_killed_is_told_of_and_its_run_is_read_and_resumed(self):
        run = self.held_search(trials=8, folder=self.name())
        self.wait_until(lambda: len(run.rows) > 1, "no trial ended")
        os.kill(run._job._process.pid, signal.SIGKILL)
        with self.assertRaises(skyline.Error) as killed:
            run.wait()
        self.assertEqual(killed.exception.exit_code, 128 + signal.SIGKILL)
        self.assertEqual(str(killed.exception), "skyline was ended by signal 9 (Killed)")
        other = skyline.open_run(self.name())
        with unittest.mock.patch("skyline._run._SILENCE_S", 0), self.assertRaisesRegex(skyline.Error, "its job was killed: resume the run"):
            other.wait()
        self.assertEqual(other.status["state"], "running")
        self.assertTrue(other.front_rows)
        with unittest.mock.patch.object(other, "_program", "/nowhere"):  # on a machine without Skyline
            self.assertEqual(other.front_rows, [])
        self.go_on()
        self.assertEqual(len(other.resume(quiet=True).wait().rows), 8)


class Files(PackageCase):
    def test_a_line_that_is_still_being_written_is_left_out(self):
        run = skyline.search(SPACE, functions.product, trials=4, folder=self.name(), **SETTINGS).wait()
        journal = run.path / "journal.jsonl"
        whole = journal.read_bytes()
        for cut in (1, 40):
            journal.write_bytes(whole[:-cut])
            self.assertEqual([row["trial"] for row in run.rows], [0, 1, 2])
        journal.write_bytes(whole.replace(b'"k":1', b'"k:1'))
        with self.assertRaisesRegex(skyline.Error, r"journal.jsonl:3: is damaged"):
            run.rows
        journal.write_bytes(whole.replace(b'"version":9', b'"version":99'))
        with self.assertRaisesRegex(skyline.Error, "no journal of a version that this package reads"):
            run.rows

    def test_a_parameter_and_a_metric_with_the_name_of_a_column_are_told_apart(self):
        row = skyline.search({"rank": [4], "size": [5]}, functions.names_of_columns, maximize="size", minimize="loss", folder=self.name(), trials=1,
                             quiet=True).wait().rows[0]
        self.assertEqual((row["parameter_rank"], row["rank"], row["size"], row["metric_size"]), (4, 0, 5, 5.0))
        self.assertEqual((row["loss"], type(row["seed"])), (4.0, int))

    def test_a_run_shows_itself(self):
        run = skyline.search(SPACE, functions.product, trials=8, folder=f"{self.name()}<b>", **SETTINGS).wait()
        self.assertRegex(repr(run), r"<skyline.Run runs/.*<b>: finished, 8 trials, front \d>")
        page = run._repr_html_()
        self.assertIn("&lt;b&gt;</b> finished: search 8/8 trials", page)
        self.assertEqual(page.count("<tr>"), 1 + len(run.front_rows))

    def test_progress_is_one_line_that_is_drawn_again_on_a_terminal_alone(self):
        status = {"state": "running", "phase": "search", "done": 3, "expected": 9, "failed": 1, "front": 2, "best": {"score": 0.25, "size": None},
                  "elapsed_s": 3725.5, "eta_s": 61}
        text = "search 3/9 trials · 1 failed · front 2 · best score 0.25 · 1:02:05 elapsed"
        for is_terminal in (True, False):
            screen = io.StringIO()
            screen.isatty = lambda: is_terminal
            with contextlib.redirect_stdout(screen):
                progress = Progress(quiet=False)
                for drawn in ({}, status, status, {**status, "eta_s": None}):
                    progress.draw(drawn)
                progress.say(["a warning"])
                progress.clear()
            gone = f"\r{text} · ETA"[:80] + f"\r{text}".ljust(80) + "\r" + " " * len(text) + "\r"
            self.assertEqual(screen.getvalue(), (gone if is_terminal else "") + "a warning\n")

    def test_a_folder_without_a_run_is_refused(self):
        with self.assertRaisesRegex(skyline.Error, "nowhere: holds no run"):
            skyline.open_run("nowhere")


class Program(PackageCase):
    def test_the_program_is_the_argument_the_variable_or_in_path(self):
        (self.folder / "bin").mkdir()
        (self.folder / "bin/skyline").symlink_to(PROGRAM)
        named, path = os.environ.pop("SKYLINE"), os.environ["PATH"]
        os.environ["PATH"] = f"{self.folder}/bin:{path}"
        try:
            self.assertEqual(skyline.find_program(), f"{self.folder}/bin/skyline")
            self.assertEqual(skyline.find_program(PROGRAM), str(PROGRAM))
            os.environ["SKYLINE"] = "/nowhere"
            with self.assertRaisesRegex(skyline.Error, "SKYLINE: /nowhere is no program"):
                skyline.find_program()
        finally:
            os.environ.update(SKYLINE=named, PATH=path)

    def test_a_launcher_that_is_not_there_is_named(self):
        launcher = os.environ.get("MPIEXEC")
        os.environ["MPIEXEC"] = "nowhere"
        try:
            with self.assertRaisesRegex(skyline.Error, "ranks: 2 ranks need the launcher `nowhere` of Open MPI, which is not in PATH"):
                skyline.search(SPACE, functions.product, ranks=2, folder=self.name(), **SETTINGS)
            self.assertFalse((self.folder / f"{self.name()}.yaml").exists())
        finally:
            os.environ.pop("MPIEXEC")
            os.environ.update({"MPIEXEC": launcher} if launcher else {})

    def test_the_configuration_is_one_that_the_program_takes_by_itself(self):
        run = skyline.search(SPACE, functions.product, trials=2, folder=self.name(), **SETTINGS).wait()
        done = subprocess.run([PROGRAM, "validate", f"{run.path}.yaml", "--resolved"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(METRICS["size"]["range"][1]), done.stdout)


if __name__ == "__main__":
    unittest.main()
