#!/usr/bin/env python3
"""Submits a search to Azure ML as an MPI job (SDK v2, package azure-ai-ml)."""

import logging
import sys

import search_job


def build(options):
    """The job, [azure.ai.ml.entities.CommandJob]; needs no workspace."""
    from azure.ai.ml import Input, MpiDistribution, Output
    from azure.ai.ml.entities import BuildContext, CommandJob, CommandJobLimits, Environment, JobResourceConfiguration

    environment = options.environment or Environment(
        name="skyline", build=BuildContext(path=str(search_job.PROJECT), dockerfile_path="aml/Dockerfile"))
    return CommandJob(
        command=search_job.program(options),
        code=str(search_job.code_folder(options)),
        inputs={"data": Input(type="uri_file", path=options.data, mode="download")} if options.data else {},
        outputs={"mirror": Output(type="uri_folder", path=options.mirror, mode="rw_mount")} if options.mirror else {},
        environment=environment,
        compute=options.compute,
        resources=JobResourceConfiguration(
            instance_count=options.nodes, shm_size=search_job.SHARED_MEMORY,
            docker_args=search_job.docker_args(options)),
        distribution=MpiDistribution(process_count_per_instance=options.processes_per_node),
        limits=CommandJobLimits(timeout=options.timeout) if options.timeout else None,
        environment_variables=search_job.environment_variables(),
        experiment_name=options.experiment,
        display_name=options.config.stem)


def gpus_of(compute, sizes):
    """The number of GPUs of a node, [int]; None if the service doesn't say. `sizes` are what compute.list_sizes() returns."""
    name = (getattr(compute, "size", None) or "").lower()
    size = next((each for each in sizes if (each.name or "").lower() == name), None)
    return None if size is None else size.gpus or 0


def main(arguments=None):
    options = search_job.parse(__doc__, arguments)
    search_job.warn_of_storage(options)
    logging.disable(logging.WARNING)  # the SDK's, of its own classes being experimental
    if options.dry_run:
        if options.processes_per_node is None:
            print("# processes of a node: one for each GPU, which submit.py asks the service then; printed with 1")
            options.processes_per_node = 1
        print(f"# {search_job.describe_upload(search_job.code_folder(options))}")
        build(options).dump(sys.stdout)
        return 0
    from azure.ai.ml import MLClient
    from azure.identity import DefaultAzureCredential

    client = MLClient(DefaultAzureCredential(), options.subscription, options.resource_group, options.workspace)
    if options.processes_per_node is None:
        gpus = gpus_of(client.compute.get(options.compute), client.compute.list_sizes())
        if gpus is None:
            print(f"submit.py: --processes-per-node: the service does not say how many GPUs a node of {options.compute} has",
                  file=sys.stderr)
            return 2
        options.processes_per_node = max(1, gpus)  # a rank has one GPU
        print(f"a node of {options.compute} has {gpus} GPUs: {options.processes_per_node} processes a node")
    print(client.jobs.create_or_update(build(options)).studio_url)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModuleNotFoundError as error:
        sys.exit(search_job.missing_package(error, "azure-ai-ml azure-identity"))
