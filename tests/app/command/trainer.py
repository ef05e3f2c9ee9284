"""A trainer for tests: `python3 trainer.py FILE`, whose parameter `does` says what it does."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def report(text):
    os.write(int(os.environ["SKYLINE_REPORT_FD"]), (text + "\n").encode())


def result(score):
    report(json.dumps({"result": {"score": score}}))


def linger():
    """A process that leaves the session, ignores SIGTERM and would outlive everything."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()


def main():
    trial = json.loads(pathlib.Path(sys.argv[1]).read_text())
    parameters = trial["parameters"]
    does = parameters.get("does", "well")
    print(f"trial {trial['trial']} does {does}", flush=True)
    if "MARKS" in os.environ:  # a file for each start
        (pathlib.Path(os.environ["MARKS"]) / f"{trial['trial']}.{os.getpid()}").write_text("")
    if does == "exit":
        print("\x1b[31mlast words\x1b[0m")
        sys.exit(3)
    elif does == "raise":
        print(f"failed after {time.monotonic()} s", flush=True)
        raise OSError(f"no data in {trial['folder']}/a, {tempfile.mkdtemp()}/b at {hex(id(trial))}, {socket.gethostname()}, pid {os.getpid()}")
    elif does == "wrapped":
        sys.exit(128 + signal.SIGKILL)
    elif does == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif does == "nothing":
        pass
    elif does == "twice":
        result(1)
        result(2)
    elif does == "half":
        os.write(int(os.environ["SKYLINE_REPORT_FD"]), b'{"result": {"score"')
    elif does == "nan":
        report('{"result": {"score": NaN}}')
    elif does == "undeclared":
        report('{"result": {"score": 1, "other": 2}}')
    elif does == "outside":
        result(101)
    elif does == "points":  # fails at its first start, after a point
        report('{"step": 1, "score": 5}')
        if len(list(pathlib.Path(os.environ["MARKS"]).glob(trial["trial"] + ".*"))) < 2:
            sys.exit(3)
        result(6)
    elif does == "port":  # which somebody else has at its first three starts
        if len(list(pathlib.Path(os.environ["MARKS"]).glob(trial["trial"] + ".*"))) < 4:
            sys.exit("OSError: [Errno 98] Address already in use")
        result(4)
    elif does == "clear":  # takes the room of all temporary folders, after its own result
        result(1)
        shutil.rmtree(pathlib.Path(os.environ["TMPDIR"]).parent)
    elif does == "file":  # a program that has closed the descriptor
        os.close(int(os.environ["SKYLINE_REPORT_FD"]))
        pathlib.Path(os.environ["SKYLINE_REPORT_FILE"]).write_text('{"result": {"score": 7}}\n')
    elif does == "memory":
        held = bytearray(400 << 20)
        time.sleep(60 if held else 0)
    elif does == "daemon":
        linger()
        result(8)
    elif does == "flood":
        block = "x" * 99 + "\n"
        for _ in range(200_000):
            sys.stdout.write(block)
        result(9)
    elif does == "sleep":
        linger()
        if parameters.get("deaf"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for step in range(int(10 * parameters.get("seconds", 1))):
            report(json.dumps({"step": step + 1, "score": step}))
            time.sleep(0.1)
        while int(trial["trial"]) >= parameters.get("held", float("inf")) and not (pathlib.Path(os.environ["MARKS"]) / "go").exists():
            time.sleep(0.02)  # trials from this number on
        result(int(hashlib.sha256(json.dumps([parameters, trial["seed"]]).encode()).hexdigest()[:4], 16) / 1000)
    elif does == "group_exit":
        if os.environ["RANK"] == "1":
            sys.exit(3)
        time.sleep(600)
    elif does == "group_signal":
        if os.environ["RANK"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)
    elif does == "group_reports":
        time.sleep(int(os.environ["RANK"]))
        result(int(os.environ["RANK"]))
    elif does == "group_hang":
        if os.environ["RANK"] == "1":
            time.sleep(600)
        result(1)
    elif does == "meet":  # process 1 says at the port of process 0 which trial it belongs to, while all trials of the round run
        address, number, together = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), parameters["n"], parameters["together"]
        if os.environ["RANK"] == "1":
            while True:
                try:
                    with socket.create_connection(address) as other:
                        other.sendall(str(number).encode())
                        other.recv(1)
                    break
                except OSError:
                    time.sleep(0.02)
        else:
            marks, last = pathlib.Path(os.environ["MARKS"]), time.monotonic() + 120  # one that is tried again may come late
            with socket.create_server(address) as server:
                (marks / f"meets.{number}").touch()
                while len(list(marks.glob("meets.*"))) < -(-number // together) * together and time.monotonic() < last:
                    time.sleep(0.02)
                with server.accept()[0] as other:
                    result(int(other.recv(9)) % together)
    elif does == "probe":
        found = {"variables": dict(os.environ), "arguments": sys.argv[2:], "trial": trial, "folder": os.getcwd(),
                 "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")),
                 "report": os.environ["SKYLINE_REPORT_FD"], "processors": sorted(os.sched_getaffinity(0))}
        name = "probe." + os.environ.get("RANK", os.environ.get("NODE_RANK", str(os.getpid())))
        (pathlib.Path(os.environ["MARKS"]) / name).write_text(json.dumps(found))
        result(1)
    elif does == "program":
        os._exit(subprocess.run(sys.argv[2:]).returncode or (result(1) or 0))
    else:
        report(json.dumps({"step": 1, "score": 1}))
        digest = hashlib.sha256(json.dumps([parameters, trial["epochs"], trial["seed"]], sort_keys=True).encode())
        result(int(digest.hexdigest()[:4], 16) / 1000)


main()
