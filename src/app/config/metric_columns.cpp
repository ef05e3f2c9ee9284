#include "app/config/metric_columns.hpp"

#include "skyline/search/algorithm.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "report/files/search_state_csv.hpp"

#include <optional>
#include <string>

namespace skyline::app {
namespace {

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

}  // namespace

void check_metric_columns(const ConfigNode& root, const RunConfig& config) {
  const auto clash = report::find_column_clash(config.space, config.objectives, config.metrics,
                                               config.sections.final_training.has_value(),
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

}  // namespace skyline::app
