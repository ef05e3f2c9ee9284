"""The job of a search: one that is a child process of this one, and the process of any other."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence

from ._errors import Error
from ._files import near, read_json
from ._program import RULE, child_environment

_SIGNAL_PERIOD_S = 5.0  # a program that is still being loaded misses a signal
_KILL_AFTER_S = 5.0  # mpirun kills its ranks in three
# SIGUSR1 does no harm before the program or mpirun handles it.
_WITHOUT_HARM = ["/bin/sh", "-c", 'trap "" USR1; exec "$@"', "skyline"]


class Job:
    """A program, or mpirun, in a session of its own, so that Ctrl-C reaches Python alone.

    Its output goes to a file that has no name: it never waits for this process, and goes on if this process is killed.
    """

    def __init__(self, command: Sequence[str], folder: pathlib.Path) -> None:
        self._output = tempfile.TemporaryFile()
        self._read = 0
        self._last_signal = -_SIGNAL_PERIOD_S
        self._is_notice = False
        self.lines: list[str] = []
        self._process = subprocess.Popen([*_WITHOUT_HARM, *command], stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT, env=child_environment(), cwd=folder, start_new_session=True)

    @property
    def exit_code(self) -> int | None:
        """That of the program, 128 + n after signal n; None while it runs."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def new_lines(self) -> list[str]:
        """Returns what was printed since the last call, in whole lines.

        It lacks what mpirun adds when a rank ends with an exit code other than 0; `lines` has all.
        """
        if self._output.closed:
            return []
        text = b""
        while piece := os.pread(self._output.fileno(), 1 << 16, self._read + len(text)):
            text += piece
        whole = text if self.exit_code is not None else text[:text.rfind(b"\n") + 1]
        self._read += len(whole)
        found = whole.decode(errors="replace").splitlines()
        self.lines += found
        own = []
        for line in found:
            if RULE.fullmatch(line.strip()):
                self._is_notice = not self._is_notice
            elif not self._is_notice:
                own.append(line)
        return own

    def close(self) -> None:
        """Gives up its output, once it has ended and all of that is read."""
        self._output.close()

    def ask_to_stop(self) -> None:
        """Sends SIGUSR1, at most every few seconds: running trials save their state, and the job ends."""
        if self.exit_code is None and time.monotonic() - self._last_signal >= _SIGNAL_PERIOD_S:
            self._last_signal = time.monotonic()
            self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        """Ends it now, and waits for that. What was trained after the last checkpoints is lost."""
        self._process.terminate()
        try:
            self._process.wait(_KILL_AFTER_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _place() -> str:
    """Names that in which process numbers are unique, as `process_place` of src/core/system/process.cpp does."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())
    return f"{host} {pathlib.Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"


def _is_job(process: int, started_ticks: int) -> bool:
    """Whether a process is the one that began at this time, and takes SIGUSR1 as a request to stop."""
    try:
        begun = pathlib.Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        caught = re.search(r"^SigCgt:\s*(\w+)$", pathlib.Path(f"/proc/{process}/status").read_text(errors="replace"), re.MULTILINE)
    except OSError:  # it has ended, or is hidden
        return False
    return int(begun) == started_ticks and caught is not None and bool(int(caught[1], 16) >> (signal.SIGUSR1 - 1) & 1)


def ask_owner_to_stop(folder: pathlib.Path) -> None:
    """Sends SIGUSR1 to the job that has claimed a run, and to no other process. Raises Error if it is not to be seen here."""
    owner = read_json(folder / "owner.json")
    process, started_ticks = owner.get("pid"), owner.get("started_ticks")
    if not isinstance(process, int) or not isinstance(started_ticks, int):
        raise Error(f"{near(folder)}/owner.json: names no process to stop")
    if owner.get("place") != _place():
        host = owner.get("host")
        where = f"on {host}" if host != _place().split()[0] else f"in another container or on another machine of the name {host}"
        raise Error(f"{near(folder)}: its job runs {where}: send SIGUSR1 to process {process} there")
    open_handle = getattr(os, "pidfd_open", None) if hasattr(signal, "pidfd_send_signal") else None
    try:
        handle = open_handle(process) if open_handle else None  # a Python that was built on an older system has none
    except ProcessLookupError:
        return  # it has just ended
    except OSError:  # older than Linux 5.3, or forbidden in a container
        handle = None
    try:
        # The handle stays with the process that had the number, so the process that is looked at gets the signal. Without a
        # handle, it would have to end, and another one get its number, between the look and the signal.
        if not _is_job(process, started_ticks):
            raise Error(f"{near(folder)}/owner.json: process {process} of this host is not the job that wrote it, or about to "
                        "end: it got no signal")
        if handle is not None:
            signal.pidfd_send_signal(handle, signal.SIGUSR1)
        else:
            os.kill(process, signal.SIGUSR1)
    except ProcessLookupError:
        pass
    except PermissionError as problem:
        raise Error(f"{near(folder)}: process {process}, its job, may not be sent signals by this user: it got none") from problem
    finally:
        if handle is not None:
            os.close(handle)
