"""Writes the rest of a library of the stand-in: weak functions for all symbols that LibTorch asks for.

usage: rest.py NM PREFIX OUTPUT LIBRARY...   e.g. rest.py nm cublas cublas_rest.cpp libtorch_cuda.so
"""

import pathlib
import re
import subprocess
import sys

# By name, the first that fits: the function's parameters and its body. All others are noted as violations when called.
KINDS = (
    (r"cublas[A-Z].*(Batched|_v2|Ex)$", "StandInHandle* handle", 'return stand_in_queue(handle->stream, "{name}");'),
    (r"cudnn(BatchNormalization|Convolution|Pooling)", "StandInHandle* handle",
     'return stand_in_queue(handle->stream, "{name}");'),
    (r"(cudnn|cublasLt).*Create", "void** object", "*object = new StandInHandle;\n  return 0;"),
    (r"(cudnn|cublasLt).*(Set|Destroy)", "", "return 0;"),
    (r"", "", 'return stand_in_missing("{name}");'),
)


def main(nm, prefix, output, *libraries):
    text = subprocess.run([nm, "-D", "--undefined-only", *libraries], check=True, capture_output=True, text=True).stdout
    names = sorted(set(re.findall(rf" U ((?:__)?{prefix}\w+)", text)))
    lines = ['#include "stand_in.hpp"\n', 'extern "C" {\n']
    for name in names:
        parameters, body = next(kind[1:] for kind in KINDS if re.match(kind[0], name))
        lines.append(f"__attribute__((weak)) int {name}({parameters}) {{\n  {body.format(name=name)}\n}}\n")
    pathlib.Path(output).write_text("\n".join([*lines, "}\n"]))


main(*sys.argv[1:])
