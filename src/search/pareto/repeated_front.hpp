#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/pareto.hpp"
#include "skyline/trial/trial.hpp"

#include "trial/commit_log.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace skyline::search {

/// Returns the first repeat with the mean of each measured value over those that have it. A repeat that
/// failed does not count; if all failed, or there is one, it is the first one. @pre there is one
trial::SharedTrial mean_of(const std::vector<trial::SharedTrial>& repeats);

/// The front of architectures, each of which is trained up to a number of times (`search.repeats`). Means of
/// its repeats compare. An architecture is decided once it has all its repeats and no other one that is yet
/// to be decided beats it, or once a decided one beats it. It then stays as it is, and a later repeat changes
/// nothing: so every decided member of the front has all its repeats, and what is off it never returns.
/// It is named by the number of its first trial. Deterministic; not thread-safe.
class RepeatedFront {
 public:
  /// An architecture that is yet to be decided.
  struct Open {
    std::vector<trial::SharedTrial> repeats;  // repeats that ended, failed or not
    std::vector<double> values;               // minimized values of their mean
  };
  /// An architecture that has been decided, with the mean of its repeats.
  struct Decided {
    trial::SharedTrial mean;
    /// Number of repeats over which the mean is taken. If the first repeat failed, its failure stands for
    /// all, and this is 1.
    std::size_t succeeded = 0;
  };
  struct Change {
    std::vector<Decided> decided;
    std::vector<trial::TrialNumber> left;  // architectures that will never be on the front again
    bool front_changed = false;
    bool counts = true;  // false if a repeat ended after its architecture was decided
  };

  RepeatedFront(std::size_t num_objectives, std::uint32_t repeats);

  /// Takes a search trial in commit order: a first one, or a repeat of an earlier one.
  Change tell(const objective::ObjectiveSet& objectives, const trial::SharedTrial& committed);
  /// Returns the number of the first trial of its architecture. @pre it was told that
  trial::TrialNumber first_of(const trial::Trial& trial) const;
  std::uint32_t repeats() const { return repeats_; }
  /// Returns the front by the means so far.
  const ParetoArchive& front() const { return open_.empty() ? decided_ : front_; }
  /// Returns the architectures that are yet to be decided, by their numbers.
  const std::map<trial::TrialNumber, Open>& open() const { return open_; }

 private:
  bool decide_one(Change& change);
  bool is_beaten(const std::vector<double>& values) const;
  void close(std::map<trial::TrialNumber, Open>::iterator open, Change& change);
  void join();

  std::uint32_t repeats_;
  ParetoArchive decided_;  // front of what is decided
  ParetoArchive front_;    // front of all, while some are open
  std::map<trial::TrialNumber, Open> open_;
  std::unordered_map<space::ArchId, trial::TrialNumber> firsts_;  // empty without repeats
};

}  // namespace skyline::search
