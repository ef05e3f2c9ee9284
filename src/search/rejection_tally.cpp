#include "search/rejection_tally.hpp"

#include <algorithm>

namespace skyline::search {

RejectionTally::RejectionTally(const objective::ObjectiveSet& objectives) {
  for (const objective::Constraint& constraint : objectives.constraints()) {
    if (constraint.computed) rejections_.push_back({constraint, 0, std::nullopt, std::nullopt});
  }
}

void RejectionTally::add(const space::Network& network) {
  ++total_;
  for (Rejections& rejections : rejections_) {
    const double value = objective::computed_metric(network, rejections.constraint.metric);
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

void RejectionTally::add_invalid(const std::string& reason) {
  ++total_;
  if (invalid_++ == 0) first_invalid_reason_ = reason;
}

std::string RejectionTally::text() const {
  std::string text = std::to_string(total_);
  for (const Rejections& rejections : rejections_) {
    if (rejections.count == 0) continue;
    text += ", " + std::to_string(rejections.count) + " fail `" + to_text(rejections.constraint) + "`";
    // Tells how far off the bounds are, unless other values are within them.
    if (rejections.count + invalid_ == total_) text += " (" + nearest_text(rejections) + ")";
  }
  if (invalid_ > 0)
    text += ", " + std::to_string(invalid_) + " cannot be built (" + first_invalid_reason_ + ")";
  return text;
}

std::string RejectionTally::nearest_text(const Rejections& rejections) {
  using objective::number_text;
  if (!rejections.nearest_below) return "smallest found: " + number_text(*rejections.nearest_above);
  if (!rejections.nearest_above) return "largest found: " + number_text(*rejections.nearest_below);
  return "nearest found: " + number_text(*rejections.nearest_below) + " and " +
         number_text(*rejections.nearest_above);
}

}  // namespace skyline::search
