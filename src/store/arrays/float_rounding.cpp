#include "store/arrays/float_rounding.hpp"

#include "skyline/objective/objective_set.hpp"

#include <algorithm>
#include <utility>

namespace skyline::store {
namespace {

/// Returns how many different floats numbers become.
std::size_t count_floats(const std::vector<double>& values, double subtract) {
  std::vector<double> floats;
  floats.reserve(values.size());
  for (const double value : values)
    floats.push_back(static_cast<double>(static_cast<float>(value - subtract)));
  return count_different(std::move(floats));
}

}  // namespace

std::size_t count_different(std::vector<double> values) {
  std::ranges::sort(values);
  return static_cast<std::size_t>(std::ranges::unique(values).begin() - values.begin());
}

double find_centre(const std::vector<double>& values, const std::string& label, const std::string& drop,
                   std::vector<std::string>& notes) {
  const auto is_float = [](double value) { return static_cast<double>(static_cast<float>(value)) == value; };
  if (std::ranges::all_of(values, is_float)) return 0;
  const std::size_t different = count_different(values);
  const std::size_t plain = count_floats(values, 0);
  if (plain == different) return 0;
  const double offset = values.front();
  const std::size_t centred = count_floats(values, offset);
  const std::string facts = "its " + std::to_string(different) + " different values ";
  if (centred > plain) {
    notes.push_back(label + ": " + objective::number_text(offset) + " is subtracted: " + facts + "would be " +
                    std::to_string(plain) + " in float32" +
                    (centred < different ? ", and are " + std::to_string(centred) : ""));
    return offset;
  }
  if (100 * plain < 99 * different) {
    notes.push_back("check: " + label + ": " + facts + "are " + std::to_string(plain) +
                    " in float32 (split it into two columns, or " + drop + ")");
  }
  return 0;
}

}  // namespace skyline::store
