#pragma once

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/cost_counter.hpp"
#include "skyline/space/search_space.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace skyline::search {

using ArchitecturePointer = std::shared_ptr<const space::Architecture>;

/// Says that no architecture of a space meets the constraints, as far as one was looked for.
class NoValidArchitecture : public UserError {
 public:
  using UserError::UserError;
};

/// The architectures that an algorithm may still propose: they can be built, meet the computed constraints
/// and were not proposed before. All algorithms use it, so that none repeats an architecture, trains an
/// infeasible one or loops for ever in an exhausted space. Local; deterministic; not thread-safe.
class CandidatePool {
 public:
  /// If sampling finds nothing, spaces of up to this many genotypes, and layers of their networks, are
  /// enumerated, so that the answer is exact.
  static constexpr std::int64_t kEnumeratedGenotypes = 100'000;
  static constexpr double kEnumeratedLayers = 5e6;
  /// Samples that may fail in a row before the enumeration, or, in spaces too large for that, before a
  /// directed search. For large networks they are fewer, because their layers are bounded, too.
  static constexpr int kTriesBeforeEnumeration = 200;
  static constexpr int kTriesInLargeSpace = 2'000;
  static constexpr std::size_t kSampledLayers = 200'000;
  /// An algorithm that needs no results hands out at most this many at once, so that the caller stays
  /// responsive.
  static constexpr std::size_t kLargestAsk = 1'000;
  /// Number of networks after which an ask should end (Answer::State::kMore).
  static constexpr std::size_t kAttemptsOfAnAsk = 256;
  /// Most genotypes that are enumerated, or looked at in a row, if a program counts costs of each.
  static constexpr std::int64_t kCountedGenotypes = 2'000;

  /// @param before_attempt  called before each attempt to build a network, by any thread; it may throw to
  ///                        leave a long draw, and the pool is of no use afterwards
  /// @param counter         counts costs; nullptr if no program does, or nothing is proposed. It is not asked
  ///                        here.
  /// @throws NoValidArchitecture if the space has no candidate, with the number of rejected genotypes for
  /// each reason
  CandidatePool(space::SearchSpace space, objective::ObjectiveSet objectives,
                const trial::Budget& budget = {}, std::function<void()> before_attempt = {},
                std::shared_ptr<CostCounter> counter = nullptr);

  const space::SearchSpace& space() const { return space_; }
  const objective::ObjectiveSet& objectives() const { return objectives_; }

  /// Returns a proposal of an architecture that is marked as proposed, with the budget of the pool.
  trial::Proposal propose(ArchitecturePointer architecture, trial::Origin origin,
                          std::vector<trial::TrialNumber> parents = {}, std::size_t iteration = 0) const;

  /// Returns the number of networks that were built so far, candidates or not.
  std::size_t attempts() const { return attempts_; }

  /// Returns whether a program counts costs.
  bool counts() const { return counter_ != nullptr; }
  /// Returns the architecture of a genotype, proposed or not, or nullptr if it cannot be built or does not
  /// meet the computed constraints, as far as these are known without a program.
  /// Any thread may call it.
  /// @param reads  gets the parameters on which that depends (space::BuildAttempt); may be null
  ArchitecturePointer uncounted(const space::Genotype& genotype, std::vector<bool>* reads = nullptr) const;
  /// Returns the architectures with their counted costs, or as they are if no program counts.
  std::vector<ArchitecturePointer> count_costs(std::vector<ArchitecturePointer> architectures) const;
  /// Returns an architecture of the space with its counted costs; nullptr if it breaks a computed constraint.
  ArchitecturePointer checked(const ArchitecturePointer& known) const;
  /// Returns the same as uncounted(), but with counted costs, and nullptr if these break a constraint.
  ArchitecturePointer feasible(const space::Genotype& genotype, std::vector<bool>* reads = nullptr) const;
  /// Returns the same, but nullptr if the architecture is marked as proposed.
  ArchitecturePointer candidate(const space::Genotype& genotype, std::vector<bool>* reads = nullptr) const;
  /// Marks an architecture as proposed, so that it is no candidate any more. Every proposal must be marked.
  void mark_proposed(space::ArchId id) { proposed_.insert(id); }
  /// Makes an architecture a candidate again, because it was marked and then not proposed.
  void unmark_proposed(space::ArchId id) { proposed_.erase(id); }
  /// Returns whether an architecture is marked as proposed.
  bool is_proposed(space::ArchId id) const { return proposed_.contains(id); }

  /// Returns an upper bound of the number of candidates: that of the genotypes that keep `where`.
  std::size_t most_candidates() const;

  /// Draws a random candidate, distributed like the space's samples, and marks it as proposed. If these find
  /// none, a directed search does, and at last an attempt at one genotype after the other. Returns nullptr if
  /// all found none.
  ArchitecturePointer draw(RandomStream& random);
  /// Lets draw_first() return these architectures, in their order, before random ones.
  void prefer(std::vector<ArchitecturePointer> architectures) { preferred_ = std::move(architectures); }
  /// Draws like draw(), but a preferred candidate as long as there is one.
  ArchitecturePointer draw_first(RandomStream& random);
  /// Returns whether it is certain that no candidate is left, once `draw` found nothing. Otherwise the space
  /// is too large to be sure.
  bool is_exhausted() const { return feasible_ || (walk_ && walk_->finished()); }
  /// Says why `draw` found nothing, as one clause for a log.
  std::string exhaustion_reason() const;

 private:
  struct FeasibleGenotype {
    std::int64_t number = 0;
    space::ArchId id{};
    double probability = 0;  // probability of being sampled
  };

  struct WalkedGenotype {
    space::Genotype genotype;
    space::ArchId id{};
  };

  space::BuildAttempt try_build_uncounted(const space::Genotype& genotype) const;
  space::BuildAttempt try_build(const space::Genotype& genotype) const;
  bool is_feasible(const space::BuildAttempt& attempt) const;
  bool is_candidate(const space::BuildAttempt& attempt) const;
  std::int64_t most_genotypes() const { return counts() ? kCountedGenotypes : kEnumeratedGenotypes; }
  bool can_enumerate() const;
  void enumerate();
  ArchitecturePointer draw_by_sampling(RandomStream& random);
  ArchitecturePointer draw_by_directed_search(RandomStream& random) const;
  ArchitecturePointer draw_from_enumeration(RandomStream& random) const;
  ArchitecturePointer draw_by_walk();
  ArchitecturePointer try_known_once_more() const;

  space::SearchSpace space_;
  objective::ObjectiveSet objectives_;
  trial::Budget budget_;
  std::function<void()> before_attempt_;
  std::shared_ptr<CostCounter> counter_;
  ArchitecturePointer known_;  // a candidate, used if draws find none
  std::vector<ArchitecturePointer> preferred_;
  mutable std::atomic<std::size_t> attempts_ = 0;
  std::unordered_set<space::ArchId> proposed_;
  std::size_t sampled_ = 0;  // number of genotypes so far, and of layers of their networks
  std::size_t sampled_layers_ = 0;
  bool is_directed_ = false;  // samples have failed so often that only few more are tried
  std::optional<std::vector<FeasibleGenotype>> feasible_;  // all valid genotypes, once the space was
                                                           // enumerated
  std::optional<space::GenotypeWalk> walk_;  // begun when draws find no new candidate in a large space
  std::vector<WalkedGenotype> walked_;       // valid genotypes that it met
  std::size_t attempts_since_new_ = 0;       // attempts of the last draw
};

/// Returns the finish reason of a search that proposed every valid architecture of its space.
std::string all_evaluated_text(std::size_t architectures);

}  // namespace skyline::search
