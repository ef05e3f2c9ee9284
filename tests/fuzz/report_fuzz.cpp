// Any bytes as the reports of a trainer, in any pieces and on both channels: the reader ends with values
// within their ranges, or with one short line. It has the same outcome for the same lines in other pieces.
#include "evaluate/process/report_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kLongestMistake = 1'000;

void check(bool good, const std::string& problem) {
  if (good) return;
  std::cerr << problem << "\n";
  std::terminate();
}

const std::vector<trial::Metric>& metrics() {
  static const std::vector<trial::Metric> declared{
      {.name = "accuracy", .range = {0, 100}},
      {.name = "size_mb"},
      {.name = "a\"b", .when = trial::Metric::When::kFullTraining}};
  return declared;
}

struct Seen {
  std::size_t points = 0;
  std::variant<trial::Measurements, std::string> outcome;
};

/// @param piece  bytes that come at once
Seen read(std::string_view text, std::size_t piece, ReportChannel channel) {
  ReportReader reader(metrics(), false);
  Seen seen;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    reader.feed(text.substr(0, piece), channel);
    seen.points += reader.take_points().size();
  }
  seen.outcome = reader.finish();
  seen.points += reader.take_points().size();
  return seen;
}

void check_outcome(const Seen& seen) {
  check(seen.points <= ReportReader::kMostPoints, "too many points");
  if (const auto* mistake = std::get_if<std::string>(&seen.outcome)) {
    check(!mistake->empty() && mistake->size() <= kLongestMistake, "a long mistake: " + *mistake);
    const bool is_line =
        std::ranges::none_of(*mistake, [](char letter) { return static_cast<unsigned char>(letter) < ' '; });
    check(is_line, "a mistake of several lines");
    return;
  }
  const std::vector<double>& values = std::get<trial::Measurements>(seen.outcome).values;
  check(values.size() == metrics().size() && metrics()[0].range.holds(values[0]) && values[1] == values[1],
        "wrong values");
}

void read_twice(std::string_view text) {
  const std::size_t piece = text.empty() ? 1 : 1 + static_cast<unsigned char>(text[0]) % 32U;
  const Seen whole = read(text, text.size(), ReportChannel::kDescriptor);
  const Seen parts = read(text, piece, ReportChannel::kFile);
  check_outcome(whole);
  check(whole.points == parts.points && whole.outcome.index() == parts.outcome.index(),
        "pieces change the outcome");
  if (const auto* mistake = std::get_if<std::string>(&whole.outcome)) {
    check(*mistake == std::get<std::string>(parts.outcome), "pieces change the mistake: " + *mistake);
  }
}

}  // namespace
}  // namespace skyline::evaluate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  skyline::evaluate::read_twice(text);
  return 0;
}
