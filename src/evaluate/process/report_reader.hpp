#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"

#include "evaluate/process/reported_lines.hpp"
#include "store/run_folder/attempt_folder.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::evaluate {

/// Warns of what reports had and decides nothing, so that it was left out. Any thread may use it.
class LeftOut {
 public:
  enum class Kind : std::uint8_t { kNotFinite, kValue, kStep, kName, kMany };
  struct Reason {
    Kind kind;
    std::string text;
  };
  /// Logs the reasons of kinds of which nobody in the run has told. @param whose  e.g. "trial 3"
  void warn(const std::string& whose, const std::vector<Reason>& reasons, const store::TrialLogs& logs);

 private:
  std::atomic<unsigned> told_ = 0;  // a bit for each kind that needs no look at the run's folder any more
};

/// Reads the reports of a program, one JSON object a line:
///   {"step": 3, "accuracy": 71.0, "loss": 0.4}       any number of points, with any names; steps ascend
///   {"result": {"accuracy": 93.1, "size_mb": 4.2}}   one result
/// The first mistake is kept, and all that follows is ignored. Points decide nothing: what a curve cannot
/// have is left out, with a reason, as are names of a result that are no metrics. Memory is bounded: a line
/// by 64 KiB, the points by 10,000, their names by 64. One thread.
class ReportReader final : public ReportedLines {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 16;
  static constexpr std::size_t kMostPoints = 10'000;
  static constexpr std::size_t kMostNames = 64;
  static constexpr std::size_t kLongestName = 100;

  /// @param metrics   declared metrics; the reader keeps a copy. `step` and `result` are no names for them.
  /// @param is_final  whether metrics of full trainings must be there; in a search trial they may be missing,
  ///                  and are dropped
  ReportReader(std::vector<trial::Metric> metrics, bool is_final);

  /// Returns the points since the last call. Several may have the same step.
  std::vector<trial::CurvePoint> take_points();
  /// Makes take_declared() return the values of these metrics after these steps. Call it before the first
  /// report.
  void declare(std::vector<std::int64_t> steps, std::vector<std::string> names);
  /// Returns the declared steps since the last call of which each of the names was reported, in one line or
  /// several. A value that a curve cannot have is left out.
  std::vector<trial::CurvePoint> take_declared();
  /// Returns the names that were not reported of this declared step, if anything was; else nothing.
  std::vector<std::string> missing_of(std::int64_t step) const;
  /// Returns whether there is a result. Call it at the end, like finish().
  bool has_result();
  /// Returns why values were left out since the last call, of each kind the first.
  std::vector<LeftOut::Reason> take_reasons();
  /// Returns the values in the order of the metrics, or the mistake, also that of a missing result. Those of
  /// full trainings are NaN in a search trial. Call it at the end: a last line without a line feed is read
  /// now.
  std::variant<trial::Measurements, std::string> finish();

 private:
  struct Found;
  class LineReader;

  void read_line(std::string_view line) override;
  bool counts(const trial::Metric& metric) const;
  void add_point(const std::vector<Found>& line);
  void add_declared(const std::vector<Found>& line, const trial::CurvePoint& point);
  bool is_of_curve(const Found& found);
  void set_result(const std::vector<Found>& values);
  void leave_out(LeftOut::Kind kind, const std::string& what);

  std::vector<trial::Metric> metrics_;
  bool is_final_;
  std::size_t points_ = 0;
  std::optional<std::int64_t> last_step_;
  std::set<std::string> names_;     // in the curve
  std::string without_step_;        // the first line that is neither a point nor a result
  std::array<bool, 5> left_out_{};  // index: the kind
  std::vector<LeftOut::Reason> reasons_;
  std::vector<trial::CurvePoint> new_points_;
  std::vector<std::int64_t> declared_steps_;  // steps without all names
  std::vector<std::string> declared_names_;
  // For each declared step that was reported: which of the names were.
  std::map<std::int64_t, std::set<std::string>> declared_seen_;
  trial::CurvePoint declared_point_;  // values of the last such step
  std::vector<trial::CurvePoint> new_declared_;
  std::optional<trial::Measurements> result_;
};

}  // namespace skyline::evaluate
