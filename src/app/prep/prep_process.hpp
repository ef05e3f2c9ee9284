#pragma once

#include "app/prep/held_signals.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::app {

/// A Python that may have the packages that preparing data needs.
struct Interpreter {
  std::filesystem::path program;
  std::string name;  // name in messages: "the first python3 in PATH (/opt/bin/python3)"
};

/// Returns the interpreters to try, in order: the one that SKYLINE_PYTHON names, else that of the package
/// `skyline` that has started this program, the first python3 in PATH, and the system's.
/// @throws UserError if SKYLINE_PYTHON names no program
std::vector<Interpreter> interpreters();

/// Returns the folder that has the package `skyline` of this program's tree; empty if there is none, so that
/// the interpreter must have it. @throws UserError if there is no launcher
std::filesystem::path package_folder();

/// A call of `python3 -m skyline.prep`.
struct PrepCall {
  std::string title;                   // beginning of messages: "prep images"
  std::vector<std::string> arguments;  // words after the report's descriptor
};

/// Runs a call in a process of its own, which ends with this one, in the first interpreter that has what it
/// needs. Returns the lines that it has for the person who started the program.
/// @param folder   private folder for its report and its log, empty
/// @param signals  a signal that waits ends the process
/// @throws UserError with the one line of a refusal; or if there is no Python that has what the call needs,
///         or the process fails: damaged bytes may end a library that reads them
std::vector<std::string> run_prep(const PrepCall& call, const std::filesystem::path& folder,
                                  const HeldSignals& signals);

}  // namespace skyline::app
