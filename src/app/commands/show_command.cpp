// The command that shows networks of a space: as a table, or as a graph.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/config_file.hpp"
#include "app/config/run_config.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
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

std::uint32_t choice_of(const space::Parameter& parameter, const std::string& text) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    known.push_back(space::to_text(parameter.values[i]));
    if (known.back() == text) return static_cast<std::uint32_t>(i);
  }
  throw UserError("--genotype: " + parameter.name + " is never " + text + ", " + suggestion(text, known));
}

/// Reads "depth=3,kernel=5". Parameters that the network does not use may be left out.
space::Architecture named_architecture(const space::SearchSpace& space, const std::string& genotype) {
  const std::vector<space::Parameter>& parameters = space.parameters();
  space::Genotype choices{std::vector<std::uint32_t>(parameters.size())};
  std::vector<bool> given(parameters.size());
  std::istringstream stream(genotype);
  for (std::string assignment; std::getline(stream, assignment, ',');) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      throw UserError("--genotype: expected name=value, e.g. depth=3,kernel=5, got " + assignment);
    }
    const std::string name = assignment.substr(0, equals);
    const auto parameter = std::ranges::find(parameters, name, &space::Parameter::name);
    if (parameter == parameters.end()) {
      std::vector<std::string> known;
      for (const space::Parameter& one : parameters) known.push_back(one.name);
      throw UserError("--genotype: the space has no parameter `" + name + "`, " + suggestion(name, known));
    }
    const auto index = static_cast<std::size_t>(parameter - parameters.begin());
    choices.choices[index] = choice_of(*parameter, assignment.substr(equals + 1));
    given[index] = true;
  }
  space::Architecture architecture = space.build(choices);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (architecture.used[i] && !given[i]) {
      throw UserError("--genotype: the network uses " + parameters[i].name + ", give it a value");
    }
  }
  return architecture;
}

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
