"""The options of submit.py and submit_v1.py, and the command that a job runs."""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

MOUNT_DOCKER_ARGS = "--cap-add=SYS_ADMIN --security-opt=apparmor=unconfined"  # let a container mount
SHARED_MEMORY = "16g"  # of a container: ranks of a node exchange messages through it
NOTICE_S = 120  # before the service ends a job, for saving and for copying the results

PROJECT = pathlib.Path(__file__).resolve().parent.parent


def natural(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text}")
    return number


class OneLineParser(argparse.ArgumentParser):
    """Says of a mistake what is wrong, without the whole usage before it."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def parser(description):
    options = OneLineParser(description=description)
    options.add_argument("config", type=pathlib.Path, help="the YAML file of the search; its folder is uploaded as code")
    options.add_argument("--run", required=True, help="the run folder: on NFS that all nodes mount, e.g. /mnt/nfs/runs/mnist; on a local disk with --mirror")
    options.add_argument("--compute", required=True, help="name of the cluster")
    options.add_argument("--nodes", "--node_count", type=natural, default=1, help="(default 1)")
    options.add_argument("--processes-per-node", "--process_count_per_node", type=natural,
                         help="(default: one for each GPU of the cluster's nodes, as the service says, or 1)")
    options.add_argument("--nfs", metavar="SERVER:/EXPORT=/MOUNT", help="an NFS share, and where each node mounts it, e.g. "
                         "10.0.2.4:/vol1=/mnt/nfs")
    options.add_argument("--nfs-options", metavar="OPTIONS", help="of that mount (default vers=4.1,hard,sec=sys)")
    options.add_argument("--docker-args", help=f"arguments of `docker run` (default, with --nfs: {MOUNT_DOCKER_ARGS})")
    options.add_argument("--mirror", metavar="PATH", help="where there is no NFS, for one node: a datastore's folder that gets a copy of the run "
                         "each minute, e.g. azureml://datastores/workspaceblobstore/paths/skyline/mnist; the next job resumes from it")
    options.add_argument("--data", help="the data set: a registered asset (azureml:NAME:VERSION) or a datastore's path; with "
                         "submit_v1.py the path at which the job sees the file")
    options.add_argument("--environment", help="a registered environment (default: built from aml/Dockerfile; submit_v1.py needs one)")
    options.add_argument("--timeout", type=natural, metavar="SECONDS",
                         help=f"the service ends the job then; the search stops {NOTICE_S} s before, with everything saved")
    options.add_argument("--experiment", default="skyline", help="(default skyline)")
    options.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a setting of the search")
    options.add_argument("--subscription", help="Azure subscription")
    options.add_argument("--resource-group")
    options.add_argument("--workspace")
    options.add_argument("--dry-run", action="store_true", help="print the job as a file for `az ml job create -f`; needs no workspace")
    return options


def code_folder(options):
    """The folder that the service gets: all that lies in it, not the configuration alone."""
    return options.config.resolve().parent


def is_private(folder):
    """Whether the folder holds a home folder, or is one or the root: keys and other secrets would be uploaded."""
    home = pathlib.Path.home().resolve()
    return folder == home or folder in home.parents


def describe_upload(folder):
    """How much the service gets at most; it leaves out what .amlignore and .gitignore name."""
    sizes = [os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names]
    return f"uploads {folder}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, less what .amlignore or .gitignore names"


def find_program():
    """The program on this machine, or nothing: it is the job's that runs."""
    for program in (os.environ.get("SKYLINE"), "skyline", PROJECT / "build/release/bin/skyline", PROJECT / "../../bin/skyline"):
        if program and shutil.which(program):
            return shutil.which(program)
    return None


def check_configuration(options, parsed):
    for setting in parsed.set:
        if "=" not in setting:
            options.error(f"--set: expected KEY=VALUE, got {setting}")
    program = find_program()
    if program is None:  # the job checks its configuration itself
        return
    words = [word for setting in parsed.set for word in ("--set", setting)]
    told = subprocess.run([program, "validate", parsed.config, *words], capture_output=True, text=True).stderr
    # What else is wrong may be right where the job runs, such as the path of a data set.
    for line in told.splitlines():
        if "unknown key" in line:
            options.error(line.removeprefix("skyline: "))


def check_run(options, parsed):
    """The run folder has to be there when the service tries the job again, and for all of its nodes."""
    run = pathlib.PurePosixPath(parsed.run)
    if not run.is_absolute():
        options.error(f"--run: expected a path from the root, of a mount that the job has, got {parsed.run}")
    if parsed.nodes > 1 and any(run.is_relative_to(local) for local in ("/tmp", "/var/tmp", "/dev/shm")):
        options.error(f"--run: {parsed.run} is a folder of its own on each of {parsed.nodes} nodes: name one on NFS")


def check_storage(options, parsed):
    if parsed.nfs:
        shape = re.fullmatch(r".+:/.*=(/.+)", parsed.nfs)
        if not shape:
            options.error(f"--nfs: expected SERVER:/EXPORT=/MOUNT, got {parsed.nfs}")
        if not parsed.run.startswith(shape[1].rstrip("/") + "/"):
            options.error(f"--run: expected a folder in {shape[1]}, where --nfs mounts, got {parsed.run}")
    elif parsed.nfs_options:
        options.error("--nfs-options: expected --nfs beside it, which they are for")
    if parsed.nfs and parsed.mirror:
        options.error("--mirror: expected no --nfs beside it: a run on NFS needs no copies")
    if parsed.mirror and not re.fullmatch(r"azureml://(.+/)?datastores/[^/]+/paths/.+", parsed.mirror):
        options.error(f"--mirror: expected a folder of a datastore, azureml://datastores/NAME/paths/FOLDER, got {parsed.mirror}")
    if parsed.mirror and parsed.nodes > 1:
        options.error(f"--mirror: expected one node, got {parsed.nodes}: they need a run folder on NFS")


def check_timeout(options, parsed):
    if parsed.timeout is not None and parsed.timeout <= NOTICE_S:
        options.error(f"--timeout: the search stops {NOTICE_S} s before it, so expected more than {NOTICE_S} s, got {parsed.timeout} s")


def missing_package(error, packages):
    """Prints one line for an import that failed. Returns the exit code."""
    if not (error.name or "").startswith(("azure", "pkg_resources")):  # setuptools from 81 on has no pkg_resources
        raise error
    print(f"{pathlib.Path(sys.argv[0]).name}: there is no Python package {error.name}: python3 -m pip install {packages}",
          file=sys.stderr)
    return 2


def parse(description, arguments=None):
    options = parser(description)
    parsed = options.parse_args(arguments)
    if not parsed.config.is_file():
        options.error(f"{parsed.config}: no such file")
    if is_private(code_folder(parsed)):
        options.error(f"{parsed.config}: its folder {code_folder(parsed)} would be uploaded whole: put it into one of its own")
    check_configuration(options, parsed)
    check_run(options, parsed)
    check_storage(options, parsed)
    check_timeout(options, parsed)
    missing = [name for name in ("subscription", "resource_group", "workspace") if not getattr(parsed, name)]
    if missing and not parsed.dry_run:
        options.error("missing: " + ", ".join("--" + name.replace("_", "-") for name in missing) + "; or add --dry-run")
    return parsed


def warn_of_storage(options):
    if not options.nfs and not options.mirror:
        print(f"{pathlib.Path(sys.argv[0]).name}: warning: --run {options.run}: without --nfs or --mirror it must be on a mount that the job's "
              "containers have: a container's own disk is gone with the job", file=sys.stderr)


def docker_args(options):
    """The arguments of `docker run`, or None."""
    return options.docker_args or (MOUNT_DOCKER_ARGS if options.nfs else None)


def program(options, data="${{inputs.data}}"):
    """The line of every process. The service replaces ${{...}} in it. `data` is where the process sees the data set."""
    command = ["skyline-aml", shlex.quote(options.config.name)]
    if options.data:
        command += ["--data", data]
    for name in ("nfs", "nfs_options", "run"):
        if getattr(options, name):
            command += ["--" + name.replace("_", "-"), shlex.quote(getattr(options, name))]
    if options.mirror:
        command += ["--mirror", "${{outputs.mirror}}"]
    limit = [f"run.time_limit={options.timeout - NOTICE_S}s"] if options.timeout else []
    if limit or options.set:
        command.append("--")
        for setting in limit + options.set:
            command += ["--set", shlex.quote(setting)]
    return " ".join(command)


def environment_variables():
    """The launcher's line is the service's own: what Open MPI is to be told goes by its environment. Values are
    texts, as the service wants them."""
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
