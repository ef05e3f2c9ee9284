#!/usr/bin/env python3
"""Checks that every module includes only what the module table allows, third-party headers too.

Prints one line a violation (file:line: what) and exits 1, or "ok: ..." and exits 0.
"""

import argparse
import pathlib
import re
import sys

ALL = ["core", "space", "objective", "search", "comm", "store", "train", "cuda", "evaluate", "model_export", "engine",
       "report"]

# module: (modules it may include, third-party libraries it may include)
TABLE = {
    "core": ([], ["spdlog", "openssl"]),
    "space": (["core"], []),
    "objective": (["core", "space"], []),
    "search": (["core", "space", "objective"], []),
    "comm": (["core"], ["mpi"]),
    "store": (["core", "space", "objective"], ["hdf5", "json", "zlib", "openssl"]),
    "train": (["core", "space", "objective", "comm", "store"], ["torch"]),
    "cuda": (["core", "space", "objective", "comm", "train"], ["torch", "cuda", "nccl"]),
    "evaluate": (["core", "space", "objective", "comm"], []),
    "engine": (["core", "space", "objective", "search", "comm", "store"], []),
    "report": (["core", "space", "objective", "search", "store", "engine"], ["fmt", "json", "curl"]),
    "app": (ALL, ["yaml", "cli11"]),
}

THIRD_PARTY = [
    (re.compile(r"^spdlog/"), "spdlog"),
    (re.compile(r"^fmt/"), "fmt"),
    (re.compile(r"^openssl/"), "openssl"),
    (re.compile(r"^mpi(-ext)?\.h$"), "mpi"),
    (re.compile(r"^(hdf5|H5[A-Za-z]*)(_hl)?\.h$"), "hdf5"),
    (re.compile(r"^nlohmann/"), "json"),
    (re.compile(r"^zlib\.h$"), "zlib"),
    (re.compile(r"^curl/"), "curl"),
    (re.compile(r"^(torch|ATen|c10)/"), "torch"),
    (re.compile(r"^(cuda|cuda_[a-z0-9_]+|driver_types|vector_types)\.h$"), "cuda"),
    (re.compile(r"^nccl\.h$"), "nccl"),
    (re.compile(r"^yaml-cpp/"), "yaml"),
    (re.compile(r"^CLI/"), "cli11"),
]

# Costly to read: no public header passes them on.
HIDDEN = {"torch", "cuda", "nccl"}

# Headers of the C++ library have no slash and no ending; those of C and POSIX that we use are named.
SYSTEM = re.compile(r"^([a-z_0-9]+|(sys/[a-z_]+|fcntl|unistd|sched|time|signal|errno|pthread|omp|immintrin|dlfcn|elf|"
                    r"link)\.h)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def module_of(path, root):
    parts = path.relative_to(root).parts
    return parts[2] if parts[0] == "include" else parts[1]


def check_file(path, root):
    module = module_of(path, root)
    modules, libraries = TABLE[module]
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(2)
        where = f"{path.relative_to(root)}:{number}"
        if name.startswith("skyline/"):
            other = name.split("/")[1]
            if other != module and other not in modules:
                yield f"{where}: {module} must not include {other}"
            continue
        library = next((known for pattern, known in THIRD_PARTY if pattern.match(name)), None)
        if library is not None:
            if library not in libraries:
                yield f"{where}: {module} must not include <{name}>"
            elif library in HIDDEN and path.relative_to(root).parts[0] == "include":
                yield f"{where}: public headers must not show {library}"
            elif library == "torch" and path.suffix == ".cu":
                yield f"{where}: nvcc must not read torch's headers"
        elif match.group(1) == "<" and not SYSTEM.match(name):
            yield f"{where}: <{name}> is in no module's list"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    root = parser.parse_args().root.resolve()
    files = [path for folder in ("src", "include/skyline") for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".hpp", ".cpp", ".cu")]
    violations = [line for path in files for line in check_file(path, root)]
    for line in violations:
        print(line)
    if violations or not files:
        return 1
    print(f"ok: {len(files)} files in {len(TABLE)} modules keep to the module table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
