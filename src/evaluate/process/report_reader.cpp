#include "evaluate/process/report_reader.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

using Json = nlohmann::json;

constexpr const char* kResultKey = "result";
constexpr const char* kStepKey = "step";
/// The parser stops within words that JSON does not have and many programs write: nan, NaN, inf, -Infinity.
constexpr std::array<std::string_view, 5> kBegunNotFinite{"n", "na", "-n", "i", "-i"};

std::string quoted_number(double value) {
  return Json(value).dump();
}

std::string range_text(const trial::MetricRange& range) {
  if (std::isinf(range.low)) return "at most " + quoted_number(range.high);
  if (std::isinf(range.high)) return "at least " + quoted_number(range.low);
  return "from " + quoted_number(range.low) + " to " + quoted_number(range.high);
}

}  // namespace

/// What a line has said so far.
struct ReportReader::Line {
  bool is_result = false;
  std::optional<std::int64_t> step = {};
  std::vector<std::optional<double>> values;  // in the order of the metrics
};

/// Takes the events of the JSON parser, which, unlike a tree of values, show repeated names and need no
/// memory.
class ReportReader::LineReader final : public nlohmann::json_sax<Json> {
 public:
  LineReader(const std::vector<trial::Metric>& metrics, Line& line) : metrics_(metrics), line_(line) {}
  const std::string& mistake() const { return mistake_; }

  bool key(std::string& name) override {
    key_ = name;
    metric_ = metrics_.size();
    if (depth_ == 1 && (name == kResultKey || name == kStepKey)) return take_special(name);
    if (depth_ == 1 && line_.is_result) return fail("expected nothing beside the result");
    const auto metric = std::ranges::find(metrics_, name, &trial::Metric::name);
    if (metric == metrics_.end()) {
      return fail("it is no declared metric (" + joined(trial::names_of(metrics_)) +
                  "): leave it out, or add it to `metrics`");
    }
    metric_ = static_cast<std::size_t>(metric - metrics_.begin());
    return !line_.values[metric_] || fail("it is there twice");
  }

  bool start_object(std::size_t /*members*/) override {
    if (depth_ == 0 || (depth_ == 1 && key_ == kResultKey)) {
      ++depth_;
      return true;
    }
    return fail_type("an object");
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t /*items*/) override { return fail_type("a list"); }
  bool end_array() override { return true; }

  bool number_integer(number_integer_t value) override { return take(value, static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return take(fits ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt,
                static_cast<double>(value));
  }
  bool number_float(number_float_t value, const std::string& /*text*/) override {
    return take(std::nullopt, value);
  }
  bool null() override { return fail_type("null"); }
  bool boolean(bool value) override { return fail_type(value ? "true" : "false"); }
  bool string(std::string& text) override { return fail_type("the text " + in_quotes(printable(text))); }
  bool binary(binary_t& /*bytes*/) override { return fail_type("bytes"); }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const Json::exception& error) override {
    constexpr int kOverflow = 406;  // of the library: a number beyond those of a double
    // The parser gives what it has read since the last string.
    const std::string begun = lower_case(last_token.substr(last_token.find_last_of("\": \t") + 1));
    const bool is_not_finite =
        error.id == kOverflow || std::ranges::find(kBegunNotFinite, begun) != kBegunNotFinite.end();
    if (is_not_finite && !key_.empty()) return fail("expected a finite number, got NaN or an infinite one");
    key_.clear();
    return fail("it is not JSON at character " + std::to_string(position));
  }

 private:
  bool take_special(const std::string& name) {
    if (line_.is_result || (name == kStepKey && line_.step)) {
      return fail(key_ == kStepKey && !line_.step ? "a result has no step" : "it is there twice");
    }
    if (name == kStepKey) return true;
    if (line_.step ||
        std::ranges::any_of(line_.values, [](const auto& value) { return value.has_value(); })) {
      return fail("expected nothing beside the result");
    }
    line_.is_result = true;
    return true;
  }

  /// @param whole  the value as a whole number, if it is one
  bool take(std::optional<std::int64_t> whole, double value) {
    if (depth_ == 1 && key_ == kStepKey) {
      if (!whole || *whole < 0) return fail("expected a whole number from 0, got " + quoted_number(value));
      line_.step = whole;
      return true;
    }
    if (depth_ == 0 || metric_ == metrics_.size()) return fail_type(quoted_number(value));
    if (!std::isfinite(value)) return fail("expected a finite number, got an infinite one");
    const trial::MetricRange& range = metrics_[metric_].range;
    if (!range.holds(value)) {
      return fail("expected a number " + range_text(range) + ", got " + quoted_number(value));
    }
    line_.values[metric_] = value;
    return true;
  }

  bool fail_type(const std::string& found) {
    if (depth_ == 0) return fail("expected an object, got " + found);
    return fail("expected " + std::string(key_ == kResultKey ? "an object" : "a number") + ", got " + found);
  }
  bool fail(const std::string& mistake) {
    mistake_ = (key_.empty() ? "" : in_quotes(printable(key_)) + ": ") + mistake;
    return false;
  }

  const std::vector<trial::Metric>& metrics_;
  Line& line_;
  int depth_ = 0;
  std::string key_;         // last name
  std::size_t metric_ = 0;  // place of that name
  std::string mistake_;
};

ReportReader::ReportReader(std::vector<trial::Metric> metrics, bool is_final)
    : metrics_(std::move(metrics)), is_final_(is_final) {}

void ReportReader::feed(std::string_view bytes, ReportChannel channel) {
  std::string& pending = pending_[static_cast<std::size_t>(channel)];
  while (!bytes.empty() && !mistake_) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (pending.size() + part.size() > kLongestLine) {
      ++lines_;
      fail("it is longer than " + std::to_string(kLongestLine) + " bytes");
      break;
    }
    pending += part;
    if (end == std::string_view::npos) return;
    read_line(pending);
    pending.clear();
    bytes.remove_prefix(end + 1);
  }
}

void ReportReader::refuse(std::string mistake) {
  if (!mistake_) mistake_ = std::move(mistake);
}

void ReportReader::fail(const std::string& mistake) {
  refuse("line " + std::to_string(lines_) + " of its report: " + mistake);
}

void ReportReader::read_line(std::string_view text) {
  ++lines_;
  if (lines_ > kMostPoints + 1) return fail("there are more than " + std::to_string(kMostPoints) + " points");
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
  Line line;
  line.values.resize(metrics_.size());
  LineReader reader(metrics_, line);
  if (!Json::sax_parse(shallow_json(text), &reader)) return fail(reader.mistake());
  if (line.is_result) {
    set_result(line);
  } else {
    add_point(line);
  }
}

/// Returns whether a metric counts in this trial: those of full trainings are none of a search trial.
bool ReportReader::counts(const trial::Metric& metric) const {
  return is_final_ || metric.when != trial::Metric::When::kFullTraining;
}

void ReportReader::add_point(const Line& line) {
  if (!line.step) return fail("expected `step` or `result`, got neither");
  if (last_step_ && *line.step <= *last_step_) {
    return fail("`step`: expected a number above " + std::to_string(*last_step_) + ", got " +
                std::to_string(*line.step));
  }
  last_step_ = line.step;
  trial::CoursePoint point{.step = *line.step};
  bool has_values = false;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    has_values = has_values || line.values[i];
    if (line.values[i] && counts(metrics_[i])) point.values.push_back({metrics_[i].name, *line.values[i]});
  }
  if (!has_values) return fail("expected a metric beside the step");
  if (!point.values.empty()) new_points_.push_back(std::move(point));
}

void ReportReader::set_result(const Line& line) {
  if (result_) return fail("it is a second result");
  trial::Measurements result;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const bool is_wanted = counts(metrics_[i]);
    if (!line.values[i] && is_wanted) return fail("the result has no " + in_quotes(metrics_[i].name));
    result.values.push_back(is_wanted ? *line.values[i] : std::numeric_limits<double>::quiet_NaN());
  }
  result_ = std::move(result);
}

std::vector<trial::CoursePoint> ReportReader::take_points() {
  return std::exchange(new_points_, {});
}

std::variant<trial::Measurements, std::string> ReportReader::finish() {
  for (std::string& pending : pending_) {
    if (!mistake_ && !pending.empty()) read_line(pending);
    pending.clear();
  }
  if (!mistake_ && !result_) refuse("it reported no result");
  if (mistake_) return *mistake_;
  return *result_;
}

}  // namespace skyline::evaluate
