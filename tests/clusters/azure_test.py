"""Searches as Azure ML would run them: jobs by the SDK and by job.yml, whose command runs on two hosts as the service
runs it, by a wrapper process for each slot with the service's variables."""

import contextlib
import io
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from hosts import Hosts

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
del sys.argv[1:2]  # a program of another version
sys.path.insert(0, str(SOURCE / "aml"))
logging.disable(logging.WARNING)

import search_job  # noqa: E402
import submit  # noqa: E402
from azure.ai.ml.entities import VmSize  # noqa: E402

OPTIONS = ["--run", "/mnt/nfs/runs/a", "--compute", "gpu", "--nodes", "2", "--processes-per-node", "4"]
CONFIG = str(SOURCE / "configs/synthetic.yaml")


def options_of(*more):
    return search_job.parse("", [CONFIG, *OPTIONS, *more, "--dry-run"])


class Jobs(unittest.TestCase):
    def test_the_sdk_carries_distribution_counts_variables_and_command(self):
        job = submit.build(options_of("--data", "azureml:digits:1", "--set", "search.iterations=2", "--set", "run.seed=7"))
        self.assertEqual(job.command, "skyline-aml synthetic.yaml --data ${{inputs.data}} --run /mnt/nfs/runs/a"
                                      " -- --set search.iterations=2 --set run.seed=7")
        self.assertEqual((job.distribution.type.lower(), job.distribution.process_count_per_instance), ("mpi", 4))
        self.assertEqual((job.resources["instance_count"], job.resources["shm_size"]), (2, "16g"))
        self.assertEqual(job.environment_variables, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        self.assertEqual((job.compute, str(job.code)), ("gpu", str(SOURCE / "configs")))
        self.assertTrue((pathlib.Path(job.environment.build.path) / job.environment.build.dockerfile_path).is_file())

    def test_a_dry_run_is_a_file_from_which_the_cli_makes_the_same_job(self):
        from azure.ai.ml import load_job

        nfs = ["--nfs", "10.0.2.4:/vol 1=/mnt/nfs", "--nfs-options", "vers=3,nolock", "--data", "azureml:digits:1", "--timeout", "3600"]
        mirror = ["--nodes", "1", "--mirror", "azureml://datastores/blobs/paths/a", "--docker-args=--ipc=host"]
        privileges = "--cap-add=SYS_ADMIN --security-opt=apparmor=unconfined"
        for more, words, docker in ((nfs, "--data ${{inputs.data}} --nfs '10.0.2.4:/vol 1=/mnt/nfs' --nfs-options vers=3,nolock "
                                          "--run /mnt/nfs/runs/a -- --set run.time_limit=3480s", privileges),
                                    (mirror, "--run /mnt/nfs/runs/a --mirror ${{outputs.mirror}}", "--ipc=host"),
                                    ([], "--run /mnt/nfs/runs/a", None)):
            text = io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
                submit.main([CONFIG, *OPTIONS, *more, "--dry-run"])
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "job.yml"
                file.write_text(text.getvalue())
                loaded = load_job(file)
            self.assertEqual(loaded.command, f"skyline-aml synthetic.yaml {words}")
            self.assertEqual(loaded.resources.get("docker_args"), docker)
            made = submit.build(options_of(*more))
            for name in ("command", "compute", "environment_variables", "experiment_name", "display_name"):
                self.assertEqual(getattr(loaded, name), getattr(made, name), name)
            self.assertEqual(str(loaded.code), str(made.code))
            self.assertEqual(loaded.distribution.process_count_per_instance, 4)
            self.assertEqual((loaded.limits and loaded.limits.timeout, loaded.environment.build.path),
                             (made.limits and made.limits.timeout, str(SOURCE)))
            self.assertEqual({name: (each.path, each.mode) for name, each in (loaded.outputs or {}).items()},
                             {name: (each.path, each.mode) for name, each in made.outputs.items()})

    def test_the_search_stops_before_the_service_ends_the_job(self):
        job = submit.build(options_of("--timeout", "3600", "--set", "run.seed=7"))
        self.assertEqual(job.limits.timeout, 3600)
        self.assertTrue(job.command.endswith(" -- --set run.time_limit=3480s --set run.seed=7"), job.command)

    def test_job_yml_meets_the_schema_and_the_example_it_is(self):
        from azure.ai.ml import load_job

        job = load_job(SOURCE / "aml/job.yml")
        self.assertEqual((job.distribution.type.lower(), job.distribution.process_count_per_instance), ("mpi", 8))
        self.assertRegex(job.resources["shm_size"], r"^\d+[bkmg]$")  # the schema does not look
        self.assertEqual(job.resources["instance_count"], 2)
        self.assertEqual(job.environment_variables, search_job.environment_variables())
        self.assertIn("skyline-aml mnist_cnn.yaml", job.command)
        self.assertEqual(job.resources["docker_args"], search_job.MOUNT_DOCKER_ARGS)
        code = (SOURCE / "aml" / str(job.code)).resolve()
        self.assertTrue((code / "mnist_cnn.yaml").is_file(), code)

    def test_the_schema_refuses_a_wrong_distribution(self):
        from azure.ai.ml import load_job

        with tempfile.TemporaryDirectory() as folder:
            wrong = pathlib.Path(folder) / "aml/job.yml"  # the SDK may look at all that is beside its folder
            wrong.parent.mkdir()
            wrong.write_text((SOURCE / "aml/job.yml").read_text().replace("type: mpi", "type: mpj"))
            with self.assertRaises(Exception) as caught:
                load_job(wrong)
            self.assertIn("Validation for Command", str(caught.exception))

    def test_mpi_recovery_is_off_in_the_image(self):
        """A collective waits for a rank that is dead, for as long as the others are let live."""
        self.assertIn("'orte_enable_recovery = 0'", (SOURCE / "aml/Dockerfile").read_text())

    def test_a_folder_that_holds_secrets_is_not_uploaded(self):
        with tempfile.TemporaryDirectory() as home, unittest.mock.patch.dict(os.environ, {"HOME": home}):
            config = pathlib.Path(home) / "search.yaml"
            config.touch()
            for folder in (home, "/", str(pathlib.Path(home).parent)):
                self.assertTrue(search_job.is_private(pathlib.Path(folder).resolve()), folder)
            text = io.StringIO()
            with contextlib.redirect_stderr(text), self.assertRaises(SystemExit) as end:
                search_job.parse("", [str(config), *OPTIONS, "--dry-run"])
            self.assertEqual((end.exception.code, text.getvalue().count("\n")), (2, 1))
            self.assertIn(f"its folder {pathlib.Path(home).resolve()} would be uploaded whole", text.getvalue())
            (pathlib.Path(home) / "configs").mkdir()
            self.assertFalse(search_job.is_private(pathlib.Path(home).resolve() / "configs"))

    def test_a_dry_run_names_the_folder_that_is_uploaded_and_its_size(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder).resolve() / "search.yaml"
            config.write_text("x" * 300_000)
            config.with_name("more").write_text("x" * 900_000)
            text = io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
                submit.main([str(config), *OPTIONS, "--dry-run"])
            self.assertIn(f"uploads {config.parent}: 2 files, 1.2 MB", text.getvalue())

    def submitted(self, size, gpus, *arguments):
        """What is submitted to a service whose cluster `gpu` has nodes of `size`: the exit code, the job, what was printed."""
        client = unittest.mock.MagicMock()
        client.compute.get.return_value = unittest.mock.Mock(size=size)
        client.compute.list_sizes.return_value = [VmSize(name="Standard_D4", gpus=0), VmSize(name="Standard_ND96", gpus=gpus)]
        text = io.StringIO()
        place = ["--subscription", "s", "--resource-group", "g", "--workspace", "w"]
        with unittest.mock.patch("azure.ai.ml.MLClient", return_value=client), contextlib.redirect_stdout(text), \
                unittest.mock.patch.dict(sys.modules, {"azure.identity": unittest.mock.MagicMock()}), contextlib.redirect_stderr(text):
            code = submit.main([CONFIG, "--run", "/mnt/nfs/runs/a", "--nfs", "s:/e=/mnt/nfs", "--compute", "gpu", *place, *arguments])
        jobs = client.jobs.create_or_update.call_args
        return code, jobs and jobs.args[0], text.getvalue()

    def test_a_node_gets_a_process_for_each_of_its_gpus(self):
        for size, gpus, more, processes in (("STANDARD_ND96", 8, [], 8), ("Standard_D4", 8, [], 1),
                                            ("Standard_ND96", 8, ["--processes-per-node", "2"], 2), ("Standard_ND96", None, [], 1)):
            code, job, _ = self.submitted(size, gpus, *more)
            self.assertEqual((code, job.distribution.process_count_per_instance), (0, processes), size)
        code, job, text = self.submitted("Standard_Unknown", 8)
        self.assertEqual((code, job, text.count("\n")), (2, None, 1))
        self.assertIn("--processes-per-node: the service does not say", text)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            submit.main([CONFIG, "--run", "/mnt/nfs/runs/a", "--compute", "gpu", "--dry-run"])
        self.assertIn("one for each GPU", printed.getvalue())

    def test_a_missing_package_is_one_line_with_the_command_that_installs_it(self):
        done = subprocess.run([sys.executable, "-S", SOURCE / "aml/submit.py", CONFIG, *OPTIONS, "--dry-run"],
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"submit.py: there is no Python package azure\S*: "
                                                       "python3 -m pip install azure-ai-ml azure-identity")
        self.assertNotIn("Traceback", done.stderr)

    def test_mistakes_are_one_line(self):
        def error_of(*arguments):
            text = io.StringIO()
            with contextlib.redirect_stderr(text), self.assertRaises(SystemExit) as end:
                search_job.parse("", list(arguments))
            self.assertEqual(end.exception.code, 2)
            self.assertEqual(text.getvalue().count("\n"), 1, text.getvalue())
            return text.getvalue()

        self.assertIn("the following arguments are required: config, --run, --compute", error_of())
        self.assertIn("the following arguments are required: --run", error_of(CONFIG, "--compute", "gpu"))
        self.assertIn("unrecognized arguments: --node", error_of(CONFIG, *OPTIONS, "--node-count", "2"))
        self.assertIn("none.yaml: no such file", error_of("none.yaml", *OPTIONS, "--dry-run"))
        self.assertIn("--set: expected KEY=VALUE, got seed", error_of(CONFIG, *OPTIONS, "--set", "seed", "--dry-run"))
        program = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "skyline"
        program.write_text("#!/bin/sh\ncase $* in *itertions*) cat >&2 <<'TXT'\n"
                           "skyline: --set search.itertions: search: unknown key `itertions`, did you mean `iterations`?\n"
                           "skyline: --set data.file: data.file: there is no /nfs/a.h5\nTXT\nexit 2;; esac\n")
        program.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, SKYLINE=str(program)):
            self.assertIn("--set search.itertions: search: unknown key `itertions`, did you mean `iterations`?",
                          error_of(CONFIG, *OPTIONS, "--set", "search.itertions=3", "--dry-run"))
            search_job.parse("", [str(CONFIG), *OPTIONS, "--set", "search.iterations=3", "--set",
                                      "space.parameters.width.choice=[8]", "--dry-run"])
            program.write_text("#!/bin/sh\necho 'skyline: synthetic.yaml:8:3: space: unknown key `metrcs`' >&2\nexit 2\n")
            self.assertIn("synthetic.yaml:8:3: space: unknown key `metrcs`", error_of(CONFIG, *OPTIONS, "--dry-run"))
            program.write_text("#!/bin/sh\nexit 127\n")  # built for another machine
            search_job.parse("", [str(CONFIG), *OPTIONS, "--set", "search.itertions=3", "--dry-run"])
        for run in ("runs/a", "~/runs/a"):
            self.assertIn(f"--run: expected a path from the root, of a mount that the job has, got {run}",
                          error_of(CONFIG, *OPTIONS, "--run", run, "--dry-run"))
        self.assertIn("/tmp/a is a folder of its own on each of 2 nodes", error_of(CONFIG, *OPTIONS, "--run", "/tmp/a", "--dry-run"))
        self.assertIn("--timeout: the search stops 120 s before it, so expected more than 120 s, got 120 s",
                      error_of(CONFIG, *OPTIONS, "--timeout", "120", "--dry-run"))
        for nfs in ("10.0.2.4=/mnt/nfs", "10.0.2.4:/vol1", "10.0.2.4:/vol1=mnt"):
            self.assertIn(f"--nfs: expected SERVER:/EXPORT=/MOUNT, got {nfs}", error_of(CONFIG, *OPTIONS, "--nfs", nfs, "--dry-run"))
        self.assertIn("--run: expected a folder in /nfs, where --nfs mounts, got /mnt/nfs/runs/a",
                      error_of(CONFIG, *OPTIONS, "--nfs", "s:/e=/nfs", "--dry-run"))
        self.assertIn("--mirror: expected a folder of a datastore, azureml://datastores/NAME/paths/FOLDER, got /mnt/a",
                      error_of(CONFIG, *OPTIONS, "--mirror", "/mnt/a", "--dry-run"))
        self.assertIn("--mirror: expected one node, got 2", error_of(CONFIG, *OPTIONS, "--mirror", "azureml://datastores/a/paths/b", "--dry-run"))
        self.assertIn("--nfs-options: expected --nfs beside it", error_of(CONFIG, *OPTIONS, "--nfs-options", "vers=3", "--dry-run"))
        self.assertIn("missing: --subscription, --resource-group, --workspace", error_of(CONFIG, *OPTIONS))
        for storage, told in (((), 1), (("--nfs", "s:/e=/mnt/nfs"), 0)):
            with contextlib.redirect_stderr(io.StringIO()) as text:
                search_job.warn_of_storage(options_of(*storage))
            self.assertEqual(text.getvalue().count("warning: --run /mnt/nfs/runs/a: without --nfs or --mirror it must be on a mount"), told)
        self.assertIn("expected a whole number of at least 1, got 0", error_of(CONFIG, *OPTIONS, "--nodes", "0"))


class AsTheServiceRunsIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(2)
        cls.addClassCleanup(cls.hosts.close)
        # Not on tmpfs: the hosts' /dev/shm differ, and a job's folders are on disks.
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-azure-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin/skyline").symlink_to(PROGRAM)
        (cls.folder / "bin/skyline-aml").symlink_to(SOURCE / "aml/run")
        cls.work = cls.folder / "code"  # folder in which the service unpacks the code and starts the command
        shutil.copytree(SOURCE / "configs", cls.work)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.work)

    def run_job(self, command, ranks, expect=0):
        """The launcher starts a wrapper for each slot, whose only child is the job's command."""
        variables = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "AZ_BATCH_MASTER_NODE": "10.77.0.1:6000",
                     "AZ_BATCHAI_MPI_MASTER_NODE": "10.77.0.1", "AZ_BATCHAI_JOB_MASTER_NODE_IP": "10.77.0.1",
                     "AZ_BATCHAI_JOB_WORK_DIR": self.work, "AZUREML_RUN_ID": "skyline_1",
                     "OMPI_ARGV": "-task runTaskLet",
                     "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1"}
        exports = [part for name in variables for part in ("-x", name)]
        wrapper = ["bash", "-c", f"{command}; exit $?"]
        half = ranks // 2
        line = self.hosts.on(1, *(f"{name}={value}" for name, value in variables.items()), "mpirun", "--allow-run-as-root",
                             *self.hosts.mpirun_options(), "--host", f"h1:{half},h2:{half}", *exports, *wrapper)
        done = subprocess.run(line, capture_output=True, text=True, timeout=600, cwd=self.work)
        self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done

    def command_of(self, run, *settings):
        more = [part for setting in settings for part in ("--set", setting)]
        options = search_job.parse("", [CONFIG, "--run", str(run), "--compute", "c", "--dry-run", *more])
        return submit.build(options).command

    def test_two_hosts_search_together_and_leave_their_results_in_outputs(self):
        run = self.folder / "runs/two"
        settings = ["search.iterations=2", "search.initial=6", "search.max_unseen=4"]
        done = self.run_job(self.command_of(run, *settings), 4)
        self.assertRegex(done.stderr, r"Azure ML run skyline_1 by mpirun, Open MPI \S+: 4 ranks on 2 nodes \(h1, h2\), 2 a node")
        self.assertEqual(done.stdout.count("results of"), 1)
        self.assertTrue((self.work / "outputs/pareto.json").is_file())
        self.assertTrue((self.work / "logs/skyline.log").is_file())
        self.assertEqual(len(list((self.work / "logs").glob("events.out.tfevents.*.skyline"))), 1)
        alone = self.folder / "runs/alone"
        overrides = [part for setting in settings for part in ("--set", setting)]
        subprocess.run([PROGRAM, "search", "synthetic.yaml", "--run", alone, "--quiet", *overrides], check=True,
                       capture_output=True, timeout=600)
        journals = [subprocess.run([PROGRAM, "journal", folder, "--canonical"], check=True, capture_output=True).stdout
                    for folder in (run, alone)]
        self.assertEqual(journals[0], journals[1])

    def test_the_jobs_of_both_ways_run_the_same_search(self):
        """The words that reach the search, from each job's command as the service would fill it in."""
        from azure.ai.ml import load_job

        settings = ["--set", "search.iterations=2"]
        job = submit.build(search_job.parse("", [CONFIG, "--run", "/nfs/a", "--compute", "c", "--dry-run", *settings,
                                            "--data", "azureml:digits:1"]))
        line = ["search", "synthetic.yaml", "--run", "/nfs/a", "--resume", "--moved", "--wait", "3m", "--set", "data.file=/data/d.h5"]
        yml = load_job(SOURCE / "aml/job.yml").command.replace("${{inputs.runs}}", "/nfs").replace("${{inputs.nfs}}", "s:/e=/nfs")
        self.stand_in("mountpoint", "exit 0")
        for command, expected in ((job.command, [*line, *settings]),
                                  (yml, [word.replace("/nfs/a", "/nfs/mnist_cnn").replace("synthetic", "mnist_cnn")
                                         for word in line])):
            command = command.replace("${{inputs.data}}", "/data/d.h5")
            with tempfile.TemporaryDirectory() as folder:  # parent of ./outputs and ./logs
                shutil.copytree(SOURCE / "configs", folder, dirs_exist_ok=True)
                done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, cwd=folder,
                                      env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SKYLINE": "echo"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[0].split(), expected)

    def stand_in(self, name, line):
        program = self.folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
        self.addCleanup(program.unlink, missing_ok=True)

    def test_a_trainer_resumes_where_the_next_job_has_its_code(self):
        run = self.folder / "runs/trainer"
        config = ("space: {parameters: {width: {choice: [8, 16, 32, 64]}}}\nobjectives: [minimize: y]\nsearch: {algorithm: random, trials: 2}\n"
                  "command: {run: [sh, train.sh, '{width}'], metrics: {y: {better: lower}}}\n")
        report = """echo '{"result": {"y": '$1'}}' >>"$SKYLINE_REPORT_FILE"\n"""
        for job, (trainer, trials, expect) in enumerate(((report, 2, 0), (report, 3, 0), (report + "# edited\n", 4, 2))):
            code = self.folder / f"job{job}"
            code.mkdir()
            (code / "own.yaml").write_text(config)
            (code / "train.sh").write_text(trainer)
            done = subprocess.run([SOURCE / "aml/run", "own.yaml", "--run", run, "--", "--set", f"search.trials={trials}"], cwd=code, text=True,
                                  capture_output=True, timeout=600, env={**os.environ, "SKYLINE": PROGRAM})
            self.assertEqual(done.returncode, expect, done.stderr)
        self.assertIn("`train.sh` has changed since its trials were trained", done.stderr)
        self.assertEqual(len((run / "journal.jsonl").read_text().splitlines()), 1 + 3)

    def test_the_first_process_of_a_node_mounts_the_share(self):
        self.stand_in("mountpoint", f'[ "$2" = {self.folder}/nfs ] && [ -e {self.folder}/mounted ]')
        self.stand_in("mount", f'sleep 0.3; echo "$@" >>{self.folder}/mounted')
        variables = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SKYLINE": "true"}
        line = [SOURCE / "aml/run", "synthetic.yaml", "--nfs", f"s:/e=={self.folder}/nfs", "--run", f"{self.folder}/nfs/a"]
        jobs = [subprocess.Popen(line, cwd=self.work, env={**variables, "OMPI_COMM_WORLD_RANK": str(rank)}, stdout=subprocess.DEVNULL)
                for rank in range(3)]
        self.assertEqual([job.wait(600) for job in jobs], [0, 0, 0])
        self.assertEqual((self.folder / "mounted").read_text(), f"-t nfs -o vers=4.1,hard,sec=sys s:/e= {self.folder}/nfs\n")
        (self.folder / "mounted").unlink()
        self.stand_in("mount", "exit 32")
        for nfs, run, code, text in ((line[3], line[5], 76, "cannot mount"), (line[3], "/other/a", 2, "expected a folder in"),
                                     ("s=/nfs", "/nfs/a", 2, "--nfs: expected SERVER:/EXPORT=/MOUNT, got s=/nfs")):
            done = subprocess.run([*line[:3], nfs, "--run", run], cwd=self.work, env=variables, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
            self.assertIn(text, done.stderr)

    def run_fake(self, program, results=(), **variables):
        """aml/run with a script in place of the program."""
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (work / "run/logs").mkdir(parents=True)
        for name in results:
            (work / "run" / name).write_text(name)
        (work / "c.yaml").touch()
        (work / "fake").write_text(f"#!/usr/bin/env bash\n{program}\n")
        (work / "fake").chmod(0o755)
        environment = {**os.environ, "SKYLINE": str(work / "fake"), **variables}
        return work, subprocess.Popen([SOURCE / "aml/run", "c.yaml", "--run", "run"], cwd=work, env=environment, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_a_result_that_cannot_be_copied_is_named_and_hides_no_exit_code(self):
        for code, expected in ((0, 76), (75, 75), (2, 2)):
            # A folder in the place of a file is what no user, root included, can copy over.
            work, job = self.run_fake(f"mkdir -p outputs/journal.jsonl; exit {code}",
                                      ("config.yaml", "journal.jsonl", "run.h5", "owner.json"))
            output, errors = job.communicate(timeout=600)
            self.assertEqual(job.returncode, expected, errors)
            self.assertIn(f"exit code {code}; results of run are in outputs", output)
            self.assertRegex(errors, r"skyline-aml: cannot copy run/journal.jsonl to outputs/: .*cannot overwrite directory")
            self.assertIn("skyline-aml: not copied: journal.jsonl; run has them", errors)
            self.assertEqual(sorted(path.name for path in (work / "outputs").iterdir()),
                             ["config.yaml", "journal.jsonl", "run.h5"])

    def test_a_program_that_ends_while_it_is_told_to_stop_keeps_its_exit_code(self):
        """The signal's handler outlasts the program: what it calls comes back when that is gone."""
        slow_kill = '() { builtin kill "$@" || return 1; while [[ $1 == -USR1 ]] && builtin kill -0 "$2"; do sleep 0.05; done; }'
        program = ("import pathlib, signal, sys; signal.signal(signal.SIGUSR1, lambda *_: sys.exit(75)); "
                   "pathlib.Path('ready').touch(); [signal.pause() for _ in iter(int, 1)]")
        work, job = self.run_fake(f'exec python3 -c "{program}"',
                                  **{"BASH_FUNC_kill%%": slow_kill})
        while not (work / "ready").exists():
            self.assertIsNone(job.poll())
            time.sleep(0.05)
        job.terminate()
        output, errors = job.communicate(timeout=600)
        self.assertEqual(job.returncode, 75, errors)
        self.assertIn("exit code 75", output)

    def test_a_wrong_setting_is_one_line_and_exit_code_2(self):
        done = subprocess.run([SOURCE / "aml/run", "synthetic.yaml", "--run", self.folder / "runs/wrong", "--", "--set",
                               "search.iteration=2"], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "SKYLINE": str(PROGRAM)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean `iterations`", done.stderr)

    def test_missing_arguments_are_one_line(self):
        for arguments, text in (([], "CONFIG is missing"), (["synthetic.yaml"], "--run is missing"),
                                (["none.yaml", "--run", "r"], "none.yaml: no such file"),
                                (["synthetic.yaml", "--rum", "r"], "unknown option --rum")):
            done = subprocess.run([SOURCE / "aml/run", *arguments], capture_output=True, text=True, timeout=600)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
