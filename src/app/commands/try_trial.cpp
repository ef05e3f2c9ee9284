#include "app/commands/try_trial.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "app/job/stop_request.hpp"
#include "app/models/named_architecture.hpp"
#include "comm/environment.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "engine/engine_job.hpp"
#include "evaluate/job_ranks.hpp"
#include "report/text/text_table.hpp"
#include "search/algorithms/proposal_list.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::app {
namespace {

/// Returns the first trial of the search, or one of a genotype.
trial::Proposal proposal_of(const RunConfig& config, const std::string& genotype) {
  if (!genotype.empty()) {
    trial::Proposal proposal;
    proposal.architecture = std::make_shared<const space::Architecture>(named_architecture(config, genotype));
    proposal.budget.epochs = config.evaluator.needs.epochs;
    return proposal;
  }
  const auto searcher = config.make_searcher();
  for (Backoff backoff; !searcher->finished(); backoff.pause()) {
    std::vector<trial::Proposal> proposals = searcher->ask(1).proposals;
    if (!proposals.empty()) return std::move(proposals.front());
  }
  throw UserError("the search proposes no trial: " + searcher->finish_reason());
}

void print_line(const std::string& line) {
  static std::mutex mutex;  // evaluators tell lines from any thread
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

engine::EngineOptions options_of(const RunConfig& config) {
  engine::EngineOptions options = config.engine_options();
  options.keep_weights = engine::KeepWeights::kNone;
  options.inherit = false;
  options.checkpoints.reset();
  options.slots = 1;
  return options;
}

/// Runs the trial as the only one of a run. Returns it with its result, or nullopt if it was stopped.
std::optional<trial::CommittedTrial> run_alone(const RunConfig& config, const trial::Proposal& proposal,
                                               const std::filesystem::path& folder, const StopRequest& stop) {
  const auto job = comm::make_local_environment();
  evaluate::EvaluatorServices services = config.services();
  evaluate::JobRanks ranks(*job);
  services.ranks = &ranks;
  services.place = evaluate::place_of(*job);
  services.slots = 1;
  services.folder = folder;
  services.watch = print_line;
  services.stop_requested = [&stop] { return stop.requested(); };
  const auto evaluator = config.make_evaluator(services);
  if (stop.requested()) return std::nullopt;
  store::StorageThread storage;
  const engine::SearchTask task{.space = config.space,
                                .objectives = config.objectives,
                                .evaluator = *evaluator,
                                .search =
                                    [&proposal](const run::RunState& /*state*/) {
                                      return std::make_unique<search::ProposalList>(
                                          std::vector<trial::Proposal>{proposal}, "trial");
                                    },
                                .full_training = {},
                                .options = options_of(config),
                                .place = services.place};
  const engine::RunFiles files{store::RunPaths{folder}, config.journal_header(*evaluator), storage};
  const engine::RunResult result =
      engine::run_job(*job, task, files, {.stop_requested = services.stop_requested});
  if (result.stopped) return std::nullopt;
  return *result.state.search_trial(0);
}

std::string values_text(const trial::Measurements& measured, const std::vector<trial::Metric>& metrics) {
  std::string text;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (std::isnan(measured.values[i])) continue;  // full trainings have it
    text += (text.empty() ? "" : " ") + metrics[i].name + '=' + objective::number_text(measured.values[i]);
  }
  return text;
}

void print_outcome(const trial::CommittedTrial& committed, const RunConfig& config,
                   const std::filesystem::path& folder) {
  const auto* failure = std::get_if<trial::Failure>(&committed.outcome);
  print_line(failure != nullptr
                 ? "failed: " + std::string(trial::to_text(failure->kind)) + ": " + printable(failure->reason)
             : trial::is_outside(committed.outcome)
                 ? "outside: " + printable(trial::reason_of(committed.outcome))
                 : "result: " +
                       values_text(std::get<trial::Measurements>(committed.outcome), config.metrics));
  const trial::TrialTiming& timing = committed.timing;
  const auto seconds = [](double value) { return report::significant_text(value, 3) + " s"; };
  print_line("time: " + seconds(timing.total_s()) + ", of it set-up " + seconds(timing.setup_s) +
             ", training " + seconds(timing.train_s) + ", validation " + seconds(timing.validate_s));
  const std::string journal = store::read_file(store::RunPaths{folder}.journal());
  std::string line = journal.substr(journal.find('\n') + 1);
  line.resize(line.find_last_not_of('\n') + 1);
  print_line("journal: " + line);
}

/// Says whether all trials had the same result.
void print_agreement(const std::vector<trial::Outcome>& outcomes, const RunConfig& config) {
  const auto text = [&](const trial::Outcome& outcome) {
    const auto* failure = std::get_if<trial::Failure>(&outcome);
    return failure != nullptr ? "failed: " + failure->reason
                              : values_text(std::get<trial::Measurements>(outcome), config.metrics);
  };
  const std::string first = text(outcomes.front());
  const auto other =
      std::ranges::find_if(outcomes, [&](const trial::Outcome& outcome) { return text(outcome) != first; });
  const std::string trials = counted(outcomes.size(), "trial");
  if (other == outcomes.end()) return print_line("# the results of " + trials + " were equal");
  print_line(
      "# the results of " + trials + " were not equal: " + printable(first) + " and " +
      printable(text(*other)) +
      (config.evaluator.needs.deterministic ? ", though the evaluator says that it is deterministic" : ""));
}

/// Lets a run's folder stay for somebody to look into, and says so.
void keep(TemporaryFolder& folder) {
  folder.keep();
  print_line("# its files stay in " + folder.path().string());
}

}  // namespace

int try_trial(const RunConfig& config, const std::string& genotype, std::size_t times) {
  const trial::Proposal proposal = proposal_of(config, genotype);
  StopRequest stop;  // a signal ends the trainer, and removes the folder
  stop.limit(config.sections.run.time_limit_s, comm::make_local_environment()->launch());
  std::vector<trial::Outcome> outcomes;
  bool failed = false;
  for (std::size_t i = 1; i <= times; ++i) {
    print_line("# trial " + std::to_string(i) + " of " + std::to_string(times) + ": " +
               config.space.describe(proposal.architecture->genotype));
    TemporaryFolder folder(std::filesystem::temp_directory_path(), "skyline-try-");
    for (const std::filesystem::path& part : store::RunPaths{folder.path()}.folders())
      store::make_own_folder(part);
    log::start({.file = "", .prefix = "", .terminal_level = log::Level::kWarning});
    std::optional<trial::CommittedTrial> committed;
    try {
      committed = run_alone(config, proposal, folder.path(), stop);
    } catch (const Problem&) {
      if (!std::filesystem::is_empty(folder.path() / "logs")) keep(folder);
      throw;
    }
    if (!committed) {
      print_line("# stopped " + stop.cause());
      return kExitStopped;
    }
    print_outcome(*committed, config, folder.path());
    outcomes.push_back(committed->outcome);
    if (!std::holds_alternative<trial::Failure>(committed->outcome)) continue;
    failed = true;
    keep(folder);
  }
  if (times > 1) print_agreement(outcomes, config);
  return failed ? kExitNoFront : kExitDone;
}

}  // namespace skyline::app
