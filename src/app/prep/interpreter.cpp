#include "app/prep/interpreter.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "evaluate/command/command_check.hpp"
#include "evaluate/process/launcher_start.hpp"

#include <optional>
#include <system_error>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPythonVariable = "SKYLINE_PYTHON";
constexpr const char* kSystemsPython = "/usr/bin/python3";

std::optional<fs::path> found(const std::string& program, const std::string& path) {
  try {
    return evaluate::find_program(program, path);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Interpreter> interpreters() {
  const std::string path = process_variable("PATH").value_or("");
  if (const auto named = process_variable(kPythonVariable); named && !named->empty()) {
    try {
      const fs::path program = evaluate::find_program(expand_home(*named), path);
      return {{program, std::string(kPythonVariable) + " (" + program.string() + ")"}};
    } catch (const UserError& error) {
      throw UserError(std::string(kPythonVariable) + ": " + error.what());
    }
  }
  std::vector<Interpreter> all;
  if (const auto first = found("python3", path)) {
    all.push_back({*first, "the first python3 in PATH (" + first->string() + ")"});
  }
  const auto systems = found(kSystemsPython, path);
  // Not the file: the Python of an environment is often a link to the system's.
  if (systems && (all.empty() || all.front().program != *systems)) {
    all.push_back({*systems, systems->string()});
  }
  return all;
}

fs::path package_folder() {
  // The launcher lies in the tree of Skyline, also where the program is somebody's own.
  const fs::path tree = evaluate::find_launcher().parent_path().parent_path();
  const fs::path of_wheel = tree.parent_path();
  std::error_code unknown;
  for (const fs::path& folder : {tree / "share/skyline/python", of_wheel}) {
    if (fs::exists(folder / "skyline/prep/__main__.py", unknown)) return folder;
  }
  return {};
}

}  // namespace skyline::app
