#include "app/config/run_config.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

void check_data_hash(const ConfigNode& section, const store::Dataset& dataset) {
  const ConfigNode* expected = section.find("sha256");
  if (expected == nullptr || expected->as_text() == dataset.content_hash()) return;
  expected->fail("the data set's checksum is " + dataset.content_hash() + ", expected " +
                 expected->as_text() + ": not the same data");
}

store::SplitIndices split_data(const ConfigNode& section, const RunConfig& config) {
  try {
    return store::stratified_split(config.dataset->train().labels, config.sections.data.validation,
                                   derive_seed(config.sections.run.seed, "validation split"));
  } catch (const UserError& error) {
    const ConfigNode* share = section.find("validation");
    (share != nullptr ? *share : section).fail(error.what());
  }
}

void open_data(const ConfigNode& section, bool verify_data, RunConfig& config) {
  DataOptions& data = config.sections.data;
  if (data.file.empty()) {
    if (config.training) section.fail("missing key `file`");
    for (const char* key : {"shape", "classes"}) (void)section.at(key);
    config.shape = {*data.shape, *data.classes};
    return;
  }
  config.dataset = store::Dataset::open(data.file, verify_data);
  check_data_hash(section, *config.dataset);
  data.sha256 = config.dataset->content_hash();
  config.split = split_data(section, config);
  config.shape = {config.dataset->shape(), static_cast<std::int64_t>(config.dataset->class_names().size())};
}

void choose_trainer(RunConfig& config) {
  const ConfigSections& sections = config.sections;
  if (sections.evaluator == "training") {
    config.training = train::TrainingOptions::table().parse(sections.evaluator_section);
  } else {
    config.evaluator = ChosenEvaluator{find_evaluator(sections.evaluator), sections.evaluator_section};
  }
}

void check_keeps_parents(const ConfigNode& root, const RunConfig& config) {
  if (!config.training || !config.training->inherit) return;
  if (config.sections.run.keep_weights != engine::KeepWeights::kNone) return;
  root.at("run")
      .at("keep_weights")
      .fail(
          "expected `front` or `all` beside `training.inherit: true`, got none: children start from their "
          "parents' "
          "weights");
}

}  // namespace

RunConfig RunConfig::parse(const ConfigNode& root, bool verify_data) {
  if (!root.is_map()) root.fail_expected("a map with the sections data, space, objectives, search, ...");
  const OptionTable<ConfigSections> table = all_sections();
  RunConfig config;
  config.sections = table.parse(root);
  choose_trainer(config);
  check_keeps_parents(root, config);
  open_data(root.at("data"), verify_data, config);
  config.space = space::SearchSpace::parse(config.sections.space, config.shape);
  config.objectives = objective::ObjectiveSet::parse(
      config.sections.objectives, &config.sections.constraints,
      config.evaluator ? config.evaluator->kind->metrics() : train::training_metrics());
  config.resolved = table.to_config(config.sections);
  config.resolved.assign_paths();
  return config;
}

engine::EngineOptions RunConfig::engine_options() const {
  engine::EngineOptions options;
  options.seed = sections.run.seed;
  options.window = sections.run.window;
  options.keep_weights = sections.run.keep_weights;
  options.checkpoints = sections.checkpoint;
  if (sections.final_training) options.final_epochs = sections.final_training->epochs;
  if (training) {
    options.epochs = training->epochs;
    options.threads_per_slot = training->threads;
    options.inherit = training->inherit;
  }
  return options;
}

std::unique_ptr<trial::Evaluator> RunConfig::make_evaluator(train::DeviceUse device) const {
  if (evaluator) {
    auto made = evaluator->kind->make(evaluator->section, {dataset, split});
    require(made->metrics() == evaluator->kind->metrics(),
            "an evaluator measures other metrics than its kind names");
    return made;
  }
  const auto needed = objectives.measured_needed();
  const bool latency = std::find(needed.begin(), needed.end(), "latency_ms") != needed.end();
  return train::make_training_evaluator(*training, sections.data.normalization, dataset, split, latency,
                                        std::move(device));
}

}  // namespace skyline::app
