#include "train/loading/training_kind.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include "core/log.hpp"
#include "evaluate/command/command_check.hpp"
#include "evaluate/command/program_checksums.hpp"
#include "evaluate/measured_evaluator.hpp"
#include "space/quantized/int8_network.hpp"
#include "store/data/named_file.hpp"
#include "store/data/teacher.hpp"
#include "store/publish/publish.hpp"
#include "train/loading/device_choice.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/loading/load_training.hpp"
#include "train/loading/training_forecast.hpp"
#include "train/options/baselines.hpp"
#include "train/options/training_check.hpp"
#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::train {
namespace {

/// Prints a warning if this process has not printed the same one. Hundreds of searched values of a key may
/// cause one.
void warn_once(const std::string& doubt) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(doubt).second) log::warning(doubt);
}

evaluate::EvaluatorNeeds needs_of(const TrainingOptions& options) {
  return {.epochs = options.epochs,
          .threads = options.threads,
          .groups = options.group.members != 1U,
          .inherits = options.inherit,
          .weights = true,
          .data = true,
          .deterministic = std::ranges::all_of(options.described,
                                               [](const evaluate::CommandMetric& metric) {
                                                 return !metric.is_measured() ||
                                                        (metric.is_before && metric.is_exact);
                                               }),
          .device = options.device};
}

/// Fails at the key, or at the nearest one above it that was written.
[[noreturn]] void fail_at(const ConfigNode& section, std::string_view key, const std::string& reason) {
  const std::size_t dot = key.find('.');
  const ConfigNode* below = section.is_map() ? section.find(std::string(key.substr(0, dot))) : nullptr;
  if (below != nullptr && dot != std::string_view::npos) fail_at(*below, key.substr(dot + 1), reason);
  (below != nullptr ? *below : section).fail(reason);
}

/// Checks programs that measure, and refuses metrics in int8 of layers that say no int8 steps.
void check_place(const ConfigNode& written, const evaluate::SectionPlace& place) {
  evaluate::check_measured_section(written, place);
  if (TrainingOptions::table().parse(written).int8 == Int8Trials::kNone) return;
  if (const auto problem = space::int8_problem(place.space.registered_kinds(), "metrics"))
    fail_at(written, "int8", *problem);
}

/// Returns the metrics of int8 networks, those on the validation set first.
/// @param searched, tested  the same metrics of the networks as they are trained
std::vector<trial::Metric> int8_twins(const std::vector<trial::Metric>& searched,
                                      const std::vector<trial::Metric>& tested, Int8Trials int8) {
  std::vector<trial::Metric> twins;
  if (int8 == Int8Trials::kNone) return twins;
  for (const auto* const metrics : {&searched, &tested}) {
    for (trial::Metric metric : *metrics) {
      metric.name.insert(0, kInt8Prefix);
      metric.has_course = false;
      if (!metric.repeats.empty()) metric.repeats.insert(0, kInt8Prefix);
      if (int8 == Int8Trials::kFinal) metric.when = trial::Metric::When::kFullTraining;
      twins.push_back(std::move(metric));
    }
  }
  return twins;
}

/// Returns the metrics of a training: its metrics on the validation set, losses, the latency, its metrics on
/// the test set, its steps, and where its epochs are judged after how many it kept its weights; then those of
/// its int8 network. A user's own loss may be negative.
std::vector<trial::Metric> measured_with(const std::vector<std::string>& names, bool judges_epochs,
                                         Int8Trials int8) {
  using Metric = trial::Metric;
  using trial::Better;
  std::vector<Metric> searched;
  std::vector<Metric> tested;
  for (const std::string& name : names) {
    const MetricKind& kind = *find_metric(name);
    Metric metric{.name = "validation_" + name, .better = kind.better, .range = kind.range};
    metric.of = Metric::Of::kValidation;
    metric.has_course = true;
    searched.push_back(metric);
    metric.name = "test_" + name;
    metric.when = Metric::When::kFullTraining;
    metric.of = Metric::Of::kTest;
    metric.has_course = false;
    metric.repeats = searched.back().name;
    tested.push_back(std::move(metric));
  }
  std::vector<trial::Metric> in_int8 = int8_twins(searched, tested, int8);
  searched.push_back(
      {.name = "validation_loss", .better = Better::kLower, .of = Metric::Of::kValidation, .ideal = 0});
  searched.push_back({.name = "train_loss", .better = Better::kLower, .of = Metric::Of::kTrain, .ideal = 0});
  searched.push_back({.name = "latency_ms", .better = Better::kLower, .range = {.low = 0}, .unit = "ms"});
  searched.insert(searched.end(), tested.begin(), tested.end());
  searched.push_back({.name = "steps", .better = Better::kLower, .range = {.low = 0}});
  if (judges_epochs) {
    searched.push_back({.name = std::string(kKeptEpochs),
                        .better = Better::kLower,
                        .range = {.low = 0},
                        .when = Metric::When::kFullTraining});
  }
  std::ranges::move(in_int8, std::back_inserter(searched));
  return searched;
}

/// Returns the metrics that a training measures without the user's programs.
std::vector<trial::Metric> own_metrics_of(const TrainingOptions& given, store::TargetKind targets) {
  const TrainingOptions options = with_defaults(given, targets);
  std::vector<std::string> names;
  for (const LossOrMetric& metric : options.metrics) names.push_back(metric.name);
  return measured_with(names, options.full.judges_epochs(), options.int8);
}

/// Refuses a teacher's file of other data.
void check_taught_data(const ConfigNode& written, const std::string& file, const store::Dataset& dataset) {
  (void)store::named_file_that_exists(written.at("teacher").at("file"), file);
  try {
    store::Teacher::open(file, false)->check_data(dataset);
  } catch (const UserError& error) {
    fail_at(written, "teacher.file", error.what());
  }
}

/// Returns the checksums of the programs that measure, and of a teacher's outputs.
std::map<std::string, std::string> checksums_of(const TrainingOptions& options) {
  auto checksums = evaluate::program_checksums(options.described);
  if (options.teacher && store::exists(options.teacher->file)) {
    checksums["training.teacher"] = store::Teacher::open(options.teacher->file, false)->content_hash();
  }
  return checksums;
}

std::unique_ptr<trial::Evaluator> make(const TrainingOptions& options,
                                       const evaluate::EvaluatorServices& services) {
  std::unique_ptr<trial::Evaluator> made;
  if (services.ranks == nullptr)
    made = std::make_unique<TrainingForecast>(options, *services.dataset, services.split, false);
  else
    made = load_training(*services.ranks, services.place.host).make_evaluator(options, services);
  const std::size_t own_metrics = own_metrics_of(options, services.dataset->train().target_kind()).size();
  return evaluate::with_measured_metrics(std::move(made), own_metrics, options.described, options.threads,
                                         services, "training");
}

}  // namespace

evaluate::EvaluatorKind training_kind() {
  const auto read = [](const ConfigNode& section) { return TrainingOptions::table().parse(section); };
  return {
      .name = "training",
      .meaning = "How networks are trained and measured.",
      .metrics =
          [read](const ConfigNode& section, store::TargetKind targets) {
            if (section.is_null()) return measured_with(metric_names(), false, Int8Trials::kAll);
            const TrainingOptions options = read(section);
            std::vector<trial::Metric> all = own_metrics_of(options, targets);
            const std::vector<trial::Metric> described =
                evaluate::descriptions_of(options.described, evaluate::MetricSource::kProgram);
            all.insert(all.end(), described.begin(), described.end());
            return all;
          },
      .keys = std::make_shared<const OptionTable<TrainingOptions>>(TrainingOptions::table()),
      .inherit_key = "training.inherit",
      .members_key = "training.group.members",
      .searchable = {"batch", "optimizer", "schedule", "augment", "loss", "teacher.weight",
                     "teacher.temperature", "recalibrate"},
      .needs = [read](const ConfigNode& section) { return needs_of(read(section)); },
      .load = [] { load_training(); },
      .make = [read](const ConfigNode& section,
                     const evaluate::EvaluatorServices& services) { return make(read(section), services); },
      .check =
          [read](const ConfigNode& written, const store::Dataset& dataset, const store::SplitIndices& split) {
            const TrainingOptions options = read(written);
            const auto objection = find_objection(options, dataset, split);
            if (objection) fail_at(written, objection->key, objection->reason);
            if (options.teacher) check_taught_data(written, options.teacher->file, dataset);
            for (const std::string& doubt : find_warnings(options, dataset, split, find_training_host()))
              warn_once(doubt);
          },
      .baselines =
          [read](const ConfigNode& section, const store::Dataset& dataset, const store::SplitIndices& split) {
            return baselines_of(read(section), dataset, split);
          },
      .check_place = check_place,
      .programs = [read](const ConfigNode& section) { return checksums_of(read(section)); },
      .describe_device =
          [read](const ConfigNode& section) {
            return describe_device(wish_of(read(section)), load_accelerator);
          }};
}

void register_training() {
  static const bool done = [] {
    evaluate::register_evaluator(training_kind());
    return true;
  }();
  (void)done;
}

}  // namespace skyline::train
