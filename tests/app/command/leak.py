"""Starts a program with the variables of the rank above it, as a launcher that clears nothing does."""

import os
import pathlib
import sys

process = os.getppid()
while pathlib.Path(f"/proc/{process}/comm").read_text() != "skyline\n":
    process = int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
variables = dict(line.split("=", 1) for line in pathlib.Path(f"/proc/{process}/environ").read_text().split("\0") if "=" in line)
os.execve(sys.argv[1], sys.argv[1:], variables)
