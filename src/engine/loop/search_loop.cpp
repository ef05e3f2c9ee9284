#include "engine/loop/search_loop.hpp"

#include "skyline/core/error.hpp"

#include <utility>
#include <variant>

namespace skyline::engine {
namespace {

constexpr double kTickInterval_s = 0.1;

}  // namespace

SearchLoop::SearchLoop(TrialMaker& maker, Replay& replay, CommitOrder& order, Dispatcher& dispatcher,
                       Clock& clock, run::RunState& state, Listeners listeners,
                       std::function<bool()> must_stop, std::function<bool()> is_hopeless)
    : maker_(maker),
      replay_(replay),
      order_(order),
      dispatcher_(dispatcher),
      clock_(clock),
      state_(state),
      listeners_(std::move(listeners)),
      must_stop_(std::move(must_stop)),
      is_hopeless_(std::move(is_hopeless)),
      next_tick_s_(clock.now_s()) {}

/// One ask after each commit, never more: the searcher then knows the same at every ask, however fast results
/// come.
bool SearchLoop::run(search::Searcher& searcher, trial::Phase phase) {
  state_.begin_phase(phase, searcher.expected_trials());
  for (run::RunListener* listener : listeners_) listener->phase_begun(state_);
  look_around();
  ask(searcher);
  const auto is_done = [&] { return searcher.finished() && order_.in_flight() == 0; };
  while (!is_done()) {
    require(stopping_ || order_.in_flight() > 0,
            "the searcher waits for results although no trial is under way");
    bool worked = collect();
    while (const std::optional<run::Commit> next = hopeless() ? std::nullopt : order_.next()) {
      commit(*next);
      if (hopeless()) break;
      if (next->trial->trial.phase() == phase) searcher.tell(*next->trial);
      ask(searcher);
      release(&searcher);
      worked = true;
      look_around();  // a long replay commits thousands in this loop
    }
    look_around();
    if (stopping_ && dispatcher_.idle()) break;
    if (worked) {
      clock_.worked();
    } else {
      clock_.pause();
    }
  }
  if (!is_done()) return false;
  release(nullptr);
  return true;
}

void SearchLoop::ask(search::Searcher& searcher) {
  const std::size_t room = order_.room();
  if (room == 0 || stopping_) return;
  std::vector<trial::Proposal> proposals = searcher.ask(room);
  require(proposals.size() <= room, "the searcher proposed more than it was asked for");
  std::vector<trial::Trial> fresh;
  for (trial::Proposal& proposal : proposals) {
    trial::Trial trial = maker_.make(std::move(proposal));
    for (trial::CommittedTrial& line : replay_.lines_before(trial)) order_.recorded(std::move(line));
    order_.asked(trial);
    continuations_.asked(trial);
    for (run::RunListener* listener : listeners_) listener->asked(trial);
    if (auto result = known_result(trial)) {
      maker_.recorded(trial);
      order_.arrived(std::move(*result));
    } else {
      fresh.push_back(std::move(trial));
    }
  }
  dispatcher_.submit(fresh);
  state_.set_in_flight(order_.in_flight());
}

/// A trial that continues a failed one has nothing to begin with: it fails alike.
std::optional<Arrival> SearchLoop::known_result(const trial::Trial& trial) {
  if (auto recorded = replay_.result_of(trial)) return recorded;
  if (trial.continues() == nullptr) return std::nullopt;
  const trial::Outcome& earlier = state_.search_trial(trial.continues()->from).outcome;
  if (!std::holds_alternative<trial::Failure>(earlier)) return std::nullopt;
  return Arrival{trial.name(), earlier, {}};
}

/// @param searcher  nullptr: it has come to its end
void SearchLoop::release(const search::Searcher* searcher) {
  for (const run::SharedTrial& released : continuations_.release(searcher)) {
    for (run::RunListener* listener : listeners_) listener->released(released->trial);
  }
}

bool SearchLoop::collect() {
  std::vector<Arrival> arrivals = dispatcher_.poll();
  for (Arrival& arrival : arrivals) {
    state_.account().add(arrival.timing, !arrival.stopped() && !arrival.follower);
    if (arrival.follower) continue;
    if (arrival.unsaved) ++unsaved_;
    require(stopping_ || !arrival.stopped(), "a trial was stopped although nobody had asked for it");
    if (!arrival.stopped()) order_.arrived(std::move(arrival));
  }
  return !arrivals.empty();
}

void SearchLoop::commit(const run::Commit& commit) {
  state_.add(commit);
  continuations_.committed(commit.trial);
  state_.set_in_flight(order_.in_flight());
  for (run::RunListener* listener : listeners_) listener->committed(commit, state_);
}

void SearchLoop::look_around() {
  if (must_stop_() && !std::exchange(stopping_, true)) {
    for (run::RunListener* listener : listeners_) {
      if (!hopeless()) listener->stopping();
    }
    dispatcher_.stop();
  }
  const double now_s = clock_.now_s();
  if (now_s < next_tick_s_) return;
  next_tick_s_ = now_s + kTickInterval_s;
  for (run::RunListener* listener : listeners_) listener->tick(state_);
}

void SearchLoop::end_replay() {
  for (trial::CommittedTrial& line : replay_.rest()) order_.recorded(std::move(line));
  while (const std::optional<run::Commit> next = order_.next()) commit(*next);
}

void SearchLoop::wind_down(const std::function<bool()>& done) {
  for (look_around(); !dispatcher_.idle() || !done(); look_around()) {
    collect();
    clock_.pause();
  }
}

}  // namespace skyline::engine
