#!/usr/bin/env python3
"""Checks that every module includes only what the module table allows, third-party headers too, and that the topic
folders of a module are layers.

In a tree with all modules it also refuses what the tables name and nothing uses.
Prints one line per violation (file:line: what) and exits 1, or "ok: ..." and exits 0.
"""

import argparse
import pathlib
import re
import sys

ALL = ["core", "machine", "space", "trial", "objective", "search", "comm", "store", "train", "cuda", "evaluate",
       "model_export", "run", "engine", "report"]
TRIALS = ["core", "space", "trial", "objective"]

# module: (modules it may include, third-party libraries it may include)
TABLE = {
    "core": ([], ["spdlog", "openssl", "xxhash", "yaml"]),
    "launcher": (["core"], []),
    "machine": (["core"], []),
    "space": (["core"], []),
    "trial": (["core", "space"], []),
    "objective": (["core", "space", "trial"], []),
    "search": (TRIALS, ["eigen"]),
    "comm": (["core", "machine"], ["mpi"]),
    "store": (TRIALS, ["hdf5", "json"]),
    "train": (["core", "machine", "space", "trial", "comm", "store", "evaluate"], ["torch"]),
    "cuda": (["core", "trial", "train"], ["torch", "cuda", "nccl"]),
    "evaluate": (["core", "launcher", "space", "trial", "comm", "store"], ["json", "zlib"]),
    "model_export": (["core", "space", "store"], []),
    "run": ([*TRIALS, "search", "store"], []),
    "engine": ([*TRIALS, "search", "comm", "store", "run"], []),
    "report": ([*TRIALS, "search", "store", "run"], ["fmt", "json"]),
    "app": ([module for module in ALL if module != "cuda"], ["cli11", "json", "zlib"]),
}

# A module's topic folders, lowest first ("": files of the module's own folder). A file includes only its own folder and
# lower ones. A module without an entry has no topic folders.
ROOMS = {
    "core": ["system", "text", "config", ""],
    "space": ["expressions", "network", "layers", "quantized", "conditions", "language"],
    "search": ["pareto", "surrogate", "model", "algorithms", ""],
    "comm": ["", "mpi"],
    "store": ["publish", "hdf5", "arrays", "data", "run_folder", "journal", "weights"],
    "train": ["kernels", "inherit", "scoring", "options", "parameters", "device", "loading", "ops", "graph", "group",
              "batches", "learner", "quantized", "sharing", "loop", "evaluator"],
    "cuda": ["kernels", "streams", "nccl", ""],
    "evaluate": ["process", "command", "synthetic", "table", ""],
    "model_export": ["model", "onnx", "pytorch", "tflite", ""],
    "engine": ["group", "work", "loop", "slots", "dispatch", "weights", ""],
    "report": ["files", "text", "compare", "html", "tracking"],
    "app": ["config", "prep", "models", "doctor", "tuner", "job", "commands", "simulate", ""],
}

# A module's face: what other modules may include of it besides include/skyline/MODULE, which is installed for users.
FACES = {
    "core": ["background_queue", "backoff", "clock", "config/argument_vector", "config/byte_size", "config/config_errors", "config/config_record", "config/config_text", "config/foreign_words", "config/option_list", "log",
             "lru_cache", "multi_target", "record", "registry", "system/control_groups", "system/may_block", "system/open_file", "system/parts",
             "system/process", "system/process_tree", "system/program_files", "system/standard_output", "system/temporary_folder", "system/unique_handle", "text/foreign_text", "text/hash",
             "text/protobuf_writer", "text/running_hash", "text/wording", "version"],
    "launcher": ["launch_protocol"],
    "machine": ["device_binding", "nccl_settings", "node", "node_semaphore"],
    "objective": ["objective_ends"],
    "space": ["language/searched_section", "language/space_keys", "network/network_alignment", "quantized/int8_cost", "quantized/int8_network"],
    "search": ["algorithms/listed_search", "algorithms/proposal_list", "model/expectation", "pareto/ranking", "pareto/repeated_front",
               "pruning_bars"],
    "trial": ["commit_log", "course_text", "forwarding", "given_metric", "metric_keys", "refit", "scope_timer", "trial_fields",
              "trial_record"],
    "comm": ["agreement", "communicator", "environment", "link", "mailbox", "mpi/start_watch"],
    "store": ["arrays/preparation", "data/sample_draw", "data/named_file", "data/seal_dataset", "data/staged_dataset", "data/teacher", "journal/asked_trials", "journal/learning_curves",
              "journal/journal", "journal/run_tables", "journal/known_values",
              "journal/trial_json", "publish/file_descriptor", "publish/folder_check", "publish/folder_tree", "publish/retry_policy",
              "publish/publish", "publish/storage_thread", "publish/temporary_file", "run_folder/attempt_folder", "run_folder/run_folder",
              "run_folder/running_trials", "weights/checkpoint",
              "weights/trial_folder", "weights/weights"],
    "train": ["device/accelerator", "evaluator/inference", "evaluator/step_profile",
              "kernels/batch_norm_plan", "kernels/cross_entropy", "kernels/dropout", "kernels/gather", "kernels/step_end", "loading/device_choice", "loading/device_plan",
              "loading/load_accelerator", "loading/load_training", "loading/shared_library", "loading/training_kind", "options/training_options", "scoring/answers", "scoring/scored_outputs"],
    "evaluate": ["command/command_check", "command/command_metric", "command/placeholders", "command/program_checksums", "job_ranks", "measured_evaluator", "process/error_words",
                 "process/launcher_start", "process/reported_lines", "process/user_program",
                 "synthetic/synthetic_evaluator", "table/benchmark_rows"],
    "model_export": ["model/exported_model"],
    "run": ["account", "opened_run", "run_state"],
    "engine": ["dispatch/failure_detector", "dispatch/simulated_fleet", "engine_job",
               "loop/front_training", "loop/search_loop", "loop/trial_maker", "work/engine_options"],
    "report": ["compare/comparison", "files/answers", "files/search_state_csv", "files/trial_results", "files/trials_json",
               "html/html_report", "text/front_table",
               "text/progress", "text/run_account", "text/status", "text/text_table", "tracking/tracking"],
}

# What works in a run folder opens, looks at and changes its files by `store` alone, which is patient and watched: a file
# server that stands still hangs nobody then, and a fault that passes costs time alone. Here are the calls of these
# modules that are about other files, as (file, call).
BY_STORE = {
    "engine": [],
    "run": [],
    "evaluate": [("command/command_check", "exists"),                                                 # a script
                 ("process/process_plan", "exists"), ("process/process_plan", "is_regular_file"),  # programs in PATH
                 ("command/program_checksums", "access"), ("command/program_checksums", "file_size"),  # a user's trainer
                 ("command/program_checksums", "is_regular_file"),
                 ("command_evaluator", "directory_iterator"),                                         # /dev
                 ("process/host_resources", "ifstream"), ("process/user_program", "ifstream"),         # /proc
                 ("process/user_program", "open_file")],                  # a report: one attempt, in an Attempt
}
FILE_CALL = re.compile(r"\b(?:fs|filesystem)::(?P<library>remove|remove_all|rename|create_\w+|copy\w*|resize_file|exists|is_\w+|"
                       r"file_size|last_write_time|permissions|status|symlink_status|(?:recursive_)?directory_iterator)\b|"
                       r"(?<![\w:>.])::(?P<system>open|openat|rename|access)\(|"
                       r"(?<![\w>.])(?:::)?(?P<plain>open_file|open_own_file|mkdir|unlink|rmdir|stat|lstat)\(|"
                       r"\bstd::(?P<stream>[io]?fstream)\b")

THIRD_PARTY = [
    (re.compile(r"^spdlog/"), "spdlog"),
    (re.compile(r"^fmt/"), "fmt"),
    (re.compile(r"^openssl/"), "openssl"),
    (re.compile(r"^xxhash\.h$"), "xxhash"),
    (re.compile(r"^mpi(-ext)?\.h$"), "mpi"),
    (re.compile(r"^(hdf5|H5[A-Za-z]*)(_hl)?\.h$"), "hdf5"),
    (re.compile(r"^nlohmann/"), "json"),
    (re.compile(r"^zlib\.h$"), "zlib"),
    (re.compile(r"^(torch|ATen|c10|caffe2)/"), "torch"),
    (re.compile(r"^(cuda|cuda_[a-z0-9_]+|driver_types|vector_types)\.h$"), "cuda"),
    (re.compile(r"^nccl\.h$"), "nccl"),
    (re.compile(r"^yaml-cpp/"), "yaml"),
    (re.compile(r"^CLI/"), "cli11"),
    (re.compile(r"^Eigen/"), "eigen"),
]

# Costly to read: no public header passes them on.
HIDDEN = {"torch", "cuda", "nccl"}

# Headers of the C++ library have no slash and no ending; those of C and POSIX that we use are named.
SYSTEM = re.compile(r"^([a-z_0-9]+|(sys/[a-z_]+|fcntl|unistd|sched|time|signal|errno|poll|pthread|omp|immintrin|dlfcn|elf|ftw|"
                    r"link|dirent|ifaddrs|spawn|(arpa|net|netinet)/[a-z]+)\.h)$")
INCLUDE = re.compile(r'#\s*include\s*([<"])([^<>"]+)[>"]')
DIRECTIVE = re.compile(r"(#|%:)\s*(include|include_next|import)\b")
SPLICED = re.compile(r"(?:.*\\[^\S\n]*\n)+.*")
# Comments and raw strings (group 1), and the numbers and literals in which a quote or a slash begins none.
TOKEN = re.compile(r"""(//.*|/\*[\s\S]*?\*/|R"([^()\\\s]*)\([\s\S]*?\)\2")|(?<!\w)\d(?:'?\w)*|"""
                   r"""'(?:\\.|[^'\\\n])+'|"(?:\\.|[^"\\\n])*\"""")
ENDINGS = (".hpp", ".cpp", ".cu")
PAGE = (".html", ".css", ".js")  # endings of the page of reports
BESIDE = ("CMakeLists.txt", "exports.map")


def module_of(path, root):
    parts = path.relative_to(root).parts
    return parts[2] if parts[0] == "include" else parts[1]


def code_lines(path):
    """Yields the number and the text of each line, spliced lines joined and comments left out."""
    text = SPLICED.sub(lambda lines: re.sub(r"\\[^\S\n]*\n", "", lines[0]) + "\n" * lines[0].count("\n"),
                       path.read_text(encoding="utf-8-sig"))
    text = TOKEN.sub(lambda token: " " + "\0" * token[0].count("\n") if token[1] else token[0], text)
    number = 1
    for line in text.split("\n"):
        more_lines = line.count("\0")
        yield number, line.replace("\0", "").strip()
        number += 1 + more_lines


def includes(path):
    """Yields the line number and the text of each include."""
    return ((number, line) for number, line in code_lines(path) if DIRECTIVE.match(line))


def file_calls(path, root, module, used):
    """Yields the calls on files that only `store` may make, and notes in `used` which of BY_STORE are there."""
    name = "/".join(path.relative_to(root).with_suffix("").parts[2:])
    for number, line in code_lines(path):
        for match in FILE_CALL.finditer(line):
            call = next(text for text in match.groups() if text)
            if (name, call) in BY_STORE[module]:
                used.add((module, "call", (name, call)))
            else:
                yield number, f"{module} must not call {call} itself: files of a run are opened by store, patiently"


def room_of(parts):
    """Topic folder of a path of parts that begins with its module: "" for the module's own folder."""
    return parts[1] if len(parts) > 2 else ""


def check_room(room, name, module):
    """Returns what is wrong with an include of the module's own header from this topic folder (or None)."""
    rooms = ROOMS.get(module, [""])
    other = room_of(name.split("/"))
    if other not in rooms:
        return f"{name} is in no topic folder of {module} that ROOMS lists"
    if rooms.index(other) > rooms.index(room):
        return f"{module}/{room} must not include {name}: its topic folder is a higher one"
    return None


def check_own(name, module, public):
    """Returns whether the include is one of ours, and what is wrong with it (or None)."""
    parts = name.split("/")
    installed = parts[0] == "skyline"
    if installed:
        parts = parts[1:]
    if len(parts) < 2 or parts[0] not in TABLE:
        return installed, f"<{name}> is in no module's list" if installed else None
    other = parts[0]
    if other != module and other not in TABLE[module][0]:
        return True, f"{module} must not include {other}"
    if not installed and public:
        return True, f"public headers must not show {name}, which is not installed"
    face = "/".join(parts[1:]).removesuffix(".hpp")
    if not installed and other != module and face not in FACES.get(other, []):
        return True, f"{name} is not of the face of {other}"
    return True, None


def check_file(path, root, used):
    """Yields the violations of a file, and notes in `used` which rights and faces of the tables it uses."""
    if path.suffix not in ENDINGS:
        yield f"{path.relative_to(root)}: a source ends in {', '.join(ENDINGS)}"
        return
    module = module_of(path, root)
    libraries = TABLE[module][1]
    public = path.relative_to(root).parts[0] == "include"
    room = room_of(path.relative_to(root).parts[1:])
    if not public:
        used.add((module, "room", room))
        if room not in ROOMS.get(module, [""]):
            yield f"{path.relative_to(root)}: {room} is no topic folder of {module} that ROOMS lists"
            return
        for number, problem in file_calls(path, root, module, used) if module in BY_STORE else []:
            yield f"{path.relative_to(root)}:{number}: {problem}"
    for number, line in includes(path):
        where = f"{path.relative_to(root)}:{number}"
        match = INCLUDE.fullmatch(line)
        if not match:
            yield f"{where}: {line}: an include is written as #include <x> or #include \"x\""
            continue
        name = match.group(2)
        if not {"", ".", ".."}.isdisjoint(name.split("/")):
            yield f"{where}: \"{name}\": headers of ours are named by their path in src or include"
            continue
        ours, problem = check_own(name, module, public)
        if ours and not problem:
            parts = name.removesuffix(".hpp").split("/")
            if parts[0] == "skyline":
                used.add((module, "module", parts[1]))
            elif parts[0] == module:
                problem = check_room(room, name, module)
            else:
                used.update({(module, "module", parts[0]), (parts[0], "face", "/".join(parts[1:]))})
        if problem:
            yield f"{where}: {problem}"
        if ours:
            continue
        library = next((known for pattern, known in THIRD_PARTY if pattern.match(name)), None)
        if library is not None:
            used.add((module, "library", library))
            if library not in libraries:
                yield f"{where}: {module} must not include <{name}>"
            elif library in HIDDEN and public:
                yield f"{where}: public headers must not show {library}"
            elif library == "torch" and path.suffix == ".cu":
                yield f"{where}: nvcc must not read torch's headers"
        elif match.group(1) == '"':
            yield f"{where}: \"{name}\": headers of ours are named by their path in src or include"
        elif not SYSTEM.match(name):
            yield f"{where}: <{name}> is in no module's list"


def stale_entries(used):
    """Yields what the tables name and no file uses."""
    for module, (modules, libraries) in TABLE.items():
        listed = [*(("module", name) for name in modules), *(("library", name) for name in libraries),
                  *(("face", name) for name in FACES.get(module, [])), *(("room", name) for name in ROOMS.get(module, [])),
                  *(("call", name) for name in BY_STORE.get(module, []))]
        for kind, name in listed:
            if (module, kind, name) not in used:
                yield f"{module}: nothing uses the {kind} {name or 'of its own files'} that the tables list"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    root = parser.parse_args().root.resolve()
    files = [path for folder in ("src", "include") for path in sorted((root / folder).rglob("*"))
             if path.is_file() and path.name not in BESIDE and path.suffix not in PAGE]
    used = set()
    violations = [line for path in files for line in check_file(path, root, used)]
    if {module_of(path, root) for path in files if path.suffix in ENDINGS} >= TABLE.keys():
        violations += stale_entries(used)
    for line in violations:
        print(line)
    if violations or not files:
        return 1
    print(f"ok: {len(files)} files in {len(TABLE)} modules keep to the module table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
