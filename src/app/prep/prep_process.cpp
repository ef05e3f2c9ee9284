#include "app/prep/prep_process.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/process/error_words.hpp"
#include "evaluate/process/launcher_start.hpp"
#include "evaluate/process/user_program.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <optional>
#include <system_error>

#include <nlohmann/json.hpp>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;
using evaluate::ProcessEnd;

constexpr std::array kEndingSignals{SIGINT, SIGTERM, SIGHUP};
constexpr const char* kPythonVariable = "SKYLINE_PYTHON";
constexpr const char* kCallingVariable = "SKYLINE_CALLING_PYTHON";  // set by python/skyline
constexpr const char* kSystemsPython = "/usr/bin/python3";
constexpr std::uint64_t kPercentOfMemory = 90;
constexpr const char* kMemoryProblem = " needs more memory than there is";
constexpr const char* kWithoutPython = " (searches, and predict on prepared data sets, need none)";

/// A Python that may have the packages that preparing data needs.
struct Interpreter {
  std::filesystem::path program;
  std::string name;  // name in messages: "the first python3 in PATH (/opt/bin/python3)"
};

std::optional<fs::path> found(const std::string& program, const std::string& path) {
  try {
    return evaluate::find_program(program, path);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Returns the interpreters to try, in order: the one that SKYLINE_PYTHON names, else that of the package
/// `skyline` that has started this program, the first python3 in PATH, and the system's.
/// @throws UserError if SKYLINE_PYTHON names no program
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

/// Returns the folder that has the package `skyline` of this program's tree; empty if there is none, so that
/// the interpreter must have it. @throws UserError if there is no launcher
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

std::optional<std::uint64_t> memory_for_prep() {
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  const machine::NodeLimits limits = machine::read_node_limits("/");
  const std::uint64_t least =
      std::min(limits.memory_free_bytes.value_or(kAny), limits.memory_bytes.value_or(kAny));
  return least == kAny ? std::nullopt : std::optional(least / 100 * kPercentOfMemory);
}

evaluate::Variables variables_for_prep(std::optional<std::uint64_t> memory_bytes) {
  evaluate::Variables variables = evaluate::process_variables();
  const fs::path package = package_folder();
  if (!package.empty()) {
    std::string& path = variables["PYTHONPATH"];
    path = package.string() + (path.empty() ? "" : ":" + path);
  }
  variables["PYTHONSAFEPATH"] = "1";  // a module in the folder where the program starts is not meant
  variables["HDF5_USE_FILE_LOCKING"] = "FALSE";
  if (memory_bytes) variables["SKYLINE_PREP_MEMORY_BYTES"] = std::to_string(*memory_bytes);
  return variables;
}

evaluate::ProcessPlan plan_of(const Interpreter& python, const PrepCall& call, const fs::path& folder) {
  const std::optional<std::uint64_t> memory_bytes = memory_for_prep();
  evaluate::ProcessPlan plan{.arguments = {python.program.string(), "-X", "utf8", "-m", "skyline.prep",
                                           "--report-fd", std::to_string(evaluate::kReportDescriptor)},
                             .variables = variables_for_prep(memory_bytes),
                             .log = folder / "log",
                             .report_file = folder / "report",
                             .limits = {.memory_bytes = memory_bytes}};
  plan.arguments.insert(plan.arguments.end(), call.arguments.begin(), call.arguments.end());
  return plan;
}

/// @throws UserError unless the call has ended well
void check_end(const PrepCall& call, const evaluate::ProcessPlan& plan, const PrepReport& report,
               const ProcessEnd& end) {
  using Kind = ProcessEnd::Kind;
  if (!report.error().empty()) throw UserError(report.error());
  const std::string place = report.reading().empty() ? "" : " while it read " + report.reading();
  if (end.kind == Kind::kOutOfMemory) throw UserError(call.title + kMemoryProblem + place);
  if (end.is_good() && !report.mistake()) return;
  for (const std::string& line : evaluate::log_tail(plan.log)) std::cerr << line << "\n";
  if (end.kind == Kind::kSignaled) {
    throw UserError(call.title + ": " + plan.arguments.front() + " was ended by signal " +
                    std::to_string(end.value) + place + (place.empty() ? "" : ": damaged?"));
  }
  throw UserError(call.title + ": " + plan.arguments.front() + " failed with " +
                  report.mistake().value_or(end.reason) + place + evaluate::said_in(plan.log, {}));
}

}  // namespace

void PrepReport::read_line(std::string_view line) {
  using Json = nlohmann::json;
  const Json root = Json::parse(shallow_json(line), nullptr, false);
  if (!root.is_object()) return fail("expected an object of JSON, got " + shortened(printable(line)));
  for (const auto& [key, value] : root.items()) {
    if (!value.is_string()) return fail("expected a text, got " + shortened(value.dump()));
    const std::string text = printable(value.get<std::string>());
    if (key == "line") {
      said_.push_back(text);
    } else if (key == "started") {
      has_started_ = true;
    } else if (key == "progress") {
      log::info(text);
    } else if (key == "reading") {
      reading_ = text;
    } else if (key == "error") {
      error_ = text;
    } else if (key == "missing") {
      missing_ = text;
    }
  }
}

HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (const int signal : kEndingSignals) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::sigaddset(&held_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &held_, &earlier_);
}

HeldSignals::~HeldSignals() {
  ::pthread_sigmask(SIG_SETMASK, &earlier_, nullptr);
}

bool HeldSignals::pending() const {
  sigset_t waiting;
  ::sigpending(&waiting);
  return std::ranges::any_of(kEndingSignals, [&](int signal) {
    return ::sigismember(&held_, signal) == 1 && ::sigismember(&waiting, signal) == 1;
  });
}

std::vector<std::string> run_prep(const PrepCall& call, const fs::path& folder, const HeldSignals& signals) {
  std::vector<std::string> looked;
  std::string lacked;  // packages that the first interpreter lacks
  for (const Interpreter& python : interpreters()) {
    const evaluate::ProcessPlan plan = plan_of(python, call, folder);
    fs::remove(plan.report_file);  // an earlier interpreter may have left one
    PrepReport report;
    const ProcessEnd end = evaluate::UserProgram(plan).watch(&report, [&] {
      if (signals.pending()) throw UserError("ended by a signal");  // the signal takes effect soon
      return false;
    });
    if (!report.has_started() &&
        end.kind == ProcessEnd::Kind::kExited) {  // an old Python, or another program
      looked.push_back(python.name + " does not run its package" + evaluate::said_in(plan.log, {}));
      continue;
    }
    if (report.missing().empty()) {
      check_end(call, plan, report, end);
      return report.said();
    }
    const bool is_old = report.missing().starts_with("python");
    looked.push_back(python.name + (is_old ? " is older than 3.10" : " lacks " + report.missing()));
    if (lacked.empty() && !is_old) lacked = report.missing();
  }
  if (looked.empty()) looked.emplace_back("there is no python3 in PATH, nor /usr/bin/python3");
  throw UserError(
      call.title + " needs " + (lacked.empty() ? "Python of 3.10 or newer" : "packages of Python") + ": " +
      joined(looked, ", and ") + ": " + (lacked.empty() ? "" : "pip install " + lacked + ", or ") +
      "name another Python by SKYLINE_PYTHON" + kWithoutPython);
}

}  // namespace skyline::app
