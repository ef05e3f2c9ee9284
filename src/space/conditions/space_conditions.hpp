#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/search_space.hpp"

#include "space/conditions/condition.hpp"
#include "space/conditions/exact_sampler.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace skyline::space {

/// The conditions of a space's `where`: which genotypes keep them, and draws among these. Draws are exact if
/// the tables for all conditions are small enough (ExactSampler). Otherwise they are exact for some
/// conditions, and the others are met by drawing again, or at last by a bounded search, which is not uniform.
/// Any thread may use it; the tables are made by the first that needs them.
class SpaceConditions {
 public:
  /// @param parameters  must outlive this object
  /// @throws UserError if an expression is not a condition, can never be calculated, or if there are over
  /// 1,000
  SpaceConditions(const std::vector<Expression>& written, const std::vector<Parameter>& parameters,
                  std::int64_t classes, ConditionRules rules);
  SpaceConditions(const SpaceConditions&) = delete;
  SpaceConditions& operator=(const SpaceConditions&) = delete;

  /// Returns whether there are no conditions.
  bool empty() const { return conditions_.empty(); }
  /// Returns whether a condition names this parameter.
  bool names(std::size_t parameter) const { return named_[parameter]; }
  /// Returns why the genotype breaks a condition, or an empty text if it keeps all.
  /// @param reads  is set to true for the parameters on which the answer depends
  std::string problem(const Genotype& genotype, std::vector<bool>& reads) const;
  /// Returns whether the genotype keeps the conditions that name marked parameters only.
  /// @param marked  for each parameter: whether it is marked
  bool is_kept(const Genotype& genotype, const std::vector<bool>& marked) const;

  /// Returns one line, with its place, for each condition that cannot be calculated for genotypes which no
  /// other condition rules out: how many, and an example. At most ten conditions are looked at.
  std::vector<std::string> failures() const;
  /// Returns an example of what only one of the two rules keeps, or an empty text if there is none. In a
  /// space that cannot be counted it is looked for among 1,000 draws for each condition.
  std::string difference_of_rules() const;

  /// Returns the number of genotypes that keep all conditions, or nullopt if they cannot be counted.
  std::optional<long double> count() const;
  /// Draws by the weights of the values. The genotype breaks a condition if the bounded search found none.
  Genotype sample(RandomStream& random) const;
  /// Draws without the weights, among all genotypes if those that keep the conditions cannot be counted.
  Genotype sample_evenly(RandomStream& random) const;

  /// Draws a genotype near `genotype` in which parameters have one of given choices. Others keep theirs
  /// unless the conditions forbid it; then more and more are free: first idle ones, then those that share a
  /// condition with a free one, and so on. Draws evenly; returns nullopt if it found none.
  /// @param choices  for each parameter: the choices, or an empty list for its present one
  /// @param idle     for each parameter: whether it does not matter; may be empty
  std::optional<Genotype> sample_near(const Genotype& genotype, const Domains& choices,
                                      const std::vector<bool>& idle, RandomStream& random) const;
  /// Draws evenly among the genotypes whose parameters have these choices. Returns nullopt if it found none.
  /// @param choices  for each parameter: the choices, at least one
  std::optional<Genotype> sample_within(const Domains& choices, RandomStream& random) const;

 private:
  /// Genotypes that were looked for.
  struct Found {
    std::optional<long double> count;  // nullopt if they cannot be counted
    Genotype example;
  };
  ConditionedSpace conditioned() const { return {parameters_, values_, conditions_, classes_}; }
  std::optional<Found> find(const std::vector<Condition>& conditions) const;
  long double unnamed_count() const;
  bool holds_all(const Genotype& genotype) const;
  Domains all_choices() const;
  const ExactSampler& tables(bool weighted) const;
  void sample_unnamed(RandomStream& random, Genotype& genotype, bool weighted) const;
  void descend(RandomStream& random, Genotype& genotype) const;
  double violation_about(std::size_t parameter, const Genotype& genotype) const;

  const std::vector<Parameter>& parameters_;
  const std::int64_t classes_;
  ConditionValues values_;
  std::vector<Condition> conditions_;
  std::vector<bool> named_;  // whether a condition names the parameter, for each one
  mutable std::once_flag once_weighted_;
  mutable std::once_flag once_even_;
  mutable std::optional<ExactSampler> weighted_;
  mutable std::optional<ExactSampler> even_;
};

}  // namespace skyline::space
