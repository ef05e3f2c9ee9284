#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::evaluate {

/// The two ways on which a program may report.
enum class ReportChannel : std::uint8_t { kDescriptor, kFile };

/// Reads the reports of a program, one JSON object a line:
///   {"step": 3, "accuracy": 71.0}                    any number of points; steps ascend
///   {"result": {"accuracy": 93.1, "size_mb": 4.2}}   one result
/// The first mistake is kept, and all that follows is ignored. Memory is bounded: a line by 64 KiB, the
/// points by 10,000. One thread.
class ReportReader {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 16;
  static constexpr std::size_t kMostPoints = 10'000;

  /// @param metrics   declared metrics; the reader keeps a copy. `step` and `result` are no names for them.
  /// @param is_final  whether metrics of full trainings must be there; in a search trial they may be missing,
  ///                  and are dropped
  ReportReader(std::vector<trial::Metric> metrics, bool is_final);

  /// Reads bytes of a channel, which may end within a line.
  void feed(std::string_view bytes, ReportChannel channel);
  /// Notes a mistake that the caller has found, unless there is one already.
  void refuse(std::string mistake);

  /// Returns the first mistake in one line: `line 3 of its report: accuracy: expected a number from 0 to 100,
  /// got 130`. That of a missing result comes only from finish().
  const std::optional<std::string>& mistake() const { return mistake_; }
  /// Returns the number of lines so far.
  std::size_t lines() const { return lines_; }
  /// Returns the points since the last call.
  std::vector<trial::CoursePoint> take_points();
  /// Returns the values in the order of the metrics, or the mistake. Those of full trainings are NaN in a
  /// search trial. Call it at the end: a last line without a line feed is read now.
  std::variant<trial::Measurements, std::string> finish();

 private:
  struct Line;
  class LineReader;

  void read_line(std::string_view line);
  bool counts(const trial::Metric& metric) const;
  void add_point(const Line& line);
  void set_result(const Line& line);
  void fail(const std::string& mistake);

  std::vector<trial::Metric> metrics_;
  bool is_final_;
  std::array<std::string, 2> pending_;  // begun line of each channel
  std::size_t lines_ = 0;
  std::optional<std::int64_t> last_step_;
  std::vector<trial::CoursePoint> new_points_;
  std::optional<trial::Measurements> result_;
  std::optional<std::string> mistake_;
};

}  // namespace skyline::evaluate
