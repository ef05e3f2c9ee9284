"""What a search tells TensorBoard and MLflow: every trial once, over stops and kills, and whatever a server does."""

import os
import subprocess
import unittest

import event_files
from mlflow_server import Server
from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, read_json

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0", "--set", "search.iterations=3",
          "--set", "search.initial=6", "--set", "search.max_unseen=6"]
# Trials of some tenths of a second, so that a stop finds some done and some not.
LONG = [*CONFIG, "--set", "synthetic.seconds_per_gflop=16", "--set", "constraints=[{flops: [0, 2.0e8]}]"]
STOPPED = 75
SECRET = "a-very-secret-token"


class TrackingCase(RunsCase):
    def setUp(self):
        self.variables = {name: value for name, value in os.environ.items()
                          if not name.startswith("MLFLOW_") and "proxy" not in name.lower()}

    def search(self, run, *more, config=CONFIG, ranks=0, expect=0, **variables):
        done = subprocess.run(self.command("search", *config, "--run", run, *more, ranks=ranks), capture_output=True,
                              text=True, cwd=self.folder, timeout=TIMEOUT_S, env={**self.variables, **variables})
        self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done

    def trials(self, run):
        return read_json(self.folder / run / "models.json")["trials"]


class EventFiles(TrackingCase):
    def events(self, run):
        return event_files.scalars(self.folder / run / "events")

    def num_files(self, run):
        return len(list((self.folder / run / "events").iterdir()))

    def check_events(self, run):
        """Every trial is there once, in order, with the values of the results; returns the events."""
        events = self.events(run)
        trials = self.trials(run)
        self.assertEqual([step for step, _, _ in events], [trial["trial"] for trial in trials])
        for (_, _, values), trial in zip(events, trials):
            for metric in ("validation_accuracy", "latency_ms"):
                self.assertAlmostEqual(values[f"trial/{metric}"], trial["metrics"][metric], places=5)
            self.assertAlmostEqual(values["trial/flops"] / trial["costs"]["flops"], 1, places=6)
            self.assertEqual(values["trial/epochs"], trial["epochs"])
        pareto = read_json(self.folder / run / "pareto.json")
        last = events[-1][2]
        self.assertEqual(last["front/size"], len(pareto["search_front"]))
        self.assertAlmostEqual(last["front/hypervolume"] / pareto["hypervolume"]["search"], 1, places=6)
        self.assertAlmostEqual(last["best/validation_accuracy"], max(t["metrics"]["validation_accuracy"] for t in trials), 6)
        self.assertEqual(last["run/failed_trials"], 0)
        return events

    def test_every_trial_is_in_one_file(self):
        self.search("plain", ranks=2)
        self.check_events("plain")
        self.assertEqual(self.num_files("plain"), 1)

    def test_the_next_jobs_file_goes_on_where_the_stopped_ones_ends(self):
        self.search("stop", "--set", "run.time_limit=2 s", config=LONG, ranks=2, expect=STOPPED)
        before = self.events("stop")
        self.assertTrue(before)
        self.search("stop", "--resume", config=LONG, ranks=3)
        after = self.check_events("stop")
        self.assertGreater(len(after), len(before))
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(self.num_files("stop"), 2)

    def test_trials_that_were_shown_but_not_committed_are_shown_once(self):
        self.search("ahead", "--set", "run.time_limit=2 s", config=LONG, ranks=2, expect=STOPPED)
        shown = len(self.events("ahead"))
        journal = self.folder / "ahead/journal.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
        self.search("ahead", "--resume", config=LONG, ranks=2)
        self.assertGreaterEqual(len(self.check_events("ahead")), shown)

    def test_a_torn_file_costs_its_last_trial_and_no_other(self):
        self.search("torn", "--set", "run.time_limit=2 s", config=LONG, ranks=2, expect=STOPPED)
        file, = (self.folder / "torn/events").iterdir()
        whole = self.events("torn")
        with open(file, "r+b") as torn:
            torn.truncate(file.stat().st_size - 5)
        self.search("torn", "--resume", config=LONG, ranks=2)
        lost = whole[-1][0]
        self.assertEqual([step for step, _, _ in self.events("torn")],
                         [trial["trial"] for trial in self.trials("torn") if trial["trial"] != lost])

    def test_they_can_be_left_out_and_the_next_job_makes_up_for_it(self):
        self.search("none", "--set", "run.events=false")
        self.assertEqual(self.num_files("none"), 0)
        self.search("none", "--resume", "--set", "run.events=true")
        self.check_events("none")


class Mlflow(TrackingCase):
    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.close)
        self.variables["MLFLOW_TRACKING_URI"] = self.server.uri

    def check_run(self, run, mlflow_run, server=None):
        """Each metric of each trial has been told once."""
        self.assertEqual((server or self.server).complaints, [])
        trials = self.trials(run)
        metrics = mlflow_run["metrics"]
        for key in ("trial/validation_accuracy", "trial/flops", "front/hypervolume", "run/failed_trials", "trial/seconds"):
            self.assertEqual([step for step, _, _ in metrics[key]], [trial["trial"] for trial in trials], key)
        self.assertEqual([value for _, value, _ in metrics["trial/validation_accuracy"]],
                         [trial["metrics"]["validation_accuracy"] for trial in trials])

    def only_run(self):
        run, = self.server.runs.values()
        return run

    def test_a_run_is_made_told_of_everything_and_finished(self):
        self.search("made", ranks=2, MLFLOW_EXPERIMENT_NAME="my search", MLFLOW_RUN_NAME="first")
        run = self.only_run()
        self.check_run("made", run)
        self.assertEqual((run["name"], run["statuses"]), ("first", ["FINISHED"]))
        self.assertEqual(run["experiment"], self.server.experiments["my search"])
        self.assertEqual(run["params"]["search.algorithm"], "evolution_pareto")
        self.assertEqual(run["params"]["run.seed"], "1")
        front = {member["arch_id"] for member in read_json(self.folder / "made/pareto.json")["search_front"]}
        self.assertEqual(set(run["tags"]["skyline.front"].split()), front)
        self.assertEqual(run["tags"]["skyline.run_folder"], str(self.folder / "made"))

    def test_a_run_that_is_stopped_goes_on_as_the_same_one(self):
        self.search("stop", "--set", "run.time_limit=2 s", config=LONG, ranks=2, expect=STOPPED)
        self.assertEqual(self.only_run()["statuses"], ["KILLED"])
        told = {step for step, _, _ in self.only_run()["metrics"]["trial/flops"]}
        self.assertTrue(told)
        self.search("stop", "--resume", config=LONG, ranks=3)
        self.assertEqual(self.only_run()["statuses"], ["KILLED", "RUNNING", "FINISHED"])
        self.check_run("stop", self.only_run())

    def test_a_service_that_owns_the_run_keeps_its_status(self):
        self.server.add_run("theirs")
        for more in ([], ["--resume", "--set", "search.iterations=4"]):
            self.search("theirs", *more, MLFLOW_RUN_ID="theirs", MLFLOW_TRACKING_TOKEN=SECRET)
        self.check_run("theirs", self.only_run())
        self.assertEqual(self.only_run()["statuses"], [])
        self.assertEqual(set(self.server.calls()), {"POST runs/log-batch"})

    def test_credentials_are_sent_and_written_nowhere(self):
        done = self.search("token", MLFLOW_TRACKING_TOKEN=SECRET)
        self.assertEqual({headers["Authorization"] for _, headers in self.server.requests}, {f"Bearer {SECRET}"})
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        for file in (self.folder / "token").rglob("*"):
            if file.is_file():
                self.assertNotIn(SECRET.encode(), file.read_bytes(), file)
        self.server.requests.clear()
        self.search("password", MLFLOW_TRACKING_USERNAME="me", MLFLOW_TRACKING_PASSWORD="pass")
        self.assertEqual({headers["Authorization"] for _, headers in self.server.requests}, {"Basic bWU6cGFzcw=="})

    def test_a_server_that_is_away_for_a_while_is_told_everything_once(self):
        self.server.plan.extend([503, 429])
        done = self.search("away")
        self.check_run("away", self.only_run())
        self.assertIn("HTTP 503: planned 503; the run goes on, this is tried again", done.stderr)
        self.assertIn("works again", done.stderr)

    def test_an_answer_that_is_lost_leaves_no_second_run(self):
        answer = self.server.answer

        def lose_first(call, body):
            status, content = answer(call, body)
            first = call == "POST runs/create" and self.server.calls().count(call) == 1
            return (500, {}) if first else (status, content)

        self.server.answer = lose_first
        self.search("lost")
        self.check_run("lost", self.only_run())

    def test_a_backlog_goes_in_requests_of_the_size_that_the_server_takes(self):
        self.search("backlog", MLFLOW_TRACKING_URI="")
        self.search("backlog", "--resume")
        self.check_run("backlog", self.only_run())
        self.assertEqual(self.server.complaints, [])
        self.assertGreater(self.server.largest, 100)
        self.server.runs.clear()
        self.server.most_metrics = 7
        self.search("small", MLFLOW_EXPERIMENT_NAME="small")
        self.check_run("small", self.only_run())

    def test_a_proxy_that_is_wrong_for_a_while_costs_nothing(self):
        answer = self.server.answer

        wrong = iter([(404, {})])

        def wrong_at_first(call, body):
            planned = next(wrong, None) if body.get("metrics") else None
            return planned or answer(call, body)

        self.server.answer = wrong_at_first
        done = self.search("blip")
        self.check_run("blip", self.only_run())
        self.assertIn("the run goes on, this is tried again", done.stderr)
        self.assertEqual(self.only_run()["statuses"], ["FINISHED"])

    def test_an_experiment_that_another_job_makes_at_the_same_time_is_taken(self):
        answer = self.server.answer

        def other_is_faster(call, body):
            if call == "POST experiments/create":
                self.server.experiments.setdefault(body["name"], "7")
            return answer(call, body)

        self.server.answer = other_is_faster
        self.search("array", MLFLOW_EXPERIMENT_NAME="nas")
        self.check_run("array", self.only_run())
        self.assertEqual(self.only_run()["experiment"], "7")

    def test_a_server_that_hangs_holds_up_neither_the_run_nor_its_stop(self):
        self.server.always = "hang"
        done = self.search("hangs", "--set", "run.time_limit=2 s", config=LONG, ranks=2, expect=STOPPED)
        self.assertIn("no answer before the job's end", done.stderr)
        self.assertEqual(len(self.server.requests), 1)
        self.server.over.set()
        self.server.always = None
        self.search("hangs", "--resume", config=LONG)
        self.check_run("hangs", self.only_run())

    def test_nobody_there_is_told_in_one_line(self):
        gone = Server()
        gone.close()
        done = self.search("nobody", MLFLOW_TRACKING_URI=gone.uri)
        self.assertEqual(done.stderr.count("the run goes on, this is tried again"), 1)
        self.assertRegex(done.stderr, r"MLflow at http://127.0.0.1:\d+: Failed to connect")
        self.assertRegex(done.stderr, r"\d+ trials or more were not taken, a job with --resume adds them")

    def test_an_answer_that_nests_without_end_costs_the_tracking_and_not_the_search(self):
        self.server.always = "deep"
        done = self.search("deep")
        self.assertEqual(done.stderr.count("answers with no JSON: is no tracking server"), 1, done.stderr)
        self.assertGreater(len(self.trials("deep")), 0)

    def test_credentials_over_plain_http_to_another_machine_are_warned_of_once(self):
        done = self.search("plain", MLFLOW_TRACKING_URI="http://tracking.invalid:5000", MLFLOW_TRACKING_TOKEN=SECRET)
        self.assertEqual(done.stderr.count("the credentials go over the network as they are"), 1, done.stderr)
        done = self.search("local", MLFLOW_TRACKING_TOKEN=SECRET)
        self.assertNotIn("the credentials go over the network", done.stderr)

    def test_a_refusal_is_told_in_one_line_that_names_the_variable(self):
        for status, text in ((401, "HTTP 401: check MLFLOW_TRACKING_TOKEN"), (403, "HTTP 403: check MLFLOW_TRACKING_TOKEN")):
            self.server.requests.clear()
            self.server.always = status
            done = self.search(f"refused{status}")
            self.assertEqual(done.stderr.count(text), 1, done.stderr)
            self.assertEqual(len(self.server.requests), 1)
        self.server.always = None
        done = self.search("wrong_run", MLFLOW_RUN_ID="unknown")
        self.assertEqual(done.stderr.count("HTTP 404 for run unknown: check MLFLOW_RUN_ID"), 1, done.stderr)
        done = self.search("wrong_experiment", MLFLOW_EXPERIMENT_ID="77")
        self.assertEqual(done.stderr.count("HTTP 404 for experiment 77: check MLFLOW_EXPERIMENT_ID"), 1, done.stderr)
        done = self.search("wrong_scheme", MLFLOW_TRACKING_URI="mysql://x")
        self.assertIn("MLFLOW_TRACKING_URI: expected http, https or azureml, got mysql:", done.stderr)

    def test_azures_scheme_is_https_and_certificates_are_checked(self):
        certificate = self.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                        "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", certificate,
                        "-out", self.folder / "public.pem"], check=True, capture_output=True, timeout=60)
        certificate.write_bytes(certificate.read_bytes() + (self.folder / "public.pem").read_bytes())
        scope = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w"
        azure = Server(prefix=f"/mlflow/v2.0{scope}", certificate=certificate)
        self.addCleanup(azure.close)
        azure.add_run("job")
        variables = {"MLFLOW_TRACKING_URI": f"azureml://127.0.0.1:{azure.port}/mlflow/v1.0{scope}?",
                     "MLFLOW_RUN_ID": "job", "MLFLOW_EXPERIMENT_ID": "0", "MLFLOW_TRACKING_TOKEN": SECRET}
        done = self.search("distrust", **variables)
        self.assertRegex(done.stderr, "(?i)certificate")
        self.assertEqual(azure.requests, [])
        self.search("trust", MLFLOW_TRACKING_SERVER_CERT_PATH=str(self.folder / "public.pem"), **variables)
        self.check_run("trust", azure.runs["job"], azure)
        azure.runs["job"]["metrics"].clear()
        azure.runs["job"]["params"].clear()
        self.search("insecure", MLFLOW_TRACKING_INSECURE_TLS="true", **variables)
        self.check_run("insecure", azure.runs["job"], azure)

    def test_a_folder_is_refused_in_one_line_that_says_what_to_use(self):
        uri = (self.folder / "mlruns").as_uri()
        for folder in (uri, "mlruns"):
            done = self.search(f"folder{len(folder)}", MLFLOW_TRACKING_URI=folder)
            line = (f"MLFLOW_TRACKING_URI: expected http, https or azureml, got {folder}: MLflow gives folders up; start "
                    "`mlflow server` for this one and name its address; the run goes on without MLflow")
            self.assertEqual(done.stderr.count(line), 1, done.stderr)
            self.assertFalse((self.folder / "mlruns").exists())


if __name__ == "__main__":
    unittest.main()
