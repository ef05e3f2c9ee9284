// The commands that only read: validate, schema, journal.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/space/window.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/space_survey.hpp"
#include "app/commands/time_estimate.hpp"
#include "app/commands/try_trial.hpp"
#include "app/config/config_file.hpp"
#include "app/config/config_sections.hpp"
#include "app/config/configuration_warnings.hpp"
#include "app/config/new_run_check.hpp"
#include "app/config/run_config.hpp"
#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "model_export/model/exported_model.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "report/text/text_table.hpp"
#include "run/opened_run.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

namespace skyline::app {
namespace {

struct ValidateArguments {
  std::filesystem::path config;
  bool count = false;  // count all architectures of the space, however long that takes
  bool time = false;   // train a few architectures
  bool resolved = false;
  std::optional<std::size_t> slots;
  std::size_t tries = 0;  // number of runs of one trial
  std::string genotype;   // genotype of that trial; empty for the first one of the search
  std::vector<std::string> overrides;
};

/// Prints how many architectures of the search get which size of group.
void print_groups(const RunConfig& config) {
  constexpr int kSampled = 200;
  if (!config.evaluator.needs.groups) return;
  const auto evaluator = config.make_evaluator(config.services());
  RandomStream random(config.sections.run.seed);
  std::map<std::uint32_t, int> trials;  // number of trials by number of members
  for (int i = 0; i < kSampled; ++i) {
    try {
      trial::Trial trial;
      trial.proposal.architecture =
          std::make_shared<const space::Architecture>(config.space.build(config.space.sample(random)));
      trial.proposal.budget.epochs = config.evaluator.needs.epochs;
      if (config.objectives.feasible(trial.architecture())) ++trials[evaluator->members_for(trial)];
    } catch (const UserError&) {  // a genotype without a network
    }
  }
  std::cout << "# groups: of " << kSampled << " random architectures";
  for (const auto& [members, count] : trials) {
    std::cout << (members == trials.begin()->first ? " " : ", ") << count << " are trained by "
              << counted(members, "member");
  }
  std::cout << "\n";
}

/// Prints what a model has that always says the same.
void print_constant_answer(const RunConfig& config) {
  std::string values;
  for (const trial::Baseline& baseline : run::baselines_of(config.resolved)) {
    if (!baseline.constant) continue;
    values += (values.empty() ? "" : ", ") + baseline.metric + " " +
              report::metric_text(report::described(baseline.metric, config.metrics), *baseline.constant);
  }
  if (values.empty()) return;
  const store::SampleView& train = config.dataset->train();
  std::string answer = "a constant answer";
  if (train.target_kind() == store::TargetKind::kNumbers) answer = "always the mean";
  if (train.target_kind() == store::TargetKind::kClasses) {
    std::vector<std::size_t> counts(config.dataset->class_names().size());
    for (const std::int64_t index : config.split.train)
      ++counts[static_cast<std::size_t>(train.classes()[static_cast<std::size_t>(index)])];
    const auto commonest = std::ranges::max_element(counts) - counts.begin();
    answer = "always `" + printable(config.dataset->class_names()[static_cast<std::size_t>(commonest)]) + "`";
  }
  std::cout << "# data: " << answer << " gives " << values << "\n";
}

/// Warns about numbers of very different size, because networks learn numbers as they are.
void print_spread_of_targets(const store::Dataset& dataset) {
  constexpr double kFar = 10;
  const store::SampleView& train = dataset.train();
  if (train.target_kind() != store::TargetKind::kNumbers) return;
  const auto targets = std::get<2>(train.targets);
  const std::vector<std::string>& names = dataset.class_names();
  for (std::size_t output = 0; output < names.size(); ++output) {
    double mean = 0;
    double squares = 0;
    for (std::size_t i = 0; i < train.count; ++i) {
      const double from_mean = static_cast<double>(targets[i * names.size() + output]) - mean;
      mean += from_mean / static_cast<double>(i + 1);
      squares += from_mean * (static_cast<double>(targets[i * names.size() + output]) - mean);
    }
    const double deviation = std::sqrt(squares / static_cast<double>(train.count));
    const bool is_near =
        std::abs(mean) < kFar && deviation < kFar && (deviation == 0 || deviation > 1 / kFar);
    if (is_near) continue;
    std::cout << "# data: the targets of output " << printable(names[output]) << " have mean " << mean
              << " and deviation " << deviation
              << ": bring them to mean 0 and deviation 1 yourself, since networks learn them as they are\n";
    return;  // one warning is enough
  }
}

void print_data(const RunConfig& config) {
  if (config.dataset == nullptr) return;
  std::cout << "# data: " << config.sections.data.file << ": " << config.dataset->train().count
            << " training samples (" << (config.split.stored ? "and " : "") << config.split.validation.size()
            << (config.split.stored ? "" : " of them held out") << " for validation), "
            << config.dataset->test().count << " test samples, " << space::to_text(config.shape.input) << ", "
            << to_text(config.dataset->train().target_kind(), config.dataset->class_names().size()) << "\n";
  print_constant_answer(config);
  print_spread_of_targets(*config.dataset);
  if (config.sections.data.stage.empty()) return;
  std::cout << "# data: each node reads it from a copy in " << config.sections.data.stage.string()
            << ", made at the start unless it is there\n";
}

void print_source(const RunConfig& config) {
  const ChosenEvaluator& evaluator = config.evaluator;
  if (!evaluator.kind->describe) return;
  for (const std::string& line : evaluator.kind->describe(evaluator.section, config.services())) {
    std::cout << "# " << evaluator.kind->name << ": " << line << "\n";
  }
}

void print_device(const RunConfig& config) {
  const ChosenEvaluator& evaluator = config.evaluator;
  if (!evaluator.kind->describe_device) return;
  for (const std::string& line : evaluator.kind->describe_device(evaluator.section)) {
    std::cout << "# device: " << line << "\n";
  }
}

/// Prints the kinds of layers, in random architectures, that cannot be exported.
void print_exports(const RunConfig& config) {
  using model_export::Format;
  constexpr int kSampled = 200;
  constexpr std::size_t kMostLayers = 20'000;  // layers of all these networks
  if (!config.evaluator.needs.weights || !config.space.has_network()) return;
  std::map<std::string, std::set<std::string>> unknown;  // kinds by format
  RandomStream random(config.sections.run.seed);
  std::size_t layers = 0;
  for (int i = 0; i < kSampled && layers < kMostLayers; ++i) {
    try {
      const space::Architecture drawn = config.space.build(config.space.sample(random));
      layers += drawn.network().layers.size();
      unknown["ONNX"].merge(model_export::kinds_without_export(drawn.network(), Format::kOnnx));
      unknown["PyTorch"].merge(model_export::kinds_without_export(drawn.network(), Format::kPytorch));
    } catch (const UserError&) {  // a genotype without a network
    }
  }
  for (const auto& [format, kinds] : unknown) {
    if (kinds.empty()) continue;
    std::cout << "# export: no " << format << " for layers of kind " << joined({kinds.begin(), kinds.end()})
              << " (register_layer_export)\n";
  }
}

/// Returns how far a window reaches along an axis.
std::int64_t span(const space::Window& window, std::size_t axis) {
  return (window.kernel[axis] - 1) * window.dilation[axis] + 1;
}

/// Returns whether a window is larger than its input along an axis, and has a weight that stands over padding
/// at each of its places.
bool is_too_large(const space::Window& window, std::size_t axis, std::int64_t input, std::int64_t output) {
  if (span(window, axis) <= input) return false;
  for (std::int64_t weight = 0; weight < window.kernel[axis]; ++weight) {
    bool meets_input = false;
    for (std::int64_t place = 0; place < output && !meets_input; ++place) {
      const std::int64_t at =
          place * window.stride[axis] + weight * window.dilation[axis] - window.padding[axis];
      meets_input = at >= 0 && at < input;
    }
    if (!meets_input) return true;
  }
  return false;
}

/// Returns "conv1d_0 has a window of 15 over 1x1" for the first layer with weights that meet padding alone.
std::optional<std::string> large_window(const space::Network& network) {
  for (const space::Layer& layer : network.layers) {
    if (layer.attributes.find("kernel") == nullptr) continue;
    const space::Shape& input = layer.input();
    const bool is_pool_of_sequence = input.height == 1 && layer.kind.ends_with("_pool");
    const bool slides_down = layer.kind.find("1d") == std::string::npos && !is_pool_of_sequence;
    const space::Window window = space::Window::of(layer, !slides_down);
    if (!is_too_large(window, 0, input.height, layer.output.height) &&
        !is_too_large(window, 1, input.width, layer.output.width)) {
      continue;
    }
    const space::Sides spans{span(window, 0), span(window, 1)};
    return layer.name + " has a window of " +
           (slides_down ? space::to_text(space::as_value(spans)) : std::to_string(spans[1])) + " over " +
           std::to_string(input.height) + "x" + std::to_string(input.width);
  }
  return std::nullopt;
}

/// Prints how many architectures have windows that are larger than what they slide over.
void print_windows(const RunConfig& config) {
  constexpr std::size_t kSampled = 100;
  const auto drawn = config.draw_valid(kSampled);
  std::size_t count = 0;
  std::string first;
  for (const auto& architecture : drawn) {
    const auto found = large_window(architecture->network());
    if (found && count++ == 0) first = *found;
  }
  if (count == 0) return;
  std::cout << "# space: in " << count << " of " << counted(drawn.size(), "random architecture")
            << " a window is larger than its input, so that some weights meet padding alone: " << first
            << "; samples are " << space::to_text(config.dataset->shape()) << "\n";
}

int run_validate(const ValidateArguments& arguments) {
  const ConfigNode root = load_config(arguments.config, arguments.overrides);
  const RunConfig config = RunConfig::parse(root, true, arguments.slots.value_or(1));
  check_new_run(root, config);
  if (arguments.tries > 0) return try_trial(config, arguments.genotype, arguments.tries);
  const auto searcher = config.make_searcher();
  std::cout << "# " << arguments.config.string() << " is valid\n";
  print_data(config);
  std::cout << to_text(survey(config.space, config.objectives, arguments.count)) << std::flush;
  if (arguments.time) std::cout << time_text(config, arguments.slots) << std::flush;
  print_source(config);
  print_device(config);
  print_groups(config);
  print_exports(config);
  if (config.dataset != nullptr && config.space.has_network()) print_windows(config);
  for (const std::string& trap :
       configuration_warnings(config, *searcher, nullptr, {.slots = arguments.slots})) {
    std::cout << "# " << trap << "\n";
  }
  if (!config.objectives.has_volume()) {
    std::cout << "# objectives: " << report::volume_text(run::RunState(config.objectives)) << "\n";
  }
  std::cout << "# search: at most " << counted(searcher->expected_trials(), "trial") << "\n";
  if (arguments.resolved) std::cout << to_yaml(config.resolved);
  return kExitDone;
}

}  // namespace

RunCommand validate_command(CLI::App& command) {
  const auto arguments = std::make_shared<ValidateArguments>();
  add_config(command, arguments->config, arguments->overrides);
  command.add_flag(
      "--resolved", arguments->resolved,
      "print the resolved configuration too, with all defaults; the other lines are its comments");
  command.add_flag("--count", arguments->count, "count the architectures, however long that takes");
  command.add_flag("--time", arguments->time, "train a few architectures, and tell how long a search takes");
  command
      .add_option("--slots", arguments->slots,
                  "with so many slots (default: --time with those of this machine)")
      ->check(whole_number(1, kMostSlots));
  CLI::Option* tries = command
                           .add_option_function<std::string>(
                               "--try",
                               [arguments](const std::string& times) {
                                 constexpr std::int64_t kMost = 1000;
                                 const auto number = parse_integer(times);
                                 if (!number || *number < 1 || *number > kMost) {
                                   throw CLI::ValidationError("--try: expected a whole number from 1 to " +
                                                              std::to_string(kMost) + ", got " + times);
                                 }
                                 arguments->tries = static_cast<std::size_t>(*number);
                               },
                               "run a trial so many times (default: once), and show everything about it")
                           ->expected(0, 1)
                           ->default_str("1");
  command
      .add_option("--genotype", arguments->genotype,
                  "this trial, e.g. rate=0.1,depth=3 (default: the first one of the search)")
      ->needs(tries);
  return [arguments] { return run_validate(*arguments); };
}

RunCommand schema_command(CLI::App& command) {
  const auto markdown = std::make_shared<bool>(false);
  command.add_flag("--markdown", *markdown, "the page of all keys instead: docs/configuration.md");
  return [markdown] {
    std::cout << (*markdown ? configuration_page() : to_json(config_schema()));
    return kExitDone;
  };
}

RunCommand journal_command(CLI::App& command) {
  const auto run = std::make_shared<store::RunPaths>();
  const auto canonical = std::make_shared<bool>(false);
  add_path(command, "run", run->root, "run folder")->required();
  command.add_flag("--canonical", *canonical, "without times and hosts: equal for equal runs");
  return [run, canonical] {
    const store::JournalEnd end(*run);
    const store::JournalText text = store::check_journal(run->journal());
    end.check(text.started_s, text.torn_tail);
    std::cout << (*canonical ? text.canonical : store::read_file(run->journal()).substr(0, text.valid_bytes));
    if (*canonical && !text.deterministic) say(report::kNotDeterministic);
    return kExitDone;
  };
}

}  // namespace skyline::app
