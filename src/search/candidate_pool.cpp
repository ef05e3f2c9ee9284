#include "skyline/search/candidate_pool.hpp"

#include "core/text/wording.hpp"
#include "search/directed_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace skyline::search {
namespace {

/// Returns the sum of the weights of each parameter's values.
std::vector<double> sums_of_weights(const space::SearchSpace& space) {
  std::vector<double> sums;
  for (const space::Parameter& parameter : space.parameters())
    sums.push_back(std::accumulate(parameter.weights.begin(), parameter.weights.end(), 0.0));
  return sums;
}

double sampling_probability(const space::SearchSpace& space, const std::vector<double>& sums,
                            const space::Genotype& genotype) {
  double probability = 1;
  for (std::size_t p = 0; p < genotype.choices.size(); ++p)
    probability *= space.parameters()[p].weights[genotype.choices[p]] / sums[p];
  // Keeps tiny weights from making a feasible architecture impossible.
  return std::max(probability, std::numeric_limits<double>::min());
}

ArchitecturePointer pointer_to(space::BuildAttempt attempt) {
  return std::make_shared<const space::Architecture>(*std::move(attempt.architecture));
}

/// Counts the reasons why genotypes are invalid, for the message about a space without a valid architecture.
class RejectionTally {
 public:
  explicit RejectionTally(const objective::ObjectiveSet& objectives) {
    for (const objective::Constraint& constraint : objectives.constraints()) {
      if (constraint.computed) rejections_.push_back({constraint, 0, std::nullopt, std::nullopt});
    }
  }

  void add(const space::Architecture& architecture) {
    ++total_;
    for (Rejections& rejections : rejections_) {
      const auto known = objective::find_computed(architecture, rejections.constraint.metric);
      if (!known) continue;  // a program counts it
      const double value = *known;
      if (value < rejections.constraint.low) {
        rejections.nearest_below = std::max(value, rejections.nearest_below.value_or(value));
      } else if (value > rejections.constraint.high) {
        rejections.nearest_above = std::min(value, rejections.nearest_above.value_or(value));
      } else {
        continue;
      }
      ++rejections.count;
    }
  }

  /// Counts a genotype whose network cannot be built.
  void add_invalid(const std::string& reason) {
    ++total_;
    if (invalid_++ == 0) first_invalid_reason_ = reason;
  }

  /// Returns "192, 192 fail `flops: [0, 10]` (smallest found: 88138), 3 cannot be built (REASON)".
  std::string text() const {
    std::string text = std::to_string(total_);
    for (const Rejections& rejections : rejections_) {
      if (rejections.count == 0) continue;
      text += ", " + std::to_string(rejections.count) + " fail `" + to_text(rejections.constraint) + "`";
      // Says how far off the bounds are, unless other values are within them.
      if (rejections.count + invalid_ == total_) text += " (" + nearest_text(rejections) + ")";
    }
    if (invalid_ == 0) return text;
    return text + ", " + std::to_string(invalid_) + " cannot be built (" + first_invalid_reason_ + ")";
  }

 private:
  struct Rejections {
    objective::Constraint constraint;
    std::size_t count = 0;
    std::optional<double> nearest_below;  // largest value found below the bounds
    std::optional<double> nearest_above;  // smallest value found above them
  };

  static std::string nearest_text(const Rejections& rejections) {
    using objective::number_text;
    if (!rejections.nearest_below) return "smallest found: " + number_text(*rejections.nearest_above);
    if (!rejections.nearest_above) return "largest found: " + number_text(*rejections.nearest_below);
    return "nearest found: " + number_text(*rejections.nearest_below) + " and " +
           number_text(*rejections.nearest_above);
  }

  std::size_t total_ = 0;
  std::size_t invalid_ = 0;
  std::string first_invalid_reason_;
  std::vector<Rejections> rejections_;  // one per computed constraint
};

}  // namespace

CandidatePool::CandidatePool(space::SearchSpace space, objective::ObjectiveSet objectives,
                             const trial::Budget& budget, std::function<void()> before_attempt,
                             std::shared_ptr<CostCounter> counter)
    : space_(std::move(space)),
      objectives_(std::move(objectives)),
      budget_(budget),
      before_attempt_(std::move(before_attempt)) {
  RandomStream random(derive_seed(0, "search.candidate_pool"));
  known_ = draw(random);
  if (known_ == nullptr) known_ = try_known_once_more();
  unmark_proposed(known_->id);
  counter_ = std::move(counter);
  if (counts()) feasible_.reset();  // without the counted constraints
}

space::BuildAttempt CandidatePool::try_build_uncounted(const space::Genotype& genotype) const {
  if (before_attempt_) before_attempt_();
  ++attempts_;
  return space_.try_build(genotype);
}

space::BuildAttempt CandidatePool::try_build(const space::Genotype& genotype) const {
  space::BuildAttempt attempt = try_build_uncounted(genotype);
  if (counts() && is_feasible(attempt))
    attempt.architecture->counted = count_costs({pointer_to(attempt)}).front()->counted;
  return attempt;
}

std::vector<ArchitecturePointer> CandidatePool::count_costs(
    std::vector<ArchitecturePointer> architectures) const {
  for (std::size_t begin = 0; counts() && begin < architectures.size(); begin += CostCounter::kMostAsked) {
    const std::span<ArchitecturePointer> asked =
        std::span(architectures)
            .subspan(begin, std::min(CostCounter::kMostAsked, architectures.size() - begin));
    const std::vector<std::vector<double>> values = counter_->count(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      space::Architecture with_costs = *asked[i];
      with_costs.counted = values[i];
      asked[i] = std::make_shared<const space::Architecture>(std::move(with_costs));
    }
  }
  return architectures;
}

bool CandidatePool::is_feasible(const space::BuildAttempt& attempt) const {
  return attempt.architecture && objectives_.feasible(*attempt.architecture);
}

bool CandidatePool::is_candidate(const space::BuildAttempt& attempt) const {
  return is_feasible(attempt) && !proposed_.contains(attempt.architecture->id);
}

std::size_t CandidatePool::most_candidates() const {
  const auto genotypes = static_cast<std::size_t>(space_.genotype_count());
  const std::optional<long double> kept = space_.count_kept();
  return kept && *kept < static_cast<long double>(genotypes) ? static_cast<std::size_t>(*kept) : genotypes;
}

trial::Proposal CandidatePool::propose(ArchitecturePointer architecture, trial::Origin origin,
                                       std::vector<trial::TrialNumber> parents, std::size_t iteration) const {
  trial::Proposal proposal{std::move(architecture), origin, std::move(parents),
                           static_cast<std::uint32_t>(iteration)};
  proposal.budget = budget_;
  return proposal;
}

ArchitecturePointer CandidatePool::uncounted(const space::Genotype& genotype,
                                             std::vector<bool>* reads) const {
  space::BuildAttempt attempt = try_build_uncounted(genotype);
  if (reads != nullptr) *reads = attempt.reads;
  return is_feasible(attempt) ? pointer_to(std::move(attempt)) : nullptr;
}

ArchitecturePointer CandidatePool::feasible(const space::Genotype& genotype, std::vector<bool>* reads) const {
  space::BuildAttempt attempt = try_build(genotype);
  if (reads != nullptr) *reads = attempt.reads;
  return is_feasible(attempt) ? pointer_to(std::move(attempt)) : nullptr;
}

ArchitecturePointer CandidatePool::candidate(const space::Genotype& genotype,
                                             std::vector<bool>* reads) const {
  ArchitecturePointer found = feasible(genotype, reads);
  return found != nullptr && !is_proposed(found->id) ? found : nullptr;
}

ArchitecturePointer CandidatePool::draw(RandomStream& random) {
  const std::size_t attempts_before = attempts_;
  ArchitecturePointer drawn;
  if (!feasible_) {
    drawn = draw_by_sampling(random);
    if (drawn == nullptr && can_enumerate()) {
      enumerate();
    } else if (drawn == nullptr) {
      is_directed_ = true;
      drawn = draw_by_directed_search(random);
    }
  }
  if (feasible_) drawn = draw_from_enumeration(random);
  if (drawn == nullptr && known_ != nullptr && !proposed_.contains(known_->id)) drawn = checked(known_);
  // A space without a known candidate is refused sooner.
  if (drawn == nullptr && known_ != nullptr && !feasible_) drawn = draw_by_walk();
  attempts_since_new_ = attempts_ - attempts_before;
  if (drawn != nullptr) mark_proposed(drawn->id);
  return drawn;
}

ArchitecturePointer CandidatePool::checked(const ArchitecturePointer& known) const {
  const ArchitecturePointer with_costs = count_costs({known}).front();
  return objectives_.feasible(*with_costs) ? with_costs : nullptr;
}

ArchitecturePointer CandidatePool::draw_first(RandomStream& random) {
  for (const ArchitecturePointer& preferred : preferred_) {
    const ArchitecturePointer found = proposed_.contains(preferred->id) ? nullptr : checked(preferred);
    if (found == nullptr) continue;
    mark_proposed(found->id);
    return found;
  }
  return draw(random);
}

ArchitecturePointer CandidatePool::draw_by_sampling(RandomStream& random) {
  const std::size_t layers_before = sampled_layers_;
  for (int i = 0; i < kTriesInLargeSpace; ++i) {
    if (i >= kTriesBeforeEnumeration && (is_directed_ || can_enumerate())) break;
    if (sampled_layers_ - layers_before > kSampledLayers) break;
    ++sampled_;
    space::BuildAttempt attempt = try_build(space_.sample(random));
    if (!attempt.architecture) continue;
    sampled_layers_ += attempt.architecture->layer_count();
    if (is_candidate(attempt)) return pointer_to(std::move(attempt));
  }
  return nullptr;
}

ArchitecturePointer CandidatePool::draw_by_directed_search(RandomStream& random) const {
  const auto try_one = [this](const space::Genotype& genotype) { return try_build(genotype); };
  const std::size_t most =
      counts() ? static_cast<std::size_t>(kCountedGenotypes) : DirectedSearch::kMostNetworks;
  return DirectedSearch(space_, objectives_, try_one, most)
      .run(random, [this](const space::Architecture& found) { return !proposed_.contains(found.id); });
}

bool CandidatePool::can_enumerate() const {
  const std::int64_t count = space_.genotype_count();
  const double layers =
      static_cast<double>(sampled_layers_) / static_cast<double>(std::max<std::size_t>(sampled_, 1));
  return count <= most_genotypes() && static_cast<double>(count) * layers <= kEnumeratedLayers;
}

void CandidatePool::enumerate() {
  feasible_.emplace();
  const std::vector<double> sums = sums_of_weights(space_);
  for (std::int64_t number = 0; number < space_.genotype_count(); ++number) {
    const space::Genotype genotype = space_.genotype_at(number);
    const space::BuildAttempt attempt = try_build(genotype);
    if (!is_feasible(attempt)) continue;
    feasible_->push_back({number, attempt.architecture->id, sampling_probability(space_, sums, genotype)});
  }
}

/// Goes on through the genotypes in their order. Returns the first candidate that it meets or has met.
ArchitecturePointer CandidatePool::draw_by_walk() {
  for (const WalkedGenotype& met : walked_) {
    if (!proposed_.contains(met.id)) return candidate(met.genotype);
  }
  if (!walk_) walk_.emplace(space_);
  const std::size_t end = attempts_ + static_cast<std::size_t>(most_genotypes());
  for (double steps = 0; !walk_->finished() && attempts_ < end && steps < kEnumeratedLayers;) {
    space::BuildAttempt attempt = try_build(walk_->current());
    steps += static_cast<double>(attempt.steps);
    const bool is_valid = is_feasible(attempt);
    if (is_valid) walked_.push_back({walk_->current(), attempt.architecture->id});
    walk_->advance(attempt.reads);
    if (is_valid && is_candidate(attempt)) return pointer_to(std::move(attempt));
  }
  return nullptr;
}

ArchitecturePointer CandidatePool::draw_from_enumeration(RandomStream& random) const {
  std::vector<std::int64_t> numbers;
  std::vector<double> probabilities;
  for (const FeasibleGenotype& genotype : *feasible_) {
    if (proposed_.contains(genotype.id)) continue;
    numbers.push_back(genotype.number);
    probabilities.push_back(genotype.probability);
  }
  if (numbers.empty()) return nullptr;
  return pointer_to(try_build(space_.genotype_at(numbers[random.weighted(probabilities)])));
}

std::string CandidatePool::exhaustion_reason() const {
  if (!is_exhausted()) {
    return "no new valid architecture was found among the last " + std::to_string(attempts_since_new_) +
           " of " + std::to_string(attempts_) +
           " genotypes that were looked at, by random samples, a directed search and in their order; " +
           counted(proposed_.size(), "architecture") + " had been found, and the space may have more";
  }
  std::unordered_set<space::ArchId> ids;
  if (feasible_) {
    for (const FeasibleGenotype& genotype : *feasible_) ids.insert(genotype.id);
  }
  for (const WalkedGenotype& genotype : walked_) ids.insert(genotype.id);
  return all_evaluated_text(ids.size());
}

/// Looks again, and counts the rejected architectures. Returns a candidate if it finds one. @throws
/// NoValidArchitecture with the counts otherwise
ArchitecturePointer CandidatePool::try_known_once_more() const {
  RejectionTally tally(objectives_);
  const auto count = [&](const space::Genotype& genotype) {
    space::BuildAttempt attempt = try_build(genotype);
    if (attempt.architecture) {
      tally.add(*attempt.architecture);
    } else {
      tally.add_invalid(attempt.problem);
    }
    return attempt;
  };
  if (feasible_) {
    for (std::int64_t number = 0; number < space_.genotype_count(); ++number)
      (void)count(space_.genotype_at(number));
    throw NoValidArchitecture("no valid architecture: of " + tally.text());
  }
  RandomStream random(derive_seed(0, "search.candidate_pool"));
  if (auto found = DirectedSearch(space_, objectives_, count).run(random, [](const auto&) { return true; }))
    return found;
  throw NoValidArchitecture("no valid architecture found by a directed search: of " + tally.text());
}

std::string all_evaluated_text(std::size_t architectures) {
  if (architectures == 0) return "no architecture meets the constraints on counted costs";
  if (architectures == 1) return "the only valid architecture was evaluated";
  return "all " + counted(architectures, "valid architecture") + " were evaluated";
}

}  // namespace skyline::search
