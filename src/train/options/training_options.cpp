#include "train/options/training_options.hpp"

#include "skyline/core/option_table.hpp"

#include "train/scoring/loss_kinds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace skyline::train {
namespace {

constexpr double kMostThreads = 1024;  // no machine of today has more processors

void check_sgd(const OptimizerOptions& options, const ConfigNode& section) {
  if (!options.nesterov || options.momentum > 0) return;
  section.at("nesterov").fail("nesterov needs a momentum above 0");
}

OptionKind<OptimizerOptions> optimizer_kind() {
  using Options = OptimizerOptions;
  const Key<Options> learning_rate{"learning_rate", &Options::learning_rate, above(0),
                                   "Learning rate, before any schedule."};
  const Key<Options> beta1{"beta1", &Options::beta1, kShareBelowOne, "Decay of the mean of gradients."};
  const Key<Options> beta2{"beta2", &Options::beta2, kShareBelowOne,
                           "Decay of the mean of squared gradients."};
  const Key<Options> epsilon{"epsilon", &Options::epsilon, above(0), "Added to the denominator."};
  const Key<Options> weight_decay{"weight_decay", &Options::weight_decay, at_least(0),
                                  "L2 penalty, added to the gradient."};
  const Key<Options> decoupled_decay{"weight_decay", &Options::decoupled_decay, at_least(0),
                                     "Share of a parameter that a step takes away, times the learning rate."};
  const Key<Options> decayed{
      "decayed", &Options::decayed,
      choice<Options::Decayed>({{"all", Options::Decayed::kAll}, {"weights", Options::Decayed::kWeights}}),
      "Whether weight decay takes all parameters, or weights without norms and biases."};
  const Key<Options> clip_norm{
      "clip_norm", &Options::clip_norm, at_least(0),
      "Largest norm of all gradients together; larger ones are scaled down to it. 0: off."};
  const OptionTable<Options> adam{learning_rate, beta1, beta2, epsilon, weight_decay, decayed, clip_norm};
  const OptionTable<Options> adamw{learning_rate, beta1, beta2, epsilon, decoupled_decay, decayed, clip_norm};
  const OptionTable<Options> sgd{
      {learning_rate,
       {"momentum", &Options::momentum, kShareBelowOne, "Decay of the sum of gradients."},
       {"nesterov", &Options::nesterov, "Nesterov's momentum; needs a momentum above 0."},
       weight_decay,
       decayed,
       clip_norm},
      check_sgd};
  return one_of<Options>(&Options::kind,
                         std::vector<Variant<Options, Options::Kind>>{{"adam", Options::Kind::kAdam, adam},
                                                                      {"adamw", Options::Kind::kAdamW, adamw},
                                                                      {"sgd", Options::Kind::kSgd, sgd}});
}

/// Reads one of several registered things: `loss: mse`, `loss: {cross_entropy: {label_smoothing: 0.1}}`.
OptionKind<LossOrMetric> registered(const std::vector<SubSection>& kinds) {
  OptionKind<std::size_t> index = variant_index(kinds);
  OptionKind<LossOrMetric> kind{index};
  kind.sections = kinds;
  kind.read = [kinds, read = index.read](const ConfigNode& node, LossOrMetric& choice) {
    std::size_t place = 0;
    if (!read(node, place)) return false;
    choice.name = kinds[place].name;
    choice.section = kinds[place].keys->complete(node.is_map() ? node.entries().front().value : ConfigNode());
    return true;
  };
  kind.write = [](const LossOrMetric& choice) {
    if (choice.section.entries().empty()) return ConfigNode::make_scalar(choice.name, {});
    return ConfigNode::make_map({{choice.name, choice.section, {}}}, {});
  };
  return kind;
}

OptionKind<LossOrMetric> loss_choice() {
  std::vector<SubSection> kinds;
  for (const std::string& name : loss_names()) kinds.push_back({name, find_loss(name)->keys});
  return registered(kinds);
}

OptionKind<LossOrMetric> metric_choice() {
  std::vector<SubSection> kinds;
  for (const std::string& name : metric_names()) kinds.push_back({name, find_metric(name)->keys});
  return registered(kinds);
}

/// Whether an entry states a metric that a program measures, `phone_ms: {run: [./measure.sh], better:
/// lower}`, or one that an expression gives.
bool is_described(const ConfigNode::Entry& entry) {
  const bool is_measured =
      entry.value.is_map() && (entry.value.find("run") != nullptr || entry.value.find("better") != nullptr);
  return is_measured || trial::is_given(entry);
}

/// Reads metrics of held-out samples, and those that programs measure or expressions give.
class MetricsReader {
 public:
  MetricsReader() : registered_(metric_choice()) {}

  /// Reads a list, or a map by names, whose entries mean what they mean in a list.
  bool read(const ConfigNode& node, TrainingOptions& options) const {
    options.metrics.clear();
    options.described.clear();
    if (node.is_list()) {
      for (const ConfigNode& item : node.items()) read_item(item, options);
      return !node.items().empty();
    }
    if (!node.is_map()) return false;
    for (const ConfigNode::Entry& entry : node.entries()) {
      if (is_described(entry)) {
        read_described(node, entry, options);
      } else {
        read_item(ConfigNode::make_map({entry}, node.position()), options);
      }
    }
    return !node.entries().empty();
  }
  ConfigNode write(const TrainingOptions& options) const {
    std::vector<ConfigNode> items;
    for (const LossOrMetric& metric : options.metrics) items.push_back(registered_.write(metric));
    for (const evaluate::CommandMetric& metric : options.described) items.push_back(by_name_.write({metric}));
    return items.empty() ? ConfigNode() : ConfigNode::make_list(std::move(items), {});
  }
  /// Drops keys of measurements that may change.
  ConfigNode identity(const ConfigNode& written) const {
    if (!written.is_list()) return written;
    std::vector<ConfigNode> items;
    for (const ConfigNode& item : written.items()) {
      const bool described = item.is_map() && is_described(item.entries().front());
      items.push_back(described ? by_name_.identity(item) : item);
    }
    return ConfigNode::make_list(std::move(items), written.position());
  }
  ConfigNode schema() const {
    const auto either = [](std::vector<ConfigNode> schemas) {
      return ConfigNode::make_map({{"anyOf", ConfigNode::make_list(std::move(schemas), {}), {}}}, {});
    };
    ConfigNode list = ConfigNode::make_map({{"type", schema_text("array"), {}}}, {});
    list.set("items", either({registered_.schema, by_name_.schema}));
    return either({list, ConfigNode::make_map({{"type", schema_text("object"), {}}}, {})});
  }
  std::vector<SubSection> sections() const {
    std::vector<SubSection> all = registered_.sections;
    all.insert(all.end(), by_name_.sections.begin(), by_name_.sections.end());
    return all;
  }

 private:
  static void read_described(const ConfigNode& map, const ConfigNode::Entry& entry,
                             TrainingOptions& options) {
    options.described.push_back(evaluate::read_command_metric(map, entry));
    if (options.described.back().is_reported()) {
      entry.value.fail("missing key `run`, the program that measures the metric");
    }
  }
  void read_item(const ConfigNode& item, TrainingOptions& options) const {
    if (item.is_map() && item.entries().size() == 1 && is_described(item.entries().front())) {
      return read_described(item, item.entries().front(), options);
    }
    if (!registered_.read(item, options.metrics.emplace_back())) {
      item.fail_expected(registered_.expected + ", or {NAME: {run: [PROGRAM, ...], better: lower}}");
    }
    // Each needs its own column in all tables.
    const std::string& name = options.metrics.back().name;
    if (std::ranges::count(options.metrics, name, &LossOrMetric::name) > 1)
      item.fail("`" + name + "` is listed twice");
  }

  OptionKind<LossOrMetric> registered_;
  OptionKind<std::vector<evaluate::CommandMetric>> by_name_ = evaluate::metrics_by_name();
};

/// Reads true, false or `final`. The default is not written: older runs have no such key.
OptionKind<Int8Trials> int8_trials() {
  const OptionKind<bool> every = flag();
  OptionKind<Int8Trials> kind{{"true, false or final", keyword_or("final", every.schema)}};
  kind.read = [every](const ConfigNode& node, Int8Trials& value) {
    bool all = false;
    value = Int8Trials::kFinal;
    if (node.is_scalar() && node.as_text() == "final") return true;
    if (!every.read(node, all)) return false;
    value = all ? Int8Trials::kAll : Int8Trials::kNone;
    return true;
  };
  kind.write = [every](const Int8Trials& value) {
    if (value == Int8Trials::kNone) return ConfigNode();
    return value == Int8Trials::kAll ? every.write(true) : ConfigNode::make_scalar("final", {});
  };
  return kind;
}

/// The section `augment`. Keys that older runs do not have are not written as long as they say what was done
/// then.
OptionKind<AugmentOptions> augment_section() {
  OptionKind<AugmentOptions> kind = section(AugmentOptions::table());
  kind.write = [write = kind.write](const AugmentOptions& options) {
    constexpr std::array kLater{"trivial", "trivial_operations", "time_shift",
                                "noise",   "time_mask",          "frequency_mask"};
    const ConfigNode before = write({});
    std::vector<ConfigNode::Entry> entries = write(options).entries();
    std::erase_if(entries, [&](const ConfigNode::Entry& entry) {
      return std::ranges::find(kLater, entry.key) != kLater.end() &&
             entry.value.as_number() == before.at(entry.key).as_number();
    });
    return ConfigNode::make_map(std::move(entries), {});
  };
  return kind;
}

OptionKind<TrainingOptions> metrics_of_training() {
  const MetricsReader reader;
  OptionKind<TrainingOptions> kind{{"a list of metrics, with or without keys", reader.schema()}};
  kind.sections = reader.sections();
  kind.read = [reader](const ConfigNode& node, TrainingOptions& options) {
    return reader.read(node, options);
  };
  kind.write = [reader](const TrainingOptions& options) { return reader.write(options); };
  kind.identity = [reader](const ConfigNode& written) { return reader.identity(written); };
  return kind;
}

/// Refuses more members than samples: a member without samples has nothing to normalize.
void check_group(const TrainingOptions& options, const ConfigNode& section) {
  const std::uint32_t members = options.group.members.value_or(1);  // `auto` takes the batch into account
  if (static_cast<std::int64_t>(members) <= options.batch) return;
  section.fail("`group.members` is " + std::to_string(members) + ": expected at most the batch, which is " +
               std::to_string(options.batch));
}

/// Refuses empty parts, and parts beside statistics of the whole batch, which no single part has.
void check_parts(const TrainingOptions& options, const ConfigNode& section) {
  if (options.accumulate == 1) return;
  const ConfigNode& key = section.at("accumulate");
  const std::int64_t members = options.group.members.value_or(1);
  const std::int64_t most = options.batch / members;
  if (options.accumulate > most) {
    key.fail("expected at most " + std::to_string(most) + ", the samples of a batch" +
             (members > 1 ? " for each member" : "") + ", got " + std::to_string(options.accumulate));
  }
  if (options.group.statistics == GroupOptions::Statistics::kSynchronized) {
    key.fail("expected 1, since `group.batch_statistics: synchronized` normalizes by the whole batch, got " +
             std::to_string(options.accumulate));
  }
}

void check_training(const TrainingOptions& options, const ConfigNode& section) {
  check_group(options, section);
  check_parts(options, section);
}

}  // namespace

const OptionTable<TrainingOptions>& TrainingOptions::table() {
  using Options = TrainingOptions;
  static const OptionTable<Options> table =
      OptionTable<Options>{
          {{"epochs", &Options::epochs, above(0).at_most(kMostEpochs),
            "Budget of a trial of the search; a fraction is honoured to the step."},
           {"batch", &Options::batch, at_least(1).at_most(kMostCounted),
            "Samples per step; the last batch of an epoch may be smaller."},
           {"accumulate", &Options::accumulate, at_least(1).at_most(kMostCounted),
            "Parts of a batch, computed one after another to save memory, then one step of the optimizer. "
            "Batch norm normalizes by part."},
           {"optimizer", &Options::optimizer, optimizer_kind(), "The optimizer, adam unless told otherwise."},
           {"schedule", &Options::schedule, "How the learning rate changes in the course of a trial."},
           {"augment", &Options::augment, augment_section(),
            "Random changes of the training images, different in each epoch."},
           {"loss", &Options::loss, or_keyword("auto", loss_choice()),
            "What training lowers; `auto`: cross_entropy for classes, binary_cross_entropy for labels, mse "
            "for numbers."},
           {"teacher", &Options::teacher, if_given(section(TeacherOptions::table())),
            "A larger network from whose outputs networks learn, too."},
           {"metrics", metrics_of_training(),
            "What is measured on held-out samples, as validation_NAME and test_NAME, by default accuracy for "
            "classes, auc for labels, mse, r2 and rmse for numbers; and what programs measure with the "
            "trained network, {NAME: {run: [PROGRAM, ...], better: lower}}."},
           {"recalibrate", &Options::recalibrate, at_least(0).at_most(kMostCounted),
            "Batches with which the statistics of batch norm are measured again before a trial is scored; 0 "
            "is off."},
           {"full", &Options::full, "Extras of full trainings."},
           {"device", &Options::device,
            choice<DeviceChoice>(
                {{"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}}),
            "Where trials are trained; `auto`: on a GPU where the rank has one that can be used."},
           {"precision", &Options::precision,
            choice<Precision>(
                {{"fp32", Precision::kFp32}, {"tf32", Precision::kTf32}, {"bf16", Precision::kBf16}}),
            "Number format of matrix products and convolutions; weights and the optimizer's state are "
            "float32 in any case. `tf32`: on GPUs only."},
           {"group", &Options::group, "How several members train a trial together, data-parallel."},
           {"threads", &Options::threads, at_least(1).at_most(kMostThreads), "Threads of a slot."},
           {"inherit", &Options::inherit,
            "Whether a child starts from its parent's weights where their layers match."},
           {"int8", &Options::int8, int8_trials(),
            "Whether each metric is measured with the trained network in int8, too, as "
            "int8_validation_NAME and int8_test_NAME; `final`: in full trainings alone, which `final.int8` "
            "sets."},
           {"latency", &Options::latency,
            "How `latency_ms` is measured, if an objective or a constraint names it."}},
          check_training}
          .advised("threads",
                   "more slots serve a search better than more threads a slot. Raise it where memory holds "
                   "few networks at a time.");
  return table;
}

std::string batch_text(const TrainingOptions& options) {
  const std::string batch = std::to_string(options.batch);
  return options.accumulate == 1 ? batch : batch + " in " + std::to_string(options.accumulate) + " parts";
}

TrainingOptions with_values(const TrainingOptions& options, const std::vector<space::TrainingValue>& values) {
  if (values.empty()) return options;
  ConfigNode section = TrainingOptions::table().to_config(options);
  for (const space::TrainingValue& own : values) {
    section.set(own.key, space::node_of(own.value, {}));
  }
  section.assign_paths("training");
  TrainingOptions result = TrainingOptions::table().parse(section);
  result.problem = options.problem;
  return result;
}

TrainingOptions with_defaults(TrainingOptions options, store::TargetKind targets) {
  const auto chosen = [](const auto& kind) {
    return LossOrMetric{kind->name, kind->keys->complete(ConfigNode())};
  };
  if (!options.loss) options.loss = chosen(find_loss(default_loss(targets)));
  if (!options.metrics.empty()) return options;
  for (const std::string& name : default_metrics(targets))
    options.metrics.push_back(chosen(find_metric(name)));
  return options;
}

std::int64_t steps_per_epoch(std::size_t samples, std::int64_t batch) {
  return (static_cast<std::int64_t>(samples) + batch - 1) / batch;
}

std::int64_t steps_for(double epochs, std::size_t samples, std::int64_t batch) {
  const auto whole = static_cast<double>(steps_per_epoch(samples, batch));
  return std::max<std::int64_t>(1, std::llround(epochs * whole));
}

}  // namespace skyline::train
