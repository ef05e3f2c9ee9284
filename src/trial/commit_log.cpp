#include "trial/commit_log.hpp"

#include "skyline/core/error.hpp"

#include "core/record.hpp"
#include "trial/refit.hpp"
#include "trial/trial_record.hpp"

#include <algorithm>
#include <limits>

namespace skyline::trial {
namespace {

constexpr CommitPosition kNone = std::numeric_limits<CommitPosition>::max();

}  // namespace

Trial without_network(Trial trial) {
  replace_architectures(trial, [](const auto& built) { return built.unbuilt(); });
  return trial;
}

std::string_view CommitLog::Chunk::operator[](std::size_t place) const {
  const std::size_t end = place + 1 < begins.size() ? begins[place + 1] : bytes.size();
  return std::string_view(bytes).substr(begins[place], end - begins[place]);
}

CommitPosition CommitLog::add(const CommittedTrial& committed) {
  const Trial& trial = committed.trial;
  const CommitPosition position = size();
  require(!contains(trial.name(), full_budget(trial)), "a trial is committed twice");
  if (trial.is_final()) {
    trained_[{trial.name(), full_budget(trial).epochs}] = position;
  } else {
    require(trial.number <= position + kFarthestAhead, "the number of a trial is far ahead of its position");
    if (trial.number >= searched_.size()) searched_.resize(trial.number + 1, kNone);
    searched_[trial.number] = position;
  }
  if (position == 0) any_ = trial.architecture().unbuilt();
  if (open_.begins.empty()) begin_chunk();
  open_.begins.push_back(static_cast<std::uint32_t>(open_.bytes.size()));
  RecordWriter write(open_.bytes);
  write(committed);
  if (open_.begins.size() == kTrialsOfChunk) {
    if (open_.bytes.capacity() > open_.bytes.size() + open_.bytes.size() / 8) open_.bytes.shrink_to_fit();
    full_.push_back(std::make_shared<const Chunk>(std::exchange(open_, {})));
  }
  return position;
}

/// Begins a chunk with room for a little more than the last one took, so that it seldom has to move.
void CommitLog::begin_chunk() {
  open_.begins.reserve(kTrialsOfChunk);
  if (full_.empty() || full_.back() == nullptr) return;
  const std::size_t last = full_.back()->bytes.size();
  open_.bytes.reserve(last + last / 16);
}

SharedTrial CommitLog::operator[](CommitPosition position) const {
  auto committed = std::make_shared<CommittedTrial>();
  RecordReader read(record(position));
  read(*committed);
  replace_architectures(committed->trial, [this](const auto& facts) { return any_.sibling(facts); });
  committed->position = position;
  return committed;
}

TrialName CommitLog::name_at(CommitPosition position) const {
  Trial trial;
  RecordReader read(record(position));
  read(trial.number, trial.proposal.trains, trial.proposal.final_repeat);
  return trial.name();
}

std::optional<CommitPosition> CommitLog::position_of(TrialNumber number) const {
  if (number >= searched_.size() || searched_[number] == kNone) return std::nullopt;
  return searched_[number];
}

std::optional<CommitPosition> CommitLog::position_of(TrialName name, const Budget& budget) const {
  if (!name.is_final) return position_of(name.number);
  const auto found = trained_.find({name, budget.epochs});
  return found == trained_.end() ? std::nullopt : std::optional(found->second);
}

ArchitecturePointer CommitLog::architecture_of(TrialNumber number) const {
  const auto position = position_of(number);
  if (!position || *position / kTrialsOfChunk < forgotten_) return nullptr;
  Trial trial;
  RecordReader read(record(*position));
  read(trial.number, trial.proposal.trains, trial.proposal.final_repeat, trial.proposal.architecture);
  return std::make_shared<const space::Architecture>(any_.sibling(trial.architecture()));
}

void CommitLog::forget_before(CommitPosition position) {
  for (; forgotten_ < std::min<std::size_t>(position / kTrialsOfChunk, full_.size()); ++forgotten_) {
    full_[forgotten_].reset();
  }
}

std::string_view CommitLog::record(CommitPosition position) const {
  require(position < size(), "a trial is not committed yet");
  const std::size_t chunk = position / kTrialsOfChunk;
  const std::size_t place = position % kTrialsOfChunk;
  if (chunk == full_.size()) return open_[place];
  require(full_[chunk] != nullptr, "a trial is forgotten");
  return (*full_[chunk])[place];
}

}  // namespace skyline::trial
