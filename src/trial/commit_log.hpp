#pragma once

#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::trial {

using ArchitecturePointer = std::shared_ptr<const space::Architecture>;

/// Results of trials by name, e.g. those that wait for their commit.
using ResultsByName = std::map<TrialName, CommittedTrial>;

/// A committed trial, which never changes.
using SharedTrial = std::shared_ptr<const CommittedTrial>;

/// Returns the trial without its built network and that of its parent. Waiting and stored trials use this,
/// since networks would fill the memory.
Trial without_network(Trial trial);

/// The committed trials of a run, by position and by name; the number of a trial is the order of asking, its
/// position the order of commits. Trials are kept as records, so that a run of millions fits into memory, and
/// each access reads a new one. Its network is built again at the first call that asks for it. A copy of the
/// log shares the records.
class CommitLog {
 public:
  /// How far the number of a trial may be ahead of its position.
  static constexpr TrialNumber kFarthestAhead = 1U << 24U;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = SharedTrial;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = SharedTrial;
    Iterator() = default;
    Iterator(const CommitLog& log, CommitPosition place) : log_(&log), place_(place) {}
    SharedTrial operator*() const { return (*log_)[place_]; }
    Iterator& operator++() {
      ++place_;
      return *this;
    }
    void operator++(int) { ++place_; }
    bool operator==(const Iterator& other) const { return place_ == other.place_; }

   private:
    const CommitLog* log_ = nullptr;
    CommitPosition place_ = 0;
  };

  /// Gives the trial the next position. @pre !contains(committed.trial), and its number is not too far ahead
  CommitPosition add(const CommittedTrial& committed);

  CommitPosition size() const { return full_.size() * kTrialsOfChunk + open_.begins.size(); }
  bool empty() const { return size() == 0; }
  /// Returns the trial of a position. @pre position < size(), and it is not forgotten
  SharedTrial operator[](CommitPosition position) const;
  TrialName name_at(CommitPosition position) const;
  SharedTrial back() const { return (*this)[size() - 1]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  /// Returns the position of a search trial, or nullopt if it is not committed.
  std::optional<CommitPosition> position_of(TrialNumber number) const;
  /// Returns the position of a full training with this budget, or of a search trial.
  std::optional<CommitPosition> position_of(TrialName name, const Budget& budget) const;
  bool contains(TrialName name, const Budget& budget) const { return position_of(name, budget).has_value(); }
  /// Returns whether the trial is committed. A full training with another budget is another one.
  bool contains(const Trial& trial) const { return contains(trial.name(), trial.budget()); }
  /// Returns the architecture of a search trial, or nullptr if it is not committed, or forgotten.
  ArchitecturePointer architecture_of(TrialNumber number) const;

  /// Frees the memory of most earlier trials, because nobody reads them any more.
  void forget_before(CommitPosition position);

 private:
  static constexpr std::size_t kTrialsOfChunk = 256;

  struct Chunk {
    std::string bytes;
    std::vector<std::uint32_t> begins;  // begin of each trial
    std::string_view operator[](std::size_t place) const;
  };

  void begin_chunk();
  std::string_view record(CommitPosition position) const;

  std::vector<std::shared_ptr<const Chunk>> full_;  // nullptr if forgotten
  Chunk open_;
  std::size_t forgotten_ = 0;             // number of chunks
  space::Architecture any_;               // some architecture of the space of all trials
  std::vector<CommitPosition> searched_;  // indexed by number
  // positions of full trainings by name and epochs
  std::map<std::pair<TrialName, double>, CommitPosition> trained_;
};

}  // namespace skyline::trial
