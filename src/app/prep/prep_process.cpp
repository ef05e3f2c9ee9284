#include "app/prep/prep_process.hpp"

#include "skyline/core/error.hpp"

#include "app/prep/prep_report.hpp"
#include "core/text/wording.hpp"
#include "evaluate/process/error_words.hpp"
#include "evaluate/process/log_tail.hpp"
#include "evaluate/process/trainer_process.hpp"
#include "evaluate/process/trainer_variables.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <optional>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

using evaluate::ProcessEnd;

constexpr std::chrono::milliseconds kPollPrep(100);
constexpr std::uint64_t kPercentOfMemory = 90;
constexpr const char* kMemoryProblem = " needs more memory than there is";
constexpr const char* kWithoutPython = " (searches, and predict on prepared data sets, need none)";

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
                             .environment = evaluate::environment_of(variables_for_prep(memory_bytes)),
                             .log = folder / "log",
                             .report_file = folder / "report",
                             .memory_bytes = memory_bytes};
  plan.arguments.insert(plan.arguments.end(), call.arguments.begin(), call.arguments.end());
  return plan;
}

ProcessEnd run_to_end(const evaluate::ProcessPlan& plan, PrepReport& report, const HeldSignals& signals) {
  evaluate::TrainerProcess process(plan);
  std::optional<ProcessEnd> end;
  while (!(end = process.poll())) {
    if (signals.pending()) throw UserError("ended by a signal");  // the signal takes effect soon
    process.collect(report);
    process.wait(kPollPrep);
  }
  process.collect(report);
  return *end;
}

/// @throws UserError unless the call has ended well
void check_end(const PrepCall& call, const evaluate::ProcessPlan& plan, const PrepReport& report,
               const ProcessEnd& end) {
  using Kind = ProcessEnd::Kind;
  if (!report.error().empty()) throw UserError(report.error());
  const std::string place = report.reading().empty() ? "" : " while it read " + report.reading();
  if (end.kind == Kind::kOutOfMemory) throw UserError(call.title + kMemoryProblem + place);
  const bool has_ended_well = end.kind == Kind::kExited && end.value == 0 && !report.mistake();
  if (has_ended_well) return;
  for (const std::string& line : evaluate::log_tail(plan.log)) std::cerr << line << "\n";
  if (end.kind == Kind::kSignaled) {
    throw UserError(call.title + ": " + plan.arguments.front() + " was ended by signal " +
                    std::to_string(end.value) + place + (place.empty() ? "" : ": damaged?"));
  }
  throw UserError(call.title + ": " + plan.arguments.front() + " failed with " +
                  report.mistake().value_or(end.reason) + place + evaluate::said_in(plan.log, {}));
}

}  // namespace

std::vector<std::string> run_prep(const PrepCall& call, const fs::path& folder, const HeldSignals& signals) {
  std::vector<std::string> looked;
  std::string lacked;  // packages that the first interpreter lacks
  for (const Interpreter& python : interpreters()) {
    const evaluate::ProcessPlan plan = plan_of(python, call, folder);
    fs::remove(plan.report_file);  // an earlier interpreter may have left one
    PrepReport report;
    const ProcessEnd end = run_to_end(plan, report, signals);
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
