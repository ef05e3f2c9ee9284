"""The time of a network in ONNX Runtime, as a metric of a search (docs/metrics.md): `onnx_latency.py FILE METRIC`.

Reports the median of 200 passes of one sample on one thread, in milliseconds.
"""

import json
import os
import statistics
import sys
import time

import numpy
import onnxruntime

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
source = session.get_inputs()[0]
sample = {source.name: numpy.zeros([1, *source.shape[1:]], numpy.float32)}
times_ms = []
for _ in range(220):
    start = time.perf_counter()
    session.run(None, sample)
    times_ms.append(1000 * (time.perf_counter() - start))
result = {"result": {sys.argv[2]: statistics.median(times_ms[20:])}}
os.write(int(os.environ["SKYLINE_REPORT_FD"]), (json.dumps(result) + "\n").encode())
