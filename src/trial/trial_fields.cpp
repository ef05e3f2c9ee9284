#include "trial/trial_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <utility>
#include <vector>

namespace skyline::trial {
namespace {

std::string numbers_text(const std::vector<TrialNumber>& numbers) {
  std::string text;
  for (const TrialNumber number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

std::string field_text(Origin origin) {
  return std::string(origin.text());
}
std::string field_text(std::uint32_t value) {
  return std::to_string(value);
}
std::string field_text(std::uint64_t value) {
  return std::to_string(value);
}
std::string field_text(double value) {
  return space::to_text(space::Value{value});
}
std::string field_text(const std::vector<TrialNumber>& parents) {
  return parents.empty() ? "none" : numbers_text(parents);
}
std::string inherit_text(const Inherit& inherit) {
  return "from the weights of trial " + std::to_string(inherit.from) + " (share " +
         field_text(inherit.share) + ")";
}
std::string field_text(const Start& start) {
  if (const auto* inherit = std::get_if<Inherit>(&start)) return inherit_text(*inherit);
  const auto* earlier = std::get_if<Continue>(&start);
  if (earlier == nullptr) return "fresh";
  const std::string end = "where trial " + std::to_string(earlier->from) + " ended";
  return earlier->began ? end + ", begun " + inherit_text(*earlier->began) : end;
}

class CellWriter {
 public:
  CellWriter(std::vector<Cell>& cells, Cell::Topic topic) : cells_(cells), topic_(topic) {}
  void operator()(const char* name, Origin origin) { add(name, std::string(origin.text())); }
  void operator()(const char* name, std::signed_integral auto value) { add(name, std::int64_t{value}); }
  void operator()(const char* name, std::uint32_t value) { add(name, std::int64_t{value}); }
  void operator()(const char* name, std::uint64_t value) { add(name, value); }
  void operator()(const char* name, double value) { add(name, value); }
  void operator()(const char* name, const std::vector<TrialNumber>& numbers) {
    add(name, numbers_text(numbers));
  }
  void operator()(const char* /*name*/, const Start& start) {
    const auto* inherit = inherit_of(start);
    const auto* earlier = std::get_if<Continue>(&start);
    const auto number = [](const auto* of) { return static_cast<std::int64_t>(of->from); };
    add("inherited_from", std::int64_t{-1}, inherit, number);
    add("inherited_share", std::nan(""), inherit, [](const Inherit* of) { return of->share; });
    add("continued_from", std::int64_t{-1}, earlier, number);
  }

 private:
  template <typename Value>
  void add(const char* name, Value value) {
    cells_.push_back({topic_, name, std::move(value), Value()});
  }
  template <typename Value, typename Owner, typename Member>
  void add(const char* name, Value none, const Owner* owner, const Member& member) {
    cells_.push_back({topic_, name, space::Null(), none});
    if (owner != nullptr) cells_.back().value = member(owner);
  }
  std::vector<Cell>& cells_;
  Cell::Topic topic_;
};

/// The columns that are no fields of a trial (trial_fields.hpp). Those of the second line are
/// search_state.csv's.
constexpr std::array<std::string_view, 18> kOthers{"number",       "position",
                                                   "phase",        "final_repeat",
                                                   "arch_id",      "status",
                                                   "reason",       "on_front",
                                                   "step",         "archid",
                                                   "trial",        "iteration_num",
                                                   "parent",       "search_walltime_hours",
                                                   "is_pareto",    "is_final_pareto",
                                                   "final_epochs", "final_repeats"};

}  // namespace

std::optional<FieldDifference> first_difference(const Trial& left, const Trial& right) {
  std::optional<FieldDifference> found;
  const auto compare = [&found](const char* name, const auto& field, const auto& other) {
    if (!found && !(field == other) && !is_stated_if_set(name))
      found = FieldDifference{name, field_text(field), field_text(other)};
  };
  for_each_field(compare, left, right);
  return found;
}

void add_fields(std::vector<Cell>& cells, const Trial& trial) {
  for_each_field(CellWriter(cells, Cell::Topic::kField), trial);
}

void add_timing(std::vector<Cell>& cells, const TrialTiming& timing) {
  for_each_timing(CellWriter(cells, Cell::Topic::kTiming), timing);
}

bool is_column_name(std::string_view name) {
  if (std::ranges::find(kOthers, name) != kOthers.end()) return true;
  std::vector<Cell> cells;
  add_fields(cells, {});
  add_timing(cells, {});
  return std::ranges::find(cells, name, &Cell::name) != cells.end();
}

}  // namespace skyline::trial
