#include "skyline/core/error.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/known_order.hpp"
#include "search/algorithms/variation.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace skyline::search {
namespace {

using trial::Origin;

/// When children are made: when all results of a generation are known, or whenever there is room for one.
enum class OffspringTime { kByGeneration, kAtCommits };

struct EvolutionOptions {
  std::size_t iterations = 10;
  std::size_t initial = 10;
  std::size_t max_unseen = 100;
  std::size_t mutations_per_parent = 1;
  std::size_t crossovers = 5;
  std::size_t random_mix = 5;
  double mutation_probability = 0.3;
  OffspringTime breed = OffspringTime::kByGeneration;
};

/// Evolution of the Pareto front, generation by generation. The parents of a generation are the whole front
/// of all results so far. Each parent gives mutants, random pairs of parents give crossovers, and random
/// samples keep the search open. A generation is made when it is asked for and all results of the last one
/// are known.
///
/// In the steady state children are made one by one when they are asked for, from the present front, by each
/// operator as often as in a generation on average. No trial is waited for.
///
/// The steps and defaults are those of Archai's EvolutionPareto. Unlike there, nothing is proposed twice,
/// copies are drawn again, failed trials are never parents, and an exhausted space ends the search.
/// @see Archai, archai/discrete_search/algos/evolution_pareto.py (v1.0.0)
class EvolutionPareto final : public Searcher {
 public:
  EvolutionPareto(const EvolutionOptions& options, const SearchProblem& problem);

  Answer ask(std::size_t room) override;
  void tell(const trial::CommittedTrial& committed) override;
  bool finished() const override;
  bool gave_up() const override { return exhausted_ && !pool_.is_exhausted(); }
  std::string finish_reason() const override;
  std::size_t expected_trials() const override;
  std::optional<std::size_t> generation() const override;

 private:
  using Generation = std::vector<trial::Proposal>;
  /// Children of a generation by one operator, some of which have been made.
  struct OffspringBatch {
    Origin origin = Origin::kInitial;
    std::size_t count = 0;
    RandomStream random;
    std::size_t made = 0;
  };

  bool attempts_exhausted() const { return pool_.attempts() >= last_attempt_; }
  OffspringBatch batch(Origin origin, std::size_t count) const;
  bool is_steady() const { return options_.breed == OffspringTime::kAtCommits; }
  RandomStream stream(std::string_view purpose) const;
  void make_generation(std::size_t room);
  void begin_generation();
  void go_on_with_generation();
  bool make_batches();
  bool make_one(OffspringBatch& batch);
  void cut_generation();
  Generation next_children(std::size_t room);
  std::optional<trial::Proposal> next_child(RandomStream& random);

  EvolutionOptions options_;
  std::uint64_t seed_;
  CandidatePool pool_;
  ParentPool parents_;
  VariationOperators variation_;
  Generation generation_;
  Generation draft_;                    // the next generation
  std::deque<OffspringBatch> batches_;  // batches of the next generation whose offspring are not all made
  bool restarts_ = false;               // the draft starts the search again
  bool thinks_ = true;             // it thinks about the draft or, in the steady state, about the next child
  std::size_t last_attempt_ = 0;   // last attempt of this ask, as counted by the pool
  std::size_t iteration_ = 0;      // iteration of generation_, or of the draft
  std::size_t handed_out_ = 0;     // number handed out of generation_
  std::size_t pending_ = 0;        // number handed out whose results are unknown
  std::size_t asked_ = 0;          // number asked for in all generations
  std::size_t children_left_ = 0;  // rest of the iteration, in the steady state
  bool exhausted_ = false;
};

EvolutionPareto::EvolutionPareto(const EvolutionOptions& options, const SearchProblem& problem)
    : options_(options),
      seed_(problem.seed),
      pool_(problem.space, problem.objectives, problem.budget, {}, problem.counter),
      parents_(pool_.objectives()),
      variation_(pool_, options.mutation_probability) {
  pool_.prefer(best_known(problem));
  batches_.push_back(batch(Origin::kInitial, options_.initial));
}

Answer EvolutionPareto::ask(std::size_t room) {
  last_attempt_ = pool_.attempts() + CandidatePool::kAttemptsOfAnAsk;
  std::vector<trial::Proposal> proposals;
  const auto may_make_offspring = [&] { return (pending_ == 0 || is_steady()) && !finished(); };
  const bool is_bounded = room != std::numeric_limits<std::size_t>::max();
  do {
    if (handed_out_ == generation_.size() && may_make_offspring()) make_generation(room - proposals.size());
    const std::size_t count = std::min(room - proposals.size(), generation_.size() - handed_out_);
    const auto first =
        std::make_move_iterator(generation_.begin() + static_cast<std::ptrdiff_t>(handed_out_));
    proposals.insert(proposals.end(), first, first + static_cast<std::ptrdiff_t>(count));
    handed_out_ += count;
    pending_ += count;
    asked_ += count;
    // In the steady state the generation matters only if nothing else limits an ask.
  } while (is_steady() && is_bounded && proposals.size() < room && !thinks_ && !finished());
  return {std::move(proposals), thinks_ ? Answer::State::kMore : Answer::State::kAnswered};
}

void EvolutionPareto::tell(const trial::CommittedTrial& committed) {
  require(pending_ > 0, "the search got a result of a trial that it had not asked for");
  --pending_;
  parents_.tell(committed);
}

bool EvolutionPareto::finished() const {
  if (exhausted_) return true;
  if (thinks_) return false;
  return iteration_ + 1 == options_.iterations && handed_out_ == generation_.size() && children_left_ == 0;
}

std::string EvolutionPareto::finish_reason() const {
  if (exhausted_) return pool_.exhaustion_reason();
  return counted(options_.iterations, "iteration") + " done";
}

std::size_t EvolutionPareto::expected_trials() const {
  if (exhausted_) return asked_;
  const std::size_t later_generations = options_.iterations - iteration_ - 1;
  const std::size_t drafted = batches_.empty() ? 0 : iteration_ == 0 ? options_.initial : options_.max_unseen;
  const std::size_t bound = asked_ + generation_.size() - handed_out_ + drafted + children_left_ +
                            later_generations * options_.max_unseen;
  return std::min(bound, pool_.most_candidates());
}

RandomStream EvolutionPareto::stream(std::string_view purpose) const {
  return RandomStream(derive_seed(seed_, "search.evolution_pareto." + std::string(purpose), {iteration_}));
}

std::optional<std::size_t> EvolutionPareto::generation() const {
  if (is_steady()) return std::nullopt;
  return std::max(options_.initial, options_.max_unseen);
}

void EvolutionPareto::make_generation(std::size_t room) {
  if (!is_steady() && batches_.empty()) begin_generation();
  if (!batches_.empty()) return go_on_with_generation();
  thinks_ = false;
  handed_out_ = 0;
  generation_ = next_children(room);
  exhausted_ = generation_.empty() && !thinks_;
}

void EvolutionPareto::begin_generation() {
  ++iteration_;
  batches_.push_back(batch(Origin::kMutation, parents_.all().size() * options_.mutations_per_parent));
  batches_.push_back(batch(Origin::kCrossover, parents_.all().size() < 2 ? 0 : options_.crossovers));
  batches_.push_back(batch(Origin::kRandom, options_.random_mix));
}

/// Continues with a generation, which is handed out when it is whole.
void EvolutionPareto::go_on_with_generation() {
  thinks_ = true;
  if (!make_batches()) return;
  if (iteration_ > 0 && !restarts_) {
    cut_generation();
    // Without parents, or if their neighbourhood is exhausted, the search starts again elsewhere.
    restarts_ = draft_.empty();
    if (restarts_)
      batches_.push_back(batch(Origin::kInitial, std::min(options_.initial, options_.max_unseen)));
    if (!make_batches()) return;
  }
  thinks_ = restarts_ = false;
  handed_out_ = 0;
  generation_ = std::exchange(draft_, {});
  exhausted_ = generation_.empty();
}

EvolutionPareto::OffspringBatch EvolutionPareto::batch(Origin origin, std::size_t count) const {
  const char* const purpose = origin == Origin::kMutation    ? "mutation"
                              : origin == Origin::kCrossover ? "crossover"
                              : origin == Origin::kRandom    ? "random_mix"
                                                             : "initial";
  return {origin, count, stream(purpose)};
}

/// Returns false if it must be called again.
bool EvolutionPareto::make_batches() {
  for (; !batches_.empty(); batches_.pop_front()) {
    OffspringBatch& batch = batches_.front();
    for (; batch.made < batch.count; ++batch.made) {
      if (attempts_exhausted()) return false;
      if (!make_one(batch)) break;
    }
  }
  return true;
}

/// Returns false if this batch is complete.
bool EvolutionPareto::make_one(OffspringBatch& batch) {
  if (batch.origin == Origin::kMutation || batch.origin == Origin::kCrossover) {
    auto child = batch.origin == Origin::kCrossover
                     ? variation_.crossover(parents_.all(), iteration_, batch.random)
                     : variation_.mutant(parents_.all()[batch.made / options_.mutations_per_parent],
                                         iteration_, batch.random);
    if (child) draft_.push_back(*std::move(child));
    return true;
  }
  ArchitecturePointer drawn =
      batch.origin == Origin::kInitial ? pool_.draw_first(batch.random) : pool_.draw(batch.random);
  if (drawn == nullptr) return false;
  draft_.push_back(pool_.propose(std::move(drawn), batch.origin, {}, iteration_));
  return true;
}

void EvolutionPareto::cut_generation() {
  RandomStream random = stream("shuffle");
  random.shuffle(std::span(draft_));
  while (draft_.size() > options_.max_unseen) {
    pool_.unmark_proposed(draft_.back().architecture->id);
    draft_.pop_back();
  }
}

/// @param room  most children that are wanted
EvolutionPareto::Generation EvolutionPareto::next_children(std::size_t room) {
  if (children_left_ == 0) {
    ++iteration_;
    children_left_ = options_.max_unseen;
  }
  Generation children;
  for (std::size_t wanted = std::min(room, children_left_); wanted > 0; --wanted) {
    thinks_ = attempts_exhausted();
    if (thinks_) break;
    RandomStream random(derive_seed(seed_, "search.evolution_pareto.child", {iteration_, children_left_}));
    std::optional<trial::Proposal> child = next_child(random);
    if (!child) break;
    children.push_back(*std::move(child));
    --children_left_;
  }
  return children;
}

/// Makes a child. If the drawn operator finds nothing new, a random architecture replaces it.
std::optional<trial::Proposal> EvolutionPareto::next_child(RandomStream& random) {
  const std::size_t mutants = parents_.all().size() * options_.mutations_per_parent;
  const std::size_t crossovers = parents_.all().size() < 2 ? 0 : options_.crossovers;
  const std::size_t all = mutants + crossovers + options_.random_mix;
  const std::size_t drawn = all > 0 ? random.below(all) : 0;
  std::optional<trial::Proposal> child;
  if (drawn < mutants) {
    child = variation_.mutant(parents_.all()[drawn / options_.mutations_per_parent], iteration_, random);
  } else if (drawn < mutants + crossovers) {
    child = variation_.crossover(parents_.all(), iteration_, random);
  }
  if (child) return child;
  ArchitecturePointer sample = pool_.draw(random);
  if (sample == nullptr) return std::nullopt;
  return pool_.propose(std::move(sample), Origin::kRandom, {}, iteration_);
}

}  // namespace

Algorithm evolution_pareto() {
  using Options = EvolutionOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const Range may_be_none = at_least(0).at_most(kMostChildren);
  const OptionTable<Options> options{
      {"iterations", &Options::iterations, counted, "Generations, the first one counted.",
       KeyRule::kMayChange},
      {"initial", &Options::initial, counted, "Architectures of the first generation."},
      {"max_unseen", &Options::max_unseen, counted, "Maximum number of architectures of a later generation."},
      {"mutations_per_parent", &Options::mutations_per_parent, may_be_none, "Mutants of each parent."},
      {"crossovers", &Options::crossovers, may_be_none, "Children of two parents in a generation."},
      {"random_mix", &Options::random_mix, may_be_none, "Random architectures in a generation."},
      {"mutation_probability", &Options::mutation_probability, above(0).at_most(1),
       "Probability of each used parameter to change in a mutant."},
      {"breed", &Options::breed,
       choice<OffspringTime>(
           {{"generation", OffspringTime::kByGeneration}, {"commit", OffspringTime::kAtCommits}}),
       "When children are made: when all results of a generation are committed, or at each commit, as many "
       "as `run.window` has room for; `max_unseen` of them count as an iteration."}};
  Algorithm algorithm =
      make_algorithm<EvolutionPareto>("evolution_pareto", "Evolution of the Pareto front.", options);
  algorithm.uses_known = true;
  algorithm.can_repeat = true;
  algorithm.steady_setting = "search.breed: commit";
  return algorithm;
}

}  // namespace skyline::search
