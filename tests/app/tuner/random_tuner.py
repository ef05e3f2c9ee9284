"""The smallest tuner: random values with a memory, and half of the time a change of the best trial so far.

With an argument it misbehaves when it is asked for trial 3, or with `deaf` from the start, unless there is a file of its name with the
ending .cured.
"""

import json
import os
import random
import signal
import socket
import sys
import time

channel = socket.socket(fileno=int(os.environ["SKYLINE_TUNER_FD"]))
lines, output = channel.makefile("r"), channel.makefile("w")
mistake = sys.argv[1] if len(sys.argv) > 1 and not os.path.exists(sys.argv[0] + ".cured") else None
if mistake == "deaf":
    time.sleep(3600)
task = json.loads(next(lines))
(objective,) = task["objectives"]
sign = 1 if "maximize" in objective else -1
(metric,) = objective.values()
seen, best = [], None
print("what it prints goes to the log")


def misbehave(how, parameters):
    """Returns the line that is said in place of an answer."""
    if how == "silent":
        time.sleep(3600)
    if how == "suspended":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "dead":
        raise ValueError("no idea for trial 3")
    if how == "closed":
        channel.shutdown(socket.SHUT_RDWR)
        time.sleep(3600)
    lacks = dict(list(parameters.items())[1:])
    return {"rubbish": "no JSON", "long": "x" * (2 << 20), "list": "[1, 2]", "number": json.dumps({"answer": 3}), "bracket": "[" * 100_000,
            "outside": json.dumps({"answer": [{**parameters, "width": 17}]}), "unknown": json.dumps({"answer": [{**parameters, "widht": 16}]}),
            "lacking": json.dumps({"answer": [lacks]}), "again": json.dumps({"answer": [seen[1]]}), "many": json.dumps({"answer": [parameters] * 1001}),
            "none": json.dumps({"answer": []}), "done": json.dumps({"answer": [], "done": True}),
            "forbidden": json.dumps({"answer": [{**parameters, "depth": 12, "width": 128}]}),
            "costly": json.dumps({"answer": [{"depth": 11, "kernel": 7, "width": 128}]}), "uncalled": "\n".join([json.dumps({"answer": [parameters]})] * 2)}[how]


for line in lines:
    message = json.loads(line)
    if "tell" in message:
        told = message["tell"]
        value = (told.get("values") or {}).get(metric)
        if value is not None and (best is None or sign * value > best[0]):
            best = sign * value, told["parameters"]
        continue
    answer = message.get("answer")
    if answer is None:
        draw = random.Random(message["seed"])
        while True:
            chosen = {name: draw.choice(values) for name, values in task["space"].items()}
            if best and draw.random() < 0.5:
                changed = draw.choice(list(chosen))
                chosen = {**best[1], changed: chosen[changed]}
            if chosen not in seen:
                break
        answer = [chosen]
        how = mistake if message["first"] == 3 else None
        print(misbehave(how, chosen) if how else json.dumps({"answer": answer}), file=output, flush=True)
    seen += answer
