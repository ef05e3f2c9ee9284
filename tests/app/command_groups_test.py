"""Trials that several processes of a user's trainer train together, and trainers that use MPI themselves."""

import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import unittest

from command_case import TrainerCase
from skyline_runs import SOURCE, TIMEOUT_S

MPI_PROBE = pathlib.Path(sys.argv.pop(1)).resolve()
NO_FRONT = 3
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


class Listeners:
    """Listens on some of these ports, on each for a second."""

    def __init__(self, count, ports):
        self.count, self.ports, self.draws, self.sockets = count, ports, random.Random(count), []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.change)

    def change(self):
        while not self.is_over.wait(1 / self.count):
            if len(self.sockets) == self.count:
                self.sockets.pop(0).close()
            try:
                self.sockets.append(socket.create_server(("", self.draws.choice(self.ports))))
            except OSError:  # a trial has it
                continue

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        for each in self.sockets:
            each.close()


class CommandGroups(TrainerCase):
    def test_each_preset_sets_its_variables(self):
        torch = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"}
        azure = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
                 "AZ_BATCH_MASTER_NODE", "AZ_BATCHAI_MPI_MASTER_NODE"}
        presets = {"torch": ("", torch, 2), "azure": (", framework: azure", torch | azure, 2),
                   "tensorflow": (", framework: tensorflow", {"TF_CONFIG"}, 2),
                   "node": (", launch: node", {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK"}, 1)}
        everything = torch | azure | {"TF_CONFIG"}
        for name, (keys, expected, processes) in presets.items():
            with self.subTest(preset=name):
                self.setUp()
                seen = self.probe(name, ", processes: 2" + keys)
                self.assertEqual(len(seen), processes)
                for each in seen:
                    self.assertEqual(everything & set(each["variables"]), expected)
                    launchers = {each for each in each["variables"] if each.startswith(("OMPI_", "PMIX_", "PMI_", "PRTE_"))}
                    self.assertEqual(launchers, expected & azure - {"AZ_BATCH_MASTER_NODE", "AZ_BATCHAI_MPI_MASTER_NODE"})
                if name == "torch":
                    self.assertEqual([each["variables"]["RANK"] for each in seen], ["0", "1"])
                    self.assertEqual({each["variables"]["MASTER_PORT"] for each in seen}, {seen[0]["variables"]["MASTER_PORT"]})
                    self.assertEqual({each["variables"]["MASTER_ADDR"] for each in seen}, {"127.0.0.1"})
                if name == "tensorflow":
                    clusters = [json.loads(each["variables"]["TF_CONFIG"]) for each in seen]
                    self.assertEqual(sorted(each["task"]["index"] for each in clusters), [0, 1])
                    self.assertEqual(len(set(clusters[0]["cluster"]["worker"])), 2)

    def test_the_first_process_that_fails_ends_all_and_is_named(self):
        config = self.config("{does: {choice: [group_exit, group_signal, group_reports]}}", ", processes: 2, deterministic: true")
        for ranks in (1, 2, 3):
            done = self.skyline("search", config, "--run", f"failed{ranks}", ranks=ranks)
            self.check_nothing_is_left(f"failed{ranks}")
            found = {trial["parameters"]["does"]: (trial["status"], trial.get("reason")) for trial in self.trials(f"failed{ranks}")}
            self.assertEqual(found["group_exit"], ("exception", "process 1: exit code 3"))
            self.assertEqual(found["group_signal"], ("exception", "process 0: signal SIGKILL"))
            self.assertEqual(found["group_reports"], ("ok", None))
            self.assertIn("only what process 0 of a trial reports counts", done.stderr)
        self.assertEqual(self.canonical("failed1"), self.canonical("failed2"))
        self.assertEqual(self.canonical("failed1"), self.canonical("failed3"))

    def test_a_group_is_tried_again_as_often_as_the_user_says(self):
        config = self.config("{does: {choice: [group_exit]}}", ", processes: 2, retries: 3")
        for ranks in (1, 2):
            self.skyline("search", config, "--run", f"again{ranks}", ranks=ranks, expect=NO_FRONT)
            self.assertEqual(len(list((self.folder / f"again{ranks}/logs/trials").glob("0.process1.failed*.log"))), 4)

    def test_the_number_of_processes_may_be_an_expression(self):
        config = self.config("{n: {range: [1, 3]}}", ", processes: $n, deterministic: true")
        self.skyline("search", config, "--run", "sizes", ranks=2)
        self.assertEqual([trial.get("members", 1) for trial in self.trials("sizes")], [1, 2, 3])
        self.assertEqual([self.starts().count(str(number)) for number in range(3)], [1, 2, 3])
        self.skyline("search", config, "--run", "sizes1", ranks=1)
        self.assertEqual(self.canonical("sizes"), self.canonical("sizes1"))
        text = config.read_text().replace("{parameters}", "{epochs}")
        config.write_text(text)  # the number is all that the trainer is given
        self.skyline("validate", config)
        config.write_text(text.replace("processes: $n", "processes: 2"))
        self.assertIn("the trainer is never given the parameter `n`", self.skyline("validate", config, expect=2).stderr)

    def test_a_stop_ends_all_processes_of_a_trial(self):
        config = self.config("{does: {choice: [sleep]}, seconds: {choice: [2]}, deaf: {choice: [true]}, n: {range: [1, 4]}}",
                             ", processes: 2, deterministic: true, grace: 1 s")
        self.skyline("search", config, "--run", "whole", ranks=2)
        self.stop_after(1, "search", config, "--run", "stopped", ranks=2)
        self.check_nothing_is_left("stopped")
        self.skyline("search", config, "--run", "stopped", "--resume", ranks=3)
        self.assertEqual(self.canonical("stopped"), self.canonical("whole"))

    def test_a_trial_that_takes_too_long_ends_for_all_its_processes(self):
        config = self.config("{does: {choice: [group_hang]}}", ", processes: 2, grace: 1 s", rest="run: {trial_timeout: 2 s}\n")
        self.skyline("search", config, "--run", "late", ranks=2, expect=NO_FRONT)
        self.check_nothing_is_left("late")
        self.assertIn("run.trial_timeout", self.trials("late")[0]["reason"])

    def test_trials_at_once_meet_at_ports_of_their_own_beside_other_listeners(self):
        """SKYLINE_MEETINGS=64 has 64 trials at once, in 20 rounds, beside 64 listeners; by hand."""
        together = int(os.environ.get("SKYLINE_MEETINGS", "2"))
        count = together * (20 if together > 2 else 4)
        config = self.config(f"{{does: {{choice: [meet]}}, together: {{choice: [{together}]}}, n: {{range: [1, {count}]}}}}",
                             ", processes: 2, ports: [22000, 22999]", rest=f"run: {{window: {count}}}\n")
        with Listeners(together, range(22000, 23000)):
            self.assertEqual(self.start("search", config, "--run", "meet", ranks=2 * together).wait(3600), 0)
        trials = self.trials("meet")
        self.assertEqual([trial["metrics"]["score"] for trial in trials], [trial["parameters"]["n"] % together for trial in trials])
        taken = len(list((self.folder / "meet/logs/trials").glob("*.failed*")))
        print(f"{taken} logs of processes of {count} trials that found their port taken", file=sys.stderr)

    def search_with_program(self, run, arguments, environment=AS_ROOT, ranks=2):
        variables = "".join(f", {name}: {value!r}" for name, value in environment.items())
        config = self.config("{does: {choice: [program]}, n: {range: [1, 2]}}", arguments=arguments)
        config.write_text(config.read_text().replace(f"env: {{MARKS: {self.marks}", f"env: {{MARKS: {self.marks}{variables}"))
        return self.command("search", config, "--run", run, ranks=ranks)

    def test_the_search_goes_on_beside_trainers_that_use_mpi(self):
        for name, arguments in (("init", [str(MPI_PROBE)]), ("mpirun", ["mpirun", "--oversubscribe", "-np", "2", str(MPI_PROBE)])):
            with self.subTest(trainer=name):
                command = self.search_with_program(name, arguments)
                done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual([trial["status"] for trial in self.trials(name)], ["ok", "ok"])

    def test_the_same_trainer_ends_the_search_if_it_has_the_variables_of_the_launcher(self):
        leak = [sys.executable, str(SOURCE / "tests/app/command/leak.py"), str(MPI_PROBE)]
        command = self.search_with_program("leak", leak)
        job = subprocess.Popen(command, cwd=self.folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.assertNotEqual(job.wait(30), 0)
        except subprocess.TimeoutExpired:  # Open MPI 4.1: the ranks wait for ever
            self.kill(job)

    def test_a_trainer_may_run_under_an_mpirun_of_its_own(self):
        path = self.folder / "nested.yaml"
        path.write_text(f"space: {{parameters: {{n: {{range: [1, 2]}}}}}}\ncommand: {{run: [{MPI_PROBE}, report, \"{{n}}\"], "
                        "metrics: {score: {better: higher}}, processes: 2, launch: mpirun}\n"
                        "objectives: [maximize: score]\nsearch: {algorithm: exhaustive}\n")
        self.skyline("search", path, "--run", "nested", ranks=2)
        self.assertEqual([trial["metrics"]["score"] for trial in self.trials("nested")], [2, 2])


if __name__ == "__main__":
    unittest.main()
