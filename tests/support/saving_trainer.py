"""A trainer that saves after each epoch: `python3 saving_trainer.py FILE [NAME=VALUE...]`, or `saves` for `command.python`.

What it trains is a chain of checksums, so a step that is lost, made twice, or made from another state shows in the result.
"""

import hashlib
import json
import os
import pathlib
import signal
import sys
import time

LENGTH = 16  # hex digits of a link


def begun(parameters, seed, parent=""):
    return hashlib.sha256(json.dumps([parameters, seed, parent], sort_keys=True).encode()).hexdigest()[:LENGTH]


def trained(link, epoch):
    return hashlib.sha256(f"{link} {epoch}".encode()).hexdigest()[:LENGTH]


def score_of(link, parameters):
    """From 0 to 100, mostly by the parameters, as that of a training is."""
    good = sum(value for value in parameters.values() if isinstance(value, int)) % 10
    return 9 * good + 9 * int(link, 16) / 16**LENGTH


def result_of(parameters, seed, epochs):
    """The score of a training that ran through."""
    link = begun(parameters, seed)
    for epoch in range(1, round(epochs) + 1):
        link = trained(link, epoch)
    return score_of(link, parameters)


def main():
    metrics = train(sys.argv[1], **dict(word.split("=", 1) for word in sys.argv[2:]))
    if metrics is None:
        return
    os.write(int(os.environ["SKYLINE_REPORT_FD"]), json.dumps({"result": metrics}).encode() + b"\n")


def saves(**_):
    return train(sys.argv[2], seconds=0.03)  # the file is that of {parameters}


def train(trials_file, **options):
    if os.environ.get("RANK", "0") != "0":
        return None  # one of several processes of the trial trains
    trial = json.loads(pathlib.Path(trials_file).read_text())
    folder, file = pathlib.Path(trial["folder"]), pathlib.Path(trial["folder"]) / "state.json"
    stops = []
    signal.signal(signal.SIGTERM, lambda *_: stops.append(True))
    parent = None
    if trial.get("parent_folder"):
        parent = json.loads((pathlib.Path(trial["parent_folder"]) / "state.json").read_text())
        assert parent["epoch"] == parent["epochs"], f"an unfinished parent: {parent}"
    assert trial["resumed"] == bool(list(folder.iterdir())), trial
    if file.exists():
        state = json.loads(file.read_text())
        assert (state["parameters"], state["seed"]) == (trial["parameters"], trial["seed"]), f"the state of another trial: {state}"
    else:
        state = {"parameters": trial["parameters"], "seed": trial["seed"], "epoch": 0,
                 "link": begun(trial["parameters"], trial["seed"], parent["link"] if parent else "")}
    state["epochs"] = trial["epochs"]
    if "marks" in options:  # one for each start: trial, first epoch, whether there is a parent
        facts = [trial["trial"], state["epoch"], trial["resumed"], trial.get("parent_folder", ""), trial["folder"]]
        (pathlib.Path(options["marks"]) / f"{time.time_ns()}.{os.getpid()}").write_text(json.dumps(facts))
    if "link" in options and not (folder / "out").is_symlink():
        (folder / "out").symlink_to(options["link"])
    while state["epoch"] < round(trial["epochs"]) and not stops:
        time.sleep(float(options.get("seconds", 0)))
        while state["epoch"] == 3 and not stops and "gate" in options and not pathlib.Path(options["gate"]).exists():
            time.sleep(0.01)  # it is found in the middle, whoever looks and when
        state["epoch"] += 1
        state["link"] = trained(state["link"], state["epoch"])
        # In place, where nobody can see it half: a copy that shared the file with its original would change that, too.
        whole = folder / "state.new"
        whole.write_text(json.dumps(state))
        if file.exists():
            (folder / "previous.json").write_text(file.read_text())
        whole.rename(file)
    if stops:
        sys.exit(1)
    (folder / "bytes").write_bytes(b"x" * int(options.get("bytes", 0)))
    return {"score": score_of(state["link"], trial["parameters"]), "size": trial["parameters"].get("a", 1)}


if __name__ == "__main__":
    main()
