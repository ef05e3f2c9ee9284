#include "engine/loop/coordinator.hpp"

#include "skyline/core/error.hpp"
#include "skyline/search/algorithm.hpp"

#include "core/backoff.hpp"
#include "engine/loop/front_training.hpp"
#include "engine/weights/inheritance.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::chrono::milliseconds kTickInterval{100};

}  // namespace

Coordinator::Coordinator(const RunInputs& inputs, RunObserver& observer, Dispatcher& dispatcher,
                         CheckpointFolder& checkpoints, std::shared_ptr<ResultKeeper> results,
                         StopChannel& stop, AccountBook& accounts)
    : inputs_(inputs),
      observer_(observer),
      dispatcher_(dispatcher),
      storage_(inputs.storage),
      checkpoints_(checkpoints),
      results_(std::move(results)),
      stop_(stop),
      accounts_(accounts),
      replay_(inputs),
      journal_(inputs, results_),
      commits_(inputs.options.window),
      weights_(inputs),
      front_(inputs.objectives.objectives().size()) {}

RunResult Coordinator::run() {
  const auto searcher =
      search::make_searcher(inputs_.search, inputs_.space, inputs_.objectives, inputs_.options.seed);
  observer_.started(accounts_.slots(), replay_.size(), searcher->expected_trials());
  bool done = drive(*searcher, {trial::Phase::kSearch, inputs_.options.epochs});
  if (done && inputs_.options.final_epochs) done = train_front(*inputs_.options.final_epochs);
  if (done) end_replay();
  await_helpers();
  drain_storage();

  RunResult result;
  result.stopped = !done;
  result.unsaved = unsaved_;
  result.on_front = on_front();
  result.committed = std::move(committed_);
  result.finish_reason = done ? searcher->finish_reason() : "stopped on request";
  return result;
}

/// One ask after each commit, never more: the searcher then knows the same at every ask, however fast results
/// come.
bool Coordinator::drive(search::Searcher& searcher, const Stage& stage) {
  look_after_run();
  ask(searcher, stage);
  Backoff backoff;
  while (!(searcher.finished() && commits_.empty())) {
    require(stopping_ || !commits_.empty(), "the searcher waits for results although no trial is under way");
    bool worked = collect();
    while (auto next = commits_.next()) {
      const trial::CommittedTrial& committed = commit(std::move(*next));
      if (committed.trial.phase() == stage.phase) searcher.tell(committed);
      ask(searcher, stage);
      worked = true;
      look_after_run();  // a long replay commits thousands in this loop
    }
    look_after_run();
    if (stopping_ && dispatcher_.idle()) return searcher.finished() && commits_.empty();
    if (worked) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
  return true;
}

void Coordinator::ask(search::Searcher& searcher, const Stage& stage) {
  const std::size_t room = commits_.room();
  if (room == 0 || stopping_) return;
  std::vector<trial::Proposal> proposals = searcher.ask(room);
  require(proposals.size() <= room, "the searcher proposed more than it was asked for");
  std::vector<trial::Trial> fresh;
  for (trial::Proposal& proposal : proposals) {
    trial::Trial trial = make_trial(std::move(proposal), stage);
    while (replay_.holds_other_final(commits_.next_position(), trial)) {
      commits_.recorded(replay_.entry(commits_.next_position()));
    }
    const trial::CommitPosition position = commits_.next_position();
    commits_.asked(trial);
    weights_.asked(trial);
    if (replay_.covers(position)) {
      commits_.arrived(replay_.result_of(position, trial));
    } else if (auto earlier = results_->take(trial)) {
      commits_.arrived({trial.name(), std::move(earlier->outcome), earlier->timing});
    } else {
      fresh.push_back(std::move(trial));
    }
  }
  dispatcher_.submit(fresh);
}

trial::Trial Coordinator::make_trial(trial::Proposal proposal, const Stage& stage) {
  proposal.budget.epochs = stage.epochs;
  require(!std::holds_alternative<trial::Continue>(proposal.start), "trials cannot be continued yet");
  const trial::TrialNumber number = proposal.trains ? *proposal.trains : next_number_++;
  trial::Trial trial{number, std::move(proposal)};
  trial.seed = trial_seed(inputs_.options.seed, trial.architecture().id, trial.budget().epochs);
  const bool grown =
      trial.proposal.origin == trial::Origin::kMutation || trial.proposal.origin == trial::Origin::kCrossover;
  if (inputs_.options.inherit && grown) {
    const bool all_stay = inputs_.options.keep_weights == KeepWeights::kAll;
    trial.proposal.start = choose_start(trial.proposal, [&](trial::TrialNumber parent) {
      const trial::CommittedTrial& committed = search_trial(parent);
      const bool stays =
          all_stay ? std::holds_alternative<trial::Measurements>(committed.outcome) : front_.contains(parent);
      return stays ? &committed : nullptr;
    });
  }
  trial.members = inputs_.evaluator.members_for(trial);
  require(trial.members > 0, "the evaluator wants a trial to be trained by nobody");
  require(trial.members == 1 || inputs_.evaluator.forms_groups(),
          "the evaluator's members_for() asks for a group, but its forms_groups() says that it forms none");
  return trial;
}

const trial::CommittedTrial& Coordinator::search_trial(trial::TrialNumber number) const {
  return committed_[log_.position_of(number).value()];
}

bool Coordinator::collect() {
  std::vector<Arrival> arrivals = dispatcher_.poll();
  for (Arrival& arrival : arrivals) {
    accounts_.add(arrival);
    if (arrival.helper) continue;
    if (arrival.unsaved) ++unsaved_;
    require(stopping_ || !arrival.stopped(), "a trial was stopped although nobody had asked for it");
    if (!arrival.stopped()) commits_.arrived(std::move(arrival));
  }
  return !arrivals.empty();
}

const trial::CommittedTrial& Coordinator::commit(trial::CommittedTrial next) {
  const trial::CommittedTrial& committed = committed_.emplace_back(std::move(next));
  require(log_.add(committed.trial) == committed.position, "a commit is out of its order");
  const bool replayed = replay_.covers(committed.position);
  if (!replayed) {
    journal_.append(committed);
    checkpoints_.remove(committed.trial.name());
  }
  const bool is_final = committed.trial.is_final();
  const bool on_front = is_final || update_front(committed);
  weights_.committed(committed.trial);
  if (committed.position + 1 == replay_.size()) weights_.replay_ended();
  if (!replayed) observer_.committed(committed, on_front, commits_.in_flight());
  return committed;
}

/// Returns whether a search trial is on the front now; weights of those that are not go.
bool Coordinator::update_front(const trial::CommittedTrial& committed) {
  const std::size_t key = committed.trial.number;
  const auto values = inputs_.objectives.minimized(committed);
  std::vector<std::size_t> dropped;
  const bool on_front = values && front_.insert(key, *values, &dropped);
  if (inputs_.options.keep_weights == KeepWeights::kFront) {
    if (!on_front) dropped.push_back(key);
    for (const std::size_t number : dropped) weights_.drop(search_trial(number).trial);
  }
  return on_front;
}

/// Between steps, none of which is long: errors of the storage thread, a request to stop, and the observer,
/// which also keeps the claim on the folder alive.
void Coordinator::look_after_run() {
  storage_.rethrow_failure();
  results_->look_after();
  if (!stopping_ && stop_.poll()) obey_stop();
  const auto now = std::chrono::steady_clock::now();
  if (now < next_tick_) return;
  next_tick_ = now + kTickInterval;
  observer_.tick();
}

/// Ranks that did not lead the last trials' groups may be done later than those that did.
void Coordinator::await_helpers() {
  Backoff backoff;
  for (look_after_run(); !dispatcher_.idle(); look_after_run()) {
    collect();
    backoff.pause();
  }
}

/// Until all files are written, results that a stop leaves to a later job included.
void Coordinator::drain_storage() {
  Backoff backoff;
  for (look_after_run(); !storage_.idle(); look_after_run()) backoff.pause();
  storage_.rethrow_failure();
}

void Coordinator::obey_stop() {
  stopping_ = true;
  observer_.stopping();
  dispatcher_.stop();
}

bool Coordinator::train_front(double epochs) {
  std::vector<trial::Trial> members;
  for (const std::size_t number : front_.keys()) {
    const trial::Trial& member = search_trial(number).trial;
    if (!log_.contains({member.number, true}, {epochs})) members.push_back(member);
  }
  FrontTraining training(members);
  observer_.phase_changed(trial::Phase::kFinal, members.size());
  return drive(training, {trial::Phase::kFinal, epochs});
}

/// Full trainings that nobody asks for any more, e.g. for lack of a `final` section, stay in the journal.
void Coordinator::end_replay() {
  for (auto position = commits_.next_position();
       replay_.covers(position) && replay_.entry(position).trial.is_final(); ++position) {
    commits_.recorded(replay_.entry(position));
    commit(std::move(*commits_.next()));
  }
  replay_.check_ended(commits_.next_position());
}

std::vector<bool> Coordinator::on_front() const {
  std::vector<bool> flags(committed_.size(), false);
  for (const std::size_t number : front_.keys()) flags[search_trial(number).position] = true;
  for (const trial::CommittedTrial& committed : committed_) {
    if (!committed.trial.is_final()) continue;
    flags[committed.position] = front_.contains(committed.trial.number);
  }
  return flags;
}

}  // namespace skyline::engine
