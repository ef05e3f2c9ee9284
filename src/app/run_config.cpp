#include "skyline/app/run_config.hpp"

#include "skyline/app/config_file.hpp"
#include "skyline/core/error.hpp"
#include "skyline/core/hash.hpp"
#include "skyline/core/random.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

ConfigNode word(const std::string& text) {
  return ConfigNode::make_scalar(text, {});
}

void check_sections(const ConfigNode& root) {
  if (!root.is_map()) root.fail_expected("a map with the sections data, space, objectives, search, ...");
  root.allow_only(
      {"data", "space", "training", "synthetic", "objectives", "constraints", "search", "final", "run"});
}

space::DataShape read_shape(const ConfigNode& section) {
  const ConfigNode& dims = section.at("shape");
  if (!dims.is_list() || dims.items().size() != 3) dims.fail_expected("[channels, height, width]");
  space::DataShape shape;
  shape.input = {dims.items()[0].as_integer(), dims.items()[1].as_integer(), dims.items()[2].as_integer()};
  shape.classes = section.at("classes").as_integer();
  if (shape.input.channels < 1 || shape.input.height < 1 || shape.input.width < 1) {
    dims.fail_expected("numbers of at least 1");
  }
  if (shape.classes < 2) section.at("classes").fail_expected("at least 2 classes");
  return shape;
}

train::Normalization read_normalization(const ConfigNode& node) {
  if (node.as_text() == "unit") return train::Normalization::kUnit;
  if (node.as_text() == "standard") return train::Normalization::kStandard;
  node.fail_expected("`unit` or `standard`");
}

void check_data_hash(const ConfigNode& section, const store::Dataset& dataset) {
  const ConfigNode* expected = section.find("sha256");
  if (expected == nullptr || expected->as_text() == dataset.content_hash()) return;
  expected->fail("the data set's checksum is " + dataset.content_hash() + ", expected " +
                 expected->as_text() + ": not the same data");
}

store::SplitIndices split_data(const ConfigNode& section, const RunConfig& config) {
  try {
    return store::stratified_split(config.dataset->train().labels, config.data.validation,
                                   derive_seed(config.engine.seed, "validation split"));
  } catch (const UserError& error) {
    const ConfigNode* share = section.find("validation");
    (share != nullptr ? *share : section).fail(error.what());
  }
}

void read_data(const ConfigNode& root, bool verify_data, RunConfig& config) {
  const ConfigNode& section = root.at("data");
  section.allow_only({"file", "validation", "normalization", "sha256", "shape", "classes"});
  DataOptions& data = config.data;
  if (const ConfigNode* node = section.find("normalization")) data.normalization = read_normalization(*node);
  if (const ConfigNode* node = section.find("validation")) {
    data.validation = node->as_number();
    if (!(data.validation > 0 && data.validation < 1)) node->fail_expected("a share above 0 and below 1");
  }
  if (const ConfigNode* file = section.find("file")) {
    if (const ConfigNode* shape = section.find("shape"))
      shape->fail("stands beside `file`, which has a shape");
    data.file = file->as_text();
    config.dataset = store::Dataset::open(data.file, verify_data);
    check_data_hash(section, *config.dataset);
    config.split = split_data(section, config);
    data.shape = {config.dataset->shape(), static_cast<std::int64_t>(config.dataset->class_names().size())};
    return;
  }
  if (!config.synthetic) section.fail("missing key `file`");
  data.shape = read_shape(section);
}

engine::KeepWeights read_keep_weights(const ConfigNode& node) {
  const std::string& text = node.as_text();
  if (text == "front") return engine::KeepWeights::kFront;
  if (text == "all") return engine::KeepWeights::kAll;
  if (text == "none") return engine::KeepWeights::kNone;
  node.fail_expected("`front`, `all` or `none`");
}

const char* to_text(engine::KeepWeights keep) {
  switch (keep) {
    case engine::KeepWeights::kFront:
      return "front";
    case engine::KeepWeights::kAll:
      return "all";
    case engine::KeepWeights::kNone:
      break;
  }
  return "none";
}

double read_epochs(const ConfigNode& node) {
  const double epochs = node.as_number();
  if (!(epochs > 0 && epochs <= train::kMostEpochs)) {
    node.fail_expected("a number of epochs above 0, at most a million");
  }
  return epochs;
}

void read_run(const ConfigNode& root, engine::EngineOptions& options) {
  if (const ConfigNode* section = root.find("final")) {
    section->allow_only({"epochs"});
    options.final_epochs = read_epochs(section->at("epochs"));
  }
  const ConfigNode* section = root.find("run");
  if (section == nullptr) return;
  section->allow_only({"seed", "window", "keep_weights"});
  if (const ConfigNode* node = section->find("seed")) {
    const std::int64_t seed = node->as_integer();
    if (seed < 0) node->fail_expected("a whole number of at least 0");
    options.seed = static_cast<std::uint64_t>(seed);
  }
  if (const ConfigNode* node = section->find("keep_weights")) options.keep_weights = read_keep_weights(*node);
  const ConfigNode* window = section->find("window");
  if (window == nullptr || (window->is_scalar() && window->as_text() == "generation")) return;
  const std::int64_t trials = window->as_integer();
  if (trials < 1) window->fail_expected("`generation` or a number of trials of at least 1");
  options.window = static_cast<std::size_t>(trials);
}

void read_trainer(const ConfigNode& root, RunConfig& config) {
  const ConfigNode* training = root.find("training");
  const ConfigNode* synthetic = root.find("synthetic");
  if (synthetic != nullptr && training != nullptr) {
    synthetic->fail("stands beside `training`: a run either trains or is synthetic");
  }
  if (synthetic != nullptr) {
    config.synthetic = evaluate::SyntheticOptions::parse(*synthetic);
    return;
  }
  config.training = train::TrainingOptions::parse(root.at("training"));
  config.engine.epochs = config.training->epochs;
  config.engine.threads_per_slot = config.training->threads;
}

ConfigNode resolve(const ConfigNode& root, const RunConfig& config) {
  ConfigNode tree = root;
  if (config.dataset != nullptr) {
    tree.set("data.validation", ConfigNode::make_number(config.data.validation));
    tree.set("data.normalization",
             word(config.data.normalization == train::Normalization::kUnit ? "unit" : "standard"));
    tree.set("data.sha256", word(config.dataset->content_hash()));
  }
  if (config.training) tree.set("training", config.training->to_config());
  if (config.synthetic) tree.set("synthetic", config.synthetic->to_config());
  tree.set("search", config.search.to_config());
  if (config.engine.final_epochs)
    tree.set("final.epochs", ConfigNode::make_number(*config.engine.final_epochs));
  tree.set("run.seed", ConfigNode::make_integer(static_cast<std::int64_t>(config.engine.seed)));
  tree.set("run.window", config.engine.window
                             ? ConfigNode::make_integer(static_cast<std::int64_t>(*config.engine.window))
                             : word("generation"));
  tree.set("run.keep_weights", word(to_text(config.engine.keep_weights)));
  tree.assign_paths();
  return tree;
}

// Where the data lies and which weights stay on disk do not change a run's results.
ConfigNode identity_tree(ConfigNode resolved) {
  const ConfigNode same = word("any");
  if (resolved.at("data").find("file") != nullptr) resolved.set("data.file", same);
  resolved.set("run.keep_weights", same);
  return resolved;
}

}  // namespace

RunConfig RunConfig::parse(const ConfigNode& root, bool verify_data) {
  check_sections(root);
  RunConfig config;
  read_trainer(root, config);
  read_run(root, config.engine);
  read_data(root, verify_data, config);
  config.search = search::SearchOptions::parse(root.at("search"));
  config.space =
      space::SearchSpace::parse(root.at("space"), config.data.shape, config.search.mutation_probability);
  config.objectives = objective::ObjectiveSet::parse(root.at("objectives"), root.find("constraints"),
                                                     train::training_metrics());
  config.resolved = resolve(root, config);
  return config;
}

std::string RunConfig::identity_hash() const {
  return sha256_hex(to_yaml(identity_tree(resolved)));
}

std::unique_ptr<objective::Evaluator> RunConfig::make_evaluator() const {
  if (synthetic) return evaluate::make_synthetic_evaluator(*synthetic);
  const auto needed = objectives.measured_needed();
  const bool latency = std::find(needed.begin(), needed.end(), "latency_ms") != needed.end();
  return train::make_training_evaluator(*training, data.normalization, dataset, split, latency);
}

std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right) {
  return first_difference(identity_tree(left), identity_tree(right));
}

}  // namespace skyline::app
