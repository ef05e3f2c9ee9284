#include "search/repeating_searcher.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace skyline::search {
namespace {

/// Trials of an algorithm that needs no results are not all asked for at once, since their repeats follow
/// from results.
constexpr std::size_t kMostPending = 8;

}  // namespace

RepeatingSearcher::RepeatingSearcher(std::unique_ptr<Searcher> algorithm,
                                     const objective::ObjectiveSet& objectives, std::uint32_t repeats,
                                     std::size_t trials)
    : algorithm_(std::move(algorithm)),
      objectives_(objectives),
      front_(objectives.objectives().size(), repeats),
      trials_(trials) {}

Answer RepeatingSearcher::ask(std::size_t room) {
  room = std::min(room, trials_ - asked_);
  std::vector<trial::Proposal> proposals;
  while (proposals.size() < room) {
    std::optional<trial::Proposal> repeat = next_repeat();
    if (!repeat) break;
    note_repeat(*repeat);
    proposals.push_back(*std::move(repeat));
  }
  const std::size_t rest = room_for_new(room - proposals.size());
  if (rest == 0) return {std::move(proposals)};
  Answer answer = algorithm_->ask(rest);
  for (trial::Proposal& proposal : answer.proposals) {
    for (trial::TrialNumber& parent : proposal.parents) parent = numbers_.at(parent);
    note_new();
    proposals.push_back(std::move(proposal));
  }
  return {std::move(proposals), answer.state};
}

bool RepeatingSearcher::accept(const trial::Proposal& recorded) {
  if (asked_ == trials_) return false;
  if (const std::optional<trial::Proposal> repeat = next_repeat()) {
    const bool is_it =
        recorded.repeat == repeat->repeat && recorded.architecture->id == repeat->architecture->id;
    if (is_it) note_repeat(*repeat);
    return is_it;
  }
  if (recorded.repeat > 0 || room_for_new(1) == 0) return false;
  trial::Proposal own = recorded;
  for (trial::TrialNumber& parent : own.parents) {
    const auto found = own_.find(parent);
    if (found == own_.end()) return false;
    parent = found->second;
  }
  if (!algorithm_->accept(own)) return false;
  note_new();
  return true;
}

void RepeatingSearcher::tell(const trial::CommittedTrial& committed) {
  --in_flight_;
  const auto shared = std::make_shared<const trial::CommittedTrial>(committed);
  std::vector<RepeatedFront::Decided> decided = front_.tell(objectives_, shared).decided;
  std::ranges::sort(decided, {}, [](const auto& one) { return one.mean->trial.number; });
  for (const RepeatedFront::Decided& one : decided) {
    trial::CommittedTrial mean = *one.mean;
    repeated_.erase(mean.trial.number);
    mean.trial.number = own_.at(mean.trial.number);
    --pending_;
    algorithm_->tell_mean(mean, one.succeeded);
  }
}

bool RepeatingSearcher::finished() const {
  return asked_ == trials_ || (algorithm_->finished() && in_flight_ == 0 && front_.open().empty());
}

std::string RepeatingSearcher::finish_reason() const {
  return asked_ == trials_ ? counted(asked_, "trial") + " done" : algorithm_->finish_reason();
}

std::size_t RepeatingSearcher::expected_trials() const {
  const std::size_t once = algorithm_->expected_trials();
  return once > trials_ / front_.repeats() ? trials_ : once * front_.repeats();
}

/// Returns the next repeat of the first member of the front that has none in flight and is yet to be decided.
std::optional<trial::Proposal> RepeatingSearcher::next_repeat() const {
  for (const auto& [number, open] : front_.open()) {
    const auto repeated = repeated_.find(number);
    const std::size_t asked = repeated == repeated_.end() ? 1 : repeated->second + 1U;
    if (asked > open.repeats.size() || asked == front_.repeats() || !front_.front().contains(number))
      continue;
    trial::Proposal repeat = open.repeats.front()->trial.proposal;
    repeat.start = trial::Fresh{};  // the engine chooses weights to inherit, as it did for the first one
    repeat.repeat = static_cast<std::uint32_t>(asked);
    repeat.expected.reset();  // the expectation applies to the mean of all repeats
    return repeat;
  }
  return std::nullopt;
}

void RepeatingSearcher::note_repeat(const trial::Proposal& repeat) {
  trial::Trial trial;
  trial.proposal = repeat;
  ++repeated_[front_.first_of(trial)];
  ++asked_;
  ++in_flight_;
}

void RepeatingSearcher::note_new() {
  own_.emplace(asked_, numbers_.size());
  numbers_.push_back(asked_);
  ++asked_;
  ++in_flight_;
  ++pending_;
}

std::size_t RepeatingSearcher::room_for_new(std::size_t room) const {
  if (algorithm_->finished()) return 0;
  return algorithm_->needs_results() ? room : std::min(room, kMostPending - std::min(kMostPending, pending_));
}

}  // namespace skyline::search
