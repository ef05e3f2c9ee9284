#include "evaluate/command/program_place.hpp"

#include "skyline/core/config_node.hpp"

#include "core/system/process.hpp"
#include "core/text/wording.hpp"
#include "evaluate/process/error_words.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using trial::Failure;
using trial::FailureKind;
using OrderedJson = nlohmann::ordered_json;

/// Returns the seed of a trial as every random number generator takes it.
std::uint64_t seed_of(const trial::Trial& trial) {
  return trial.seed & 0x7FFFFFFFU;
}

std::string epochs_text(double epochs) {
  return ConfigNode::make_number(epochs).as_text();
}

/// Returns whole epochs as a whole number, which Python can count to.
OrderedJson epochs_json(double epochs) {
  constexpr double kMostWhole = 0x1p53;
  if (std::trunc(epochs) == epochs && epochs < kMostWhole) return static_cast<std::int64_t>(epochs);
  return epochs;
}

std::optional<Failure> failure_by_storage(const ProcessEnd& end, const ProgramPlace& place,
                                          const fs::path& log) {
  const auto fault = find_storage_fault(place.written, log_tail(log), end.log_error);
  if (!fault) return std::nullopt;
  return Failure{FailureKind::kStorage, fault->to_text()};
}

}  // namespace

Variables trial_placeholders(const EvaluatorServices& services, const trial::Trial& trial,
                             const store::AttemptFolder& folder, const trial::TrialFolder& files) {
  Variables values{{"parameters", folder.parameters().string()},
                   {"epochs", epochs_text(trial.budget().epochs)},
                   {"horizon", epochs_text(trial.horizon().epochs)},
                   {"seed", std::to_string(seed_of(trial))},
                   {"trial", to_text(trial.name())},
                   {"folder", files.path.string()},
                   {"resumed", files.resumed ? "1" : "0"},
                   {"parent_folder", files.parent.string()},
                   {"data", services.data_file.string()},
                   {"network", folder.network().string()},
                   {"cache", store::cache_folder(services.folder, services.place.host).string()}};
  const std::vector<space::Parameter>& parameters = services.space.parameters();
  const space::Genotype& genotype = trial.architecture().genotype;
  const std::vector<bool> in_use = services.space.in_use(genotype);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    // One that has the name of another value is in the file alone; arguments that mean it are refused.
    values.emplace(parameters[p].name,
                   in_use[p] ? space::to_text(parameters[p].values[genotype.choices[p]]) : "");
  }
  return values;
}

void write_parameters(const EvaluatorServices& services, const trial::Trial& trial,
                      const store::AttemptFolder& folder, const trial::TrialFolder& files,
                      const std::vector<std::string>& metrics) {
  const Variables values = trial_placeholders(services, trial, folder, files);
  OrderedJson parameters = OrderedJson::object();
  const std::vector<space::Parameter>& declared = services.space.parameters();
  const space::Genotype& genotype = trial.architecture().genotype;
  const std::vector<bool> in_use = services.space.in_use(genotype);
  for (std::size_t p = 0; p < declared.size(); ++p) {
    if (in_use[p])
      parameters[declared[p].name] = store::encode_value(declared[p].values[genotype.choices[p]]);
  }
  OrderedJson text{{"parameters", parameters},
                   {"trial", to_text(trial.name())},
                   {"arch_id", space::to_text(trial.architecture().id)},
                   {"epochs", epochs_json(trial.budget().epochs)},
                   {"horizon", epochs_json(trial.horizon().epochs)},
                   {"seed", seed_of(trial)},
                   {"final", trial.is_final()},
                   {"metrics", metrics},
                   {"folder", values.at("folder")},
                   {"resumed", files.resumed},
                   {"cache", values.at("cache")}};
  if (!files.parent.empty()) text["parent_folder"] = values.at("parent_folder");
  if (!services.data_file.empty()) text["data"] = values.at("data");
  store::write_scratch_file(folder.parameters(),
                            text.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

OwnNames own_names(const std::filesystem::path& run, const Variables& placeholders,
                   const store::AttemptFolder& folder, pid_t process) {
  OwnNames names{{folder.temporary().string(), "TMPDIR"}};
  for (const char* const name :
       {"parameters", "network", "onnx", "pytorch", "weights", "folder", "parent_folder", "cache", "data"}) {
    const auto value = placeholders.find(name);
    if (value != placeholders.end()) names.emplace_back(value->second, "{" + std::string(name) + "}");
  }
  names.emplace_back(folder.parameters().parent_path().string(), "{attempt}");
  names.emplace_back(run.string(), "RUN");
  const std::string host = host_name();
  // Some hosts have a word of the language as their name, e.g. `worker`.
  if (host.find_first_of("0123456789-.") != std::string::npos) names.emplace_back(host, "HOST");
  if (process > 0) names.emplace_back(std::to_string(process), "PID");
  return names;
}

Variables program_variables(Variables variables, const std::filesystem::path& temporary, int threads,
                            const std::vector<std::string>& devices) {
  variables["TMPDIR"] = temporary.string();
  variables["PYTHONUNBUFFERED"] = "1";  // so that the log of a killed program has all that it printed
  variables["OMP_NUM_THREADS"] = std::to_string(threads);
  variables["CUDA_VISIBLE_DEVICES"] = joined(devices, ",");
  return variables;
}

Failure failure_of(const ProcessEnd& end, const ProgramPlace& place, const fs::path& log) {
  using Kind = ProcessEnd::Kind;
  if (end.kind == Kind::kExited || end.kind == Kind::kSignaled || end.kind == Kind::kNotStarted) {
    if (auto by_storage = failure_by_storage(end, place, log)) return *std::move(by_storage);
  }
  Failure failure = failure_of(end);
  const OwnNames names = own_names(place.run, place.placeholders, place.folder, end.process);
  if (end.is_own()) failure.reason += said_in(log, names);
  return failure;
}

trial::Outcome result_of(const ProcessEnd& end, ReportReader& reader, const ProgramPlace& place,
                         const fs::path& log, const std::string& whose, LeftOut& left_out) {
  if (!end.is_good()) return failure_of(end, place, log);
  std::variant<trial::Measurements, std::string> result = reader.finish();
  left_out.warn(whose, reader.take_reasons(), place.logs);
  if (auto* const measured = std::get_if<trial::Measurements>(&result)) return std::move(*measured);
  if (auto by_storage = failure_by_storage(end, place, log)) return *std::move(by_storage);
  return Failure{FailureKind::kProgram, std::get<std::string>(std::move(result))};
}

fs::path keep_log(const fs::path& log, const Failure* failure, store::TrialLogs& logs,
                  const std::string& whose) {
  const bool failed =
      failure != nullptr && failure->kind != FailureKind::kStopped && !failure->is_of_storage();
  fs::path kept = logs.keep(log, failed);
  if (failed && !whose.empty()) warn_with_tail(whose + ": " + failure->reason, kept);
  return kept;
}

}  // namespace skyline::evaluate
