"""A tracking server on loopback that speaks the part of MLflow's REST interface that `skyline.mlflow` uses, checks what it is
sent, and can be made to fail."""

import collections
import http.server
import json
import re
import shutil
import tempfile
import threading
import urllib.parse

KEY = re.compile(r"^[A-Za-z0-9_\-. /:]{1,250}$")
PREFIX = "/api/2.0/mlflow/"


class Server:
    """`plan` holds statuses that are answered to the next requests instead of the right thing, `always` to all."""

    def __init__(self):
        self.artifacts = tempfile.mkdtemp(prefix="skyline-mlflow-")
        self.plan = collections.deque()
        self.always = None
        self.most_metrics = 200  # limit of a request, the same as on Azure ML
        self.requests = []       # (method and call, headers)
        self.complaints = []     # requests that no server would accept
        self.runs = {}
        self.experiments = {"Default": "0"}
        self.over = threading.Event()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.serve(self, {})

            def do_POST(self):
                server.serve(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    @property
    def uri(self):
        return f"http://127.0.0.1:{self.port}"

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
        shutil.rmtree(self.artifacts, ignore_errors=True)

    def serve(self, handler, body):
        url = urllib.parse.urlparse(handler.path)
        call = f"{handler.command} {url.path.removeprefix(PREFIX)}"
        self.requests.append((call, dict(handler.headers)))
        status = self.plan.popleft() if self.plan else self.always
        if status is None:
            query = {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()}
            status, content = self.answer(call, {**query, **body})
        else:
            content = {"error_code": "PLANNED", "message": f"planned {status}"}
        text = json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def answer(self, call, body):
        if call == "GET experiments/get-by-name":
            number = self.experiments.get(body["experiment_name"])
            return (200, {"experiment": {"experiment_id": number}}) if number else (404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": ""})
        if call == "POST experiments/create":
            if body["name"] in self.experiments:
                return 400, {"error_code": "RESOURCE_ALREADY_EXISTS", "message": f"{body['name']} already exists"}
            self.experiments[body["name"]] = str(len(self.experiments))
            return 200, {"experiment_id": self.experiments[body["name"]]}
        if call == "POST runs/create":
            return self.create(body)
        run = self.runs.get(body["run_id"])
        if run is None:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"Run {body['run_id']} not found"}
        if call == "GET runs/get":
            return 200, self.shown(run)
        if call == "POST runs/update":
            run["statuses"].append(body["status"])
            return 200, {"run_info": self.shown(run)["run"]["info"]}
        if call == "POST runs/set-tag":
            run["tags"][body["key"]] = body["value"]
            return 200, {}
        if call == "POST runs/log-batch":
            return self.log(run, body)
        self.complaints.append(f"unknown call {call}")
        return 404, {}

    def create(self, body):
        if body["experiment_id"] not in self.experiments.values():
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such experiment"}
        run = self.add_run(f"run{len(self.runs)}", body["experiment_id"])
        run["name"] = body["run_name"]
        run["tags"] = {tag["key"]: tag["value"] for tag in body["tags"]}
        return 200, self.shown(run)

    def shown(self, run):
        info = {"run_id": run["id"], "run_uuid": run["id"], "experiment_id": run["experiment"], "lifecycle_stage": "deleted" if run.get("deleted") else "active",
                "status": (run["statuses"] or ["RUNNING"])[-1], "start_time": 1, "artifact_uri": run["artifacts"]}
        data = {part: [{"key": key, "value": value} for key, value in run[part].items()] for part in ("params", "tags")}
        return {"run": {"info": info, "data": data}}

    def add_run(self, number, experiment="0"):
        self.runs[number] = {"id": number, "experiment": experiment, "statuses": [], "metrics": collections.defaultdict(list),
                             "params": {}, "tags": {},
                             "artifacts": f"{self.artifacts}/{number}"}
        return self.runs[number]

    def log(self, run, body):
        if len(body.get("metrics", [])) > self.most_metrics:
            return 400, {"error_code": "BAD_REQUEST", "message": f"more than {self.most_metrics} metrics"}
        counts = [len(body.get(part, [])) for part in ("metrics", "params", "tags")]
        if sum(counts) > 1000 or counts[1] > 100 or counts[2] > 100:
            self.complaints.append(f"too many entries: {counts}")
        for metric in body.get("metrics", []):
            if not KEY.match(metric["key"]) or not isinstance(metric["timestamp"], int) or not isinstance(metric["step"], int):
                self.complaints.append(f"bad metric {metric}")
            run["metrics"][metric["key"]].append((metric["step"], metric["value"], metric["timestamp"]))
        for param in body.get("params", []):
            if run["params"].setdefault(param["key"], param["value"]) != param["value"] or not KEY.match(param["key"]):
                self.complaints.append(f"bad parameter {param}")
        run["tags"].update({tag["key"]: tag["value"] for tag in body.get("tags", [])})
        return 200, {}
