"""`python -m skyline.mlflow`: every trial is told once, over stops, kills and whatever a server does. MLflow's client is the real
one; the server is one on loopback that checks what it is sent."""

import importlib
import json
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest

importlib.import_module("mlflow")  # one import that all forks share

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "app"))

from mlflow_server import Server  # noqa: E402
from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, read_json  # noqa: E402

sys.path.insert(0, str(SOURCE / "python"))

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0", "--set", "search.iterations=3",
          "--set", "search.initial=6", "--set", "search.max_unseen=6"]
# Trials of some tenths of a second, so that a stop finds some done and some not.
LONG = [*CONFIG, "--set", "synthetic.seconds_per_gflop=16", "--set", "constraints=[{flops: [0, 2.0e8]}]"]
AWAY = 76
SECRET = "a-very-secret-token"


class ForkedProgram:
    """`python3 -m skyline.mlflow` in a fork of this process, which has imported MLflow: that costs 5 s of CPU each time."""

    def __init__(self, words, variables, folder):
        self.output = tempfile.TemporaryFile()
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                for stream in (1, 2):
                    os.dup2(self.output.fileno(), stream)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.environ.clear()
                os.environ.update(variables)
                os.chdir(folder)
                sys.argv[1:] = words
                runpy.run_module("skyline.mlflow", run_name="__main__", alter_sys=True)
            except SystemExit as end:
                code = end.code
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def has_said(self, text):
        return text in os.pread(self.output.fileno(), 1 << 16, 0).decode()

    def communicate(self, timeout):
        deadline = time.monotonic() + timeout
        while not (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.02)
        self.returncode = os.waitstatus_to_exitcode(ended[1])
        with self.output:
            self.output.seek(0)
            return "", self.output.read().decode()

    def send_signal(self, number):
        os.kill(self.pid, number)


class Mlflow(RunsCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.variables = {name: value for name, value in os.environ.items()
                          if not name.startswith("MLFLOW_") and "proxy" not in name.lower()}
        self.variables |= {"PYTHONPATH": str(SOURCE / "python"), "MLFLOW_TRACKING_URI": self.server.uri, "SKYLINE": str(self.command()[0])}

    def start_follower(self, *words, **variables):
        return ForkedProgram(words, {**self.variables, **variables}, self.folder)

    def start_program(self, *words, **variables):
        return subprocess.Popen([sys.executable, "-m", "skyline.mlflow", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=self.folder, env={**self.variables, **variables})

    def told(self, follower, expect=0):
        output, errors = follower.communicate(timeout=TIMEOUT_S)
        self.assertEqual(follower.returncode, expect, output + errors)
        return errors

    def send(self, *words, expect=0, **variables):
        return self.told(self.start_follower(*words, **variables), expect)

    def check_run(self, run, mlflow_run):
        """Each metric of each trial has been told once."""
        self.assertEqual(self.server.complaints, [])
        trials = read_json(self.folder / run / "models.json")["trials"]
        metrics = mlflow_run["metrics"]
        for key in ("trial/validation_accuracy", "trial/flops", "front/hypervolume", "run/failed_trials", "trial/seconds"):
            self.assertEqual([step for step, _, _ in metrics[key]], [trial["trial"] for trial in trials], key)
        for (_, value, _), trial in zip(metrics["trial/validation_accuracy"], trials):
            self.assertAlmostEqual(value, trial["metrics"]["validation_accuracy"], 6)

    def only_run(self):
        run, = self.server.runs.values()
        return run

    def test_a_finished_run_is_told_as_a_whole_and_only_once(self):
        self.skyline("search", *CONFIG, "--run", "made", ranks=2)
        for _ in range(2):
            self.send("made", MLFLOW_EXPERIMENT_NAME="my search", MLFLOW_RUN_NAME="first")
            self.check_run("made", self.only_run())
        run = self.only_run()
        self.assertEqual((run["name"], run["statuses"][0], run["statuses"][-1]), ("first", "FINISHED", "FINISHED"))
        self.assertEqual(run["experiment"], self.server.experiments["my search"])
        self.assertEqual((run["params"]["search.algorithm"], run["params"]["run.seed"]), ("evolution_pareto", "1"))
        front = {member["arch_id"] for member in read_json(self.folder / "made/pareto.json")["search_front"]}
        self.assertEqual(set(run["tags"]["skyline.front"].split()), front)
        self.assertEqual((run["tags"]["skyline.run_folder"], run["tags"]["skyline.version"]), (str(self.folder / "made"), "0.1.0"))
        self.assertEqual({path.name for path in pathlib.Path(run["artifacts"]).iterdir()}, {"pareto.json", "report.html", "search_state.csv"})
        best = read_json(self.folder / "made/pareto.json")["search_front"][0]
        words = [f"{name}={value}" for name, value in best["parameters"].items() if value is not None]
        self.assertEqual(run["tags"]["skyline.best"], " ".join([f"trial {best['trial']}:", *words]))
        self.assertEqual([path.name for path in (self.folder / "made").glob(".mlflow*")], [])

    def test_a_run_is_followed_over_a_stop_and_a_resume_as_one(self):
        follower = self.start_program("stop", "--follow")  # before the folder is there
        self.stop_after(3, "search", *LONG, "--run", "stop", ranks=2)
        self.told(follower)
        self.assertEqual(self.only_run()["statuses"], ["KILLED"])
        before = len(self.only_run()["metrics"]["trial/flops"])
        self.assertGreater(before, 0)
        follower = self.start_follower("stop", "--follow")
        self.skyline("search", *LONG, "--run", "stop", "--resume", ranks=3)
        self.told(follower)
        self.assertEqual(self.only_run()["statuses"], ["KILLED", "RUNNING", "FINISHED"])
        self.assertGreater(len(self.only_run()["metrics"]["trial/flops"]), before)
        self.check_run("stop", self.only_run())

    def until_sent(self):
        """An event: metrics were sent."""
        sent, answer = threading.Event(), self.server.answer
        self.server.answer = lambda call, body: (sent.set() if body.get("metrics") else None, answer(call, body))[1]
        return sent

    def test_sigterm_sends_what_is_there_and_ends(self):
        self.skyline("search", *CONFIG, "--run", "term")
        sent = self.until_sent()
        follower = self.start_follower("term", "--until-sigterm")
        self.assertTrue(sent.wait(TIMEOUT_S))
        self.skyline("search", *CONFIG, "--run", "term", "--resume", "--set", "search.iterations=4")
        follower.send_signal(signal.SIGTERM)
        self.told(follower)
        self.check_run("term", self.only_run())
        self.assertEqual([self.only_run()[part].get("search.iterations") for part in ("params", "tags")], ["3", "4"])

    def test_one_process_at_a_time_sends_a_run_and_the_next_one_follows_when_it_was_killed(self):
        self.skyline("search", *CONFIG, "--run", "turns")
        sent = self.until_sent()
        first = self.start_follower("turns", "--until-sigterm")
        self.assertTrue(sent.wait(TIMEOUT_S))
        self.assertEqual(self.send("turns", expect=2), "skyline.mlflow: turns: another process sends it\n")
        waits = "skyline.mlflow: turns: another process sends it; this one waits until that ends\n"
        second, third = (self.start_follower("turns", "--until-sigterm") for _ in range(2))
        self.wait_until(lambda: second.has_said(waits) and third.has_said(waits), "they do not wait")
        third.send_signal(signal.SIGTERM)
        self.assertEqual(self.told(third), waits + "skyline.mlflow: turns: another process sends it\n")
        first.send_signal(signal.SIGKILL)
        self.wait_until(lambda: second.has_said("MLflow at "), "nobody follows")
        second.send_signal(signal.SIGTERM)
        self.told(second)
        first.communicate(TIMEOUT_S)
        self.check_run("turns", self.only_run())

    def test_a_service_that_owns_the_run_keeps_its_status(self):
        self.server.add_run("theirs")
        for more in ([], ["--resume", "--set", "search.iterations=4"]):
            self.skyline("search", *CONFIG, *more, "--run", "theirs")
            self.send("theirs", MLFLOW_RUN_ID="theirs", MLFLOW_TRACKING_TOKEN=SECRET)
        self.check_run("theirs", self.only_run())
        self.assertEqual(self.only_run()["statuses"], [])
        self.assertEqual([self.only_run()[part].get("search.iterations") for part in ("params", "tags")], ["3", "4"])
        self.assertEqual({headers["Authorization"] for _, headers in self.server.requests}, {f"Bearer {SECRET}"})
        for file in (self.folder / "theirs").rglob("*"):
            self.assertFalse(file.is_file() and SECRET.encode() in file.read_bytes(), file)

    def test_a_server_that_is_away_for_a_while_is_told_everything_once(self):
        self.skyline("search", *CONFIG, "--run", "away")
        self.server.plan.extend([503, 503])
        said = self.send("away")
        self.check_run("away", self.only_run())
        self.assertIn("this is tried again", said)
        self.assertIn("works again", said)

    def test_a_server_that_stays_away_costs_one_line_and_the_next_call_sends_all(self):
        self.skyline("search", *CONFIG, "--run", "later")
        self.server.always = 503
        self.assertIn("what is missing is sent when this is started again", self.send("later", expect=AWAY))
        self.server.always = None
        self.send("later")
        self.check_run("later", self.only_run())

    def test_what_is_wrong_is_one_line(self):
        self.skyline("search", *CONFIG, "--run", "wrong")
        for words, variables, line in (
                (["wrong"], {"MLFLOW_TRACKING_URI": ""}, "MLFLOW_TRACKING_URI: expected e.g. https://tracking.example, got nothing"),
                (["wrong"], {"MLFLOW_TRACKING_URI": "tracking.example"},
                 "MLFLOW_TRACKING_URI: expected e.g. https://tracking.example, got tracking.example"),
                (["nothing"], {}, "nothing: holds no run (no journal.jsonl)"),
                (["wrong"], {"MLFLOW_RUN_ID": "unknown"}, f"MLFLOW_RUN_ID: {self.server.uri} has no run unknown"),
                (["wrong", "--fast"], {}, "usage: python3 -m skyline.mlflow RUN [--follow | --until-sigterm] (see --help)")):
            self.assertEqual(self.send(*words, expect=2, **variables), f"skyline.mlflow: {line}\n")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "mlflow.py").write_text("raise ImportError('no such module')\n")
            said = self.told(self.start_program("wrong", PYTHONPATH=f"{folder}:{SOURCE / 'python'}"), expect=2)
            self.assertEqual(said, "skyline.mlflow: needs MLflow's client: pip install mlflow-skinny (no such module)\n")

    def test_of_a_damaged_event_file_the_rest_is_left_out_and_later_files_are_sent(self):
        self.stop_after(3, "search", *LONG, "--run", "damaged", ranks=2)
        first, = (self.folder / "damaged/events").iterdir()
        with first.open("ab") as stream:
            stream.write(b"\xff" * 400)
        self.skyline("search", *LONG, "--run", "damaged", "--resume", ranks=2)
        self.assertIn(f"{first}: is damaged at byte {first.stat().st_size - 400}: what comes after is left out", self.send("damaged"))
        self.check_run("damaged", self.only_run())

    def test_the_files_of_hosts_whose_clocks_differ_are_sent_in_the_order_of_their_trials(self):
        self.stop_after(3, "search", *LONG, "--run", "clocks", ranks=2)
        first, = (self.folder / "clocks/events").iterdir()
        first.rename(first.with_name(first.name.replace("tfevents.", "tfevents.9", 1)))
        self.skyline("search", *LONG, "--run", "clocks", "--resume", ranks=2)
        self.send("clocks")
        self.check_run("clocks", self.only_run())

    def test_a_job_that_was_killed_is_told_as_killed_and_its_run_goes_on(self):
        self.kill_after(3, "search", *LONG, "--run", "killed", ranks=2)
        self.send("killed")
        self.assertEqual(self.only_run()["statuses"], ["KILLED"])
        self.skyline("search", *LONG, "--run", "killed", "--resume", ranks=2)
        self.send("killed")
        self.assertEqual(self.only_run()["statuses"], ["KILLED", "RUNNING", "FINISHED"])
        self.check_run("killed", self.only_run())

    def test_a_value_that_the_server_refuses_costs_its_trial_alone(self):
        self.skyline("search", *CONFIG, "--run", "refused")
        answer = self.server.answer

        def refuse(call, body):
            if any(metric["step"] == 7 for metric in body.get("metrics", [])):
                return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "not this one"}
            return answer(call, body)

        self.server.answer = refuse
        self.assertIn("MLflow refuses the values of step 7, which are left out:", self.send("refused"))
        told = [step for step, _, _ in self.only_run()["metrics"]["trial/flops"]]
        self.assertEqual(told, [step for step in range(18) if step != 7])

    def test_the_note_of_what_was_sent_can_be_anything(self):
        self.skyline("search", *CONFIG, "--run", "note")
        note = self.folder / "note/mlflow.json"
        for text, line in (("[", "is no JSON"), ('{"next_step": null, "run_id": 7}', "is not ours"), ("", "is no JSON")):
            note.write_text(text)
            self.assertIn(line, self.send("note"))
        note.unlink()
        os.mkfifo(note)
        self.send("note")
        self.assertTrue(note.is_file())
        self.assertEqual(len(self.server.runs), 4)
        self.server.runs["run3"]["deleted"] = True
        self.send("note")
        self.assertEqual(len(self.server.runs), 5)
        self.check_run("note", self.server.runs["run4"])

    def test_the_note_has_the_permissions_that_the_umask_leaves(self):
        self.skyline("search", *CONFIG, "--run", "umask")
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        self.send("umask")
        self.assertEqual((self.folder / "umask/mlflow.json").stat().st_mode & 0o777, 0o640)

    def test_no_password_is_printed(self):
        self.skyline("search", *CONFIG, "--run", "password")
        self.server.close()
        said = self.send("password", expect=AWAY, MLFLOW_TRACKING_URI=f"http://me:{SECRET}@127.0.0.1:{self.server.port}")
        self.assertNotIn(SECRET, said + (self.folder / "password/mlflow.json").read_text())

    def test_a_search_says_what_sends_its_metrics(self):
        done = self.skyline("search", *CONFIG, "--run", "says", environment={"MLFLOW_TRACKING_URI": "http://nobody.invalid"})
        self.assertIn("MLflow gets this run's metrics by `python3 -m skyline.mlflow says --follow`", done.stderr)
        self.assertNotIn("MLflow", self.skyline("search", *CONFIG, "--run", "quiet").stderr)
        self.assertEqual(json.loads((self.folder / "says/status.json").read_text())["exit_code"], 0)


if __name__ == "__main__":
    unittest.main()
