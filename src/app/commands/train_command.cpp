// `skyline train`: trains models of a run from scratch, for longer, as a separate run.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/evaluator_section.hpp"
#include "app/config/run_config.hpp"
#include "app/models/selected_model.hpp"
#include "core/version.hpp"
#include "engine/loop/trial_maker.hpp"
#include "search/algorithms/listed_search.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"

#include <memory>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  ModelChoice choice;
  double epochs = 0;
  std::optional<std::uint64_t> seed;  // if not given, that of the run
  std::size_t seeds = 1;              // number of trainings of each trial
  SearchArguments job;                // the new run's folder, and how it uses its ranks
};

/// Begins a run whose search is already finished: its trials and results are taken from another run.
class CopiedSearch final : public PresetRun {
 public:
  explicit CopiedSearch(const TrainArguments& arguments) : arguments_(arguments) {}

  ConfigNode config() override {
    source_ = open_built_run(arguments_.choice.run);
    numbers_ = chosen_trials(source_, arguments_.choice);
    search::ListedOptions listed{.genotypes = {}, .seeds = arguments_.seeds, .from = {}, .numbers = numbers_};
    listed.from = fs::absolute(arguments_.choice.run).lexically_normal().string();
    for (const trial::TrialNumber number : numbers_) {
      const trial::SharedTrial searched = source_.state.search_trial(number);
      if (std::holds_alternative<trial::Failure>(searched->outcome)) {
        throw UserError("--trial " + std::to_string(number) + ": failed in " +
                        arguments_.choice.run.string());
      }
      if (!trial::is_whole(searched->outcome)) {
        throw UserError(
            "--trial " + std::to_string(number) +
            (trial::is_outside(searched->outcome) ? ": was not trained in " : ": was pruned in ") +
            arguments_.choice.run.string() + "; expected one with all of its epochs");
      }
      if (searched->trial.may_be_continued()) {
        throw UserError("--trial " + std::to_string(number) + ": had a part of its epochs in " +
                        arguments_.choice.run.string() +
                        ", and was not continued; expected one with all of them");
      }
      listed.genotypes.push_back(searched->trial.architecture().genotype.choices);
    }
    ConfigNode root = source_.config;
    root.set("search", listed.to_section());
    root.set("final.epochs", ConfigNode::make_number(arguments_.epochs));
    root.set("final.repeats", ConfigNode::make_integer(1));  // --seeds repeats
    const std::optional<ChosenEvaluator> evaluator = known_evaluator(source_.config);
    if (!evaluator || evaluator->needs.leaves_state())
      root.set("run.keep_weights", ConfigNode::make_scalar("all", {}));
    if (arguments_.seed) {
      root.set("run.seed", ConfigNode::make_integer(static_cast<std::int64_t>(*arguments_.seed)));
    }
    root.assign_paths();
    return root;
  }

  store::Checksums programs() const override { return source_.header.programs; }

  void write_journal(const store::RunPaths& paths, const RunConfig& config) override {
    const engine::EngineOptions options = config.engine_options();
    const auto evaluator = config.make_evaluator(config.services());
    const run::RunState nothing(config.objectives);
    engine::TrialMaker maker(options, *evaluator, nothing);
    const auto searcher = config.make_searcher();
    std::vector<trial::CommittedTrial> lines;
    while (!searcher->finished()) {
      for (trial::Proposal& proposal : searcher->ask(1).proposals) {
        const trial::TrialNumber number = numbers_.at(lines.size() / arguments_.seeds);
        auto measured = std::get<trial::Measurements>(source_.state.search_trial(number)->outcome);
        measured.steps.clear();
        lines.push_back({.trial = maker.make(std::move(proposal)),
                         .outcome = std::move(measured),
                         .timing = {},
                         .position = lines.size()});
      }
    }
    store::JournalHeader header = source_.header;
    if (store::same_metrics(header, config.metrics)) header.metrics = config.metrics;
    header.has_names_only = false;
    header.pruning = false;
    header.skyline_version = program_version();
    header.config_hash = config.identity_hash();
    header.seed = options.seed;
    store::publish_journal(paths.journal(), header, lines, config.space);
  }

 private:
  const TrainArguments& arguments_;
  run::OpenedRun source_;
  std::vector<trial::TrialNumber> numbers_;
};

int run_train(const TrainArguments& arguments) {
  std::error_code ignored;  // two missing folders are not the same
  if (fs::equivalent(arguments.choice.run, arguments.job.run, ignored)) {
    throw UserError("--run " + arguments.job.run.string() +
                    ": is the run whose models are trained, which is only read");
  }
  SearchArguments job = arguments.job;
  job.beginning = std::make_shared<CopiedSearch>(arguments);
  job.config = arguments.choice.run / "config.yaml";  // names the configuration in messages
  return run_search(job);
}

}  // namespace

RunCommand train_command(CLI::App& command) {
  const auto arguments = std::make_shared<TrainArguments>();
  add_path(command, "source", arguments->choice.run, "run folder with the models, which is only read")
      ->required();
  add_trials(command, arguments->choice);
  command.add_option("--epochs", arguments->epochs, "budget of each")
      ->required()
      ->check(number_within(above(0)));
  command.add_option("--seed", arguments->seed, "of the trainings (default: that of the run)")
      ->check(whole_number(0, kMostNumber));
  command
      .add_option("--seeds", arguments->seeds,
                  "train each so often, with other seeds; means and deviations are told (default: 1)")
      ->check(whole_number(1, search::ListedOptions::kMostSeeds));
  add_job(command, arguments->job);
  return [arguments, &command] {
    arguments->job.words = words_of(command);
    return run_train(*arguments);
  };
}

}  // namespace skyline::app
