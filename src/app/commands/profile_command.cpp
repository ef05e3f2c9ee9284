// The command that measures the time and memory of a network's layers in a training step.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/data_section.hpp"
#include "app/config/evaluator_section.hpp"
#include "comm/environment.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/wording.hpp"
#include "report/text/text_table.hpp"
#include "train/evaluator/step_profile.hpp"
#include "train/loading/load_training.hpp"

#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

using train::LayerProfile;
using train::StepProfile;

struct ProfileArguments {
  std::filesystem::path run;
  std::optional<trial::TrialNumber> trial;
  bool json = false;
};

struct ProfiledTrial {
  std::shared_ptr<const space::Architecture> architecture;
  StepProfile step;
};

ProfiledTrial measure(const ProfileArguments& arguments) {
  log::start({.file = "", .prefix = "", .terminal_level = log::Level::kWarning});
  ModelSource source = ModelSource::open(arguments.run);
  if (!arguments.trial) throw UserError("expected --trial NUMBER");
  const ModelChoice choice{.run = arguments.run, .trials = {*arguments.trial}, .front = false, .weights = {}};
  const trial::TrialNumber number = chosen_trials(source.run, choice).front();
  const ConfigNode& data = source.run.config.at("data");
  const auto dataset = store::Dataset::open(source.data.file, false);
  describe_data(data, *dataset, source.data);
  const auto job = comm::make_local_environment();
  ProfiledTrial profiled{source.run.state.search_trial(number)->trial.proposal.architecture, {}};
  profiled.step = train::load_training().profile_step(
      *job, {.section = evaluator_of(source.run.config).section,
             .normalization = source.data.normalization,
             .architecture = profiled.architecture,
             .dataset = dataset,
             .split = split_data(data, *dataset, source.data, source.run.header.seed)});
  return profiled;
}

std::string milliseconds(double seconds) {
  return report::significant_text(1000 * seconds, 3);
}

std::string percent(double part, double whole) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * part / whole);
  return text.data();
}

std::string names_of(const space::Network& network, const LayerProfile& layer) {
  std::string names = network.layers[layer.layer].name;
  for (const std::size_t absorbed : layer.absorbed) names += " + " + network.layers[absorbed].name;
  return names;
}

std::string bytes_text(std::int64_t bytes) {
  return report::si_text(static_cast<double>(bytes), " ", "B");
}

std::string table_of(const space::Network& network, const StepProfile& step) {
  report::TextTable table;
  table.add_column("layer", report::TextTable::Align::kText);
  table.add_column("output", report::TextTable::Align::kRight, "", 1);
  table.add_column("parameters", report::TextTable::Align::kRight, "", 1);
  table.add_column("forward", report::TextTable::Align::kRight, "ms");
  table.add_column("backward", report::TextTable::Align::kRight, "ms");
  table.add_column("share");
  table.add_column("memory", report::TextTable::Align::kRight, "more after it");
  table.add_column("memory", report::TextTable::Align::kRight, "at most");
  const double all_s = step.parts_s();
  double forward_s = 0;
  double backward_s = 0;
  for (const LayerProfile& layer : step.layers) {
    const std::size_t last = layer.absorbed.empty() ? layer.layer : layer.absorbed.back();
    std::int64_t parameters = network.layers[layer.layer].cost.parameters;
    for (const std::size_t absorbed : layer.absorbed) parameters += network.layers[absorbed].cost.parameters;
    forward_s += layer.forward_s;
    backward_s += layer.backward_s;
    table.add_row({names_of(network, layer), to_text(network.layers[last].output), std::to_string(parameters),
                   milliseconds(layer.forward_s), milliseconds(layer.backward_s),
                   percent(layer.forward_s + layer.backward_s, all_s), bytes_text(layer.grown_bytes),
                   bytes_text(layer.most_bytes)});
  }
  table.add_rule();
  const auto add_other = [&](const char* name, double forward, const std::string& backward, double share) {
    table.add_row({name, "", "", milliseconds(forward), backward, percent(share, all_s), "", ""});
  };
  add_other("all layers", forward_s, milliseconds(backward_s), forward_s + backward_s);
  add_other("batch", step.batch_s, "", step.batch_s);
  add_other("loss", step.loss_s, "", step.loss_s);
  add_other("update", step.update_s, "", step.update_s);
  table.fit(output_columns());
  return table.text();
}

std::string text_of(const ProfileArguments& arguments, const ProfiledTrial& profiled) {
  const StepProfile& step = profiled.step;
  return "trial " + std::to_string(*arguments.trial) + ", architecture " +
         space::to_text(profiled.architecture->id) + ": a step of " + counted(step.batch, "sample") + " on " +
         step.device + ", " + counted(step.threads, "thread") + "\n" +
         table_of(profiled.architecture->network(), step) + "a step as a whole takes " +
         milliseconds(step.step_s) + " ms; its parts add up to " + milliseconds(step.parts_s()) + " ms, " +
         percent(step.parts_s(), step.step_s) + " of it (first quartiles of " + counted(step.steps, "step") +
         ")\nmemory of all tensors: " + bytes_text(step.tensor_bytes) + " before a step, " +
         bytes_text(step.tensor_bytes + step.most_bytes()) + " at most\n";
}

ConfigNode text_node(const std::string& text) {
  return ConfigNode::make_scalar(text, {}, true);
}

std::string json_of(const ProfileArguments& arguments, const ProfiledTrial& profiled) {
  const StepProfile& step = profiled.step;
  const space::Network& network = profiled.architecture->network();
  const auto whole = [](std::int64_t number) { return ConfigNode::make_integer(number); };
  const auto real = [](double number) { return ConfigNode::make_number(number); };
  std::vector<ConfigNode> layers;
  for (const LayerProfile& layer : step.layers) {
    std::vector<ConfigNode> absorbed;
    for (const std::size_t each : layer.absorbed) absorbed.push_back(text_node(network.layers[each].name));
    layers.push_back(
        ConfigNode::make_map({{"name", text_node(network.layers[layer.layer].name), {}},
                              {"with", ConfigNode::make_list(std::move(absorbed), {}), {}},
                              {"forward_s", real(layer.forward_s), {}},
                              {"backward_s", real(layer.backward_s), {}},
                              {"share", real((layer.forward_s + layer.backward_s) / step.parts_s()), {}},
                              {"grown_bytes", whole(layer.grown_bytes), {}},
                              {"most_bytes", whole(layer.most_bytes), {}}},
                             {}));
  }
  return to_json(ConfigNode::make_map({{"trial", whole(static_cast<std::int64_t>(*arguments.trial)), {}},
                                       {"arch_id", text_node(space::to_text(profiled.architecture->id)), {}},
                                       {"device", text_node(step.device), {}},
                                       {"batch", whole(step.batch), {}},
                                       {"threads", whole(step.threads), {}},
                                       {"steps", whole(static_cast<std::int64_t>(step.steps)), {}},
                                       {"step_s", real(step.step_s), {}},
                                       {"parts_s", real(step.parts_s()), {}},
                                       {"batch_s", real(step.batch_s), {}},
                                       {"loss_s", real(step.loss_s), {}},
                                       {"update_s", real(step.update_s), {}},
                                       {"tensor_bytes", whole(step.tensor_bytes), {}},
                                       {"most_bytes", whole(step.most_bytes()), {}},
                                       {"layers", ConfigNode::make_list(std::move(layers), {}), {}}},
                                      {}));
}

}  // namespace

RunCommand profile_command(CLI::App& command) {
  const auto arguments = std::make_shared<ProfileArguments>();
  add_path(command, "run", arguments->run, "run folder, which is only read")->required();
  command.add_option("--trial", arguments->trial, "number of the trial; must be given")
      ->check(whole_number(0, kMostNumber));
  command.add_flag("--json", arguments->json, "as JSON");
  return [arguments] {
    const ProfiledTrial profiled = measure(*arguments);
    std::cout << (arguments->json ? json_of(*arguments, profiled) : text_of(*arguments, profiled))
              << std::flush;
    return kExitDone;
  };
}

}  // namespace skyline::app
