#include "app/job/run_results.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "app/config/evaluator_section.hpp"
#include "app/job/stop_request.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "model_export/model/exported_model.hpp"
#include "report/files/trial_results.hpp"
#include "report/html/html_report.hpp"
#include "report/text/run_account.hpp"
#include "report/text/text_table.hpp"
#include "store/publish/publish.hpp"
#include "store/weights/weights.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace skyline::app {
namespace {

constexpr double kLongestShare = 0.01;  // share of the time that is spent on writing

constexpr double kLongerTraining = 3;  // epochs of a full training per epoch of the search
constexpr std::int64_t kMostDoubled = 1'000'000;

std::int64_t search_trials(const run::RunState& state) {
  return std::ranges::count_if(state.trials(),
                               [](const run::SharedTrial& member) { return !member->trial.is_final(); });
}

/// Returns the setting that doubles the length of a search. Returns nullopt if it has no bound, or ended
/// before its bound.
std::optional<std::string> doubled_length(const RunConfig& config, const run::RunState& state) {
  for (const std::string key : {"trials", "iterations"}) {
    const ConfigNode* const bound = config.sections.search.find(key);
    if (bound == nullptr || !bound->is_scalar()) continue;
    const auto length = parse_integer(bound->as_text());  // an algorithm of a user may have other values
    if (length && *length <= kMostDoubled && search_trials(state) >= *length)
      return "search." + key + "=" + std::to_string(2 * *length);
  }
  return std::nullopt;
}

/// Returns whether `skyline train` takes every member of a front.
bool all_trained_whole(const search::ParetoArchive& front, const run::RunState& state) {
  return std::ranges::none_of(
      front.keys(), [&](std::size_t key) { return state.search_trial(key)->trial.may_be_continued(); });
}

/// Returns the int8 format that a search exports its front in, the last one in the order of formats; nullptr
/// for none.
const model_export::NamedFormat* int8_format(const RunConfig& config) {
  if (!config.sections.final_training) return nullptr;
  const std::vector<model_export::Format>& exports = config.sections.final_training->exports;
  const model_export::NamedFormat* last = nullptr;
  for (const model_export::NamedFormat& named : model_export::kFormats) {
    if (is_int8(named.format) && std::ranges::count(exports, named.format) > 0) last = &named;
  }
  return last;
}

/// The table, with the run's folder as a shell reads it.
class StepTable {
 public:
  explicit StepTable(const store::RunPaths& paths) : root_((paths.root / "").parent_path().string()) {
    table_.add_column("next", report::TextTable::Align::kLeft, "", 1);
    table_.add_column("command", report::TextTable::Align::kLeft);
  }

  void add(const std::string& purpose, const std::string& command) { table_.add_row({purpose, command}); }
  std::string run() const { return in_shell(root_); }
  std::string beside(const std::string& suffix) const { return in_shell(root_ + "-" + suffix); }
  std::string text(std::size_t columns) {
    table_.fit(columns);
    return table_.text();
  }

 private:
  std::string root_;
  report::TextTable table_;
};

/// Adds what can be done with trained networks. @param best  the first member of the front
void add_models(StepTable& steps, const RunConfig& config, const run::RunState& state,
                const search::ParetoArchive& front, const std::string& best) {
  if (!config.evaluator.needs.weights) return;
  if (config.sections.run.keep_weights != engine::KeepWeights::kNone) {
    steps.add("answers to your samples", "skyline predict " + steps.run() + best + " --data NEW -o said.csv");
    const model_export::NamedFormat* const int8 = int8_format(config);
    steps.add(int8 != nullptr ? "the front as int8 files" : "the front as ONNX files",
              "skyline export " + steps.run() + " --front" +
                  (int8 != nullptr ? std::string(" --format ") + int8->name : ""));
  }
  if (config.sections.final_training || !all_trained_whole(front, state)) return;
  const double budget = kLongerTraining * config.evaluator.needs.epochs;
  const std::string epochs = ConfigNode::make_number(budget).as_text();
  steps.add("longer trainings", "skyline train " + steps.run() + " --front --epochs " + epochs + " --run " +
                                    steps.beside("longer"));
}

/// Adds further searches. They are left out if the run's search came from another run.
void add_searches(StepTable& steps, const RunConfig& config, const run::RunState& state) {
  if (!config.algorithm().source_run(config.sections.search).empty()) return;
  if (const auto setting = doubled_length(config, state))
    steps.add("a longer search", "skyline search --run " + steps.run() + " --resume --set " + *setting);
  const std::string seed = config.sections.run.seed == 1 ? "2" : "1";
  const std::string other = steps.beside("seed" + seed);
  steps.add("the search once more",
            "skyline search " + steps.run() + "/config.yaml --set run.seed=" + seed + " --run " + other);
  steps.add("both searches compared", "skyline compare " + steps.run() + " " + other);
}

}  // namespace

bool write_results(run::OpenedRun opened, const std::string& state, const std::function<bool()>& ends) {
  report::ReportedRun run = report::reported_run(std::move(opened), state);
  run.may_be_lucky = may_depend_on_seeds(run.opened.config);
  run.shows_samples = false;  // nobody has decided yet that pictures may leave this machine with the page
  return std::ranges::all_of(report::kResultFiles, [&](const report::ResultFile& file) {
    if (ends()) return false;
    file.write(run);
    return true;
  });
}

std::string results_text(const report::ReportInputs& inputs, const run::RunAccount& account,
                         const report::TableBounds& bounds) {
  std::string text = inputs.state.final_budget()
                         ? "The final front, then the other members of the search's front:\n"
                         : "The front of the search:\n";
  text += report::front_table(inputs, bounds);
  text += report::front_footnotes(inputs);
  if (inputs.state.front().size() > 0) text += report::volume_text(inputs.state) + "\n";
  text += report::seeds_table(inputs, bounds);
  if (account.slots.empty()) return text;
  return text + "\nAccount of time:\n" + report::account_table(account, bounds.columns);
}

std::string failures_text(const run::RunState& state) {
  const std::string failure = report::usual_failure({state.trials().begin(), state.trials().end()});
  return failure.empty() ? "" : "; trials failed " + failure;
}

report::TableBounds output_bounds(const store::RunPaths& paths) {
  return {.columns = output_columns(),
          .columns_with = "skyline show " + paths.root.string() + " --trial NUMBER"};
}

std::string retired_text(const engine::RunResult& result) {
  std::string text;
  for (const auto& [host, deed] : result.retired)
    text += "; no more trials went to " + host + ", which " + deed;
  return text;
}

/// Returns e.g. ", 12 pruned after 340 of 900 epochs", or an empty text without pruned trials.
std::string pruned_text(const run::RunState& state) {
  if (state.pruned() == 0) return {};
  double trained = 0;
  double whole = 0;
  for (const run::SharedTrial& each : state.trials()) {
    if (!trial::has_extent(each->outcome, trial::Extent::kPruned)) continue;
    trained += static_cast<double>(std::get<trial::Measurements>(each->outcome).steps.back().step);
    whole += each->trial.budget().epochs;
  }
  return ", " + std::to_string(state.pruned()) + " pruned after " + objective::number_text(trained) + " of " +
         objective::number_text(whole) + " epochs";
}

void print_results(const store::RunPaths& paths, const report::ReportInputs& inputs,
                   const engine::RunResult& result, const std::string& next) {
  tell("\n" + results_text(inputs, result.account, output_bounds(paths)) +
       "\nsearch ended: " + result.finish_reason + "\n" + (next.empty() ? "" : "\n" + next + "\n"));
  const std::string run = paths.root.string();
  const std::size_t outside = inputs.state.outside();
  print_end("done: " + counted(inputs.state.trials().size(), "trial") + " (" +
            std::to_string(inputs.state.failed()) + " failed" + pruned_text(inputs.state) +
            (outside > 0 ? ", " + std::to_string(outside) + " outside" : "") + "), results in " + run + ": " +
            run + "/report.html shows them in a browser" + retired_text(result) +
            failures_text(inputs.state));
}

void warn_of_lost_weights(const store::RunPaths& paths, const RunConfig& config, const run::RunState& state) {
  if (config.sections.run.keep_weights == engine::KeepWeights::kNone || !config.evaluator.needs.weights)
    return;
  const bool is_from_elsewhere = !config.algorithm().source_run(config.sections.search).empty();
  for (const run::SharedTrial& member : state.trials()) {
    const trial::TrialNumber number = member->trial.number;
    const bool kept = state.on_front(number) || (member->trial.is_final() && state.on_final_front(number));
    if (!kept || !trial::leaves_model(member->trial)) continue;
    if (!member->trial.is_final() && is_from_elsewhere) continue;
    if (std::holds_alternative<trial::Failure>(member->outcome)) continue;  // the full training failed
    const auto file = paths.weights(member->trial.name());
    if (!store::exists(file)) {
      log::warning("missing weights of a front member: " + file.string());
      continue;
    }
    try {
      store::read_weights(file);
    } catch (const Problem& problem) {
      log::warning("weights of a front member are lost: " + std::string(problem.what()));
    }
  }
}

ResultsWriter::ResultsWriter(Write write, Seconds interval)
    : write_(std::move(write)),
      interval_(interval),
      thread_([this](const std::stop_token& end) { work(end); }) {}

void ResultsWriter::started(const run::RunState& /*state*/) {
  started_ = Clock::now();
  const std::lock_guard lock(mutex_);
  next_ = started_ + std::chrono::duration_cast<Clock::duration>(interval_);
}

void ResultsWriter::tick(const run::RunState& state) {
  const Clock::time_point now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (due_ || !news_ || now < next_) return;
    state_ = state;
    account_ = state.account().after(Seconds(now - started_).count());
    due_ = true;
  }
  news_ = false;
  changed_.notify_all();
}

void ResultsWriter::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void ResultsWriter::work(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, end, [this] { return due_; })) {
    lock.unlock();
    const Clock::time_point began = Clock::now();
    try {
      write_(state_, account_, end);
    } catch (const std::exception& problem) {
      log::warning(std::string(problem.what()) + "; the run goes on, its results are out of date");
    }
    state_ = {};
    const Clock::time_point done = Clock::now();
    const Seconds pause = std::max<Seconds>(interval_, (done - began) * (1 / kLongestShare - 1));
    lock.lock();
    due_ = false;
    next_ = done + std::chrono::duration_cast<Clock::duration>(pause);
  }
}

std::string next_steps(const store::RunPaths& paths, const RunConfig& config, const run::RunState& state,
                       std::size_t columns) {
  const bool is_final = state.final_front().size() > 0;
  const search::ParetoArchive& front = is_final ? state.final_front() : state.front();
  if (front.size() == 0) return {};
  StepTable steps(paths);
  const std::string best = " --trial " + std::to_string(report::front_order(front).front());
  if (config.space.has_network()) steps.add("one network of the front", "skyline show " + steps.run() + best);
  add_models(steps, config, state, front, best);
  add_searches(steps, config, state);
  return steps.text(columns);
}

}  // namespace skyline::app
