"""Fills the disk of searches at random moments, makes room again, resumes, and compares with an undisturbed run. As root:
`unshare -m python3 tests/faults/full_disk.py build/release/bin/skyline . build/release/tests/faults/storage_faults.so [--runs 20] [--seed N]`

The run folder is on a tmpfs. A file takes all its room at a random moment, for a time that `run.storage_patience` bridges or
not, so that the trainer, Skyline, or both meet the full disk.
"""

import argparse
import os
import pathlib
import random
import shutil
import subprocess
import time

from fault_runs import Bench, end_tidily, saving_search

PATIENCE_S = 3
FAULT = 76


def fill(disk):
    hog = disk / "hog"
    with hog.open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), b"h" * 4096)
        except OSError:
            return hog


def disturb(bench, search, run, disk, numbers):
    """Returns the job's exit code and how long it had no room."""
    started = time.monotonic()
    job = bench.job(*search, run, ranks=numbers.randint(1, 3))
    time.sleep(numbers.uniform(0.5, bench.usual_s))
    hog = fill(disk)
    short_s = numbers.choice((0.5, 1.5, 60))  # the last: until the job has ended
    until = time.monotonic() + short_s
    while job.process.poll() is None and time.monotonic() < until:
        if os.statvfs(disk).f_bfree > 0:
            hog = fill(disk)  # a file in the space that an attempt has left free
        time.sleep(0.05)
    hog.unlink()
    return job.wait(), round(time.monotonic() - started, 1), short_s


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("faults")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1000))
    options = parser.parse_args()
    end_tidily()
    numbers = random.Random(options.seed)
    bench = Bench(options.program, options.faults)
    config = saving_search(bench, options.source, "program")
    path = pathlib.Path(config[0])
    path.write_text(path.read_text().replace('"seconds=0.03"', '"seconds=0.03", "bytes=300000"'))
    search = ["search", *config, "--quiet", "--set", f"run.storage_patience={PATIENCE_S} s", "--set", "run.keep_weights=all",
              "--resume", "--run"]
    disk = bench.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", disk], check=True)
    try:
        started = time.monotonic()
        whole = bench.job(*search, "whole", ranks=2)
        assert whole.wait() == 0, whole.text()
        bench.usual_s = time.monotonic() - started
        print(f"seed {options.seed}; undisturbed: {bench.usual_s:.1f} s", flush=True)
        bad = 0
        for number in range(options.runs):
            run = f"disk/run{number}"
            code, seconds, short_s = disturb(bench, search, run, disk, numbers)
            resumed = bench.job(*search, run, ranks=numbers.randint(1, 3)).wait() if code != 0 else code
            equal = bench.canonical(run) == bench.canonical("whole") and bench.weights(run) == bench.weights("whole")
            good = equal and resumed == 0 and code in (0, FAULT) and not bench.leftovers(run)
            bad += not good
            print(f"{number}: short of room for {short_s} s, exit code {code} after {seconds} s, {'equal' if good else 'WRONG'}",
                  flush=True)
            shutil.rmtree(bench.folder / run)
        print(f"{options.runs - bad} of {options.runs} equal")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
