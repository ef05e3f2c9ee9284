"""A browser without a window, driven by the DevTools protocol over a pipe."""

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

TIMEOUT_S = 600
# WebGL by software: the machine may have no GPU.
FLAGS = ["--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--allow-file-access-from-files"]


class Browser:
    """One page at a time. `requests` and `errors` are those since it was opened."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="skyline-browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def give_pipes():  # the browser reads from 3 and writes to 4
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={self.folder}/profile", "about:blank"],
                                        preexec_fn=give_pipes, close_fds=False, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.numbers = itertools.count(1)
        self.pending = b""
        self.session = None
        self.requests, self.errors = [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.write_end)
        os.close(self.read_end)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.receive(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, end):
        while b"\0" not in self.pending:
            if not select.select([self.read_end], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            block = os.read(self.read_end, 1 << 20)
            if not block:
                raise AssertionError("the browser has ended")
            self.pending += block
        text, self.pending = self.pending.split(b"\0", 1)
        message = json.loads(text)
        self.note(message.get("method"), message.get("params"))
        return message

    def note(self, method, event):
        if method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] == "error":
            self.errors.append(event["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "assert"):
            self.errors.append(str([each.get("value", each.get("description")) for each in event["args"]]))

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path):
        """Opens a file of this machine and waits until its scripts have run."""
        self.requests, self.errors = [], []
        self.call("Page.navigate", url=f"file://{path}")
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression in the page; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, script):
        end = time.monotonic() + TIMEOUT_S
        while not self.run(script):
            if time.monotonic() > end:
                raise AssertionError(f"never: {script}")
            time.sleep(0.02)

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **({"clip": self.whole()} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))

    def whole(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
