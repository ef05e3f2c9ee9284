"""A real Slurm over hosts of hosts.py: slurmctld on h1, a slurmd on each."""

import os
import pathlib
import re
import signal
import stat
import subprocess
import time

CONFIG = """ClusterName=skyline
SlurmctldHost=h1(10.77.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
SlurmctldTimeout=10
SlurmdTimeout=10
InactiveLimit=0
KillWait=3
MinJobAge=300
MessageTimeout=5
UnkillableStepTimeout=10
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=100000,sched_interval=1,bf_interval=1
PropagateResourceLimitsExcept=MEMLOCK,NOFILE
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
"""
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "DEADLINE", "OUT_OF_MEMORY")


class Slurm:
    def __init__(self, hosts, processors=4, gpus=2):
        """GPUs are other names of /dev/null: Slurm counts them and tells a job's processes their numbers, as it does with real ones."""
        self.hosts = hosts
        self.folder = hosts.folder / "slurm"
        for name in ("state", "spool", "munge", "tmp"):
            (self.folder / name).mkdir(parents=True, mode=0o755)
        self._start_munge()
        for gpu in range(gpus):
            os.mknod(self.folder / f"gpu{gpu}", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        (self.folder / "gres.conf").write_text(f"AutoDetect=off\nName=gpu File={self.folder}/gpu[0-{gpus - 1}]\n")
        lines = ["GresTypes=gpu\n"]
        for host in range(1, hosts.count + 1):
            lines.append(f"NodeName=h{host} NodeAddr=10.77.0.{host} CPUs={processors} RealMemory=4000 "
                         f"Gres=gpu:{gpus} State=UNKNOWN\n")
            for name in ("spool", "tmp"):
                (self.folder / name / f"h{host}").mkdir()
        lines.append("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
        (self.folder / "slurm.conf").write_text(CONFIG.format(folder=self.folder) + "".join(lines))
        self._daemon(1, "/usr/sbin/slurmctld", "-c")
        for host in range(1, hosts.count + 1):
            self.start_node(host)
        self.wait_until(lambda: self._node_states() == {"idle"}, 60, "the nodes are not idle")

    def _start_munge(self):
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munge = self.folder / "munge"
        # On a host, so that it ends with the hosts.
        done = subprocess.run(self.hosts.on(1, "/usr/sbin/munged", f"--key-file={key}", f"--socket={munge}/sock",
                                            f"--pid-file={munge}/pid", f"--log-file={munge}/log",
                                            f"--seed-file={munge}/seed", "--num-threads=2", "--force"),
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr

    def _daemon(self, host, *command):
        done = subprocess.run(self.hosts.on(host, *command, "-f", self.folder / "slurm.conf"), capture_output=True, text=True,
                              timeout=600)
        assert done.returncode == 0, done.stderr

    def start_node(self, host):
        self._daemon(host, "/usr/sbin/slurmd")

    def kill_node(self, host):
        """Power cut: the daemons and everything that they run, at once."""
        self.hosts.kill(host, "slurmd", "slurmstepd", "skyline", "orted", "mpirun", "srun", "slurm_script")

    def command(self, *command):
        return self.hosts.on(1, f"SLURM_CONF={self.folder}/slurm.conf", *command)

    def run(self, *command, expect=0, variables=None):
        settings = [f"{name}={value}" for name, value in (variables or {}).items()]
        done = subprocess.run(self.command(*settings, *command), capture_output=True, text=True, timeout=600)
        assert done.returncode == expect, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _node_states(self):
        return set(self.run("sinfo", "-h", "-o", "%T").split())

    def field(self, job, name):
        text = self.run("scontrol", "show", "job", job, "-o")
        return re.search(rf"\b{name}=(\S*)", text).group(1)

    def wait_until(self, holds, limit_s, what):
        end = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > end:
                logs = [f"{path}:\n{path.read_text(errors='replace')[-3000:]}" for path in self.folder.glob("*.log")]
                raise AssertionError(f"{what} after {limit_s} s\n" + "\n".join(logs))
            time.sleep(0.1)

    def wait(self, job, limit_s=600):
        """Until the job is over; returns its state."""
        self.wait_until(lambda: self.field(job, "JobState") in OVER, limit_s, f"job {job} is not over")
        return self.field(job, "JobState")

    def close(self):
        for name in ("slurmctld.pid", "munge/pid", *(f"slurmd.h{host}.pid" for host in range(1, self.hosts.count + 1))):
            path = pathlib.Path(self.folder / name)
            if path.exists() and path.read_text().strip():
                try:
                    os.kill(int(path.read_text()), signal.SIGTERM)
                except ProcessLookupError:
                    pass
