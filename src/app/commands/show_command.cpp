// The command that shows networks of a space: as a table, or as a graph.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/named_architecture.hpp"
#include "app/config/config_file.hpp"
#include "app/config/run_config.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

namespace skyline::app {
namespace {

constexpr int kMostSamples = 1'000'000;

struct ShowArguments {
  std::filesystem::path config;
  int samples = 1;                      // number of random architectures
  std::optional<std::string> genotype;  // e.g. "depth=3,kernel=5", instead of random ones
  bool dot = false;
  std::vector<std::string> overrides;
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
  for (const char* title : {"layer", "reads", "attributes"}) table.add_column(title, Align::kLeft);
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
  return table.text();
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

int run_show(const ShowArguments& arguments) {
  const RunConfig config = RunConfig::parse(load_config(arguments.config, arguments.overrides), false);
  if (!config.space.has_network()) {
    throw UserError(arguments.config.string() + ": the space has no network to show, only parameters");
  }
  std::vector<space::Architecture> shown;
  if (arguments.genotype) {
    shown.push_back(named_architecture(config.space, *arguments.genotype));
  } else {
    shown = samples(config, arguments.samples);
  }
  for (const space::Architecture& architecture : shown) {
    const std::string id = space::to_text(architecture.id);
    if (arguments.dot) {
      std::cout << dot_of(architecture.network(), id);
      continue;
    }
    std::cout << "architecture " << id << ": " << config.space.describe(architecture.genotype) << "\n"
              << table_of(architecture.network())
              << "peak activation bytes: " << report::si_text(double(architecture.cost.peak_activation_bytes))
              << "\n";
    if (&architecture != &shown.back()) std::cout << "\n";
  }
  return kExitDone;
}

}  // namespace

RunCommand show_command(CLI::App& command) {
  const auto arguments = std::make_shared<ShowArguments>();
  add_config(command, arguments->config, arguments->overrides);
  CLI::Option* samples =
      command.add_option("--sample", arguments->samples, "number of random architectures (default: 1)")
          ->check(whole_number(1, kMostSamples));
  command.add_option("--genotype", arguments->genotype, "this architecture, e.g. depth=3,kernel=5")
      ->excludes(samples);
  command.add_flag("--dot", arguments->dot, "as a graph in the language of Graphviz");
  return [arguments] { return run_show(*arguments); };
}

}  // namespace skyline::app
