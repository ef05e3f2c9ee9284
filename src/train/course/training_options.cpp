#include "skyline/core/error.hpp"

#include "train/course/training_evaluator.hpp"

#include <cmath>
#include <limits>

namespace skyline::train {
namespace {

constexpr std::int64_t kMostThreads = 1024;  // a slot; more processors than any machine of today has

double positive(const ConfigNode& node) {
  const double value = node.as_number();
  if (!(value > 0 && std::isfinite(value))) node.fail_expected("a number above 0");
  return value;
}

double not_negative(const ConfigNode& node) {
  const double value = node.as_number();
  if (!(value >= 0 && std::isfinite(value))) node.fail_expected("a number of at least 0");
  return value;
}

/// A factor that forgets: at 1 it would never learn anything new.
double share_below_one(const ConfigNode& node) {
  const double value = node.as_number();
  if (!(value >= 0 && value < 1)) node.fail_expected("a number from 0 to below 1");
  return value;
}

double epochs_of(const ConfigNode& node) {
  const double value = node.as_number();
  if (!(value > 0 && value <= kMostEpochs)) node.fail_expected("a number above 0, at most a million epochs");
  return value;
}

double warmup_epochs(const ConfigNode& node) {
  const double value = not_negative(node);
  if (value > kMostEpochs) node.fail_expected("at most a million epochs");
  return value;
}

std::int64_t whole_number(const ConfigNode& node, std::int64_t minimum,
                          std::int64_t maximum = std::numeric_limits<int>::max()) {
  const std::int64_t value = node.as_integer();
  if (value < minimum) node.fail_expected("a whole number of at least " + std::to_string(minimum));
  if (value > maximum) node.fail_expected("a whole number of at most " + std::to_string(maximum));
  return value;
}

template <typename Read, typename Target>
void read_if_there(const ConfigNode& section, const char* key, Target& target, const Read& read) {
  if (const ConfigNode* node = section.find(key)) target = static_cast<Target>(read(*node));
}

OptimizerOptions parse_adam(const ConfigNode& section) {
  OptimizerOptions options;
  if (section.is_null()) return options;
  section.allow_only({"learning_rate", "beta1", "beta2", "epsilon", "weight_decay"});
  read_if_there(section, "learning_rate", options.learning_rate, positive);
  read_if_there(section, "beta1", options.beta1, share_below_one);
  read_if_there(section, "beta2", options.beta2, share_below_one);
  read_if_there(section, "epsilon", options.epsilon, positive);
  read_if_there(section, "weight_decay", options.weight_decay, not_negative);
  return options;
}

OptimizerOptions parse_sgd(const ConfigNode& section) {
  OptimizerOptions options;
  options.kind = OptimizerOptions::Kind::kSgd;
  if (section.is_null()) return options;
  section.allow_only({"learning_rate", "momentum", "nesterov", "weight_decay"});
  read_if_there(section, "learning_rate", options.learning_rate, positive);
  read_if_there(section, "momentum", options.momentum, share_below_one);
  read_if_there(section, "nesterov", options.nesterov, [](const ConfigNode& node) { return node.as_flag(); });
  read_if_there(section, "weight_decay", options.weight_decay, not_negative);
  if (options.nesterov && options.momentum == 0) {
    section.at("nesterov").fail("nesterov needs a momentum above 0");
  }
  return options;
}

/// `adam`, `sgd`, or a map with one of them as its only key.
OptimizerOptions parse_optimizer(const ConfigNode& node) {
  if (node.is_scalar()) {
    if (node.as_text() == "adam") return parse_adam(ConfigNode());
    if (node.as_text() == "sgd") return parse_sgd(ConfigNode());
  }
  if (!node.is_map() || node.entries().size() != 1)
    node.fail_expected("adam or sgd, with or without options");
  node.allow_only({"adam", "sgd"});
  const ConfigNode::Entry& entry = node.entries().front();
  return entry.key == "adam" ? parse_adam(entry.value) : parse_sgd(entry.value);
}

LatencyOptions parse_latency(const ConfigNode& section) {
  LatencyOptions options;
  section.allow_only({"batch", "warmup", "repeats"});
  read_if_there(section, "batch", options.batch,
                [](const ConfigNode& node) { return whole_number(node, 1); });
  read_if_there(section, "warmup", options.warmup,
                [](const ConfigNode& node) { return whole_number(node, 0); });
  read_if_there(section, "repeats", options.repeats,
                [](const ConfigNode& node) { return whole_number(node, 1); });
  return options;
}

AugmentOptions parse_augment(const ConfigNode& section) {
  AugmentOptions options;
  section.allow_only({"crop", "flip", "cutout"});
  read_if_there(section, "crop", options.crop, [](const ConfigNode& node) { return whole_number(node, 0); });
  read_if_there(section, "flip", options.flip, [](const ConfigNode& node) { return node.as_flag(); });
  read_if_there(section, "cutout", options.cutout,
                [](const ConfigNode& node) { return whole_number(node, 0); });
  return options;
}

template <typename Choice>
struct Word {
  const char* text;
  Choice choice;
};

constexpr Word<ScheduleOptions::Decay> kDecays[] = {{"none", ScheduleOptions::Decay::kNone},
                                                    {"linear", ScheduleOptions::Decay::kLinear},
                                                    {"cosine", ScheduleOptions::Decay::kCosine}};
constexpr Word<DeviceChoice> kDevices[] = {
    {"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}};
constexpr Word<Precision> kPrecisions[] = {
    {"fp32", Precision::kFp32}, {"tf32", Precision::kTf32}, {"bf16", Precision::kBf16}};
constexpr Word<GroupOptions::Statistics> kStatistics[] = {
    {"local", GroupOptions::Statistics::kLocal}, {"synchronized", GroupOptions::Statistics::kSynchronized}};
constexpr Word<GroupOptions::Sharding> kShardings[] = {{"none", GroupOptions::Sharding::kNone},
                                                       {"optimizer", GroupOptions::Sharding::kOptimizer},
                                                       {"gradients", GroupOptions::Sharding::kGradients}};

template <typename Choice, std::size_t count>
Choice choice_of(const ConfigNode& node, const Word<Choice> (&words)[count]) {
  std::string expected;
  for (const Word<Choice>& word : words) {
    if (node.as_text() == word.text) return word.choice;
    expected += (expected.empty() ? "`" : ", `") + std::string(word.text) + "`";
  }
  node.fail_expected("one of " + expected);
}

template <typename Choice, std::size_t count>
const char* word_of(Choice choice, const Word<Choice> (&words)[count]) {
  for (const Word<Choice>& word : words) {
    if (word.choice == choice) return word.text;
  }
  throw InternalError("a choice without a word");
}

ScheduleOptions parse_schedule(const ConfigNode& section) {
  ScheduleOptions options;
  section.allow_only({"warmup", "decay"});
  read_if_there(section, "warmup", options.warmup, warmup_epochs);
  read_if_there(section, "decay", options.decay,
                [](const ConfigNode& node) { return choice_of(node, kDecays); });
  return options;
}

GroupOptions parse_group(const ConfigNode& section) {
  constexpr std::int64_t kMostMembers = 1024;
  GroupOptions options;
  section.allow_only({"members", "most", "batch_statistics", "sharding"});
  if (const ConfigNode* node = section.find("members")) {
    if (node->is_scalar() && node->as_text() == "auto") {
      options.members = std::nullopt;
    } else {
      options.members = static_cast<std::uint32_t>(whole_number(*node, 1, kMostMembers));
    }
  }
  read_if_there(section, "most", options.most,
                [](const ConfigNode& node) { return whole_number(node, 1, kMostMembers); });
  read_if_there(section, "batch_statistics", options.statistics,
                [](const ConfigNode& node) { return choice_of(node, kStatistics); });
  read_if_there(section, "sharding", options.sharding,
                [](const ConfigNode& node) { return choice_of(node, kShardings); });
  return options;
}

/// A member without a sample of a batch would have nothing to normalize.
void check_group(const TrainingOptions& options, const ConfigNode& section) {
  const std::uint32_t most = options.group.members.value_or(options.group.most);
  if (static_cast<std::int64_t>(most) <= options.batch) return;
  const char* key = options.group.members ? "members" : "most";
  section.fail("`group." + std::string(key) + "` is " + std::to_string(most) +
               ": expected at most the batch, which is " + std::to_string(options.batch));
}

ConfigNode word(const char* text) {
  return ConfigNode::make_scalar(text, {});
}

ConfigNode optimizer_to_config(const OptimizerOptions& options) {
  ConfigNode settings = ConfigNode::make_map({}, {});
  settings.set("learning_rate", ConfigNode::make_number(options.learning_rate));
  if (options.kind == OptimizerOptions::Kind::kAdam) {
    settings.set("beta1", ConfigNode::make_number(options.beta1));
    settings.set("beta2", ConfigNode::make_number(options.beta2));
    settings.set("epsilon", ConfigNode::make_number(options.epsilon));
  } else {
    settings.set("momentum", ConfigNode::make_number(options.momentum));
    settings.set("nesterov", word(options.nesterov ? "true" : "false"));
  }
  settings.set("weight_decay", ConfigNode::make_number(options.weight_decay));
  const char* name = options.kind == OptimizerOptions::Kind::kAdam ? "adam" : "sgd";
  return ConfigNode::make_map({{name, std::move(settings), {}}}, {});
}

}  // namespace

TrainingOptions TrainingOptions::parse(const ConfigNode& section) {
  TrainingOptions options;
  if (section.is_null()) return options;
  section.allow_only({"epochs", "batch", "optimizer", "schedule", "augment", "device", "precision", "group",
                      "threads", "inherit", "latency"});
  read_if_there(section, "epochs", options.epochs, epochs_of);
  read_if_there(section, "batch", options.batch,
                [](const ConfigNode& node) { return whole_number(node, 1); });
  read_if_there(section, "threads", options.threads,
                [](const ConfigNode& node) { return whole_number(node, 1, kMostThreads); });
  read_if_there(section, "optimizer", options.optimizer, parse_optimizer);
  read_if_there(section, "schedule", options.schedule, parse_schedule);
  read_if_there(section, "inherit", options.inherit, [](const ConfigNode& node) { return node.as_flag(); });
  read_if_there(section, "augment", options.augment, parse_augment);
  read_if_there(section, "latency", options.latency, parse_latency);
  read_if_there(section, "device", options.device,
                [](const ConfigNode& node) { return choice_of(node, kDevices); });
  read_if_there(section, "precision", options.precision,
                [](const ConfigNode& node) { return choice_of(node, kPrecisions); });
  read_if_there(section, "group", options.group, parse_group);
  check_group(options, section);
  return options;
}

ConfigNode TrainingOptions::to_config() const {
  ConfigNode section = ConfigNode::make_map({}, {});
  section.set("epochs", ConfigNode::make_number(epochs));
  section.set("batch", ConfigNode::make_integer(batch));
  section.set("optimizer", optimizer_to_config(optimizer));
  section.set("schedule.warmup", ConfigNode::make_number(schedule.warmup));
  section.set("schedule.decay", word(word_of(schedule.decay, kDecays)));
  section.set("augment.crop", ConfigNode::make_integer(augment.crop));
  section.set("augment.flip", word(augment.flip ? "true" : "false"));
  section.set("augment.cutout", ConfigNode::make_integer(augment.cutout));
  section.set("device", word(word_of(device, kDevices)));
  section.set("precision", word(word_of(precision, kPrecisions)));
  section.set("group.members", group.members ? ConfigNode::make_integer(*group.members) : word("auto"));
  section.set("group.most", ConfigNode::make_integer(group.most));
  section.set("group.batch_statistics", word(word_of(group.statistics, kStatistics)));
  section.set("group.sharding", word(word_of(group.sharding, kShardings)));
  section.set("threads", ConfigNode::make_integer(threads));
  section.set("inherit", word(inherit ? "true" : "false"));
  section.set("latency.batch", ConfigNode::make_integer(latency.batch));
  section.set("latency.warmup", ConfigNode::make_integer(latency.warmup));
  section.set("latency.repeats", ConfigNode::make_integer(latency.repeats));
  return section;
}

}  // namespace skyline::train
