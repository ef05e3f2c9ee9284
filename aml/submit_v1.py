#!/usr/bin/env python3
"""Submits a search to Azure ML by SDK v1 (package azureml-core), whose support ended in June 2026: for workspaces that
still use it. New ones take submit.py."""

import json
import sys

import search_job

def build(options):
    """The job, [azureml.core.ScriptRunConfig]; needs no workspace."""
    from azureml.core import Environment, ScriptRunConfig
    from azureml.core.runconfig import MpiConfiguration

    if options.environment:
        environment = Environment(options.environment)
    else:
        environment = Environment.from_dockerfile("skyline", str(search_job.PROJECT / "aml/Dockerfile"))
    job = ScriptRunConfig(
        source_directory=str(search_job.code_folder(options)),
        command=search_job.program(options, options.data),
        compute_target=options.compute,
        environment=environment,
        distributed_job_config=MpiConfiguration(process_count_per_node=options.processes_per_node, node_count=options.nodes))
    job.run_config.node_count = options.nodes
    job.run_config.environment_variables = search_job.environment_variables()
    return job


def main(arguments=None):
    options = search_job.parse(__doc__, "the data set file, by the path at which the job sees it", arguments)
    print("submit_v1: SDK v1 has been without support since June 2026; submit.py is its successor", file=sys.stderr)
    job = build(options)
    if options.dry_run:
        config = job.run_config
        print(json.dumps({"command": job.command, "compute": config.target, "node_count": config.node_count,
                          "process_count_per_node": config.mpi.process_count_per_node,
                          "communicator": config.communicator,
                          "code": search_job.describe_upload(search_job.code_folder(options)),
                          "environment_variables": dict(config.environment_variables)}, indent=2))
        return 0
    from azureml.core import Experiment, Workspace

    workspace = Workspace.get(options.workspace, subscription_id=options.subscription,
                              resource_group=options.resource_group)
    print(Experiment(workspace, options.experiment).submit(job).get_portal_url())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModuleNotFoundError as error:
        sys.exit(search_job.missing_package(error, "azureml-core"))
