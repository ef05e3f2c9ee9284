"""A tracking server on loopback that speaks the part of MLflow's REST interface that a search uses, checks what it is
sent, and can be made to fail."""

import collections
import http.server
import json
import re
import ssl
import threading
import urllib.parse

KEY = re.compile(r"^[A-Za-z0-9_\-. /:]{1,250}$")
PREFIX = "/api/2.0/mlflow/"


class Server:
    """`plan` holds what is answered to the next requests, instead of the right thing: a status, "hang", or "deep"."""

    def __init__(self, prefix="", certificate=None):
        self.prefix = prefix
        self.plan = collections.deque()
        self.always = None
        self.most_metrics = 200  # of a request, as Azure ML
        self.largest = 0         # request that was taken
        self.requests = []       # (method and call, headers)
        self.complaints = []     # what no server would accept
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
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    @property
    def uri(self):
        return f"http://127.0.0.1:{self.port}"

    def close(self):
        self.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def calls(self):
        return [call for call, _ in self.requests]

    def serve(self, handler, body):
        url = urllib.parse.urlparse(handler.path)
        path = url.path.removeprefix(self.prefix)
        call = f"{handler.command} {path.removeprefix(PREFIX)}"
        self.requests.append((call, dict(handler.headers)))
        answer = self.plan.popleft() if self.plan else self.always
        if answer == "hang":
            self.over.wait()
            return
        if answer == "deep":
            handler.send_response(200)
            handler.send_header("Content-Length", "3000008")
            handler.end_headers()
            handler.wfile.write(b'{"run": ' + b"[" * 3_000_000)
            return
        if answer is None:
            query = {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()}
            answer, content = self.answer(call, {**query, **body}) if path.startswith(PREFIX) else (404, {})
        else:
            content = {"error_code": "PLANNED", "message": f"planned {answer}"}
        text = json.dumps(content).encode()
        handler.send_response(answer)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def answer(self, call, body):
        if call == "GET experiments/get-by-name":
            number = self.experiments.get(body["experiment_name"])
            return (200, {"experiment": {"experiment_id": number}}) if number else (404, {})
        if call == "POST experiments/create":
            if body["name"] in self.experiments:
                return 400, {"error_code": "RESOURCE_ALREADY_EXISTS", "message": f"{body['name']} already exists"}
            self.experiments[body["name"]] = str(len(self.experiments))
            return 200, {"experiment_id": self.experiments[body["name"]]}
        if call == "POST runs/create":
            return self.create(body)
        if call == "POST runs/search":
            wanted = re.fullmatch(r"tags\.`([\w.]+)` = '(\w+)'", body["filter"]).groups()
            found = [run for run in self.runs.values() if run["tags"].get(wanted[0]) == wanted[1]]
            return 200, {"runs": [{"info": {"run_id": run["id"]}} for run in found]}
        run = self.runs.get(body["run_id"])
        if run is None:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"Run {body['run_id']} not found"}
        if call == "GET runs/get":
            return 200, {"run": {"info": {"run_id": run["id"], "lifecycle_stage": "active"}}}
        if call == "POST runs/update":
            run["statuses"].append(body["status"])
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
        return 200, {"run": {"info": {"run_id": run["id"]}}}

    def add_run(self, number, experiment="0"):
        self.runs[number] = {"id": number, "experiment": experiment, "statuses": [], "metrics": collections.defaultdict(list),
                             "params": {}, "tags": {}}
        return self.runs[number]

    def log(self, run, body):
        if len(body["metrics"]) > self.most_metrics:
            return 400, {"error_code": "BAD_REQUEST", "message": f"more than {self.most_metrics} metrics"}
        self.largest = max(self.largest, len(body["metrics"]))
        counts = [len(body.get(part, [])) for part in ("metrics", "params", "tags")]
        if sum(counts) > 1000 or counts[1] > 100 or counts[2] > 100:
            self.complaints.append(f"too many entries: {counts}")
        for metric in body["metrics"]:
            if not KEY.match(metric["key"]) or not isinstance(metric["timestamp"], int) or not isinstance(metric["step"], int):
                self.complaints.append(f"bad metric {metric}")
            run["metrics"][metric["key"]].append((metric["step"], metric["value"], metric["timestamp"]))
        for param in body["params"]:
            if run["params"].setdefault(param["key"], param["value"]) != param["value"] or not KEY.match(param["key"]):
                self.complaints.append(f"bad parameter {param}")
        run["tags"].update({tag["key"]: tag["value"] for tag in body["tags"]})
        return 200, {}
