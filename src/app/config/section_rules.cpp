#include "app/config/section_rules.hpp"

#include "skyline/objective/objective_set.hpp"

#include "core/config/config_text.hpp"
#include "train/options/training_options.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skyline::app {
namespace {

void check_keeps_parents(const ConfigNode& root, const RunConfig& config) {
  if (!config.evaluator.needs.inherits) return;
  if (config.sections.run.keep_weights != engine::KeepWeights::kNone) return;
  const std::string& key = config.evaluator.kind->inherit_key;
  root.at("run")
      .at("keep_weights")
      .fail("expected `front` or `all`" + (key.empty() ? "" : " beside `" + key + ": true`") +
            ", got none: children start from their parents' weights");
}

/// Refuses the wish for weights that nobody leaves. `front` is the default, and no such wish.
void check_leaves_weights(const ConfigNode& root, const RunConfig& config) {
  if (config.evaluator.needs.leaves_state()) return;
  if (config.sections.run.keep_weights != engine::KeepWeights::kAll) return;
  root.at("run")
      .at("keep_weights")
      .fail("the evaluator `" + config.evaluator.kind->name +
            "` leaves no weights: expected `none`, or leave the key out");
}

/// Refuses a search that does not suit the trainings.
void check_search(const ConfigNode& root, const RunConfig& config) {
  const ConfigNode* search = section_in(root, "search");
  if (search == nullptr) return;
  search::check_repeats(*search, config.algorithm());
  search::check_pruning(*search, config.sections.search, config.algorithm(), {config.evaluator.needs.epochs});
  if (search::pruning_of(*search) && !config.sections.run.window) {
    search->at("pruning").fail(
        "needs `run.window`, a number of trials, e.g. 8: a generation is asked for at once, and compared "
        "with nothing");
  }
  config.algorithm().check(*search, {config.evaluator.needs.epochs});
}

/// Refuses two ways to repeat the same trainings.
void check_repeats(const ConfigNode& root, const RunConfig& config) {
  if (!config.sections.final_training || config.sections.final_training->repeats == 1) return;
  if (!config.algorithm().trains_all) return;
  root.at("final").at("repeats").fail(
      "`search.seeds` repeats the trainings of listed architectures: expected 1");
}

/// Refuses full and shorter trainings where nothing is trained.
void check_trains(const ConfigNode& root, const RunConfig& config) {
  if (config.evaluator.kind->name != "computed") return;
  const std::string reason = "nothing is trained, since all objectives are computed: ";
  if (config.sections.final_training) root.at("final").fail(reason + "leave the section out");
  if (config.algorithm().budgets(config.sections.search, {config.evaluator.needs.epochs}).empty()) return;
  const ConfigNode& search = root.at("search");
  const ConfigNode* const budgets = search.find("budgets");
  (budgets != nullptr ? *budgets : search.at("algorithm"))
      .fail(reason + "expected a search without rungs, which continue trainings, got `algorithm: " +
            config.algorithm().name + "`");
}

/// Refuses a refit of what Skyline does not train.
void check_refit(const ConfigNode& root, const RunConfig& config) {
  if (!config.sections.final_training || !config.sections.final_training->refit) return;
  if (config.evaluator.kind->name == "training") return;
  root.at("final").at("refit").fail("needs the evaluator `training`, got `" + config.evaluator.kind->name +
                                    "`");
}

/// Refuses masks where the 0 that they put is not the mean of a channel.
void check_masks(const ConfigNode& root, const RunConfig& config) {
  if (config.sections.data.normalization == evaluate::Normalization::kStandard) return;
  const ConfigNode* const training = section_in(root, "training");
  const ConfigNode* const augment =
      training != nullptr && training->is_map() ? training->find("augment") : nullptr;
  if (augment == nullptr || !augment->is_map()) return;
  for (const char* const key : {"time_mask", "frequency_mask"}) {
    const ConfigNode* const mask = augment->find(key);
    if (mask != nullptr && !mask->is_null() && mask->as_text() != "0")
      mask->fail("puts the mean of a channel, so it needs `data.normalization: standard`, got unit");
  }
}

/// Refuses int8 metrics of what Skyline does not train.
void check_int8(const ConfigNode& root, const RunConfig& config) {
  if (!config.sections.final_training || !config.sections.final_training->int8.value_or(false)) return;
  if (config.evaluator.kind->name == "training") return;
  root.at("final").at("int8").fail("needs the evaluator `training`, got `" + config.evaluator.kind->name +
                                   "`");
}

/// Sets `run.window` where it is not stated and the algorithm has one of its own.
void set_window_of_algorithm(ConfigNode& root) {
  const ConfigNode* search = section_in(root, "search");
  const ConfigNode* name = search != nullptr && search->is_map() ? search->find("algorithm") : nullptr;
  const search::Algorithm* algorithm = name == nullptr     ? &search::algorithm_of({})
                                       : name->is_scalar() ? search::find_algorithm(name->as_text())
                                                           : nullptr;
  if (algorithm == nullptr || !algorithm->window) return;
  const ConfigNode* run = section_in(root, "run");
  if (run != nullptr && !run->is_map() && !run->is_null()) return;
  const ConfigNode* window = run != nullptr && run->is_map() ? run->find("window") : nullptr;
  if (window == nullptr) {
    root.set("run.window", ConfigNode::make_integer(static_cast<std::int64_t>(*algorithm->window)));
  }
}

bool is_of_int8(std::string_view metric) {
  return metric.starts_with(train::kInt8Prefix);
}

/// Has full trainings measured in int8 if `final.int8` says so, or an aim implies it, also where there are no
/// full trainings yet: metrics of a run that has begun stay. Where all trials are, nothing changes.
void set_int8_of_final(ConfigNode& root) {
  const ConfigNode* const training = section_in(root, "training");
  if (training == nullptr || (!training->is_map() && !training->is_null())) return;
  const auto stated_in = [](const ConfigNode* section) -> std::optional<std::string> {
    const ConfigNode* const key = section != nullptr && section->is_map() ? section->find("int8") : nullptr;
    return key != nullptr && key->is_scalar() ? std::optional(key->as_text()) : std::nullopt;
  };
  if (parse_bool(stated_in(training).value_or("false")).value_or(true)) return;
  const std::optional<std::string> stated = stated_in(section_in(root, "final"));
  const bool wanted =
      stated ? parse_bool(*stated).value_or(false) : objective::first_aim(root, is_of_int8).has_value();
  if (wanted) root.set("training.int8", ConfigNode::make_scalar("final", {}));
}

}  // namespace

const ConfigNode* section_in(const ConfigNode& root, const char* name) {
  return root.is_map() ? root.find(name) : nullptr;
}

void set_implied_keys(ConfigNode& root) {
  set_window_of_algorithm(root);
  set_int8_of_final(root);
}

void check_sections(const ConfigNode& root, const RunConfig& config) {
  check_keeps_parents(root, config);
  check_leaves_weights(root, config);
  check_search(root, config);
  check_repeats(root, config);
  check_trains(root, config);
  check_refit(root, config);
  check_int8(root, config);
  check_masks(root, config);
}

void check_costs(const ConfigNode& root, const RunConfig& config, bool has_network) {
  if (!config.sections.costs) return;
  const ConfigNode& costs = root.at("costs");
  if (has_network) costs.fail("needs a space of parameters alone: networks have costs, and `is` metrics");
  if (config.sections.costs->metrics.empty())
    costs.at("metrics").fail_expected("the metrics that are counted");
  for (const trial::GivenMetric& counted : config.sections.costs->metrics) {
    const auto other = std::ranges::count(config.given, counted.name, &trial::GivenMetric::name) > 1;
    if (other) costs.at("metrics").at(counted.name).fail("an expression gives a metric of this name");
  }
}

}  // namespace skyline::app
