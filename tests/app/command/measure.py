"""Measures networks for tests: `measure.py FOLDER METRIC WIDTH FILE ...`. What it does may depend on the width."""

import json
import os
import pathlib
import signal
import sys
import time

folder, metric, width, *files = sys.argv[1:]
folder = pathlib.Path(folder)


def report(text):
    os.write(int(os.environ["SKYLINE_REPORT_FD"]), (text + "\n").encode())


does = json.loads((folder / "does.json").read_text()).get(width, "well")
print(f"width {width} does {does}", flush=True)
(folder / f"start.{time.time_ns()}.{os.getpid()}").write_text(" ".join(files))
if does == "alone":  # fails if another one measures
    lock = folder / "lock"
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    time.sleep(0.2)
    lock.unlink()
elif does == "vary":  # the first value is the least, the second the largest
    count = len(list(folder.glob(f"start.{width}.*")))
    (folder / f"start.{width}.{count}").touch()
    report(json.dumps({"result": {metric: int(width) * (1, 100, 10)[count]}}))
    sys.exit()
elif does == "exit":
    sys.exit("the board is on fire")
elif does == "signal":
    os.kill(os.getpid(), signal.SIGSEGV)
elif does == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
elif does == "wait":  # the first one waits for its end
    if len(list(folder.glob("start.*"))) < 2:
        time.sleep(600)
elif does.startswith("sleep "):
    time.sleep(float(does.split()[1]))
elif does == "nan":
    report(json.dumps({"result": {metric: float("nan")}}))
elif does == "outside":
    report(json.dumps({"result": {metric: -1}}))
elif does == "other":
    report(json.dumps({"result": {"validation_accuracy": 1}}))
elif does == "keep":  # copies of its input files
    for file in files:
        path = pathlib.Path(file)
        (folder / path.name).write_bytes(path.read_bytes())
if does not in ("nan", "outside", "other", "nothing"):
    report(json.dumps({"result": {metric: pathlib.Path(files[0]).stat().st_size / 1024}}))
