#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::app {

/// A Python that may have the packages that preparing data needs.
struct Interpreter {
  std::filesystem::path program;
  std::string name;  // name in messages: "the first python3 in PATH (/opt/bin/python3)"
};

/// Returns the interpreters to try, in order: the one that SKYLINE_PYTHON names, else the first python3 in
/// PATH and the system's. @throws UserError if SKYLINE_PYTHON names no program
std::vector<Interpreter> interpreters();

/// Returns the folder that has the package `skyline` of this program's tree; empty if there is none, so that
/// the interpreter must have it. @throws UserError if there is no launcher
std::filesystem::path package_folder();

}  // namespace skyline::app
