"""A trainer that may end early: `python3 pruned_trainer.py FILE [NAME=VALUE...]`, which reads the decisions as a program in any
language does. It saves its epoch in its folder, and goes on from there.

asks=never       it ends when it has done all epochs
asks=5           it asks after epoch 5 alone
last=unreported  it reports its last epoch by the result alone
ends=result      it reports a result when it is told to end
hold=3.2.decided it waits in epoch 2 of trial 3, after it has `reported`, `decided` or `saved`, until the file `gate` is there
"""

import json
import os
import pathlib
import sys
import time


def value_of(parameters, epoch):
    """A score whose order changes with the epochs."""
    return parameters["a"] + (7 * parameters["b"] + 3 * parameters["a"]) % 23 / (1 + epoch)


def report(line):
    os.write(int(os.environ["SKYLINE_REPORT_FD"]), json.dumps(line).encode() + b"\n")


def is_told_to_stop(epoch):
    file = os.environ.get("SKYLINE_DECISION_FILE")
    while file:
        lines = [json.loads(line) for line in pathlib.Path(file).read_text().split("\n")[:-1]]
        if any(line["stop"] for line in lines[1:]):
            return True
        due = [step for step in lines[0]["at"] if step <= epoch] if lines else [epoch]
        if not due or any(line["step"] >= due[-1] for line in lines[1:]):
            return False
        time.sleep(0.002)
    return False


def main():
    trial = json.loads(pathlib.Path(sys.argv[1]).read_text())
    parameters = trial["parameters"]
    options = dict(word.split("=", 1) for word in sys.argv[2:])
    saved = pathlib.Path(os.environ["SKYLINE_FOLDER"]) / "epoch"

    def hold(epoch, place):
        gate = pathlib.Path(options.get("gate", "/"))
        if options.get("hold") == f"{trial['trial']}.{epoch}.{place}" and not gate.exists():
            gate.with_suffix(".held").touch()
            while not gate.exists():
                time.sleep(0.01)

    for epoch in range(1 + (int(saved.read_text()) if saved.exists() else 0), 1 + trial["epochs"]):
        if epoch < trial["epochs"] or options.get("last") != "unreported":
            report({"step": epoch, "score": value_of(parameters, epoch), "size": parameters["b"]})
        hold(epoch, "reported")
        if options.get("asks", str(epoch)) == str(epoch) and is_told_to_stop(epoch):
            if options.get("ends") == "result":
                report({"result": {"score": 0, "size": 0}})
            return
        hold(epoch, "decided")
        saved.with_suffix(".new").write_text(str(epoch))
        saved.with_suffix(".new").rename(saved)
        hold(epoch, "saved")
    report({"result": {"score": value_of(parameters, trial["epochs"]), "size": parameters["b"]}})


if __name__ == "__main__":
    main()
