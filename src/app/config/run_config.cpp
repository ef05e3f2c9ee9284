#include "app/config/run_config.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "app/config/config_file.hpp"
#include "app/config/config_sections.hpp"
#include "app/config/engine_sections.hpp"
#include "core/config/scalar_text.hpp"
#include "core/text/hash.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

ConfigNode word(const std::string& text) {
  return ConfigNode::make_scalar(text, {});
}

void check_sections(const ConfigNode& root) {
  if (!root.is_map()) root.fail_expected("a map with the sections data, space, objectives, search, ...");
  std::vector<std::string> known(kConfigSections.begin(), kConfigSections.end());
  for (std::string& name : evaluator_names()) known.push_back(std::move(name));
  for (const ConfigNode::Entry& entry : root.entries()) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    ConfigNode::make_null(entry.key_position)
        .fail("unknown key `" + entry.key + "`, " + suggestion(entry.key, known));
  }
}

std::filesystem::path read_stage(const ConfigNode& section) {
  const ConfigNode* node = section.find("stage");
  if (node == nullptr) return {};
  const std::string& folder = node->as_text();
  if (folder.empty()) node->fail_expected("a folder, e.g. /tmp, or `none`");
  if (folder == "none") return {};
  if (section.find("file") == nullptr) node->fail("stands without `file`: there is nothing to copy");
  return folder;
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
  section.allow_only({"file", "validation", "normalization", "sha256", "shape", "classes", "stage"});
  DataOptions& data = config.data;
  data.stage = read_stage(section);
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
  if (config.training) section.fail("missing key `file`");
  data.shape = read_shape(section);
}

void read_trainer(const ConfigNode& root, RunConfig& config) {
  std::string_view chosen;
  for (const ConfigNode::Entry& entry : root.entries()) {
    const EvaluatorKind* kind = find_evaluator(entry.key);
    if (kind == nullptr && entry.key != "training") continue;
    if (!chosen.empty())
      entry.value.fail("stands beside `" + std::string(chosen) + "`: a run has one of them");
    chosen = entry.key;
    if (kind != nullptr) config.evaluator = ChosenEvaluator{kind, kind->complete(entry.value)};
  }
  if (config.evaluator) return;
  config.training = train::TrainingOptions::table().parse(root.at("training"));
  config.engine.epochs = config.training->epochs;
  config.engine.threads_per_slot = config.training->threads;
  config.engine.inherit = config.training->inherit;
}

ConfigNode resolve(const ConfigNode& root, const RunConfig& config) {
  ConfigNode tree = root;
  if (config.dataset != nullptr) {
    tree.set("data.validation", ConfigNode::make_number(config.data.validation));
    tree.set("data.normalization",
             word(config.data.normalization == train::Normalization::kUnit ? "unit" : "standard"));
    tree.set("data.sha256", word(config.dataset->content_hash()));
  }
  if (config.training) tree.set("training", train::TrainingOptions::table().to_config(*config.training));
  if (config.evaluator) tree.set(config.evaluator->kind->name(), config.evaluator->section);
  tree.set("search", config.search);
  write_engine_sections(config, tree);
  tree.assign_paths();
  return tree;
}

/// Settings that only bound a run, or say what is kept and where: another value goes on with the same run.
bool counts_for_identity(const std::string& path, bool inherits) {
  if (path == "run.keep_weights") return inherits;  // which parents still have weights
  // The bits of a trial don't depend on how its optimizer's state is spread.
  constexpr std::array kFree{
      "data.file", "data.stage", "run.events",     "search.iterations",    "search.trials",
      "final",     "checkpoint", "run.time_limit", "run.storage_patience", "training.group.sharding"};
  return std::find(kFree.begin(), kFree.end(), path) == kFree.end();
}

/// Settings that came after the first release: at these values a run is what it was without them, so that
/// older runs can be resumed. Such a default is never changed.
bool is_at_first_default(const ConfigNode& node) {
  struct Default {
    std::string_view path;
    std::string_view text;
  };
  constexpr std::array kDefaults{
      Default{"training.device", "auto"},         Default{"training.schedule.warmup", "0"},
      Default{"training.schedule.decay", "none"}, Default{"training.group.members", "1"},
      Default{"training.group.most", "8"},        Default{"training.group.batch_statistics", "local"}};
  return node.is_scalar() && std::ranges::any_of(kDefaults, [&](const Default& known) {
           return node.path() == known.path && node.as_text() == known.text;
         });
}

/// Equal numbers as equal text.
ConfigNode canonical_scalar(const ConfigNode& node) {
  if (node.quoted()) return node;
  if (const auto integer = integer_in(node.as_text())) return ConfigNode::make_integer(*integer);
  if (const auto number = number_in(node.as_text())) return word(objective::number_text(*number));
  return node;
}

/// What of a resolved tree makes a run, the same text for equal trees.
ConfigNode identity_tree(const ConfigNode& node, bool inherits) {
  if (node.is_scalar()) return canonical_scalar(node);
  if (node.is_list()) {
    std::vector<ConfigNode> items;
    for (const ConfigNode& item : node.items()) items.push_back(identity_tree(item, inherits));
    return ConfigNode::make_list(std::move(items), {});
  }
  if (!node.is_map()) return node;
  std::vector<ConfigNode::Entry> entries;
  for (const ConfigNode::Entry& entry : node.entries()) {
    if (!counts_for_identity(entry.value.path(), inherits)) continue;
    if (is_at_first_default(entry.value)) continue;
    ConfigNode value = identity_tree(entry.value, inherits);
    const bool emptied = value.is_map() && value.entries().empty() && !entry.value.entries().empty();
    if (!emptied) entries.push_back({entry.key, std::move(value), {}});
  }
  // The order of parameters is that of the genotype; no other order of keys matters.
  if (node.path() != "space.parameters") {
    std::sort(entries.begin(), entries.end(),
              [](const auto& left, const auto& right) { return left.key < right.key; });
  }
  return ConfigNode::make_map(std::move(entries), {});
}

ConfigNode identity_tree(const ConfigNode& resolved) {
  const ConfigNode* training = resolved.find("training");
  const ConfigNode* inherit = training == nullptr ? nullptr : training->find("inherit");
  return identity_tree(resolved, inherit != nullptr && inherit->as_flag());
}

}  // namespace

RunConfig RunConfig::parse(const ConfigNode& root, bool verify_data) {
  check_sections(root);
  RunConfig config;
  read_trainer(root, config);
  read_engine_sections(root, config);
  read_data(root, verify_data, config);
  config.search = search::algorithm_of(root.at("search")).keys->complete(root.at("search"));
  config.space = space::SearchSpace::parse(root.at("space"), config.data.shape);
  config.objectives = objective::ObjectiveSet::parse(
      root.at("objectives"), root.find("constraints"),
      config.evaluator ? config.evaluator->kind->metrics() : train::training_metrics());
  config.resolved = resolve(root, config);
  return config;
}

std::string RunConfig::identity_hash() const {
  return sha256_hex(to_yaml(identity_tree(resolved)));
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
  return train::make_training_evaluator(*training, data.normalization, dataset, split, latency,
                                        std::move(device));
}

std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right) {
  return first_difference(identity_tree(left), identity_tree(right));
}

}  // namespace skyline::app
