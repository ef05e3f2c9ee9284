#include "skyline/core/error.hpp"
#include "skyline/search/candidate_pool.hpp"
#include "skyline/search/pareto.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"

#include <algorithm>
#include <map>
#include <span>

namespace skyline::search {
namespace {

using trial::Origin;
using trial::TrialNumber;

struct EvolutionOptions {
  std::size_t iterations = 10;
  std::size_t initial = 10;
  std::size_t max_unseen = 100;
  std::size_t mutations_per_parent = 1;
  std::size_t crossovers = 5;
  std::size_t random_mix = 5;
  double mutation_probability = 0.3;
};

/// Evolution of the Pareto front, generation by generation. The parents of a generation are the whole front
/// of all results so far; each gives mutants, random pairs of them give crossovers, and random samples keep
/// the search open. A generation is bred when it is asked for and all of the last one was told.
///
/// The steps and defaults are those of Archai's EvolutionPareto. Unlike there, nothing is proposed twice,
/// redraws replace copies, failed trials are never parents, and an exhausted space ends the search.
/// @see Archai, archai/discrete_search/algos/evolution_pareto.py (v1.0.0)
class EvolutionPareto final : public Searcher {
 public:
  static constexpr int kMutationTries = 20;   // for each wanted mutant
  static constexpr int kCrossoverTries = 30;  // for each wanted crossover

  EvolutionPareto(const EvolutionOptions& options, const SearchProblem& problem);

  std::vector<trial::Proposal> ask(std::size_t room) override;
  void tell(const trial::CommittedTrial& committed) override;
  bool finished() const override;
  std::string finish_reason() const override;
  std::size_t expected_trials() const override;

 private:
  using Generation = std::vector<trial::Proposal>;

  RandomStream stream(std::string_view purpose) const;
  void breed();
  Generation later_generation();
  void add_mutants(Generation& generation);
  void add_crossovers(Generation& generation);
  void add_samples(Generation& generation, trial::Origin origin, std::size_t count, std::string_view purpose);
  bool add(Generation& generation, const space::Genotype& child, trial::Origin origin,
           std::vector<trial::TrialNumber> parents);

  EvolutionOptions options_;
  std::uint64_t seed_;
  CandidatePool pool_;
  ParetoArchive front_;                                        // of trial numbers
  std::map<trial::TrialNumber, ArchitecturePointer> parents_;  // those on the front
  Generation generation_;
  std::size_t iteration_ = 0;   // of generation_
  std::size_t handed_out_ = 0;  // of generation_
  std::size_t untold_ = 0;      // handed out and not told yet
  std::size_t asked_ = 0;       // in all generations
  bool exhausted_ = false;
};

EvolutionPareto::EvolutionPareto(const EvolutionOptions& options, const SearchProblem& problem)
    : options_(options),
      seed_(problem.seed),
      pool_(problem.space, problem.objectives, problem.budget),
      front_(problem.objectives.objectives().size()) {
  add_samples(generation_, Origin::kInitial, options_.initial, "initial");
}

std::vector<trial::Proposal> EvolutionPareto::ask(std::size_t room) {
  if (handed_out_ == generation_.size() && untold_ == 0 && !finished()) breed();
  const std::size_t count = std::min(room, generation_.size() - handed_out_);
  const auto first = generation_.begin() + static_cast<std::ptrdiff_t>(handed_out_);
  std::vector<trial::Proposal> proposals(first, first + static_cast<std::ptrdiff_t>(count));
  handed_out_ += count;
  untold_ += count;
  asked_ += count;
  return proposals;
}

void EvolutionPareto::tell(const trial::CommittedTrial& committed) {
  require(untold_ > 0, "the search was told of a trial that it had not asked for");
  --untold_;
  const std::optional<std::vector<double>> values = pool_.objectives().minimized(committed);
  if (!values) return;
  std::vector<std::size_t> removed;
  if (!front_.insert(committed.trial.number, *values, &removed)) return;
  parents_[committed.trial.number] = committed.trial.proposal.architecture;
  for (const std::size_t number : removed) parents_.erase(number);
}

bool EvolutionPareto::finished() const {
  if (exhausted_) return true;
  return iteration_ + 1 == options_.iterations && handed_out_ == generation_.size();
}

std::string EvolutionPareto::finish_reason() const {
  if (exhausted_) return pool_.exhaustion_reason();
  return counted(options_.iterations, "iteration") + " done";
}

std::size_t EvolutionPareto::expected_trials() const {
  if (exhausted_) return asked_;
  const std::size_t later_generations = options_.iterations - iteration_ - 1;
  const std::size_t bound =
      asked_ + generation_.size() - handed_out_ + later_generations * options_.max_unseen;
  return std::min(bound, static_cast<std::size_t>(pool_.space().genotype_count()));
}

RandomStream EvolutionPareto::stream(std::string_view purpose) const {
  return RandomStream(derive_seed(seed_, "search.evolution_pareto." + std::string(purpose), {iteration_}));
}

void EvolutionPareto::breed() {
  ++iteration_;
  handed_out_ = 0;
  generation_ = later_generation();
  // Without parents, or where their surroundings are exhausted, the search starts anew elsewhere.
  if (generation_.empty()) {
    add_samples(generation_, Origin::kInitial, std::min(options_.initial, options_.max_unseen), "initial");
  }
  exhausted_ = generation_.empty();
}

EvolutionPareto::Generation EvolutionPareto::later_generation() {
  Generation generation;
  add_mutants(generation);
  add_crossovers(generation);
  add_samples(generation, Origin::kRandom, options_.random_mix, "random_mix");
  RandomStream random = stream("shuffle");
  random.shuffle(std::span(generation));
  while (generation.size() > options_.max_unseen) {
    pool_.release(generation.back().architecture->id);
    generation.pop_back();
  }
  return generation;
}

void EvolutionPareto::add_mutants(Generation& generation) {
  RandomStream random = stream("mutation");
  for (const auto& [number, parent] : parents_) {
    for (std::size_t wanted = 0; wanted < options_.mutations_per_parent; ++wanted) {
      for (int i = 0; i < kMutationTries; ++i) {
        const std::optional<space::Genotype> child =
            pool_.space().mutate(parent->genotype, options_.mutation_probability, random);
        if (child && add(generation, *child, Origin::kMutation, {number})) break;
      }
    }
  }
}

void EvolutionPareto::add_crossovers(Generation& generation) {
  if (parents_.size() < 2) return;
  RandomStream random = stream("crossover");
  const std::vector<std::pair<TrialNumber, ArchitecturePointer>> parents(parents_.begin(), parents_.end());
  for (std::size_t wanted = 0; wanted < options_.crossovers; ++wanted) {
    for (int i = 0; i < kCrossoverTries; ++i) {
      const std::size_t first = random.below(parents.size());
      std::size_t second = random.below(parents.size() - 1);
      if (second >= first) ++second;
      const std::optional<space::Genotype> child =
          pool_.space().cross(parents[first].second->genotype, parents[second].second->genotype, random);
      if (!child) continue;
      if (add(generation, *child, Origin::kCrossover, {parents[first].first, parents[second].first})) break;
    }
  }
}

void EvolutionPareto::add_samples(Generation& generation, Origin origin, std::size_t count,
                                  std::string_view purpose) {
  RandomStream random = stream(purpose);
  for (std::size_t i = 0; i < count; ++i) {
    ArchitecturePointer drawn = pool_.draw(random);
    if (drawn == nullptr) return;
    generation.push_back(pool_.propose(std::move(drawn), origin, {}, iteration_));
  }
}

bool EvolutionPareto::add(Generation& generation, const space::Genotype& child, Origin origin,
                          std::vector<TrialNumber> parents) {
  ArchitecturePointer architecture = pool_.candidate(child);
  if (architecture == nullptr) return false;
  pool_.take(architecture->id);
  generation.push_back(pool_.propose(std::move(architecture), origin, std::move(parents), iteration_));
  return true;
}

}  // namespace

Algorithm evolution_pareto() {
  using Options = EvolutionOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const Range may_be_none = at_least(0).at_most(kMostCounted);
  const OptionTable<Options> options{
      {"iterations", &Options::iterations, counted, "Generations, the first one counted.",
       KeyRule::kMayChange},
      {"initial", &Options::initial, counted, "Architectures of the first generation."},
      {"max_unseen", &Options::max_unseen, counted, "Maximum number of architectures of a later generation."},
      {"mutations_per_parent", &Options::mutations_per_parent, may_be_none, "Mutants of each parent."},
      {"crossovers", &Options::crossovers, may_be_none, "Children of two parents in a generation."},
      {"random_mix", &Options::random_mix, may_be_none, "Random architectures in a generation."},
      {"mutation_probability", &Options::mutation_probability, above(0).at_most(1),
       "Probability of each used parameter to change in a mutant."}};
  return make_algorithm<EvolutionPareto>("evolution_pareto",
                                         "Evolution of the Pareto front, generation by generation.", options);
}

}  // namespace skyline::search
