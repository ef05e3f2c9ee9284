#include "engine/loop/search_loop.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <variant>

namespace skyline::engine {
namespace {

constexpr double kTickInterval_s = 0.1;
constexpr std::size_t kLeastAhead = 1000;  // number of trials

using State = search::Answer::State;

run::Commit replayed(trial::CommittedTrial line) {
  return {std::make_shared<const trial::CommittedTrial>(std::move(line)), true};
}

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
/// come, and however long it thinks.
bool SearchLoop::run(search::Searcher& searcher, trial::Phase phase) {
  answer_ = State::kAnswered;
  untold_.clear();
  state_.begin_phase(phase, searcher.expected_trials());
  for (run::RunListener* listener : listeners_) listener->phase_begun(state_);
  check_stop_and_tick(&searcher);
  ask(searcher);
  const auto is_done = [&] {
    return !is_unanswered(searcher) && searcher.finished() && order_.in_flight() == 0;
  };
  while (!is_done()) {
    require(stopping_ || order_.in_flight() > 0 || answer_ != State::kAnswered,
            "the searcher waits for results although no trial is under way");
    bool worked = collect();
    if (answer_ != State::kAnswered || !searcher.needs_results()) {
      worked = ask(searcher) || worked;
      release(&searcher);
    }
    while (step(searcher)) {
      worked = true;
      check_stop_and_tick(&searcher);  // a long replay commits thousands of trials in this loop
    }
    check_stop_and_tick(&searcher);
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

/// Returns whether the searcher must answer before it is told anything. A searcher that needs no results and
/// has no window may be told results while it looks for networks, because it might never find enough.
bool SearchLoop::is_unanswered(const search::Searcher& searcher) const {
  if (answer_ == State::kMore) return searcher.needs_results() || order_.has_window();
  return answer_ == State::kBusy;
}

/// Returns whether commits must wait for the answer. By virtual time, a trial that is yet to be asked for may
/// come before all in flight, during an unanswered ask and after a stop. If trials inherit, the start of a
/// trial depends on what is committed.
bool SearchLoop::commits_wait(const search::Searcher& searcher) const {
  if (is_unanswered(searcher)) return order_.may_overtake() || maker_.depends_on_commits();
  return unasked_ && order_.may_overtake();
}

/// Without a window, a searcher that needs no results is kept ahead of the slots, because its proposals do
/// not depend on time. One that has returned a part of a generation thinks about the rest.
std::size_t SearchLoop::room_for(const search::Searcher& searcher) const {
  if (searcher.needs_results() || order_.has_window()) {
    const bool is_rest = is_unanswered(searcher) && !order_.has_window();
    return is_rest ? std::numeric_limits<std::size_t>::max() : order_.room(untold_.size());
  }
  const std::size_t ahead = std::max(kLeastAhead, 4 * state_.account().slots().size());
  return ahead - std::min(ahead, unanswered_);
}

/// Returns whether there was something to do.
bool SearchLoop::ask(search::Searcher& searcher) {
  const std::size_t room = room_for(searcher);
  if (room == 0) return false;
  if (stopping_) {
    unasked_ = unasked_ || is_unanswered(searcher) || !searcher.finished();
    return false;
  }
  std::vector<trial::Proposal> proposals;
  if (!is_unanswered(searcher)) proposals = accepted(searcher, room);
  search::Answer answer;
  if (proposals.size() < room) answer = searcher.ask(room - proposals.size());
  std::ranges::move(answer.proposals, std::back_inserter(proposals));
  const std::size_t proposed = proposals.size();
  require(proposed <= room, "the searcher proposed more than it was asked for");
  answer_ = proposed == room ? State::kAnswered : answer.state;
  state_.set_choosing(answer_ != State::kAnswered);
  const bool in_generations = searcher.needs_results() && !order_.has_window();
  dispatcher_.expect_more(!in_generations && (is_unanswered(searcher) || !searcher.finished()));
  begin_trials(std::move(proposals));
  if (!is_unanswered(searcher)) state_.set_search_summary(searcher.progress_summary());
  return proposed > 0 || answer_ == State::kMore;
}

/// Returns the next proposals that an earlier job recorded, as far as the searcher accepts them.
std::vector<trial::Proposal> SearchLoop::accepted(search::Searcher& searcher, std::size_t room) const {
  std::vector<trial::Proposal> proposals;
  while (proposals.size() < room) {
    std::optional<trial::Proposal> recorded = replay_.proposal_of(maker_.next() + proposals.size());
    if (!recorded || !searcher.accept(*recorded)) break;
    proposals.push_back(*std::move(recorded));
  }
  return proposals;
}

void SearchLoop::begin_trials(std::vector<trial::Proposal> proposals) {
  std::vector<AskedTrial> fresh;
  for (trial::Proposal& proposal : proposals) {
    trial::Trial made = without_network(maker_.make(std::move(proposal)));
    std::optional<Arrival> result = known_result(made);
    if (!result) maker_.add_bars(made);
    const AskedTrial trial = order_.asked(std::move(made));
    ++unanswered_;
    continuations_.asked(*trial);
    for (run::RunListener* listener : listeners_) listener->asked(*trial);
    if (result) {
      maker_.recorded(*trial);
      arrived(std::move(*result));
    } else {
      fresh.push_back(trial);
    }
  }
  dispatcher_.submit(fresh);
  state_.set_in_flight(order_.in_flight(), order_.waiting());
}

/// Commits the next trial, unless the searcher was not told all earlier ones yet, and tells the searcher one
/// result. Returns false if neither can be done now.
bool SearchLoop::step(search::Searcher& searcher) {
  if (hopeless()) return false;
  if (untold_.empty() || is_unanswered(searcher)) {
    const std::optional<run::Commit> next = commits_wait(searcher) ? std::nullopt : this->next();
    if (!next) return false;
    commit(*next);
    if (hopeless()) return true;
  }
  if (!untold_.empty() && !is_unanswered(searcher)) tell(searcher);
  return true;
}

/// From now on the searcher says whether it may continue the trial.
void SearchLoop::tell(search::Searcher& searcher) {
  const run::SharedTrial told = std::move(untold_.front());
  untold_.pop_front();
  continuations_.committed(told);
  maker_.told(*told);
  searcher.tell(*told);
  state_.set_expected(searcher.expected_trials());
  ask(searcher);
  release(&searcher);
}

/// A trial that continues a failed one cannot begin, so it fails with the same reason.
std::optional<Arrival> SearchLoop::known_result(const trial::Trial& trial) {
  if (auto recorded = replay_.result_of(trial)) return recorded;
  if (trial.continues() == nullptr) return std::nullopt;
  const run::SharedTrial earlier = state_.search_trial(trial.continues()->from);
  if (!std::holds_alternative<trial::Failure>(earlier->outcome)) return std::nullopt;
  return Arrival{trial.name(), earlier->outcome, {}};
}

/// @param searcher  nullptr if it has finished
void SearchLoop::release(const search::Searcher* searcher) {
  if (searcher != nullptr && is_unanswered(*searcher)) return;
  for (const run::SharedTrial& released : continuations_.release(searcher)) {
    for (run::RunListener* listener : listeners_) listener->released(released->trial);
  }
}

bool SearchLoop::collect() {
  const std::span<Arrival> arrivals = dispatcher_.poll();
  for (Arrival& arrival : arrivals) {
    state_.account().add(arrival.timing, !arrival.stopped() && !arrival.follower);
    if (arrival.follower) continue;
    if (arrival.unsaved) ++unsaved_;
    if (arrival.begins_again) ++begin_again_;
    saved_ = saved_ || !arrival.stopped() ||
             (arrival.timing.train_s > 0 && !arrival.unsaved && !arrival.begins_again);
    require(stopping_ || !arrival.stopped(), "a trial was stopped although nobody had asked for it");
    if (!arrival.stopped()) arrived(std::move(arrival));
  }
  return !arrivals.empty();
}

/// A trial of the journal counts as unanswered until its commit, or the whole journal would be asked for at
/// once.
void SearchLoop::arrived(Arrival arrival) {
  if (!arrival.replayed) --unanswered_;
  order_.arrived(std::move(arrival));
}

/// While the journal has lines, they decide what is committed next.
std::optional<run::Commit> SearchLoop::next() {
  const trial::Trial* due = order_.due();
  if (due == nullptr) return std::nullopt;
  const trial::CommitPosition place = state_.trials().size();
  if (auto line = replay_.take_unasked(place, due)) return replayed(std::move(*line));
  std::optional<NextCommit> next = order_.next(replay_.name_at(place));
  if (!next) return std::nullopt;
  if (next->replayed) --unanswered_;
  next->committed->position = place;
  untold_.push_back(next->committed);
  return run::Commit{std::move(next->committed), next->replayed};
}

void SearchLoop::commit(const run::Commit& commit) {
  state_.add(commit);
  state_.set_in_flight(order_.in_flight(), order_.waiting());
  for (run::RunListener* listener : listeners_) listener->committed(commit, state_);
}

void SearchLoop::check_stop_and_tick(search::Searcher* searcher) {
  if (must_stop_() && !std::exchange(stopping_, true)) {
    if (searcher != nullptr) searcher->stop();
    for (run::RunListener* listener : listeners_) {
      if (!hopeless()) listener->stopping();
    }
    dispatcher_.stop();
  }
  const double now_s = clock_.now_s();
  if (now_s < next_tick_s_) return;
  next_tick_s_ = now_s + kTickInterval_s;
  if (searcher != nullptr && !stopping_ && commits_wait(*searcher)) {
    for (const run::SharedTrial& result : order_.take_waiting()) {
      for (run::RunListener* listener : listeners_) listener->waits(*result);
    }
  }
  state_.set_in_flight(order_.in_flight(), order_.waiting());
  for (run::RunListener* listener : listeners_) listener->tick(state_);
}

void SearchLoop::end_replay() {
  while (auto line = replay_.take_unasked(state_.trials().size(), nullptr)) {
    commit(replayed(std::move(*line)));
  }
}

void SearchLoop::wind_down(const std::function<bool()>& done) {
  for (check_stop_and_tick(); !dispatcher_.idle() || !done(); check_stop_and_tick()) {
    collect();
    clock_.pause();
  }
}

}  // namespace skyline::engine
