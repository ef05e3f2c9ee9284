#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include "space/language/parsed_space.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// Mutation, crossover and enumeration of genotypes.

namespace skyline::space {
namespace {

constexpr int kMostTries = 32;

// Returns the id of the genotype's architecture, or nullopt if its network cannot be built.
std::optional<ArchId> id_of(const SearchSpace& space, const Genotype& genotype) {
  const BuildAttempt attempt = space.try_build(genotype);
  if (!attempt.architecture) return std::nullopt;
  return attempt.architecture->id;
}

// Draws another value of the parameter.
std::uint32_t other_choice(const Parameter& parameter, std::uint32_t current, RandomStream& random) {
  const auto drawn = static_cast<std::uint32_t>(random.below(parameter.values.size() - 1));
  return drawn < current ? drawn : drawn + 1;
}

// Returns the parameters that can change the architecture: used ones with more than one value.
std::vector<std::size_t> open_parameters(const SearchSpace& space, const Architecture& parent) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < parent.used.size(); ++i) {
    if (parent.used[i] && space.parameters()[i].values.size() > 1) open.push_back(i);
  }
  return open;
}

// Tries every change of one open parameter in random order; returns the first new architecture.
std::optional<Genotype> any_single_change(const SearchSpace& space, const Architecture& parent,
                                          const std::vector<std::size_t>& open, RandomStream& random) {
  struct Change {
    std::size_t parameter;
    std::uint32_t choice;
  };
  std::vector<Change> changes;
  for (const std::size_t index : open) {
    for (std::uint32_t choice = 0; choice < space.parameters()[index].values.size(); ++choice) {
      if (choice != parent.genotype.choices[index]) changes.push_back({index, choice});
    }
  }
  random.shuffle(std::span<Change>(changes));
  for (const Change& change : changes) {
    const auto child = space.with_choice(parent.genotype, change.parameter, change.choice, random);
    if (!child) continue;
    const BuildAttempt attempt = space.try_build(*child);
    if (attempt.architecture && attempt.architecture->id != parent.id) return attempt.architecture->genotype;
  }
  return std::nullopt;
}

/// Returns, for each parameter that a child has changed, all its values but the parent's.
Domains other_choices(const std::vector<Parameter>& parameters, const Genotype& parent,
                      const Genotype& child) {
  Domains choices(parameters.size());
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    for (std::uint32_t choice = 0; choice < parameters[p].values.size(); ++choice) {
      const bool is_other = choice != parent.choices[p] && child.choices[p] != parent.choices[p];
      if (is_other) choices[p].push_back(choice);
    }
  }
  return choices;
}

/// Returns the choices of both parents.
Domains choices_of(const Genotype& first, const Genotype& second) {
  Domains choices(first.choices.size());
  for (std::size_t p = 0; p < choices.size(); ++p) {
    choices[p] = {first.choices[p]};
    if (second.choices[p] != first.choices[p]) choices[p].push_back(second.choices[p]);
  }
  return choices;
}

std::vector<bool> inverse(std::vector<bool> marks) {
  marks.flip();
  return marks;
}

}  // namespace

std::optional<Genotype> SearchSpace::with_choice(const Genotype& genotype, std::size_t parameter,
                                                 std::uint32_t choice, RandomStream& random) const {
  const Genotype drawn = state_->uses->with_drawn(genotype, random);
  Genotype changed = drawn;
  changed.choices[parameter] = choice;
  if (state_->where->empty() || !state_->where->names(parameter)) return changed;
  Domains choices(genotype.choices.size());
  choices[parameter] = {choice};
  return state_->where->sample_near(drawn, choices, {}, random);
}

std::optional<Genotype> SearchSpace::mutate(const Genotype& parent, double probability,
                                            RandomStream& random) const {
  const Architecture built = build(parent);
  const std::vector<std::size_t> open = open_parameters(*this, built);
  if (open.empty()) return std::nullopt;
  for (int i = 0; i < kMostTries; ++i) {
    const Genotype whole = state_->uses->with_drawn(parent, random);
    Genotype child = whole;
    for (const std::size_t index : open) {
      if (random.uniform() >= probability) continue;
      child.choices[index] = other_choice(state_->parameters[index], whole.choices[index], random);
    }
    if (child == whole) {
      const std::size_t index = open[static_cast<std::size_t>(random.below(open.size()))];
      child.choices[index] = other_choice(state_->parameters[index], whole.choices[index], random);
    }
    if (!state_->where->empty()) {
      const Domains choices = other_choices(state_->parameters, whole, child);
      const auto kept = state_->where->sample_near(whole, choices, inverse(built.used), random);
      if (!kept) continue;
      child = *kept;
    }
    const auto id = id_of(*this, child);
    if (id && *id != built.id) return state_->uses->canonical(std::move(child));
  }
  return any_single_change(*this, built, open, random);
}

/// Returns the genotype with the other parent's value of each parameter that the other alone has in use, and
/// a random one of each that neither has.
Genotype SearchSpace::completed(const Genotype& genotype, const Genotype& other, RandomStream& random) const {
  if (state_->uses->empty()) return genotype;
  const std::vector<bool> used = in_use(genotype);
  const std::vector<bool> used_by_other = in_use(other);
  Genotype whole = state_->uses->with_drawn(genotype, random);
  for (std::size_t p = 0; p < used.size(); ++p) {
    if (!used[p] && used_by_other[p]) whole.choices[p] = other.choices[p];
  }
  return whole;
}

std::optional<Genotype> SearchSpace::cross(const Architecture& first_parent,
                                           const Architecture& second_parent, RandomStream& random) const {
  for (int i = 0; i < kMostTries; ++i) {
    const Genotype first = completed(first_parent.genotype, second_parent.genotype, random);
    const Genotype second = completed(second_parent.genotype, first_parent.genotype, random);
    Genotype child = first;
    if (!state_->where->empty()) {
      const auto kept = state_->where->sample_within(choices_of(first, second), random);
      if (!kept) continue;
      child = *kept;
    } else {
      for (std::size_t index = 0; index < child.choices.size(); ++index) {
        if (random.below(2) == 1) child.choices[index] = second.choices[index];
      }
    }
    if (child == first || child == second) continue;
    const auto id = id_of(*this, child);
    if (id && *id != first_parent.id && *id != second_parent.id)
      return state_->uses->canonical(std::move(child));
  }
  return std::nullopt;
}

GenotypeWalk::GenotypeWalk(const SearchSpace& space) : touched_(space.parameters().size()) {
  for (const Parameter& parameter : space.parameters()) values_.push_back(parameter.values.size());
  genotype_.choices.assign(values_.size(), 0);
}

void GenotypeWalk::advance(const std::vector<bool>& reads) {
  require(!finished_ && reads.size() == touched_.size(), "GenotypeWalk::advance: no such genotype");
  for (std::size_t p = 0; p < reads.size(); ++p) touched_[p] = touched_[p] || reads[p];
  for (std::size_t p = values_.size(); p-- > 0;) {
    if (touched_[p] && ++genotype_.choices[p] < values_[p]) return;
    genotype_.choices[p] = 0;
    touched_[p] = false;
  }
  finished_ = true;
}

std::int64_t GenotypeWalk::number() const {
  std::int64_t number = finished_ ? 1 : 0;
  for (std::size_t p = 0; p < values_.size(); ++p) {
    const bool is_too_large =
        __builtin_mul_overflow(number, static_cast<std::int64_t>(values_[p]), &number) ||
        __builtin_add_overflow(number, static_cast<std::int64_t>(genotype_.choices[p]), &number);
    if (is_too_large) return std::numeric_limits<std::int64_t>::max();
  }
  return number;
}

double GenotypeWalk::share() const {
  if (finished_) return 1;
  double share = 0;
  double step = 1;
  for (std::size_t p = 0; p < values_.size(); ++p) {
    step /= static_cast<double>(values_[p]);
    share += step * genotype_.choices[p];
  }
  return share;
}

}  // namespace skyline::space
