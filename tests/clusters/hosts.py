"""Several hosts on one machine: a network, a host name and a /dev/shm each, joined by a bridge, with sshd. Needs root."""

import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

SUBNET = "10.77.0"
DEAD_SUBNET = "10.78.0"


def checked(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Hosts:
    """Hosts h1 ... hN. They share the file systems, but for /dev/shm. Network namespaces have names of their own,
    so that several rigs can be up at once; each has a bridge of its own."""

    def __init__(self, count):
        self.count = count
        self.prefix = f"sky{secrets.token_hex(4)}-"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-hosts-"))
        self.folder.chmod(0o755)
        try:
            self._make_keys()
            self._make_network()
            for host in range(1, count + 1):
                self._start(host)
        except BaseException:
            self.close()
            raise

    def _namespace(self, host):
        return f"{self.prefix}{host}"

    def _make_keys(self):
        for name in ("id", "hostkey"):
            checked("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
        shutil.copy(self.folder / "id.pub", self.folder / "authorized_keys")
        names = [f"{SUBNET}.{host} h{host}\n" for host in range(1, self.count + 1)]
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(names))
        key = " ".join((self.folder / "hostkey.pub").read_text().split()[:2])
        (self.folder / "known_hosts").write_text(
            "".join(f"h{host},{SUBNET}.{host} {key}\n" for host in range(1, self.count + 1)))
        (self.folder / "ssh_config").write_text(
            f"Host *\n User root\n IdentityFile {self.folder}/id\n IdentitiesOnly yes\n"
            f" UserKnownHostsFile {self.folder}/known_hosts\n GlobalKnownHostsFile /dev/null\n"
            " StrictHostKeyChecking yes\n BatchMode yes\n ConnectTimeout 5\n LogLevel ERROR\n")

    def _make_network(self):
        bridge = self._namespace("br")
        checked("ip", "netns", "add", bridge)
        checked("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
        checked("ip", "-n", bridge, "link", "set", "br0", "up")
        for host in range(1, self.count + 1):
            name = self._namespace(host)
            checked("ip", "netns", "add", name)
            checked("ip", "-n", name, "link", "set", "lo", "up")
            checked("ip", "-n", bridge, "link", "add", f"v{host}", "type", "veth", "peer", "name", "eth0", "netns", name)
            checked("ip", "-n", bridge, "link", "set", f"v{host}", "master", "br0", "up")
            checked("ip", "-n", name, "addr", "add", f"{SUBNET}.{host}/24", "dev", "eth0")
            checked("ip", "-n", name, "link", "set", "eth0", "up")

    def add_dead_network(self):
        """A second network on every host, eth1, that swallows what is sent: as behind a firewall that drops packets."""
        for host in range(1, self.count + 1):
            bridge, name = self._namespace("br"), self._namespace(host)
            checked("ip", "-n", bridge, "link", "add", f"w{host}", "type", "veth", "peer", "name", "eth1", "netns", name)
            checked("ip", "-n", bridge, "link", "set", f"w{host}", "up")
            checked("ip", "-n", name, "addr", "add", f"{DEAD_SUBNET}.{host}/24", "dev", "eth1")
            checked("ip", "-n", name, "link", "set", "eth1", "up")
            for other in range(1, self.count + 1):  # nobody has this address, and nobody is asked who has it
                checked("ip", "-n", name, "neigh", "replace", f"{DEAD_SUBNET}.{other}", "lladdr", "02:00:00:00:00:09",
                        "dev", "eth1", "nud", "permanent")

    def _start(self, host):
        """An sshd that keeps the host's namespaces; not by `ip netns exec`, which hides /sys/fs/cgroup."""
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        config = self.folder / f"sshd{host}.conf"
        config.write_text(
            f"ListenAddress {SUBNET}.{host}:22\nHostKey {self.folder}/hostkey\nPidFile {self.folder}/sshd{host}.pid\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\nUseDNS no\nPrintMotd no\nMaxStartups 100\n"
            "SetEnv OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n")
        script = ('hostname "$1"; mount --make-rprivate /; mount --bind "$2/hosts" /etc/hosts; '
                  'mount -t tmpfs -o size=512m tmpfs /dev/shm; exec /usr/sbin/sshd -f "$3" -E "$3.log"')
        checked("nsenter", f"--net=/run/netns/{self._namespace(host)}", "unshare", "-u", "-m", "bash", "-ec", script,
                "start", f"h{host}", self.folder, config)
        pid = self.folder / f"sshd{host}.pid"
        for _ in range(2400):
            if pid.exists() and pid.read_text().strip():
                return
            time.sleep(0.05)
        raise AssertionError(f"no sshd on h{host}: {pathlib.Path(f'{config}.log').read_text()}")

    def on(self, host, *command):
        """The command line that runs a command on a host, in the working folder."""
        pid = (self.folder / f"sshd{host}.pid").read_text().strip()
        return ["nsenter", "-t", pid, "-n", "-u", "-m", f"--wd={os.getcwd()}", "--", "env", "OMPI_ALLOW_RUN_AS_ROOT=1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", *(str(part) for part in command)]

    def mpirun_options(self, ranks_over="eth0"):
        """For Open MPI without a batch system. ranks_over: the network by which ranks reach each other."""
        return ["--mca", "plm_rsh_agent", "ssh", "--mca", "plm_rsh_args", f"-F{self.folder}/ssh_config",
                "--mca", "btl_tcp_if_include", ranks_over, "--mca", "oob_tcp_if_include", "eth0"]

    def by_host(self, first, second):
        """In place of a program of mpirun: one of the two, the first on h1. (mpirun 5.0.7 crashes on several programs.)"""
        return ["sh", "-c", f'if [ "$(uname -n)" = h1 ]; then exec "{first}" "$@"; fi; exec "{second}" "$@"', "sh"]

    def processes(self, host):
        """Of everything on a host."""
        done = subprocess.run(["ip", "netns", "pids", self._namespace(host)], capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def kill(self, host, *names, number=signal.SIGKILL):
        """A signal to the processes of these names on a host, at once."""
        for pid in self.processes(host):
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() in names:
                    os.kill(pid, number)
            except (FileNotFoundError, ProcessLookupError):
                pass

    def close(self):
        everyone = [*range(1, self.count + 1), "br"]
        for signal_number, pause_s in ((signal.SIGTERM, 0.3), (signal.SIGKILL, 0.2)):
            for host in everyone:
                for pid in self.processes(host):
                    try:
                        os.kill(pid, signal_number)
                    except ProcessLookupError:
                        pass
            time.sleep(pause_s)
        for host in everyone:
            subprocess.run(["ip", "netns", "del", self._namespace(host)], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
