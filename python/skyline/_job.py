"""A search as a child process of this one."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence

from ._program import RULE, child_environment

_SIGNAL_PERIOD_S = 5.0  # a program that is still being loaded misses a signal
_KILL_AFTER_S = 5.0  # mpirun kills its ranks in three
# SIGUSR1 does no harm before the program or mpirun handles it.
_WITHOUT_HARM = ["/bin/sh", "-c", 'trap "" USR1; exec "$@"', "skyline"]


class Job:
    """A program, or mpirun, in a session of its own, so that Ctrl-C reaches Python alone.

    Its output goes to a file that has no name: it never waits for this process, and goes on if this process is killed.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._output = tempfile.TemporaryFile()
        self._read = 0
        self._last_signal = -_SIGNAL_PERIOD_S
        self._is_notice = False
        self.lines: list[str] = []
        self._process = subprocess.Popen([*_WITHOUT_HARM, *command], stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT, env=child_environment(), start_new_session=True)

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
