#include "store/journal/courses.hpp"

#include "skyline/core/error.hpp"

#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <cerrno>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNumbersOfPoint = 4;  // and the metrics behind them

std::string course_line(const TrainingKey& training, const std::vector<trial::CoursePoint>& course) {
  Json line;
  line["k"] = training.trial.number;
  line["final"] = training.trial.is_final;
  line["started_s"] = encode_number(training.started_s);
  Json& points = line["points"] = Json::array();
  for (const trial::CoursePoint& point : course) {
    Json numbers = Json::array({point.step});
    for (const double value : {point.train_loss, point.learning_rate, point.validation_loss}) {
      numbers.push_back(encode_number(value));
    }
    for (const double value : point.validation_metrics) numbers.push_back(encode_number(value));
    points.push_back(std::move(numbers));
  }
  return seal_line(line);
}

trial::CoursePoint decode_point(const Json& numbers) {
  if (!numbers.is_array() || numbers.size() < kNumbersOfPoint) {
    fail_expected("points", "at least four numbers each", numbers);
  }
  const auto number = [&](std::size_t i) { return decode_number(numbers[i], "points"); };
  trial::CoursePoint point{decode_integer<std::int64_t>(numbers[0], "points"), number(1), number(2),
                           number(3)};
  for (std::size_t i = kNumbersOfPoint; i < numbers.size(); ++i)
    point.validation_metrics.push_back(number(i));
  return point;
}

void read_line(std::string_view text, Courses& courses) {
  const auto line = parse_line(text);
  if (!line) return;
  const auto number = decode_integer<trial::TrialNumber>(member(*line, "k"), "k");
  const TrainingKey training{{number, member(*line, "final") == true},
                             decode_number(member(*line, "started_s"), "started_s")};
  std::vector<trial::CoursePoint>& course = courses[training];
  course.clear();
  for (const Json& numbers : member(*line, "points")) course.push_back(decode_point(numbers));
}

}  // namespace

void append_course(const RunPaths& paths, int rank, const TrainingKey& training,
                   const std::vector<trial::CoursePoint>& course) {
  const std::filesystem::path path = paths.courses() / (std::to_string(rank) + ".jsonl");
  FileDescriptor file = open_file(path, O_WRONLY | O_CREAT, 0666);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) fail_system("write", path, "open", errno);
  // An earlier job may have left a line that does not end.
  const std::string text = (status.st_size > 0 ? "\n" : "") + course_line(training, course);
  const int error =
      write_at(file, std::as_bytes(std::span(text)), static_cast<std::uint64_t>(status.st_size));
  if (error != 0) fail_system("write", path, "write", error);
  if (const int closed = close_file(std::move(file))) fail_system("write", path, "close", closed);
}

Courses read_courses(const RunPaths& paths) {
  Courses courses;
  if (!store::exists(paths.courses())) return courses;
  for (const std::filesystem::path& path : list_folder(paths.courses())) {
    if (path.extension() != ".jsonl") continue;
    const std::string text = read_file(path);
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      try {
        read_line(rest.substr(0, end), courses);
      } catch (const UserError&) {
        // Not ours, or written by another version: no course.
      }
      rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    }
  }
  return courses;
}

}  // namespace skyline::store
