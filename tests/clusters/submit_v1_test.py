"""The job that submit_v1.py makes: by the package of SDK v1 where it is installed, else by a stand-in with its signatures."""

import contextlib
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import types
import unittest
import unittest.mock

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "aml"))

import search_job  # noqa: E402
import submit_v1  # noqa: E402

CONFIG = str(SOURCE / "configs/synthetic.yaml")
BARE = [CONFIG, "--run", "/mnt/nfs/runs/a", "--compute", "gpu"]
OPTIONS = [*BARE, "--environment", "skyline"]
COUNTS = ["--node_count", "2", "--process_count_per_node", "4"]
HAS_PACKAGE = importlib.util.find_spec("azureml") is not None


class Environment:
    def __init__(self, name):
        self.name = name

    @staticmethod
    def get(workspace, name, version=None):
        return Environment(f"{name} of {workspace}, version {version}")


class MpiConfiguration:
    def __init__(self, process_count_per_node=1, node_count=1):
        self.process_count_per_node, self.node_count = process_count_per_node, node_count


class DockerConfiguration:
    def __init__(self, use_docker=False, shared_volumes=True, arguments=(), shm_size="2g"):
        self.use_docker, self.shared_volumes, self.arguments, self.shm_size = use_docker, shared_volumes, arguments, shm_size


class ScriptRunConfig:
    def __init__(self, source_directory, script=None, arguments=None, compute_target=None, environment=None,
                 distributed_job_config=None, max_run_duration_seconds=2592000, command=None, docker_runtime_config=None):
        self.source_directory, self.script, self.arguments, self.command = source_directory, script, arguments, command
        self.run_config = types.SimpleNamespace(
            target=compute_target, environment=environment, mpi=distributed_job_config, communicator="IntelMpi",
            node_count=distributed_job_config.node_count, docker=docker_runtime_config,
            max_run_duration_seconds=max_run_duration_seconds)


def package(**more):
    """The modules that submit_v1.py imports, those of the stand-in unless the package is there."""
    core = types.ModuleType("azureml.core")
    core.__dict__.update(Environment=Environment, ScriptRunConfig=ScriptRunConfig, **more)
    runconfig = types.ModuleType("azureml.core.runconfig")
    runconfig.__dict__.update(DockerConfiguration=DockerConfiguration, MpiConfiguration=MpiConfiguration)
    return unittest.mock.patch.dict(sys.modules, {"azureml": types.ModuleType("azureml"), "azureml.core": core,
                                                  "azureml.core.runconfig": runconfig})


def printed(*arguments):
    """The exit code and what was printed: to standard output, to standard error."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.nullcontext() if HAS_PACKAGE else package(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = submit_v1.main([*map(str, arguments)])
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), errors.getvalue()


class SubmitV1(unittest.TestCase):
    def job(self, *more):
        code, out, _ = printed(*OPTIONS, *COUNTS, *more, "--dry-run")
        self.assertEqual(code, 0)
        first, _, rest = out.partition("\n")
        self.assertIn(f"uploads {SOURCE / 'configs'}: ", first)
        return json.loads(rest)

    def test_a_dry_run_prints_the_job_with_its_mpi_configuration(self):
        self.assertEqual(self.job("--set", "run.seed=7"), {
            "command": "skyline-aml synthetic.yaml --run /mnt/nfs/runs/a -- --set run.seed=7",
            "source_directory": str(SOURCE / "configs"), "compute_target": "gpu",
            "MpiConfiguration": {"process_count_per_node": 4, "node_count": 2}, "communicator": "IntelMpi", "node_count": 2,
            "environment": "skyline", "docker": {"shm_size": "16g", "arguments": []}, "max_run_duration_seconds": 2592000,
            "environment_variables": {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}})

    def test_nfs_data_time_and_environment_are_those_of_version_2(self):
        job = self.job("--nfs", "10.0.2.4:/vol 1=/mnt/nfs", "--data", "/mnt/nfs/my digits.h5", "--timeout", "3600", "--environment", "mine")
        self.assertEqual(job["command"], "skyline-aml synthetic.yaml --data '/mnt/nfs/my digits.h5' --nfs '10.0.2.4:/vol 1=/mnt/nfs' "
                                         "--run /mnt/nfs/runs/a -- --set run.time_limit=3480s")
        self.assertEqual(job["docker"]["arguments"], search_job.MOUNT_DOCKER_ARGS.split())
        self.assertEqual((job["max_run_duration_seconds"], job["environment"]), (3600, "mine"))

    def test_the_options_have_the_names_of_the_guide_and_ours(self):
        ours = search_job.parse("", [*OPTIONS, "--nodes", "2", "--processes-per-node", "4", "--dry-run"])
        self.assertEqual(search_job.parse("", [*OPTIONS, *COUNTS, "--dry-run"]), ours)
        self.assertEqual((ours.nodes, ours.processes_per_node), (2, 4))

    def test_a_line_says_that_support_has_ended_and_what_follows(self):
        _, _, errors = printed(*OPTIONS, *COUNTS, "--dry-run")
        self.assertIn("submit_v1.py: the service ended support of SDK v1 in June 2026: submit.py submits the same job by v2\n", errors)

    def test_what_only_version_2_can_do_is_refused_in_one_line(self):
        mirror = ["--mirror", "azureml://datastores/a/paths/b", "--process_count_per_node", "4"]
        for more, text in ((mirror, "--mirror: expected a run folder on NFS"),
                           ([*COUNTS, "--data", "azureml:digits:1"], "--data: expected the path at which the job sees the file, got azureml:digits:1"),
                           ([*COUNTS, "--environment", "azureml://registries/a/environments/b"],
                            "--environment: expected a registered one, NAME or azureml:NAME:VERSION, got azureml://registries/a/environments/b"),
                           ([], "--processes-per-node: expected a number, one for each GPU of a node")):
            code, out, errors = printed(*OPTIONS, *more, "--dry-run")
            self.assertEqual((code, out, errors.count("\n")), (2, "", 1), errors)
            self.assertIn(text, errors)
        code, out, errors = printed(*BARE, *COUNTS, "--dry-run")
        self.assertEqual((code, out, errors.count("\n")), (2, "", 1), errors)
        self.assertIn("submit_v1.py: --environment: expected a registered one, since SDK v1 cannot build aml/Dockerfile", errors)

    def test_mistakes_of_the_options_are_those_of_version_2(self):
        code, _, errors = printed(*OPTIONS, *COUNTS)
        self.assertEqual((code, errors.count("\n")), (2, 1))
        self.assertIn("missing: --subscription, --resource-group, --workspace; or add --dry-run", errors)

    def submitted(self, *more):
        """The job as the service gets it."""
        experiment, workspace = unittest.mock.MagicMock(), unittest.mock.MagicMock()
        workspace.get.return_value = "w"
        experiment.return_value.submit.return_value.get_portal_url.return_value = "https://portal"
        place = ["--subscription", "s", "--resource-group", "g", "--workspace", "w"]
        with package(Experiment=experiment, Workspace=workspace), contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(submit_v1.main([*OPTIONS, *COUNTS, *place, *more]), 0)
        workspace.get.assert_called_once_with("w", subscription_id="s", resource_group="g")
        experiment.assert_called_once_with("w", "skyline")
        self.assertEqual(out.getvalue(), "https://portal\n")
        return experiment.return_value.submit.call_args.args[0]

    def test_the_job_is_submitted_to_the_experiment_with_the_environment_of_the_workspace(self):
        for named, environment in (("mine", "mine of w, version None"), ("azureml:mine:1", "mine of w, version 1"), ("mine:2", "mine of w, version 2"),
                                   ("azureml:mine@latest", "mine of w, version None")):
            job = self.submitted("--environment", named)
            self.assertEqual((job.run_config.mpi.process_count_per_node, job.run_config.environment.name), (4, environment))

    def test_a_setuptools_without_pkg_resources_is_one_line_too(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(search_job.missing_package(ModuleNotFoundError(name="pkg_resources"), "azureml-core 'setuptools<81'"), 2)
        self.assertIn("there is no Python package pkg_resources: python3 -m pip install azureml-core 'setuptools<81'\n", errors.getvalue())
        with self.assertRaises(ModuleNotFoundError):
            search_job.missing_package(ModuleNotFoundError(name="other"), "azureml-core")

    def test_a_missing_package_is_one_line_with_the_command_that_installs_it(self):
        done = subprocess.run([sys.executable, "-S", SOURCE / "aml/submit_v1.py", *OPTIONS, *COUNTS, "--dry-run"],
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"submit_v1.py: there is no Python package azure\S*: "
                                                       r"python3 -m pip install azureml-core 'setuptools<81'")
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
