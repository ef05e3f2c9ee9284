#include "app/tuner/tuner_lines.hpp"

#include "skyline/core/error.hpp"

#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostShownValues = 5;

std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Returns a number, or null in place of one that JSON does not have.
Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json parameters_of(const space::Genotype& genotype, const space::SearchSpace& space) {
  const std::vector<bool> in_use = space.in_use(genotype);
  Json parameters = Json::object();
  for (std::size_t p = 0; p < genotype.choices.size(); ++p) {
    if (!in_use[p]) continue;
    const space::Parameter& parameter = space.parameters()[p];
    parameters[parameter.name] = store::encode_value(parameter.values[genotype.choices[p]]);
  }
  return parameters;
}

Json list_of_parameters(const std::vector<space::Genotype>& genotypes, const space::SearchSpace& space) {
  Json list = Json::array();
  for (const space::Genotype& genotype : genotypes) list.push_back(parameters_of(genotype, space));
  return list;
}

/// Adds the value of a metric of a trial. @param column  an objective or a constraint
template <typename Column>
void add_value(Json& values, const Column& column, const trial::CommittedTrial& result) {
  const auto& measured = std::get<trial::Measurements>(result.outcome).values;
  const double value = column.computed ? objective::find_computed(result.trial.architecture(), column.metric)
                                             .value_or(std::numeric_limits<double>::quiet_NaN())
                                       : measured[column.measured_index];
  values[column.metric] = finite_or_null(value);
}

/// Parses a line that must be an object.
Json parse_object(std::string_view line) {
  Json object = Json::parse(shallow_json(line), nullptr, false);
  if (!object.is_object())
    throw UserError("expected an object of JSON in one line, got " + in_quotes(shortened(line)));
  return object;
}

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns the value as the text by which parameters have it; nullopt if no parameter can.
std::optional<std::string> word_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return space::to_text(space::Value(value.get<double>()));
  if (value.is_number() || value.is_boolean() || value.is_array()) return text_of(value);
  if (value.is_null()) return space::to_text(space::Value(space::Null{}));
  return std::nullopt;
}

std::string values_text(const space::Parameter& parameter) {
  std::string text = "one of its " + std::to_string(parameter.values.size()) + " values, ";
  const std::size_t shown = std::min(parameter.values.size(), kMostShownValues);
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "" : ", ") + shortened(space::to_text(parameter.values[i]));
  return text + (shown < parameter.values.size() ? ", ..." : "");
}

std::uint32_t choice_of(const space::Parameter& parameter, const Json& value) {
  const std::optional<std::string> word = word_of(value);
  const std::optional<double> number =
      value.is_number() ? std::optional(value.get<double>()) : std::optional<double>();
  if (word) {
    if (const auto choice = space::choice_of(parameter, *word, number)) return *choice;
  }
  throw UserError(in_quotes(parameter.name) + ": expected " + values_text(parameter) + ", got " +
                  in_quotes(text_of(value)));
}

/// Reads the parameters of a trial. All must be there, except for those that it does not use.
space::Genotype read_parameters(const Json& object, const space::SearchSpace& space) {
  if (!object.is_object())
    throw UserError("expected the parameters of a trial by name, got " + in_quotes(text_of(object)));
  std::vector<std::string> names;
  space::Genotype genotype;
  for (const space::Parameter& parameter : space.parameters()) names.push_back(parameter.name);
  for (const auto& item : object.items()) {
    if (std::ranges::find(names, item.key()) == names.end()) {
      throw UserError("the space has no parameter " + in_quotes(item.key()) + ", " +
                      suggestion(item.key(), names, NamesOf::kUser));
    }
  }
  for (const space::Parameter& parameter : space.parameters()) {
    const auto found = object.find(parameter.name);
    genotype.choices.push_back(found == object.end() ? 0 : choice_of(parameter, *found));
  }
  const std::vector<bool> in_use = space.in_use(genotype);
  for (std::size_t p = 0; p < names.size(); ++p) {
    if (in_use[p] && !object.contains(names[p]))
      throw UserError("lacks the parameter " + in_quotes(names[p]));
  }
  return genotype;
}

/// Returns whether a metric is known without being told.
bool is_computed(std::string_view metric, const space::SearchSpace& space) {
  const std::vector<std::string> costs = objective::cost_metric_names();
  const std::vector<std::string_view> given = space.given();
  return std::ranges::find(costs, metric) != costs.end() || std::ranges::find(given, metric) != given.end();
}

/// Reads values by name into the order of the metrics. Computed ones are known anyway. A value outside of its
/// range is a failure, as in a run.
trial::Outcome read_values(const Json& object, const space::SearchSpace& space,
                           const std::vector<trial::Metric>& metrics,
                           const std::vector<std::string>& needed) {
  if (!object.is_object())
    throw UserError("values: expected values of metrics by name, got " + in_quotes(text_of(object)));
  const std::vector<std::string> names = trial::names_of(metrics);
  std::vector<double> values(metrics.size(), std::numeric_limits<double>::quiet_NaN());
  std::string failure;
  for (const auto& item : object.items()) {
    const auto place = std::ranges::find(names, item.key());
    if (place == names.end() && is_computed(item.key(), space)) continue;
    if (place == names.end())
      throw UserError("values: no metric " + in_quotes(item.key()) + ", " +
                      suggestion(item.key(), names, NamesOf::kMetrics));
    if (!item.value().is_number())
      throw UserError("values." + item.key() + ": expected a number, got " +
                      in_quotes(text_of(item.value())));
    const trial::Metric& metric = metrics[static_cast<std::size_t>(place - names.begin())];
    const auto value = item.value().get<double>();
    if (!metric.range.holds(value) && failure.empty()) {
      failure = item.key() + ": expected " + objective::to_text(metric.range) + ", got " +
                objective::number_text(value);
    }
    values[static_cast<std::size_t>(place - names.begin())] = value;
  }
  for (const std::string& name : needed) {
    if (!object.contains(name)) throw UserError("values: lacks the metric " + in_quotes(name));
  }
  if (!failure.empty()) return trial::Failure{trial::FailureKind::kProgram, std::move(failure)};
  return trial::Measurements{std::move(values)};
}

ToldResult read_told(const Json& tell, const space::SearchSpace& space,
                     const std::vector<trial::Metric>& metrics, const std::vector<std::string>& needed) {
  if (!tell.is_object()) throw UserError("tell: expected a result, got " + in_quotes(text_of(tell)));
  ToldResult told;
  if (const auto number = tell.find("trial"); number != tell.end() && !number->is_null()) {
    told.number = store::decode_integer<trial::TrialNumber>(*number, "trial");
  } else {
    told.genotype = read_parameters(store::member(tell, "parameters"), space);
  }
  if (const auto failed = tell.find("failed"); failed != tell.end() && !failed->is_null()) {
    told.outcome =
        trial::Failure{trial::FailureKind::kProgram, shortened(store::decode_text(tell, "failed"))};
  } else {
    told.outcome = read_values(store::member(tell, "values"), space, metrics, needed);
  }
  return told;
}

}  // namespace

std::string task_line(const search::TunerTask& task) {
  Json parameters = Json::object();
  for (const space::Parameter& parameter : task.space.parameters()) {
    Json values = Json::array();
    for (const space::Value& value : parameter.values) values.push_back(store::encode_value(value));
    parameters[parameter.name] = std::move(values);
  }
  Json objectives = Json::array();
  for (const objective::Objective& objective : task.objectives.objectives()) {
    const bool is_maximized = objective.sense == objective::Sense::kMaximize;
    objectives.push_back({{is_maximized ? "maximize" : "minimize", objective.metric}});
  }
  Json constraints = Json::array();
  for (const objective::Constraint& constraint : task.objectives.constraints()) {
    const Json bounds = {finite_or_null(constraint.low), finite_or_null(constraint.high)};
    constraints.push_back({{constraint.metric, bounds}});
  }
  Json line{{"space", std::move(parameters)},
            {"objectives", std::move(objectives)},
            {"constraints", std::move(constraints)},
            {"computed", trial::names_of(task.objectives.computed())},
            {"seed", task.seed},
            {"trials", task.trials}};
  if (std::vector<std::string> names = task.space.conditional(); !names.empty())
    line["conditional"] = std::move(names);
  return line_of(line);
}

std::string question_line(const search::TunerQuestion& question, const space::SearchSpace& space,
                          const std::vector<space::Genotype>* recorded) {
  Json line{{"ask", question.count}, {"seed", question.seed}, {"first", question.first}};
  if (recorded != nullptr) line["answer"] = list_of_parameters(*recorded, space);
  return line_of(line);
}

std::string count_line(const std::vector<space::Genotype>& genotypes, const space::SearchSpace& space) {
  return line_of({{"count", list_of_parameters(genotypes, space)}});
}

std::string result_line(std::optional<trial::TrialNumber> number, const trial::CommittedTrial& result,
                        const space::SearchSpace& space, const objective::ObjectiveSet& objectives) {
  Json told{{"trial", number ? Json(*number) : Json()},
            {"parameters", parameters_of(result.trial.architecture().genotype, space)}};
  if (const auto* failure = std::get_if<trial::Failure>(&result.outcome)) {
    told["failed"] = failure->reason;
  } else {
    Json values = Json::object();
    for (const objective::Objective& each : objectives.objectives()) add_value(values, each, result);
    for (const objective::Constraint& each : objectives.constraints()) add_value(values, each, result);
    told["values"] = std::move(values);
    if (trial::has_extent(result.outcome, trial::Extent::kPruned)) told["pruned"] = true;
    if (trial::is_outside(result.outcome)) told["failed"] = trial::reason_of(result.outcome);
  }
  return line_of({{"tell", std::move(told)}});
}

std::string answer_line(const search::TunerAnswer& answer, trial::TrialNumber first,
                        const space::SearchSpace& space) {
  Json line{{"answer", list_of_parameters(answer.genotypes, space)}, {"first", first}};
  if (answer.is_done) line["done"] = true;
  return line_of(line);
}

std::string told_line(trial::TrialNumber number) {
  return line_of({{"told", number}});
}

std::string error_line(const std::string& mistake) {
  return line_of({{"error", mistake}});
}

search::TunerAnswer read_answer(std::string_view line, const space::SearchSpace& space) {
  const Json object = parse_object(line);
  const Json& list = store::member(object, "answer");
  if (!list.is_array()) store::fail_expected("answer", "a list of proposals", list);
  search::TunerAnswer answer;
  for (const Json& proposal : list) answer.genotypes.push_back(read_parameters(proposal, space));
  if (const auto done = object.find("done"); done != object.end()) {
    if (!done->is_boolean()) store::fail_expected("done", "true or false", *done);
    answer.is_done = done->get<bool>();
  }
  return answer;
}

SamplerRequest read_request(std::string_view line, const space::SearchSpace& space,
                            const std::vector<trial::Metric>& metrics,
                            const std::vector<std::string>& needed) {
  const Json object = parse_object(line);
  if (const auto tell = object.find("tell"); tell != object.end())
    return read_told(*tell, space, metrics, needed);
  const auto ask = object.find("ask");
  if (ask == object.end()) throw UserError("expected `ask` or `tell`, got " + in_quotes(shortened(line)));
  const auto count = store::decode_integer<std::uint32_t>(*ask, "ask");
  if (count < 1 || count > kMostAsked)
    store::fail_expected("ask", ("a number from 1 to " + std::to_string(kMostAsked)).c_str(), *ask);
  return std::size_t{count};
}

}  // namespace skyline::app
