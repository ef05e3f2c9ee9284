#include "engine/loop/replay.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/value.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <string>

namespace skyline::engine {
namespace {

std::string line_of(trial::CommitPosition position) {
  return "journal line " + std::to_string(position + 2);  // the first line is the header
}

[[noreturn]] void refuse(const std::string& found, const std::string& asked) {
  throw UserError(found + " but this configuration " + asked +
                  "; resume with the configuration and version that the run was started with");
}

std::string trial_text(const trial::Trial& trial) {
  return to_text(trial.architecture().id);
}

std::string full_text(const trial::Trial& trial) {
  std::string text = trial_text(trial) + " (" + std::string(to_text(trial.phase())) + ", epochs " +
                     space::to_text(space::Value{trial.budget().epochs}) + ", seed " + to_hex(trial.seed);
  if (trial.members > 1) text += ", " + std::to_string(trial.members) + " members";
  if (trial.inherits()) text += ", from the weights of trial " + std::to_string(trial.inherits()->from);
  return text + ")";
}

bool same_inheritance(const trial::Trial& left, const trial::Trial& right) {
  if (!left.inherits() || !right.inherits()) return !left.inherits() && !right.inherits();
  return left.inherits()->from == right.inherits()->from && left.inherits()->share == right.inherits()->share;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

bool same_training(const trial::Trial& left, const trial::Trial& right) {
  return left.name() == right.name() && left.architecture().id == right.architecture().id &&
         left.budget().epochs == right.budget().epochs && left.seed == right.seed &&
         left.members == right.members && same_inheritance(left, right);
}

Replay::Replay(const RunInputs& inputs) {
  if (!inputs.replay) return;
  const std::vector<std::string> measured = inputs.evaluator.metrics();
  const std::vector<std::string>& recorded = inputs.replay->header.metrics;
  if (recorded != measured) {
    refuse("journal line 1: metrics are " + joined(recorded), "measures " + joined(measured));
  }
  entries_ = inputs.replay->entries;
}

Arrival Replay::result_of(trial::CommitPosition position, const trial::Trial& asked) const {
  const trial::CommittedTrial& recorded = entry(position);
  const trial::Trial& found = recorded.trial;
  if (!same_training(found, asked)) {
    const auto text = found.architecture().id == asked.architecture().id ? full_text : trial_text;
    refuse(line_of(position) + ": trial " + std::to_string(found.number) + " is " + text(found),
           "asks for " + text(asked));
  }
  return {asked.name(), recorded.outcome, recorded.timing};
}

bool Replay::holds_other_final(trial::CommitPosition position, const trial::Trial& asked) const {
  return covers(position) && entry(position).trial.is_final() && !same_training(entry(position).trial, asked);
}

void Replay::check_ended(trial::CommitPosition next) const {
  if (!covers(next)) return;
  const trial::Trial& found = entry(next).trial;
  refuse(line_of(next) + ": trial " + std::to_string(found.number) + " is " + trial_text(found),
         "asks for nothing more");
}

double replayed_seconds(const RunInputs& inputs) {
  double last = 0;
  if (!inputs.replay) return last;
  for (const trial::CommittedTrial& entry : inputs.replay->entries) {
    last = std::max(last, entry.timing.started_s + entry.timing.total_s());
  }
  return last;
}

}  // namespace skyline::engine
