#include "store/journal/learning_curves.hpp"

#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostOtherNames = 64;  // bounds the columns where each trial has names of its own

/// Returns the names of all values, in the order of their first use.
std::vector<std::string> names_of(const std::vector<trial::CurvePoint>& course) {
  std::vector<std::string> names;
  for (const trial::CurvePoint& point : course) {
    for (const trial::NamedNumber& value : point.values) {
      if (std::ranges::find(names, value.name) == names.end()) names.push_back(value.name);
    }
  }
  return names;
}

std::string course_line(const TrainingKey& training, const std::vector<trial::CurvePoint>& course) {
  const std::vector<std::string> names = names_of(course);
  Json line;
  line["k"] = training.trial.number;
  line["final"] = training.trial.is_final;
  add_final_repeat(line, training.trial.repeat);
  line["started_s"] = encode_number(training.started_s);
  line["names"] = names;
  Json& points = line["points"] = Json::array();
  for (const trial::CurvePoint& point : course) {
    std::vector<double> values(names.size(), std::nan(""));
    for (const trial::NamedNumber& value : point.values) {
      values[static_cast<std::size_t>(std::ranges::find(names, value.name) - names.begin())] = value.value;
    }
    Json numbers = Json::array({point.step});
    for (const double value : values) numbers.push_back(encode_number(value));
    points.push_back(std::move(numbers));
  }
  return seal_line(line);
}

/// Older lines have no names: their values are those of course_names, or only the first.
void read_point(const Json& numbers, LearningCurve& course) {
  if (!numbers.is_array() || numbers.empty() || numbers.size() > 1 + course.names.size()) {
    fail_expected("points", "a step and a number for each name", numbers);
  }
  course.steps.push_back(decode_integer<std::int64_t>(numbers[0], "points"));
  for (std::size_t i = 1; i < numbers.size(); ++i)
    course.values.push_back(decode_number(numbers[i], "points"));
  course.values.resize(course.steps.size() * course.names.size(), std::nan(""));
}

void read_line(std::string_view text, const std::vector<std::string>& older_names, LearningCurves& courses) {
  const auto line = parse_line(text);
  if (!line) return;
  const auto number = decode_integer<trial::TrialNumber>(member(*line, "k"), "k");
  const TrainingKey training{{number, member(*line, "final") == true, read_final_repeat(*line)},
                             decode_number(member(*line, "started_s"), "started_s")};
  LearningCurve course;
  if (!line->contains("names")) course.names = older_names;
  for (const Json& name : line->value("names", Json::array())) {
    if (!name.is_string()) fail_expected("names", "texts", name);
    course.names.push_back(name);
  }
  for (const Json& numbers : member(*line, "points")) read_point(numbers, course);
  courses[training] = std::move(course);
}

}  // namespace

double LearningCurve::value(std::size_t point, std::string_view name) const {
  const auto column = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  return column < names.size() ? values[point * names.size() + column] : std::nan("");
}

std::vector<std::string> course_names(const std::vector<trial::Metric>& metrics,
                                      const LearningCurves& courses) {
  std::vector<std::string> names{"train_loss", "learning_rate", "validation_loss"};
  std::set<std::string> taken{"number", "position", "phase",  "final_repeat", "step",
                              "trial",  names[0],   names[1], names[2]};
  const auto add = [&](const std::string& name) {
    if (taken.insert(name).second) names.push_back(name);
  };
  std::ranges::for_each(trial::course_metrics(metrics), add);
  const std::size_t most = names.size() + kMostOtherNames;
  const auto add_other = [&](const std::string& name) {
    if (names.size() < most) add(name);
  };
  for (const auto& [training, course] : courses) std::ranges::for_each(course.names, add_other);
  return names;
}

void append_course(const RunPaths& paths, int rank, const TrainingKey& training,
                   const std::vector<trial::CurvePoint>& course) {
  append_lines(paths.courses() / (std::to_string(rank) + ".jsonl"), course_line(training, course));
}

LearningCurves read_courses(const RunPaths& paths, const std::vector<trial::Metric>& metrics) {
  const std::vector<std::string> older_names = course_names(metrics);
  LearningCurves courses;
  if (!store::exists(paths.courses())) return courses;
  for (const std::filesystem::path& path : list_folder(paths.courses())) {
    if (path.extension() != ".jsonl") continue;
    read_lines(path, [&](std::string_view line) { read_line(line, older_names, courses); });
  }
  return courses;
}

}  // namespace skyline::store
