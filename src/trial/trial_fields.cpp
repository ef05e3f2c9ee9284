#include "trial/trial_fields.hpp"

#include <cmath>
#include <utility>

namespace skyline::trial {
namespace {

class ValueWriter {
 public:
  explicit ValueWriter(std::vector<NamedValue>& values) : values_(values) {}
  void operator()(const char* name, Origin origin) { add(name, std::string(to_text(origin))); }
  void operator()(const char* name, std::uint32_t value) { add(name, std::int64_t{value}); }
  void operator()(const char* name, std::uint64_t value) { add(name, value); }
  void operator()(const char* name, double value) { add(name, value); }
  void operator()(const char* name, const std::vector<TrialNumber>& numbers) {
    std::string text;
    for (const TrialNumber number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
    add(name, std::move(text));
  }
  void operator()(const char* /*name*/, const Start& start) {
    const auto* inherit = std::get_if<Inherit>(&start);
    const auto* earlier = std::get_if<Continue>(&start);
    add("inherited_from", inherit != nullptr ? static_cast<std::int64_t>(inherit->from) : -1);
    add("inherited_share", inherit != nullptr ? inherit->share : std::nan(""));
    add("continued_from", earlier != nullptr ? static_cast<std::int64_t>(earlier->from) : -1);
  }

 private:
  template <typename Value>
  void add(const char* name, Value value) {
    values_.push_back({name, std::move(value)});
  }
  std::vector<NamedValue>& values_;
};

}  // namespace

bool same_fields(const Trial& left, const Trial& right) {
  bool same = true;
  const auto compare = [&same](const char*, const auto& field, const auto& other) {
    same = same && field == other;
  };
  for_each_field(compare, left, right);
  return same;
}

std::vector<NamedValue> field_values(const Trial& trial) {
  std::vector<NamedValue> values;
  for_each_field(ValueWriter(values), trial);
  return values;
}

}  // namespace skyline::trial
