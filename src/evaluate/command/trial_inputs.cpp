#include "evaluate/command/trial_inputs.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <cstdint>
#include <fstream>
#include <variant>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Returns the seed of a trial as every random number generator takes it.
std::uint64_t seed_of(const trial::Trial& trial) {
  return trial.seed & 0x7FFFFFFFU;
}

std::string epochs_text(double epochs) {
  return ConfigNode::make_number(epochs).as_text();
}

OrderedJson json_of(const space::Value& value) {
  return std::visit([](const auto& content) { return OrderedJson(content); }, value);
}

}  // namespace

Variables trial_placeholders(const EvaluatorServices& services, const trial::Trial& trial,
                             const AttemptFolder& folder, const trial::TrialFolder& files) {
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
                   {"cache", cache_folder(services.folder, services.place.host).string()}};
  const std::vector<space::Parameter>& parameters = services.space.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    values[parameters[p].name] =
        space::to_text(parameters[p].values[trial.architecture().genotype.choices[p]]);
  }
  return values;
}

void write_parameters(const EvaluatorServices& services, const trial::Trial& trial,
                      const AttemptFolder& folder, const trial::TrialFolder& files) {
  const Variables values = trial_placeholders(services, trial, folder, files);
  OrderedJson parameters = OrderedJson::object();
  const std::vector<space::Parameter>& declared = services.space.parameters();
  for (std::size_t p = 0; p < declared.size(); ++p) {
    parameters[declared[p].name] = json_of(declared[p].values[trial.architecture().genotype.choices[p]]);
  }
  OrderedJson text{{"parameters", parameters},
                   {"trial", to_text(trial.name())},
                   {"arch_id", space::to_text(trial.architecture().id)},
                   {"epochs", trial.budget().epochs},
                   {"horizon", trial.horizon().epochs},
                   {"seed", seed_of(trial)},
                   {"final", trial.is_final()},
                   {"folder", values.at("folder")},
                   {"resumed", files.resumed},
                   {"cache", values.at("cache")}};
  if (!files.parent.empty()) text["parent_folder"] = values.at("parent_folder");
  if (!services.data_file.empty()) text["data"] = values.at("data");
  std::ofstream file(folder.parameters());
  file << text.dump(2, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
  if (!file.flush()) throw FaultError("cannot write " + folder.parameters().string());
}

Variables program_variables(Variables variables, const std::filesystem::path& temporary, int threads,
                            const std::vector<std::string>& devices) {
  variables["TMPDIR"] = temporary.string();
  variables["PYTHONUNBUFFERED"] = "1";  // so that the log of a killed program has all that it printed
  variables["OMP_NUM_THREADS"] = std::to_string(threads);
  variables["CUDA_VISIBLE_DEVICES"] = joined(devices, ",");
  return variables;
}

}  // namespace skyline::evaluate
