#include "app/config/new_run_check.hpp"

#include "skyline/search/algorithm.hpp"

#include "app/config/section_rules.hpp"
#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "report/files/search_state_csv.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace skyline::app {
namespace {

using trial::Better;

/// Returns the name of a metric where a section describes or lists it, or nullopt if it does not.
/// @param metrics  a map by names; or a list of such maps, of metrics with a key `name`, or of names
std::optional<ConfigNode> place_of(const ConfigNode& metrics, const std::string& name) {
  if (metrics.is_scalar() && metrics.as_text() == name) return metrics;
  if (metrics.is_list()) {
    for (const ConfigNode& item : metrics.items()) {
      if (std::optional<ConfigNode> place = place_of(item, name)) return place;
    }
  }
  if (!metrics.is_map()) return std::nullopt;
  for (const ConfigNode::Entry& entry : metrics.entries()) {
    if (entry.key == name) return key_node(metrics, entry);
    if (entry.key == "name" && entry.value.is_scalar() && entry.value.as_text() == name) return entry.value;
  }
  return std::nullopt;
}

/// Refuses metrics whose columns in search_state.csv would have the names of others.
void check_columns(const ConfigNode& root, const RunConfig& config) {
  const auto clash =
      report::find_column_clash(config.objectives, config.metrics, config.sections.final_training.has_value(),
                                search::repeats_of(config.sections.search) > 1);
  if (!clash) return;
  const ConfigNode& written = config.evaluator.written;
  const ConfigNode* const metrics = written.is_map() ? written.find("metrics") : nullptr;
  const std::optional<ConfigNode> place =
      metrics != nullptr ? place_of(*metrics, clash->metric) : std::nullopt;
  place.value_or(root.at("objectives"))
      .fail("expected another name, since " +
            std::string(clash->is_of_full_trainings ? "`final`" : "`search.repeats`") +
            " would give search_state.csv two columns " + in_quotes(clash->column) + ", got " +
            in_quotes(clash->metric));
}

/// Returns whether a section states which direction of a metric is better. A table's metrics need not, and a
/// run's own configuration states the default.
/// @param metrics  by name, or a list of such
bool states_better(const ConfigNode& metrics, const std::string& name) {
  if (metrics.is_list()) {
    return std::ranges::any_of(metrics.items(),
                               [&](const ConfigNode& item) { return states_better(item, name); });
  }
  const ConfigNode* own = metrics.is_map() ? metrics.find(name) : nullptr;
  return own != nullptr && own->is_map() && own->find("better") != nullptr;
}

/// Returns the description of a metric in a configuration, unless it is a cost of networks; nullopt for one
/// that an expression gives and that has no direction of its own.
std::optional<trial::Metric> described(const RunConfig& config, const std::string& name) {
  const auto given = std::ranges::find(config.given, name, &trial::GivenMetric::name);
  if (given != config.given.end() && given->better) return given->description();
  const trial::Metric* const measured = trial::find_metric(config.metrics, name);
  return measured == nullptr ? std::nullopt : std::optional(*measured);
}

/// Refuses objectives that lead to the worse end of a metric.
void check_senses(const ConfigNode& root, const RunConfig& config) {
  const ConfigNode& written = config.evaluator.written;
  const ConfigNode* const metrics = written.is_map() ? written.find("metrics") : nullptr;
  for (const ConfigNode& item : root.at("objectives").items()) {
    for (const auto& [sense, wanted] :
         {std::pair{"maximize", Better::kHigher}, std::pair{"minimize", Better::kLower}}) {
      const ConfigNode* const name = item.find(sense);
      const std::optional<trial::Metric> metric =
          name == nullptr ? std::nullopt : described(config, name->as_text());
      if (!metric || metric->better == wanted) continue;
      const bool is_lower = metric->better == Better::kLower;  // never by default
      if (!is_lower && (metrics == nullptr || !states_better(*metrics, metric->name))) continue;
      name->fail(std::string(is_lower ? "lower" : "higher") + " values of " + in_quotes(metric->name) +
                 " are better: expected {" + (is_lower ? "minimize" : "maximize") + ": " + metric->name +
                 "}");
    }
  }
}

/// Refuses `search.repeats` where it was a loss (docs/search.md): the model of `skyline` smooths noise.
void check_repeats(const ConfigNode& root, const RunConfig& config) {
  if (config.algorithm().name != "skyline" || search::repeats_of(config.sections.search) == 1) return;
  root.at("search").at("repeats").fail(
      "not with `algorithm: skyline`, whose model smooths noise: expected `final: {members: 5, repeats: 3}` "
      "(`final.repeats`), which trains the best ones again");
}

/// Refuses how many operations TrivialAugment draws where it is off.
void check_trivial(const ConfigNode& root) {
  const ConfigNode* const training = section_in(root, "training");
  const ConfigNode* const augment = training != nullptr ? section_in(*training, "augment") : nullptr;
  const ConfigNode* const count = augment != nullptr ? section_in(*augment, "trivial_operations") : nullptr;
  if (count == nullptr || count->is_null() || augment->find("trivial") != nullptr) return;
  count->fail("needs `trivial`, the strength of TrivialAugment, e.g. 1");
}

}  // namespace

void check_new_run(const ConfigNode& root, const RunConfig& config) {
  check_columns(root, config);
  check_senses(root, config);
  check_repeats(root, config);
  check_trivial(root);
}

}  // namespace skyline::app
