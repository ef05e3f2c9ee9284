#pragma once

#include "skyline/objective/objective_set.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {

/// Counts the reasons why genotypes are invalid, for the message about a space without a valid architecture.
class RejectionTally {
 public:
  explicit RejectionTally(const objective::ObjectiveSet& objectives);

  void add(const space::Network& network);
  /// Counts a genotype whose network cannot be built.
  void add_invalid(const std::string& reason);

  /// "192, 192 fail `flops: [0, 10]` (smallest found: 88138), 3 cannot be built (REASON)".
  std::string text() const;

 private:
  struct Rejections {
    objective::Constraint constraint;
    std::size_t count = 0;
    std::optional<double> nearest_below;  // largest value found below the bounds
    std::optional<double> nearest_above;  // smallest value found above them
  };
  static std::string nearest_text(const Rejections& rejections);

  std::size_t total_ = 0;
  std::size_t invalid_ = 0;
  std::string first_invalid_reason_;
  std::vector<Rejections> rejections_;  // one per computed constraint
};

}  // namespace skyline::search
