// The command that shows networks of a space, and writes them as they are before a training.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/config/config_file.hpp"
#include "app/config/exported_network.hpp"
#include "app/config/run_config.hpp"
#include "app/job/stop_request.hpp"
#include "app/models/named_architecture.hpp"
#include "app/models/selected_model.hpp"
#include "core/log.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/wording.hpp"
#include "report/files/trial_results.hpp"
#include "report/files/trials_json.hpp"
#include "report/text/text_table.hpp"
#include "space/quantized/int8_cost.hpp"
#include "space/quantized/int8_network.hpp"
#include "train/loading/load_training.hpp"

#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

constexpr int kMostSamples = 1'000'000;

enum class ShowFormat { kTable, kDot, kJson, kPytorch, kOnnx };

struct ShowArguments {
  ModelChoice choice;                   // its `run` may be a configuration, which has no trials
  int samples = 1;                      // number of random architectures
  std::optional<std::string> genotype;  // e.g. "depth=3,kernel=5", instead of random ones
  ShowFormat format = ShowFormat::kTable;
  std::filesystem::path out;  // a file or a folder; empty for standard output
  bool force = false;         // overwrite existing files
  std::vector<std::string> overrides;
};

/// An architecture that is shown.
struct ShownNetwork {
  std::string name;  // name of its file, without the ending
  space::Architecture architecture;
  std::uint64_t seed = 0;  // seed of its initial weights
};

/// Returns different architectures, fewer if the space has no more.
std::vector<space::Architecture> samples(const RunConfig& config, int count) {
  search::CandidatePool pool(config.space, config.objectives);
  RandomStream random(derive_seed(config.sections.run.seed, "app.show"));
  std::vector<space::Architecture> found;
  while (std::ssize(found) < count) {
    const search::ArchitecturePointer drawn = pool.draw(random);
    if (drawn == nullptr) break;
    found.push_back(*drawn);
  }
  return found;
}

std::string attributes_text(const space::Layer& layer) {
  std::string text;
  for (const auto& [name, value] : layer.attributes) {
    text += (text.empty() ? "" : " ") + name + '=' + space::to_text(value);
  }
  return text;
}

std::string input_names(const space::Network& network, const space::Layer& layer) {
  if (layer.inputs.empty()) return "input";
  std::string names;
  for (const std::size_t input : layer.inputs) {
    names += (names.empty() ? "" : ", ") + network.layers[input].name;
  }
  return names;
}

std::string table_of(const space::Network& network) {
  using Align = report::TextTable::Align;
  report::TextTable table;
  table.add_column("layer", Align::kLeft);
  table.add_column("reads", Align::kLeft, "", 1);
  table.add_column("attributes", Align::kText);
  for (const char* title : {"output", "parameters", "MACs", "FLOPs"}) table.add_column(title);
  const auto costs = [](const space::Cost& cost) {
    return std::vector<std::string>{std::to_string(cost.parameters), report::si_text(double(cost.macs)),
                                    report::si_text(double(cost.flops))};
  };
  const auto add = [&](std::vector<std::string> row, const space::Cost& cost) {
    for (std::string& text : costs(cost)) row.push_back(std::move(text));
    table.add_row(std::move(row));
  };
  for (const space::Layer& layer : network.layers) {
    add({layer.name, input_names(network, layer), attributes_text(layer), to_text(layer.output)}, layer.cost);
  }
  table.add_rule();
  add({"all", "", "", to_text(network.layers.back().output)}, network.cost);
  if (::isatty(STDOUT_FILENO) == 1) table.fit(output_columns());  // a program reads whole lines
  return table.text();
}

/// Returns the costs in int8 and the layers without int8 kernels; nothing if a kind says no int8 steps.
std::string int8_text(const space::Network& network) {
  space::Int8View view;
  try {
    view = space::int8_view(network);
  } catch (const UserError&) {
    return "";
  }
  std::string in_float;
  for (const space::Int8Step& step : view.steps) {
    if (step.is_float()) in_float += (in_float.empty() ? "" : ", ") + network.layers[step.layer].name;
  }
  return "in int8: peak activation bytes " +
         report::si_text(double(space::int8_peak_activation_bytes(view, network))) + ", weight bytes " +
         report::si_text(double(space::int8_weight_bytes(view, network))) +
         (in_float.empty() ? "" : "; in float32: " + in_float) + "\n";
}

std::string dot_of(const space::Network& network, const std::string& name) {
  std::string text = "digraph \"" + name + "\" {\n  node [shape=box];\n  input [label=\"input\\n" +
                     to_text(network.input) + "\"];\n";
  for (const space::Layer& layer : network.layers) {
    text += "  " + layer.name + " [label=\"" + layer.name + "\\n" + attributes_text(layer) + "\\n" +
            to_text(layer.output) + "\"];\n";
    if (layer.inputs.empty()) text += "  input -> " + layer.name + ";\n";
    for (const std::size_t input : layer.inputs) {
      text += "  " + network.layers[input].name + " -> " + layer.name + ";\n";
    }
  }
  return text + "}\n";
}

RunConfig read_config(const ShowArguments& arguments, const std::optional<run::OpenedRun>& run) {
  if (!run) return RunConfig::parse(load_config(arguments.choice.run, arguments.overrides), false);
  if (!arguments.overrides.empty())
    throw UserError("--set: " + arguments.choice.run.string() +
                    " is a run, whose configuration stays as it is");
  RunConfig config;
  config.space = run->space;
  config.objectives = run->state.objectives();
  config.sections.run.seed = run->header.seed;
  config.resolved = run->config;
  return config;
}

std::vector<ShownNetwork> chosen_networks(const ShowArguments& arguments, const RunConfig& config,
                                          const std::optional<run::OpenedRun>& run) {
  std::vector<ShownNetwork> shown;
  if (!arguments.choice.trials.empty() || arguments.choice.front) {
    if (!run) throw UserError(arguments.choice.run.string() + ": is no run, so it has no trials");
    for (const trial::TrialNumber number : chosen_trials(*run, arguments.choice)) {
      const trial::SharedTrial committed = run->state.search_trial(number);
      shown.push_back(
          {"trial_" + std::to_string(number), committed->trial.architecture(), committed->trial.seed});
    }
    return shown;
  }
  const std::uint64_t seed = config.sections.run.seed;
  if (arguments.genotype) return {{"network_0", named_architecture(config, *arguments.genotype), seed}};
  for (const space::Architecture& architecture : samples(config, arguments.samples)) {
    shown.push_back({"network_" + std::to_string(shown.size()), architecture, seed});
  }
  if (std::ssize(shown) < arguments.samples)
    print_error("--sample " + std::to_string(arguments.samples) + ": found " + std::to_string(shown.size()) +
                ", and the space has no more");
  return shown;
}

std::string text_of(const ShownNetwork& shown, const RunConfig& config) {
  const space::Architecture& architecture = shown.architecture;
  std::string given;
  for (const std::string_view name : config.space.given()) {
    const trial::Metric metric = report::described(name, {}, config.objectives.computed());
    given += metric.name + ": " + report::metric_text(metric, architecture.given(name).value()) + "\n";
  }
  return "architecture " + space::to_text(architecture.id) + ": " +
         config.space.describe(architecture.genotype) + "\n" + table_of(architecture.network()) +
         "peak activation bytes: " + report::si_text(double(architecture.cost.peak_activation_bytes)) + "\n" +
         int8_text(architecture.network()) + given;
}

/// Returns an untrained network as `skyline export` writes a trained one.
std::string exported(const ShownNetwork& shown, const RunConfig& config, ShowFormat format) {
  const DataOptions data = config.resolved.find("data") == nullptr
                               ? DataOptions{}
                               : DataOptions::table().parse(config.resolved.at("data"));
  const space::Network& network = shown.architecture.network();
  store::WeightsFile weights;
  if (format == ShowFormat::kOnnx)
    weights.tensors = train::load_training().initial_tensors(network, shown.seed);
  model_export::Metadata metadata = network_metadata(config.space, shown.architecture, data);
  metadata.emplace_back("weights", "untrained");
  const auto model = exported_network(network, weights, data, std::move(metadata));
  return format == ShowFormat::kOnnx ? onnx_bytes(model) : pytorch_source(model, "");
}

std::string contents_of(const ShownNetwork& shown, const RunConfig& config, ShowFormat format) {
  switch (format) {
    case ShowFormat::kTable:
      return text_of(shown, config);
    case ShowFormat::kDot:
      return dot_of(shown.architecture.network(), space::to_text(shown.architecture.id));
    case ShowFormat::kJson:
      return report::architecture_json(config.space, shown.architecture);
    case ShowFormat::kPytorch:
    case ShowFormat::kOnnx:
      return exported(shown, config, format);
  }
  throw InternalError("unknown format");
}

std::string ending_of(ShowFormat format) {
  switch (format) {
    case ShowFormat::kTable:
      return ".txt";
    case ShowFormat::kDot:
      return ".dot";
    case ShowFormat::kJson:
      return ".json";
    case ShowFormat::kPytorch:
      return ".py";
    case ShowFormat::kOnnx:
      return ".onnx";
  }
  throw InternalError("unknown format");
}

void write_files(const ShowArguments& arguments, const RunConfig& config,
                 const std::vector<ShownNetwork>& shown) {
  const std::filesystem::path& out = arguments.out;
  const bool may_be_several = arguments.samples > 1 || arguments.choice.front || shown.size() != 1;
  const bool is_folder = may_be_several || !out.has_filename() || std::filesystem::is_directory(out);
  if (is_folder) make_output_folder(out);
  for (const ShownNetwork& each : shown) {
    const auto file = is_folder ? out / (each.name + ending_of(arguments.format)) : out;
    write_output(file, contents_of(each, config, arguments.format), arguments.force, {arguments.choice.run});
    std::cout << file.string() << std::endl;
  }
}

int run_show(const ShowArguments& arguments) {
  log::start({.file = "", .prefix = "", .terminal_level = log::Level::kWarning});
  std::optional<run::OpenedRun> run;
  if (std::filesystem::is_directory(arguments.choice.run)) run = open_built_run(arguments.choice.run);
  const RunConfig config = read_config(arguments, run);
  if (!config.space.has_network()) {
    throw UserError(arguments.choice.run.string() + ": the space has no network to show, only parameters");
  }
  const std::vector<ShownNetwork> shown = chosen_networks(arguments, config, run);
  const bool is_text = arguments.format == ShowFormat::kTable || arguments.format == ShowFormat::kDot;
  if (!arguments.out.empty()) {
    write_files(arguments, config, shown);
    return kExitDone;
  }
  if (arguments.format == ShowFormat::kOnnx) throw UserError("--format onnx: name a file or a folder by -o");
  if (!is_text && shown.size() > 1)
    throw UserError("--format: name a folder for " + counted(shown.size(), "file") + " by -o");
  for (const ShownNetwork& each : shown) {
    std::cout << contents_of(each, config, arguments.format);
    if (arguments.format == ShowFormat::kTable && &each != &shown.back()) std::cout << "\n";
  }
  return kExitDone;
}

}  // namespace

RunCommand show_command(CLI::App& command) {
  static const std::map<std::string, ShowFormat> formats{{"table", ShowFormat::kTable},
                                                         {"dot", ShowFormat::kDot},
                                                         {"json", ShowFormat::kJson},
                                                         {"pytorch", ShowFormat::kPytorch},
                                                         {"onnx", ShowFormat::kOnnx}};
  const auto arguments = std::make_shared<ShowArguments>();
  add_config(command, arguments->choice.run, arguments->overrides, "configuration, YAML, or a run folder");
  CLI::Option* samples =
      command.add_option("--sample", arguments->samples, "number of random architectures (default: 1)")
          ->check(whole_number(1, kMostSamples));
  CLI::Option* genotype = command
                              .add_option("--genotype", arguments->genotype,
                                          "this architecture, e.g. depth=3,kernel=5; other values are drawn")
                              ->excludes(samples);
  for (CLI::Option* trials : add_trials(command, arguments->choice)) {
    trials->excludes(samples);
    trials->excludes(genotype);
  }
  command
      .add_option(
          "--format", arguments->format,
          "table (default), dot for Graphviz, json, pytorch (a module) or onnx; both without training")
      ->transform(one_of(formats));
  add_path(command, "-o,--out", arguments->out,
           "file to write to, or a folder for trial_N or network_N with the format's ending");
  command.add_flag("--force", arguments->force, "overwrite files");
  return [arguments] { return run_show(*arguments); };
}

}  // namespace skyline::app
