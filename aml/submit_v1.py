#!/usr/bin/env python3
"""Submits a search to Azure ML by SDK v1 (package azureml-core), as a ScriptRunConfig with MpiConfiguration. The service
ended support of SDK v1 in June 2026: submit.py is its successor, this is for workspaces whose scripts still use v1."""

import json
import re
import shlex
import sys

import search_job

# A registered environment: NAME, NAME:VERSION or azureml:NAME:VERSION. NAME alone is its latest version.
ENVIRONMENT = re.compile(r"(?:azureml:)?(?P<name>[\w.-]+)(?:@latest|:(?P<version>[\w.-]+))?", re.ASCII)


def build(options):
    """The job, [azureml.core.ScriptRunConfig]; needs no workspace."""
    from azureml.core import Environment, ScriptRunConfig
    from azureml.core.runconfig import DockerConfiguration, MpiConfiguration

    docker_args = search_job.docker_args(options)
    job = ScriptRunConfig(
        source_directory=str(search_job.code_folder(options)),
        command=search_job.program(options, options.data and shlex.quote(options.data)),
        compute_target=options.compute,
        environment=Environment(ENVIRONMENT.fullmatch(options.environment)["name"]),
        distributed_job_config=MpiConfiguration(process_count_per_node=options.processes_per_node, node_count=options.nodes),
        docker_runtime_config=DockerConfiguration(use_docker=True, shm_size=search_job.SHARED_MEMORY,
                                                  arguments=shlex.split(docker_args or "")),
        **({"max_run_duration_seconds": options.timeout} if options.timeout else {}))
    job.run_config.environment_variables = search_job.environment_variables()
    return job


def described(job):
    """The job as the service gets it, for people."""
    config = job.run_config
    return {"command": job.command, "source_directory": job.source_directory, "compute_target": config.target,
            "MpiConfiguration": {"process_count_per_node": config.mpi.process_count_per_node, "node_count": config.mpi.node_count},
            "communicator": config.communicator, "node_count": config.node_count, "environment": config.environment.name,
            "docker": {"shm_size": config.docker.shm_size, "arguments": config.docker.arguments},
            "max_run_duration_seconds": config.max_run_duration_seconds, "environment_variables": dict(config.environment_variables)}


def refusal(options):
    """Returns what SDK v1 lacks of what the options ask for, or None."""
    if options.mirror:
        return "--mirror: expected a run folder on NFS, since only submit.py mounts a blob for copies"
    if (options.data or "").startswith("azureml:"):
        return f"--data: expected the path at which the job sees the file, got {options.data}, which only submit.py takes"
    if not options.environment:
        return ("--environment: expected a registered one, since SDK v1 cannot build aml/Dockerfile from a folder with subfolders: "
                "az ml environment create --name skyline --build-context . --dockerfile-path aml/Dockerfile")
    if not ENVIRONMENT.fullmatch(options.environment):
        return f"--environment: expected a registered one, NAME or azureml:NAME:VERSION, got {options.environment}"
    if options.processes_per_node is None:
        return "--processes-per-node: expected a number, one for each GPU of a node: only submit.py asks the service"
    return None


def main(arguments=None):
    options = search_job.parse(__doc__, arguments)
    if problem := refusal(options):
        print(f"submit_v1.py: {problem}", file=sys.stderr)
        return 2
    print("submit_v1.py: the service ended support of SDK v1 in June 2026: submit.py submits the same job by v2", file=sys.stderr)
    search_job.warn_of_storage(options)
    job = build(options)
    if options.dry_run:
        print(f"# {search_job.describe_upload(search_job.code_folder(options))}")
        print(json.dumps(described(job), indent=2))
        return 0
    from azureml.core import Environment, Experiment, Workspace

    workspace = Workspace.get(options.workspace, subscription_id=options.subscription, resource_group=options.resource_group)
    named = ENVIRONMENT.fullmatch(options.environment)
    job.run_config.environment = Environment.get(workspace, named["name"], named["version"])
    print(Experiment(workspace, options.experiment).submit(job).get_portal_url())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModuleNotFoundError as error:
        sys.exit(search_job.missing_package(error, "azureml-core 'setuptools<81'"))
