// The commands that use a trained network: predict, evaluate.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/evaluator_section.hpp"
#include "app/models/model_data.hpp"
#include "app/models/taken_model.hpp"
#include "comm/environment.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/publish/publish.hpp"
#include "train/evaluator/inference.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

using store::TargetKind;

struct PredictArguments {
  ModelChoice choice;
  DataChoice data;
  std::filesystem::path out;  // file; empty for standard output
  bool force = false;         // overwrite an existing file
};

/// The one model that the command line names, and its outputs for the data.
struct UsedModel {
  ModelSource source;
  TakenModel model;
  std::shared_ptr<const store::Dataset> data;
  train::InferenceResult result;
};

UsedModel use_model(const PredictArguments& arguments, bool has_targets) {
  log::start({.file = "", .prefix = "", .terminal_level = log::Level::kWarning});
  UsedModel used{.source = ModelSource::open(arguments.choice.run), .model = {}, .data = {}, .result = {}};
  const auto numbers = chosen_trials(used.source, arguments.choice);
  if (numbers.size() != 1) throw UserError("--trial: expected one number");
  used.model = take_model(used.source, numbers.front(), arguments.choice);
  used.data = open_model_data(used.source, arguments.data, has_targets);
  const auto job = comm::make_local_environment();
  used.result = train::infer(*job, {.section = evaluator_of(used.source.run.config).section,
                                    .normalization = used.source.data.normalization,
                                    .architecture = used.model.trained->trial.proposal.architecture,
                                    .tensors = used.model.weights.tensors,
                                    .dataset = used.data});
  return used;
}

/// Quotes a field if RFC 4180 requires it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string field = "\"";
  for (const char letter : text) field += letter == '"' ? "\"\"" : std::string(1, letter);
  return field + "\"";
}

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

/// Returns a row per sample: its index, the most likely class for classes, and each output.
std::string csv_of(const UsedModel& used) {
  const std::vector<std::string>& names = used.data->class_names();
  const TargetKind targets = used.data->test().target_kind();
  const bool classes = targets == TargetKind::kClasses;
  std::string csv = classes ? "index,class" : "index";
  for (const std::string& name : names) csv += "," + csv_field(name);
  csv += "\n";
  const std::span<const float> outputs(used.result.outputs);
  for (std::size_t i = 0; i < used.data->test().count; ++i) {
    const auto answers = train::to_answers(outputs.subspan(i * names.size(), names.size()), targets);
    const auto best = static_cast<std::size_t>(std::ranges::max_element(answers) - answers.begin());
    csv += std::to_string(i) + (classes ? "," + csv_field(names[best]) : "");
    for (const double answer : answers) csv += "," + short_number(answer);
    csv += "\n";
  }
  return csv;
}

/// Writes to a file, which must be new unless --force is given, or to standard output.
void give_out(const PredictArguments& arguments, const std::string& text) {
  if (arguments.out.empty()) {
    std::cout << text << std::flush;
  } else if (arguments.force) {
    store::publish_file(arguments.out, text);
  } else if (!store::publish_new_file(arguments.out, text)) {
    throw UserError(arguments.out.string() + ": exists already (--force overwrites it)");
  }
}

int run_predict(const PredictArguments& arguments) {
  give_out(arguments, csv_of(use_model(arguments, false)));
  return kExitDone;
}

int run_evaluate(const PredictArguments& arguments) {
  const UsedModel used = use_model(arguments, true);
  std::vector<ConfigNode::Entry> metrics;
  for (const auto& [name, value] : used.result.metrics) {
    std::cout << name << " " << objective::number_text(value) << "\n";
    metrics.push_back({name, ConfigNode::make_number(value), {}});
  }
  std::cout << "of " << counted(used.data->test().count, "sample") << std::endl;
  if (arguments.out.empty()) return kExitDone;
  std::vector<ConfigNode::Entry> entries;
  for (const auto& [name, value] : metadata_of(used.source, used.model)) {
    if (name != "run" && name != "trial" && name != "arch_id" && name != "weights") continue;
    entries.push_back({name, ConfigNode::make_scalar(value, {}, true), {}});
  }
  entries.push_back({"data", ConfigNode::make_scalar(arguments.data.sources.front().string(), {}, true), {}});
  const auto samples = static_cast<std::int64_t>(used.data->test().count);
  entries.push_back({"samples", ConfigNode::make_integer(samples), {}});
  entries.push_back({"metrics", ConfigNode::make_map(std::move(metrics), {}), {}});
  give_out(arguments, to_json(ConfigNode::make_map(std::move(entries), {})));
  return kExitDone;
}

/// Splits "key=value".
std::pair<std::string, std::string> read_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw CLI::ValidationError("--with: expected KEY=VALUE, got " + text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Adds the options that choose the samples for a model.
void add_data(CLI::App& command, DataChoice& data) {
  add_path(command, "--data", data.sources, "samples: a prepared data set, or what `skyline prep` takes")
      ->required();
  command.add_option("--kind", data.kind,
                     "kind of source, as in skyline prep (default: images of a folder, else arrays)");
  command
      .add_option_function<std::vector<std::string>>(
          "--with",
          [&data](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) data.options.push_back(read_assignment(text));
          },
          "option of skyline prep for this kind, e.g. --with layout=nhwc")
      ->allow_extra_args(false);
  command.add_option("--part", data.part, "train, validation or test (default: test if it has samples)")
      ->check(CLI::IsMember({"train", "validation", "test"}));
}

RunCommand use_command(CLI::App& command, const std::string& out, int (*run)(const PredictArguments&)) {
  const auto arguments = std::make_shared<PredictArguments>();
  add_models(command, arguments->choice);
  add_data(command, arguments->data);
  command.add_flag("--force", arguments->force, "overwrite the file if it is there");
  add_path(command, "-o,--out", arguments->out, out);
  return [arguments, run] { return run(*arguments); };
}

}  // namespace

RunCommand predict_command(CLI::App& command) {
  return use_command(command, "CSV file to write (default: to standard output)", run_predict);
}

RunCommand evaluate_command(CLI::App& command) {
  return use_command(command, "JSON file to write as well", run_evaluate);
}

}  // namespace skyline::app
