#!/usr/bin/env python3
"""Kills the parent of trainers at random moments; nothing of them is left, even where their launchers were suspended.

usage: killed_parent_test.py DRIVER LAUNCHER [MOMENTS [SEED]]

Prints the longest time until the last process was gone. By hand, with 200 moments: docs/internals/testing.md.
"""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 120  # the suite's machine may be busy; by hand the printed time counts


def holders_of(token):
    """Processes with the token in their environment."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if token in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                pass  # it has ended, or is another user's
    return found


def suspend_children(parent):
    children = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True).stdout.split()
    for child in children:
        os.kill(int(child), signal.SIGSTOP)
    return children


def seconds_until_gone(driver, launcher, moment_s, wait_for_ready, suspends):
    token = f"TRAINER_TOKEN={os.getpid()}-{random.random()}"
    with tempfile.TemporaryDirectory() as folder:
        parent = subprocess.Popen([driver, folder, token], env={"SKYLINE_TRAINER_LAUNCHER": launcher})
        if wait_for_ready:
            while not (pathlib.Path(folder) / "ready").exists():
                time.sleep(0.01)
            assert holders_of(token.encode()), "no trainer runs"
        time.sleep(moment_s)
        if suspends:
            assert suspend_children(parent.pid), "no launcher runs"
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        killed = time.monotonic()
        while left := holders_of(token.encode()):
            if time.monotonic() - killed > PATIENCE_S:
                for process in left:
                    os.kill(process, signal.SIGKILL)
                sys.exit(f"{len(left)} processes are left, {PATIENCE_S} s after a kill at {moment_s:.3f} s")
            time.sleep(0.01)
        return time.monotonic() - killed


def main():
    driver, launcher, *rest = sys.argv[1:]
    moments = int(rest[0]) if rest else 8
    random.seed(int(rest[1]) if len(rest) > 1 else None)
    times = sorted(seconds_until_gone(driver, launcher, random.uniform(0, 0.15), number % 4 == 0, number % 8 == 0)
                   for number in range(moments))
    print(f"{moments} of {moments}: nothing is left, after {times[len(times) // 2]:.3f} s (median), at most {times[-1]:.3f} s")


if __name__ == "__main__":
    main()
