#include "engine/loop/replay.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "trial/refit.hpp"
#include "trial/trial_fields.hpp"

#include <algorithm>
#include <utility>

namespace skyline::engine {
namespace {

/// Names the line by its `position`, because lines about lost ranks have none and are not counted.
std::string line_of(trial::CommitPosition position) {
  return "journal position " + std::to_string(position);
}

[[noreturn]] void refuse(const std::string& found, const std::string& asked) {
  throw UserError(found + " but this configuration " + asked +
                  "; resume with the configuration and version that the run was started with");
}

std::string trial_text(const trial::Trial& trial) {
  return to_text(trial.architecture().id);
}

}  // namespace

bool same_training(const trial::Trial& left, const trial::Trial& right) {
  return left.name() == right.name() && left.architecture().id == right.architecture().id &&
         !trial::first_difference(left, right);
}

void check_same_metrics(const store::JournalHeader& recorded, const std::vector<trial::Metric>& measured) {
  if (store::same_metrics(recorded, measured)) return;
  const bool has_names = trial::names_of(recorded.metrics) == trial::names_of(measured);
  const auto text = [&](const std::vector<trial::Metric>& metrics, const std::vector<trial::Metric>& others) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (!has_names) texts.push_back(metrics[i].name);
      if (has_names && metrics[i] != others[i]) texts.push_back(store::to_text(metrics[i]));
    }
    return joined(texts);
  };
  refuse("journal line 1: metrics are " + text(recorded.metrics, measured),
         "measures " + text(measured, recorded.metrics));
}

Replay::Replay(trial::CommitLog journal, trial::ResultsByName waiting,
               std::map<trial::TrialName, trial::Failure> failed, store::AskedTrials asked)
    : lines_(std::move(journal)),
      given_out_(lines_.size()),
      waiting_(std::move(waiting)),
      failed_(std::move(failed)),
      asked_(std::move(asked)) {}

/// Returns the line of a trial of the same training, or nullptr. Several full trainings with one name may
/// have different budgets.
trial::SharedTrial Replay::find(const trial::Trial& asked) const {
  const auto position = lines_.position_of(asked.name(), trial::full_budget(asked));
  if (!position || given_out_[*position]) return nullptr;
  trial::SharedTrial line = lines_[*position];
  const trial::Trial& found = line->trial;
  if (same_training(found, asked)) return line;
  const std::string trial = line_of(*position) + ": trial " + to_text(found.name());
  if (found.architecture().id != asked.architecture().id) {
    refuse(trial + " is " + trial_text(found), "asks for " + trial_text(asked));
  }
  const trial::FieldDifference difference = trial::first_difference(found, asked).value();
  refuse(trial + ", " + trial_text(found) + ", has `" + difference.name + "` " + difference.left,
         "asks for `" + difference.name + "` " + difference.right);
}

std::optional<trial::CommittedTrial> Replay::take_unasked(trial::CommitPosition place,
                                                          const trial::Trial* due) {
  lines_.forget_before(place);
  if (place >= lines_.size() || given_out_[place]) return std::nullopt;
  const trial::SharedTrial line = lines_[place];
  const trial::Trial& found = line->trial;
  if (!found.is_final()) {
    refuse(line_of(place) + ": trial " + to_text(found.name()) + " is " + trial_text(found),
           "asks for " + (due != nullptr ? trial_text(*due) : "nothing more"));
  }
  given_out_[place] = true;
  return *line;
}

std::optional<trial::TrialName> Replay::name_at(trial::CommitPosition place) const {
  return place < lines_.size() ? std::optional(lines_.name_at(place)) : std::nullopt;
}

/// The engine adds the weights with which a proposal starts, so they are left out again.
std::optional<trial::Proposal> Replay::proposal_of(trial::TrialNumber number) {
  const auto position = lines_.position_of(number);
  trial::Proposal proposal;
  if (position && !given_out_[*position]) {
    proposal = lines_[*position]->trial.proposal;
  } else if (const auto asked = asked_.find(number); asked != asked_.end()) {
    proposal = asked->second;
  } else {
    asked_.clear();
    return std::nullopt;
  }
  if (std::holds_alternative<trial::Inherit>(proposal.start)) proposal.start = trial::Fresh{};
  return proposal;
}

std::optional<Arrival> Replay::result_of(const trial::Trial& asked) {
  if (const trial::SharedTrial line = find(asked)) {
    Arrival arrival{asked.name(), line->outcome, line->timing};
    arrival.replayed = true;
    given_out_[line->position] = true;
    return arrival;
  }
  auto found = waiting_.extract(asked.name());
  if (!found) {
    auto failed = failed_.extract(asked.name());
    if (!failed) return std::nullopt;
    return Arrival{asked.name(), std::move(failed.mapped()), {}};
  }
  const trial::CommittedTrial& earlier = found.mapped();
  if (!same_training(earlier.trial, asked)) {
    log::warning("trial " + to_text(asked.name()) +
                 ": the result that an earlier job left is of another trial; training it");
    return std::nullopt;
  }
  return Arrival{asked.name(), earlier.outcome, earlier.timing};
}

double replayed_seconds(const trial::CommitLog& journal) {
  double last = 0;
  for (const trial::SharedTrial& line : journal) {
    last = std::max(last, line->timing.started_s + line->timing.total_s());
  }
  return last;
}

}  // namespace skyline::engine
