// The commands that look and change nothing: validate, schema, journal.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "app/commands/commands.hpp"
#include "app/commands/space_survey.hpp"
#include "app/commands/time_estimate.hpp"
#include "app/config/config_sections.hpp"
#include "app/config/run_config.hpp"
#include "app/job/run_results.hpp"
#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "model_export/exported_model.hpp"
#include "report/report.hpp"
#include "run/opened_run.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace skyline::app {
namespace {

/// How the sizes of groups are distributed over architectures of the search.
void print_groups(const RunConfig& config) {
  constexpr int kSampled = 200;
  if (!config.evaluator.needs.groups) return;
  const auto evaluator = config.make_evaluator(config.services());
  RandomStream random(config.sections.run.seed);
  std::map<std::uint32_t, int> trials;  // by members
  for (int i = 0; i < kSampled; ++i) {
    try {
      trial::Trial trial;
      trial.proposal.architecture =
          std::make_shared<const space::Architecture>(config.space.build(config.space.sample(random)));
      trial.proposal.budget.epochs = config.evaluator.needs.epochs;
      if (config.objectives.feasible(trial.architecture().network)) ++trials[evaluator->members_for(trial)];
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

/// Networks learn numbers as they are: says where that will not go well.
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
    return;  // one is enough
  }
}

void print_data(const RunConfig& config) {
  if (config.dataset == nullptr) return;
  std::cout << "# data: " << config.sections.data.file << ": " << config.dataset->train().count
            << " training samples (" << (config.split.stored ? "and " : "") << config.split.validation.size()
            << (config.split.stored ? "" : " of them held out") << " for validation), "
            << config.dataset->test().count << " test samples, " << space::to_text(config.shape.input) << ", "
            << to_text(config.dataset->train().target_kind(), config.dataset->class_names().size()) << "\n";
  print_spread_of_targets(*config.dataset);
  if (config.sections.data.stage.empty()) return;
  std::cout << "# data: each node reads it from a copy in " << config.sections.data.stage.string()
            << ", made at the start unless it is there\n";
}

void print_device(const RunConfig& config) {
  const ChosenEvaluator& evaluator = config.evaluator;
  if (!evaluator.kind->describe_device) return;
  for (const std::string& line : evaluator.kind->describe_device(evaluator.section)) {
    std::cout << "# device: " << line << "\n";
  }
}

/// The kinds of layers whose networks cannot leave the run, of random architectures.
void print_exports(const RunConfig& config) {
  using model_export::Format;
  constexpr int kSampled = 200;
  if (!config.evaluator.needs.weights) return;
  std::map<std::string, std::set<std::string>> unknown;  // kinds by format
  RandomStream random(config.sections.run.seed);
  for (int i = 0; i < kSampled; ++i) {
    try {
      const space::Architecture drawn = config.space.build(config.space.sample(random));
      unknown["ONNX"].merge(model_export::kinds_without_export(drawn.network, Format::kOnnx));
      unknown["PyTorch"].merge(model_export::kinds_without_export(drawn.network, Format::kPytorch));
    } catch (const UserError&) {  // a genotype without a network
    }
  }
  for (const auto& [format, kinds] : unknown) {
    if (kinds.empty()) continue;
    std::cout << "# export: no " << format << " for layers of kind " << joined({kinds.begin(), kinds.end()})
              << " (register_layer_export)\n";
  }
}

}  // namespace

int run_validate(const ValidateArguments& arguments) {
  const RunConfig config = RunConfig::parse(load_config(arguments.config, arguments.overrides), true);
  const auto searcher = config.make_searcher();
  std::cout << "# " << arguments.config.string() << " is valid\n";
  print_data(config);
  std::cout << to_text(survey(config.space, config.objectives, arguments.count)) << std::flush;
  if (arguments.time) std::cout << time_text(config, arguments.slots) << std::flush;
  print_device(config);
  print_groups(config);
  print_exports(config);
  if (!config.objectives.has_volume()) {
    std::cout << "# objectives: " << report::volume_text(run::RunState(config.objectives)) << "\n";
  }
  std::cout << "# search: at most " << searcher->expected_trials() << " trials\n" << to_yaml(config.resolved);
  return kExitDone;
}

int run_schema(bool markdown) {
  std::cout << (markdown ? configuration_page() : to_json(config_schema()));
  return kExitDone;
}

int run_journal(const std::filesystem::path& run, bool canonical) {
  const store::RunPaths paths{run};
  if (canonical) {
    std::cout << store::canonical_journal(paths.journal());
    return kExitDone;
  }
  (void)store::canonical_journal(paths.journal());  // checks every line
  std::cout << store::read_file(paths.journal());
  return kExitDone;
}

}  // namespace skyline::app
