"""The layer check must find violations: each bad include and stale entry is reported, a clean tree is not."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = sys.argv.pop(1)


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)


def check_planted(file, old, new):
    """Checks a copy of the project's own tree in which one text of a file has become another."""
    root = pathlib.Path(CHECK).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        for part in ("src", "include", "scripts"):
            shutil.copytree(root / part, pathlib.Path(folder, part))
        planted = pathlib.Path(folder, file)
        text = planted.read_text()
        assert old in text, f"{file} has no {old}"
        planted.write_text(text.replace(old, new, 1))
        script = pathlib.Path(folder, "scripts", "check_layers.py")
        return subprocess.run([sys.executable, script, folder], capture_output=True, text=True)


class CheckLayers(unittest.TestCase):
    def test_accepts_what_the_table_allows(self):
        result = check({"src/engine/loop/run.cpp": '#include <vector>\n#include "comm/communicator.hpp"\n'
                                                   '#include "skyline/space/value.hpp"\n#include "engine/loop/a.hpp"\n'})
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_finds_a_higher_module_in_each_spelling(self):
        for line in ('#include "skyline/space/value.hpp"', '#include <skyline/space/value.hpp>',
                     '#include "space/expressions/expression.hpp"', '  #  include <space/expressions/expression.hpp>',
                     '#include"space/expressions/expression.hpp"', '#include<space/expressions/expression.hpp>',
                     '# /*x*/ include "space/value.hpp"', '/*x*/ #include "space/value.hpp"',
                     '#include /*x*/ "space/value.hpp"', '#include "space/value.hpp" // x',
                     '#/*\n*/include "space/value.hpp"', '#include \\\n"space/value.hpp"',
                     '#inc\\\nlude "space/value.hpp"', '/\\\n* x */#include "space/value.hpp"',
                     '\ufeff#include "space/value.hpp"'):
            result = check({"src/core/a.cpp": line + "\n"})
            self.assertEqual(result.returncode, 1, line)
            self.assertIn("src/core/a.cpp:1: core must not include space", result.stdout)

    def test_refuses_an_include_that_is_written_in_another_way(self):
        for line in ('#define H "engine/loop/run.hpp"\n#include H', '\n#include_next <engine/loop/run.hpp>',
                     '\n#import "engine/loop/run.hpp"', '\n%:include "engine/loop/run.hpp"',
                     '\n/*\n*/ %:/*x*/include "engine/loop/run.hpp"'):
            result = check({"src/core/a.cpp": line + "\n"})
            self.assertIn('src/core/a.cpp:2: ', result.stdout, line)
            self.assertIn('an include is written as #include <x> or #include "x"', result.stdout, line)

    def test_no_literal_hides_an_include(self):
        for line in ('const char* a = "/*";', "int a = 1'000; char b = '\"';", 'auto a = R"(\n")"; // "',
                     "#error don't /* x */"):
            result = check({"src/core/a.cpp": line + '\n#include "engine/loop/run.hpp"\n// */ "\n'})
            self.assertIn("core must not include engine", result.stdout, line)

    def test_an_include_in_a_comment_or_a_text_is_none(self):
        for line in ('// #include "engine/loop/run.hpp"', '/*\n#include "engine/loop/run.hpp"\n*/',
                     'auto a = R"x(\n#include "engine/loop/run.hpp"\n)x";'):
            self.assertEqual(check({"src/core/a.cpp": line + "\n"}).returncode, 0, line)

    def test_finds_a_source_with_another_ending(self):
        for name in ("src/core/a.h", "src/core/a.ipp", "src/core/a.cc", "include/skyline/core/a.cuh", "include/a.inc"):
            result = check({name: '#include "engine/loop/run.hpp"\n'})
            self.assertIn(f"{name}: a source ends in .hpp, .cpp, .cu", result.stdout)
            self.assertEqual(result.returncode, 1, name)

    def test_finds_a_relative_include(self):
        for line in ('#include "../engine/loop/run.hpp"', '#include "run.hpp"',
                     '#include "core/../engine/loop/run.hpp"',
                     '#include <skyline/core/../../../src/engine/loop/run.hpp>', '#include "core/./../engine/a.hpp"',
                     '#include "./engine/loop/run.hpp"', '#include "core//a.hpp"', '#include </usr/include/mpi.h>'):
            self.assertIn("headers of ours are named by their path", check({"src/core/a.cpp": line + "\n"}).stdout)

    def test_finds_a_header_of_another_module_that_is_not_its_face(self):
        result = check({"src/app/a.cpp": '#include "engine/loop/coordinator.hpp"\n'})
        self.assertIn("src/app/a.cpp:1: engine/loop/coordinator.hpp is not of the face of engine", result.stdout)

    def test_finds_a_public_header_that_shows_a_private_one(self):
        result = check({"include/skyline/space/a.hpp": '#include "space/expressions/expression.hpp"\n'})
        self.assertIn("public headers must not show space/expressions/expression.hpp", result.stdout)

    def test_finds_an_include_of_a_higher_topic_folder(self):
        result = check_planted("src/store/hdf5/hdf5_reader.hpp", "#pragma once\n",
                               '#pragma once\n#include "store/journal/journal.hpp"\n')
        self.assertIn("src/store/hdf5/hdf5_reader.hpp:2: store/hdf5 must not include store/journal/journal.hpp: its topic "
                      "folder is a higher one", result.stdout)
        self.assertEqual(result.returncode, 1)

    def test_finds_a_topic_folder_without_a_place_in_the_order(self):
        result = check({"src/store/loft/a.cpp": "", "src/machine/loft/a.cpp": ""})
        self.assertIn("src/store/loft/a.cpp: loft is no topic folder of store that ROOMS lists", result.stdout)
        self.assertIn("src/machine/loft/a.cpp: loft is no topic folder of machine that ROOMS lists", result.stdout)

    def test_finds_a_right_that_nobody_uses(self):
        result = check_planted("scripts/check_layers.py", '"machine": (["core"], [])', '"machine": (["core"], ["zlib"])')
        self.assertEqual(result.stdout, "machine: nothing uses the library zlib that the tables list\n")

    def test_finds_a_face_that_does_not_exist(self):
        result = check_planted("scripts/check_layers.py", '"run": ["account"', '"run": ["account", "ledger"')
        self.assertEqual(result.stdout, "run: nothing uses the face ledger that the tables list\n")

    def test_finds_a_topic_folder_that_does_not_exist(self):
        result = check_planted("scripts/check_layers.py", '"comm": ["", "mpi"]', '"comm": ["", "smoke", "mpi"]')
        self.assertEqual(result.stdout, "comm: nothing uses the room smoke that the tables list\n")

    def test_finds_files_of_a_run_that_are_not_opened_by_store(self):
        for line, call in (("std::ofstream file(path);", "ofstream"), ("fs::remove_all(folder, failure);", "remove_all"),
                           ("for (const auto& entry : std::filesystem::directory_iterator(folder)) {", "directory_iterator"),
                           ("const int file = ::open(path.c_str(), O_RDONLY);", "open"), ("mkdir(folder.c_str(), S_IRWXU);", "mkdir"),
                           ("FileDescriptor file = open_own_file(path, O_RDWR, 0600);", "open_own_file")):
            result = check({"src/evaluate/command/a.cpp": f"// ::open(a)\n{line}\n", "src/app/a.cpp": f"{line}\n"})
            self.assertEqual(result.stdout, f"src/evaluate/command/a.cpp:2: evaluate must not call {call} itself: files of a run are "
                                            "opened by store, patiently\n")
        self.assertEqual(check({"src/engine/slots/a.cpp": "run::OpenedRun::open(x); store::exists(x); struct stat s;"}).returncode, 0)

    def test_finds_a_call_on_files_that_is_not_there(self):
        result = check_planted("scripts/check_layers.py", '"run": [],\n    "evaluate"', '"run": [("account", "mkdir")],\n    "evaluate"')
        self.assertEqual(result.stdout, "run: nothing uses the call ('account', 'mkdir') that the tables list\n")

    def test_finds_a_third_party_header(self):
        result = check({"src/search/a.cpp": "\n#include <mpi.h>\n"})
        self.assertIn("src/search/a.cpp:2: search must not include <mpi.h>", result.stdout)

    def test_finds_torch_in_a_public_header(self):
        result = check({"include/skyline/train/a.hpp": "#include <ATen/core/Tensor.h>\n"})
        self.assertIn("public headers must not show torch", result.stdout)

    def test_finds_cuda_outside_its_module(self):
        result = check({"src/train/device/a.cpp": "#include <cuda_runtime_api.h>\n#include <nccl.h>\n"})
        self.assertIn("train must not include <cuda_runtime_api.h>", result.stdout)
        self.assertIn("train must not include <nccl.h>", result.stdout)

    def test_finds_torch_in_a_kernel_file(self):
        result = check({"src/cuda/a.cu": "#include <cuda_runtime.h>\n#include <ATen/core/Tensor.h>\n"})
        self.assertIn("src/cuda/a.cu:2: nvcc must not read torch's headers", result.stdout)
        self.assertNotIn("a.cu:1", result.stdout)

    def test_finds_an_unknown_library(self):
        result = check({"src/core/a.cpp": "#include <boost/any.hpp>\n"})
        self.assertIn("<boost/any.hpp> is in no module's list", result.stdout)

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(check({}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
