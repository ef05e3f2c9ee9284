#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/pool_searcher.hpp"
#include "search/algorithms/variation.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace skyline::search {
namespace {

struct LocalOptions {
  std::size_t trials = 100;
  std::size_t initial = 10;
};

/// Local search: the neighbours of the best trial are tried in a random order, until one is better. With
/// several objectives the neighbours of all trials on the front are, of each about as many. Neighbours differ
/// in one parameter. Where all were tried, the descent is over, and another one begins with new random
/// architectures.
///
/// The number of first architectures is that of Archai's LocalSearch. Unlike there, a child differs from its
/// parent in one parameter, as in the paper, and the search does not end in a local optimum.
/// @see White et al., Exploring the Loss Landscape in Neural Architecture Search, 2020
/// @see Archai, archai/discrete_search/algos/local_search.py (v1.0.0)
class LocalSearch final : public PoolSearcher {
 public:
  LocalSearch(const LocalOptions& options, const SearchProblem& problem)
      : PoolSearcher("local_search", problem, options.trials),
        options_(options),
        seed_(problem.seed),
        to_begin_(options.initial) {
    front_.emplace(pool().objectives());
  }

 private:
  /// A parameter of a genotype, and another value for it.
  struct Change {
    std::size_t parameter = 0;
    std::uint32_t choice = 0;
  };
  /// The neighbours of a trial on the front.
  struct Neighbours {
    std::vector<Change> untried;
    std::size_t tried = 0;
  };

  std::optional<trial::Proposal> next() override {
    while (true) {
      if (to_begin_ > 0) {
        if (auto drawn = draw(trial::Origin::kInitial, descent_)) {
          --to_begin_;
          return drawn;
        }
        to_begin_ = 0;
      }
      if (auto found = next_neighbour()) return found;
      if (attempts_exhausted() || in_flight() > 0 || is_exhausted()) return std::nullopt;
      ++descent_;
      front_.emplace(pool().objectives());
      neighbours_.clear();
      to_begin_ = options_.initial;
    }
  }

  /// Results of an earlier descent do not count for the present one; none is missing when it begins.
  void learn(const trial::CommittedTrial& committed) override { front_->tell(committed); }

  std::optional<trial::Proposal> next_neighbour() {
    while (!attempts_exhausted()) {
      const Parent* centre = next_centre();
      if (centre == nullptr) return std::nullopt;
      Neighbours& its = neighbours_.at(centre->number);
      const Change change = its.untried.back();
      its.untried.pop_back();
      ++its.tried;
      const auto genotype = pool().space().with_choice(centre->architecture->genotype, change.parameter,
                                                       change.choice, random());
      ArchitecturePointer found = genotype ? pool().candidate(*genotype) : nullptr;
      if (found == nullptr) continue;
      pool().mark_proposed(found->id);
      return pool().propose(std::move(found), trial::Origin::kMutation, {centre->number}, descent_);
    }
    return std::nullopt;
  }

  /// Returns the trial on the front of which the fewest neighbours were tried, the newest one if some are
  /// equal; nullptr if all neighbours of all were.
  const Parent* next_centre() {
    const Parent* centre = nullptr;
    std::size_t fewest = 0;
    for (const Parent& parent : front_->all()) {
      const auto [found, is_new] = neighbours_.try_emplace(parent.number);
      if (is_new) found->second.untried = changes_of(parent);
      const Neighbours& its = found->second;
      if (its.untried.empty() || (centre != nullptr && its.tried > fewest)) continue;
      centre = &parent;
      fewest = its.tried;
    }
    return centre;
  }

  /// Returns all single changes of the parameters that a network uses, in a random order.
  std::vector<Change> changes_of(const Parent& parent) const {
    const std::vector<space::Parameter>& parameters = pool().space().parameters();
    std::vector<Change> changes;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      for (std::uint32_t choice = 0; parent.architecture->used[p] && choice < parameters[p].values.size();
           ++choice) {
        if (choice != parent.architecture->genotype.choices[p]) changes.push_back({p, choice});
      }
    }
    RandomStream random(derive_seed(seed_, "search.local_search.neighbours", {parent.number}));
    random.shuffle(std::span(changes));
    return changes;
  }

  LocalOptions options_;
  std::uint64_t seed_;
  std::optional<ParentPool> front_;                      // front of the present descent
  std::map<trial::TrialNumber, Neighbours> neighbours_;  // neighbours of trials that are or were on it
  std::size_t to_begin_ = 0;                             // random architectures that are still to come
  std::size_t descent_ = 0;
};

}  // namespace

Algorithm local_search() {
  using Options = LocalOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const OptionTable<Options> options{
      {"trials", &Options::trials, counted, "Maximum number of trials of the search.", KeyRule::kMayChange},
      {"initial", &Options::initial, counted, "Random architectures with which a descent begins."}};
  Algorithm algorithm = make_algorithm<LocalSearch>(
      "local_search", "Neighbours of the best, or of the front, until none is better.", options);
  algorithm.window = 8;
  algorithm.uses_known = true;
  algorithm.can_repeat = true;
  return algorithm;
}

}  // namespace skyline::search
