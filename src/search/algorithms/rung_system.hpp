#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace skyline::search {

/// How an architecture that a promotion trains further came about.
inline constexpr trial::Origin kPromotion{"promotion"};
/// How a trial came about that goes on because the search ends without a whole one
/// (RungSystem::must_promote_to_top). Nothing else was in flight when it was proposed.
inline constexpr trial::Origin kPromotionToTop{"climb"};

inline constexpr std::size_t kUnstatedRungs = 3;  // unless budgets are stated

/// Options of algorithms whose trials begin with a small budget, and are continued if they are good.
struct RungOptions {
  static constexpr std::size_t kMostRungs = 20;

  std::optional<std::vector<double>> budgets;  // epochs of each rung; the last is the full budget
  std::size_t reduction = 3;                   // one of so many trials is promoted to the next rung

  /// Returns the budgets that are not stated, too: a ninth, a third and all of the full budget if the
  /// reduction is 3.
  std::vector<double> budgets_of(const trial::Budget& full) const;
  /// Checks the budgets that a `search` section states (Algorithm::check). @throws UserError unless they
  /// grow, from 2 to 20 of them, up to the full one, and for each there is one of the trials that it states
  static void check(const ConfigNode& section, const trial::Budget& full);
  /// Checks that there is a trial for each of so many rungs. @throws UserError
  static void check_trials(const ConfigNode& section, std::size_t rungs);

  /// Adds the keys of these options to the table of an algorithm's.
  template <typename Options>
  static void add_keys(OptionTable<Options>& table) {
    table.add(
        {"budgets", &Options::budgets, budgets_kind(),
         "Epochs of the rungs, the last of which are those of a whole trial. `auto`: three rungs, each with "
         "`reduction` times as many as the one before."});
    table.add({"reduction", &Options::reduction, at_least(2).at_most(1000),
               "One of so many trials of a rung is promoted to the next."});
  }

 private:
  static OptionKind<std::optional<std::vector<double>>> budgets_kind();
};

/// The results of the trials with one budget. Trials are ordered by how many others dominate them; those on
/// the front come first. Among trials with as many dominators those that are far from each other come first.
/// Deterministic.
/// @see Fonseca and Fleming, ICGA 1993, for the ranks
/// @see Schmucker et al., Multi-objective Asynchronous Successive Halving, 2021, for the distances
class Rung {
 public:
  struct Member {
    trial::TrialNumber number = 0;
    ArchitecturePointer architecture;
    std::vector<double> values;  // minimized; empty if it failed or breaks a constraint
    std::size_t dominators = 0;
    bool is_promoted = false;
  };

  void add(const trial::CommittedTrial& committed, const objective::ObjectiveSet& objectives);
  /// Returns the number of results, failures too.
  std::size_t size() const { return members_.size(); }
  /// Returns the index of the first of the best `most` members that is not promoted.
  std::optional<std::size_t> next_to_promote(std::size_t most) const;
  /// Marks a member as promoted, and returns it.
  const Member& promote(std::size_t index);
  bool is_promoted(std::size_t index) const { return members_[index].is_promoted; }
  /// Returns whether a member may still be among the best `most`, whatever other results come.
  bool may_rise(std::size_t index, std::size_t most) const;

 private:
  const std::vector<std::size_t>& best(std::size_t most) const;

  std::vector<Member> members_;
  // The last answer of best(), good until another result is added.
  mutable std::size_t best_of_ = 0;
  mutable std::vector<std::size_t> best_;
};

/// The rungs of a search: trials begin on one of the first, which have the smallest budgets, and are
/// continued from rung to rung. Nothing is promoted from the last one.
class RungSystem {
 public:
  /// @param pool  must outlive this object
  RungSystem(CandidatePool& pool, const RungOptions& options, const SearchProblem& problem);

  const std::vector<double>& budgets() const { return budgets_; }
  /// Returns the number of rungs from which trials are promoted.
  std::size_t promoting() const { return rungs_.size(); }
  const Rung& operator[](std::size_t rung) const { return rungs_[rung]; }

  /// Returns whether the proposals that are left must carry one trial to the last rung, because none has got
  /// there, and more would be too few.
  /// @param highest  rung of a proposal so far
  bool must_promote_to_top(std::size_t highest, std::size_t left) const {
    return highest < promoting() && left <= promoting() - highest;
  }

  void tell(const trial::CommittedTrial& committed);
  /// Where the result of a trial stands.
  struct Position {
    std::size_t rung = 0;  // promoting() for the last one, and for trials of rungs that were filled anew
    std::size_t member = 0;
  };
  /// Returns the proposal of an architecture, if there is one, on a rung.
  std::optional<trial::Proposal> begin(std::optional<trial::Proposal> proposal, std::size_t rung = 0) const;
  /// Returns a proposal that continues the first of the best `most` members of a rung that is not promoted,
  /// or nullopt if all are.
  std::optional<trial::Proposal> promote(std::size_t rung, std::size_t most, std::size_t iteration = 0);
  /// Returns whether the trial of a position was promoted, or is on the last rung.
  bool is_promoted(const Position& position) const {
    return position.rung == promoting() || rungs_[position.rung].is_promoted(position.member);
  }
  /// Returns the position of a trial whose result is known.
  std::optional<Position> position_of(trial::TrialNumber number) const;
  /// Returns a proposal that continues the trial of a position, which is not on the last rung.
  trial::Proposal promote(const Position& position, std::size_t iteration);
  /// Lets the rungs be filled anew.
  void clear();

 private:
  CandidatePool& pool_;
  std::vector<double> budgets_;
  std::vector<Rung> rungs_;
  std::map<trial::TrialNumber, Position> positions_;
};

}  // namespace skyline::search
