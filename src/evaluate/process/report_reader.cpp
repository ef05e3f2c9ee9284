#include "evaluate/process/report_reader.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

using Json = nlohmann::json;

constexpr const char* kResultKey = "result";
constexpr const char* kStepKey = "step";
constexpr const char* kNotFinite = "NaN or an infinite one";

std::string quoted_number(double value) {
  return Json(value).dump();
}

std::string range_text(const trial::MetricRange& range) {
  if (std::isinf(range.low)) return "at most " + quoted_number(range.high);
  if (std::isinf(range.high)) return "at least " + quoted_number(range.low);
  return "from " + quoted_number(range.low) + " to " + quoted_number(range.high);
}

/// Returns whether a word is a number that a double cannot hold, or NaN or an infinite one, which JSON does
/// not have and many programs write.
bool is_not_finite(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  return !word.empty() && end == word.c_str() + word.size() && !std::isfinite(number);
}

/// Returns the line with such words in quotes, so that the parser takes them.
std::string with_quoted_words(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    std::size_t size = 1;
    if (line.front() == '"') {
      while (size < line.size() && line[size] != '"') size += line[size] == '\\' ? 2U : 1U;
      text += line.substr(0, size + 1);
      line.remove_prefix(std::min(size + 1, line.size()));
      continue;
    }
    const auto is_of_word = [](unsigned char letter) {
      return std::isalnum(letter) != 0 || letter == '.' || letter == '-' || letter == '+';
    };
    size = static_cast<std::size_t>(std::ranges::find_if_not(line, is_of_word) - line.begin());
    const std::string word(line.substr(0, size));
    text += is_not_finite(word) ? '"' + word + '"' : word.empty() ? line.substr(0, 1) : word;
    line.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return text;
}

/// Returns what stands at a name, or nullptr.
const auto* found_at(const auto& all, std::string_view name) {
  const auto place = std::ranges::find_if(all, [&](const auto& each) { return each.name == name; });
  return place == all.end() ? nullptr : &*place;
}

std::string named(const std::string& name) {
  return in_quotes(printable(name)) + ": ";
}

}  // namespace

/// What stands at a name.
struct ReportReader::Found {
  std::string name;
  std::optional<double> number = {};
  std::string other = {};  // the text in place of a finite number, for messages

  /// Returns why it is no value of the metric, if it isn't.
  std::optional<std::string> mistake_for(const trial::MetricRange& range) const {
    if (!number) {
      return std::string(other == kNotFinite ? "expected a finite number" : "expected a number") + ", got " +
             other;
    }
    if (range.holds(*number)) return std::nullopt;
    return "expected a number " + range_text(range) + ", got " + quoted_number(*number);
  }
};

/// Takes the events of the JSON parser, which, unlike a tree of values, show repeated names. It keeps the
/// names of a line and those of its result.
class ReportReader::LineReader final : public nlohmann::json_sax<Json> {
 public:
  std::vector<Found> line;
  std::optional<std::vector<Found>> result;
  std::string mistake;

  bool key(std::string& name) override {
    if (depth_ == 1) {
      if (name == kResultKey && result) return fail("`result`: it is there twice");
      line.push_back({name});
    } else if (in_result_ && depth_ == 2) {
      result->push_back({name});
    }
    return true;
  }
  bool start_object(std::size_t /*members*/) override {
    const bool is_result = depth_ == 1 && line.back().name == kResultKey;
    if (is_result) result.emplace();
    if (depth_ > 0 && !is_result) set_other("an object");
    in_result_ = in_result_ || is_result;
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    in_result_ = in_result_ && depth_ > 1;
    return true;
  }
  bool start_array(std::size_t /*items*/) override {
    if (!set_other("a list")) return false;
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool number_integer(number_integer_t value) override { return set_number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return set_number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const std::string& /*text*/) override { return set_number(value); }
  bool null() override { return set_other("null"); }
  bool boolean(bool value) override { return set_other(value ? "true" : "false"); }
  bool string(std::string& text) override {
    return set_other(is_not_finite(text) ? kNotFinite : "the text " + in_quotes(printable(text)));
  }
  bool binary(binary_t& /*bytes*/) override { return set_other("bytes"); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    return fail("it is not JSON at character " + std::to_string(position));
  }

 private:
  Found* place() {
    if (depth_ == 1 && !line.empty()) return &line.back();
    return in_result_ && depth_ == 2 ? &result->back() : nullptr;  // deeper values are left out
  }
  bool set_number(double value) {
    if (depth_ == 0) return fail("expected an object, got " + quoted_number(value));
    if (Found* const found = place()) found->number = value;
    return true;
  }
  bool set_other(const std::string& other) {
    if (depth_ == 0) return fail("expected an object, got " + other);
    if (Found* const found = place()) found->other = other;
    return true;
  }
  bool fail(const std::string& text) {
    mistake = text;
    return false;
  }

  int depth_ = 0;
  bool in_result_ = false;
};

void LeftOut::warn(const std::string& whose, const std::vector<Reason>& reasons,
                   const store::TrialLogs& logs) {
  for (const Reason& reason : reasons) {
    const auto kind = static_cast<unsigned>(reason.kind);
    const unsigned bit = 1U << kind;
    if ((told_.fetch_or(bit) & bit) != 0 || !logs.should_tell("left_out." + std::to_string(kind))) continue;
    log::warning(whose + ": " + reason.text +
                 "; it is left out, like others of this kind, which are not told");
  }
}

ReportReader::ReportReader(std::vector<trial::Metric> metrics, bool is_final)
    : ReportedLines(kLongestLine), metrics_(std::move(metrics)), is_final_(is_final) {}

void ReportReader::read_line(std::string_view text) {
  LineReader reader;
  if (!Json::sax_parse(shallow_json(with_quoted_words(text)), &reader)) return fail(reader.mistake);
  if (const Found* const found = found_at(reader.line, kResultKey); found != nullptr && !reader.result) {
    const std::string got = found->number ? quoted_number(*found->number) : found->other;
    return fail("`result`: expected an object, got " + got);
  }
  if (!reader.result) return add_point(reader.line);
  if (reader.line.size() > 1) {
    const auto beside =
        std::ranges::find_if(reader.line, [](const Found& f) { return f.name != kResultKey; });
    leave_out(LeftOut::Kind::kName, named(beside->name) + "it stands beside the result");
  }
  set_result(*reader.result);
}

/// Notes what is left out, of each kind the first.
void ReportReader::leave_out(LeftOut::Kind kind, const std::string& what) {
  const bool is_new = !std::exchange(left_out_.at(static_cast<std::size_t>(kind)), true);
  if (is_new) reasons_.push_back({kind, place() + what});
}

/// Returns whether a metric counts in this trial: those of full trainings are none of a search trial.
bool ReportReader::counts(const trial::Metric& metric) const {
  return is_final_ || metric.when != trial::Metric::When::kFullTraining;
}

/// Adds a point of the learning curve. It decides nothing, so what it cannot have is left out.
void ReportReader::add_point(const std::vector<Found>& line) {
  const Found* const step = found_at(line, kStepKey);
  if (step == nullptr) {
    const std::string what = "expected `step` or `result`, got neither";
    if (without_step_.empty()) without_step_ = place() + what;
    return leave_out(LeftOut::Kind::kStep, what);
  }
  constexpr double kMostSteps = 1e15;
  const bool is_step = step->number && *step->number >= 0 && *step->number <= kMostSteps &&
                       std::trunc(*step->number) == *step->number;
  if (!is_step) {
    const std::string got = step->number ? quoted_number(*step->number) : step->other;
    return leave_out(LeftOut::Kind::kStep, "`step`: expected a whole number from 0, got " + got);
  }
  trial::CurvePoint point{.step = static_cast<std::int64_t>(*step->number)};
  if (last_step_ && point.step < *last_step_) {
    return leave_out(LeftOut::Kind::kStep, "`step`: expected a number from " + std::to_string(*last_step_) +
                                               ", got " + std::to_string(point.step));
  }
  for (const Found& found : line) {
    if (&found == step || !is_of_curve(found)) continue;
    const auto earlier = std::ranges::find(point.values, found.name, &trial::NamedNumber::name);
    if (earlier == point.values.end()) point.values.push_back({found.name, *found.number});
  }
  add_declared(line, point);
  if (point.values.empty()) return;
  std::ranges::stable_sort(point.values, {}, [this](const trial::NamedNumber& value) {  // metrics are first
    return std::ranges::find(metrics_, value.name, &trial::Metric::name);
  });
  last_step_ = point.step;
  if (++points_ > kMostPoints) {
    return leave_out(LeftOut::Kind::kMany, "there are more than " + std::to_string(kMostPoints) + " points");
  }
  new_points_.push_back(std::move(point));
}

/// Notes a line of a declared step. @param point  the line without what is left out
void ReportReader::add_declared(const std::vector<Found>& line, const trial::CurvePoint& point) {
  if (std::ranges::find(declared_steps_, point.step) == declared_steps_.end()) return;
  if (declared_point_.step != point.step) declared_point_ = {point.step};
  std::set<std::string>& seen = declared_seen_[point.step];
  for (const std::string& name : declared_names_) {
    if (found_at(line, name) == nullptr || !seen.insert(name).second) continue;
    const auto value = std::ranges::find(point.values, name, &trial::NamedNumber::name);
    if (value != point.values.end()) declared_point_.values.push_back(*value);
  }
  if (seen.size() < declared_names_.size()) return;
  std::erase(declared_steps_, point.step);
  new_declared_.push_back(declared_point_);
}

/// Returns whether a curve may have the value. A curve may have any names, but not any number of them.
bool ReportReader::is_of_curve(const Found& found) {
  const auto metric = std::ranges::find(metrics_, found.name, &trial::Metric::name);
  if (metric != metrics_.end() && !counts(*metric)) return false;
  if (const auto mistake =
          found.mistake_for(metric == metrics_.end() ? trial::MetricRange() : metric->range)) {
    const bool is_gap = found.other == kNotFinite || found.other == "null";
    leave_out(is_gap ? LeftOut::Kind::kNotFinite : LeftOut::Kind::kValue, named(found.name) + *mistake);
    return false;
  }
  if (names_.contains(found.name)) return true;
  const bool is_name =
      !found.name.empty() && found.name.size() <= kLongestName && printable(found.name) == found.name;
  if (!is_name) {
    leave_out(LeftOut::Kind::kName, named(found.name) + "expected a name of 1 to " +
                                        std::to_string(kLongestName) + " bytes without control characters");
  } else if (names_.size() == kMostNames) {
    leave_out(LeftOut::Kind::kMany,
              named(found.name) + "a learning curve has at most " + std::to_string(kMostNames) + " names");
  } else {
    names_.insert(found.name);
  }
  return names_.contains(found.name);
}

void ReportReader::set_result(const std::vector<Found>& values) {
  if (result_) return fail("it is a second result");
  trial::Measurements result{std::vector<double>(metrics_.size(), std::nan(""))};
  std::string unknown;  // the first name that is none of a metric
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto metric = std::ranges::find(metrics_, values[i].name, &trial::Metric::name);
    if (metric == metrics_.end()) {
      if (unknown.empty()) unknown = in_quotes(printable(values[i].name));
    } else if (counts(*metric)) {
      const bool is_again = found_at(values, metric->name) != &values[i];
      if (is_again) return fail(named(metric->name) + "it is there twice");
      if (const auto mistake = values[i].mistake_for(metric->range))
        return fail(named(metric->name) + *mistake);
      result.values[static_cast<std::size_t>(metric - metrics_.begin())] = *values[i].number;
    }
  }
  const std::string undeclared =
      unknown + ", which is no declared metric (" + joined(trial::names_of(metrics_)) + ")";
  for (const trial::Metric& metric : metrics_) {
    if (!counts(metric) || found_at(values, metric.name) != nullptr) continue;
    return fail("the result has no " + in_quotes(metric.name) +
                (unknown.empty() ? "" : ", but " + undeclared));
  }
  if (!unknown.empty()) leave_out(LeftOut::Kind::kName, "the result has " + undeclared);
  result_ = std::move(result);
}

std::vector<LeftOut::Reason> ReportReader::take_reasons() {
  return std::exchange(reasons_, {});
}

std::vector<trial::CurvePoint> ReportReader::take_points() {
  return std::exchange(new_points_, {});
}

void ReportReader::declare(std::vector<std::int64_t> steps, std::vector<std::string> names) {
  declared_steps_ = std::move(steps);
  declared_names_ = std::move(names);
}

std::vector<trial::CurvePoint> ReportReader::take_declared() {
  return std::exchange(new_declared_, {});
}

std::vector<std::string> ReportReader::missing_of(std::int64_t step) const {
  std::vector<std::string> missing;
  const auto seen = declared_seen_.find(step);
  if (seen == declared_seen_.end()) return missing;
  std::ranges::copy_if(declared_names_, std::back_inserter(missing),
                       [&](const std::string& name) { return !seen->second.contains(name); });
  return missing;
}

bool ReportReader::has_result() {
  read_rest();
  return result_.has_value();
}

std::variant<trial::Measurements, std::string> ReportReader::finish() {
  read_rest();
  if (!result_) refuse("it reported no result" + (without_step_.empty() ? "" : ", but " + without_step_));
  if (mistake()) return *mistake();
  return *result_;
}

}  // namespace skyline::evaluate
