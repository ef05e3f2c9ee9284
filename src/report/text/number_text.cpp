#include "report/text/number_text.hpp"

#include "report/files/trial_results.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr int kSignificant = 4;

bool is_time(std::string_view metric) {
  return metric.ends_with("_ms") || metric.ends_with("_s");
}

bool is_small_integer(double value) {
  return std::abs(value) < 1e6 && value == std::floor(value);
}

}  // namespace

std::string significant_text(double value, int digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Rounding may carry into a new digit (9.996 -> 10.00): measure the rounded number.
  const double unit = std::pow(10.0, magnitude - digits + 1);
  const double rounded = std::round(value / unit) * unit;
  const int rounded_magnitude = static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-12));
  return fmt::format("{:.{}f}", rounded, std::max(0, digits - 1 - rounded_magnitude));
}

std::string si_text(double value, std::string_view separator, std::string_view unit) {
  static constexpr std::array<std::string_view, 7> kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  if (!std::isfinite(value)) return fmt::format("{}", value);
  std::size_t prefix = 0;
  // 999.95 and above rounds to 1000.0 with four digits: it belongs to the next prefix.
  while (std::abs(value) >= 999.95 && prefix + 1 < kPrefixes.size() &&
         !(prefix == 0 && std::abs(value) < 1000)) {
    value /= 1000;
    ++prefix;
  }
  const bool plain = prefix == 0 && value == std::floor(value);
  const std::string number = plain ? fmt::format("{:.0f}", value) : significant_text(value, kSignificant);
  if (prefix == 0 && unit.empty()) return number;
  return fmt::format("{}{}{}{}", number, separator, kPrefixes[prefix], unit);
}

std::string format_number(double value) {
  return std::abs(value) < 1000 ? significant_text(value, kSignificant) : si_text(value);
}

std::string metric_text(std::string_view metric, double value, std::string_view separator) {
  if (std::isnan(value)) return "-";
  if (metric.find("accuracy") != std::string_view::npos) return fmt::format("{:.4f}", value);
  if (metric.ends_with("_bytes")) return si_text(value, separator, "B");
  if (is_time(metric)) return significant_text(value, 3);
  if (is_computed_metric(metric)) return si_text(value, separator);
  if (is_small_integer(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}g}", value, kSignificant);
}

std::string duration_text(double seconds) {
  const auto total = static_cast<std::int64_t>(std::max(0.0, seconds));
  const std::int64_t minutes = total / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (days > 0) return fmt::format("{}d {:02}:{:02}:{:02}", days, hours % 24, minutes % 60, total % 60);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes % 60, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

}  // namespace skyline::report
