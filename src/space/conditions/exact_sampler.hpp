#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/search_space.hpp"

#include "space/conditions/condition.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace skyline::space {

/// What a condition is about, and how it is evaluated.
struct ConditionedSpace {
  const std::vector<Parameter>& parameters;
  const ConditionValues& values;
  const std::vector<Condition>& conditions;
  std::int64_t classes;
};

/// The choices that each parameter may have; empty for a parameter that no condition names.
using Domains = std::vector<std::vector<std::uint32_t>>;

/// Tables for exact draws among the genotypes that keep conditions. Parameters are eliminated one by one: the
/// table of each says, for all choices of the parameters that share a condition with it, what its own choices
/// and those of the parameters eliminated before weigh in all. The work of this grows with the number of
/// parameters that hang together; conditions that would make it too large are left out. Immutable.
/// @see Dechter, Artificial Intelligence 113, 1999 (bucket elimination)
class ExactSampler {
 public:
  /// @param space     must outlive this object
  /// @param weighted  whether choices weigh as in the space; otherwise they all weigh the same
  ExactSampler(const ConditionedSpace& space, Domains domains, bool weighted);

  /// Returns whether draws keep all conditions; otherwise those that were left out must be checked.
  bool is_complete() const { return is_complete_; }
  /// Returns whether some genotype keeps the conditions, apart from those that were left out.
  bool is_possible() const { return weight() > 0; }
  /// Returns the weight of all genotypes, which is their number if they weigh the same. Parameters in no
  /// condition do not count.
  long double weight() const;
  /// Draws the choices of all parameters in conditions. @pre is_possible()
  void sample(RandomStream& random, Genotype& genotype) const;

 private:
  struct Step {
    std::size_t parameter = 0;
    std::vector<std::size_t> others;      // parameters that are drawn before it and on which it depends
    std::vector<std::size_t> conditions;  // conditions of this parameter and of `others`
    std::vector<std::size_t> inner;       // earlier steps that depend on this parameter
    std::vector<double> table;  // indexed by the positions of the others' choices; the first varies slowest
    int exponent = 0;           // the true weights are the table times 2^exponent
  };
  /// The choices at hand, while tables are made or used.
  struct Scratch {
    Genotype genotype;
    std::vector<std::size_t> places;  // [parameter]: index of its value in its domain
    std::vector<bool> used;
  };

  std::optional<std::vector<Step>> plan(const std::vector<std::size_t>& conditions) const;
  void choose_conditions();
  void fill(Step& step, Scratch& scratch) const;
  double mass(const Step& step, std::size_t place, Scratch& scratch) const;
  std::size_t place_in_table(const Step& step, const Scratch& scratch) const;
  Scratch scratch() const;

  ConditionedSpace space_;
  Domains domains_;
  std::vector<std::vector<double>> weights_;  // weight of each choice in the domains
  std::vector<Step> steps_;
  bool is_complete_ = true;
};

}  // namespace skyline::space
