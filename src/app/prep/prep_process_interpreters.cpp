#include "skyline/core/error.hpp"

#include "app/prep/prep_process.hpp"
#include "core/system/process.hpp"
#include "evaluate/command/command_check.hpp"
#include "evaluate/process/launcher_start.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPythonVariable = "SKYLINE_PYTHON";
constexpr const char* kCallingVariable = "SKYLINE_CALLING_PYTHON";  // set by python/skyline
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
  const auto add = [&](const std::string& program, const std::string& name) {
    const auto place = found(program, path);
    // Not the file: the Python of an environment is often a link to the system's.
    const auto is_it = [&](const Interpreter& other) { return other.program == *place; };
    if (place && std::ranges::none_of(all, is_it))
      all.push_back({*place, name + " (" + place->string() + ")"});
  };
  if (const auto calling = process_variable(kCallingVariable); calling && !calling->empty()) {
    add(*calling, "the calling Python");
  }
  add("python3", "the first python3 in PATH");
  add(kSystemsPython, "the system's Python");
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
