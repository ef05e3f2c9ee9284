#include "train/options/training_check.hpp"

#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/data/sample_draw.hpp"
#include "train/scoring/loss_kinds.hpp"
#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace skyline::train {
namespace {

using Answer = std::optional<Objection>;

constexpr std::int64_t kColours = 3;

std::string texts_of(const std::vector<store::TargetKind>& kinds) {
  std::vector<std::string> words;
  for (const store::TargetKind kind : kinds) words.emplace_back(to_text(kind));
  return joined(words);
}

/// Refuses a loss or a metric for other targets.
template <typename Kind>
Answer object_to_targets(const std::string& key, const Kind& kind, store::TargetKind targets) {
  if (std::ranges::find(kind.targets, targets) != kind.targets.end()) return std::nullopt;
  return Objection{key, "`" + kind.name + "` takes " + texts_of(kind.targets) +
                            ", and the data set's targets are " + std::string(to_text(targets))};
}

/// Refuses a metric that is undefined for the validation set, whatever the outputs are.
Answer object_to_metric(const LossOrMetric& metric, const store::Dataset& dataset,
                        const store::SplitIndices& split) {
  const std::size_t outputs = dataset.class_names().size();
  const store::SampleView& samples = split.stored ? dataset.validation() : dataset.train();
  const auto& indices = split.scored.empty() ? split.validation : split.scored;
  if (indices.empty()) return std::nullopt;
  const std::vector<store::TargetColumn> columns = number_columns(dataset);
  Scorer scorer(std::span(&metric, 1), samples, outputs, columns);
  scorer.add(indices, 0, std::vector<float>(indices.size() * outputs));
  if (std::isfinite(scorer.score().metrics.front())) return std::nullopt;
  return Objection{"metrics", "the validation set has no samples that `" + metric.name + "` is defined for"};
}

Answer object_to_metrics(const TrainingOptions& options, const store::Dataset& dataset,
                         const store::SplitIndices& split) {
  const std::size_t outputs = dataset.class_names().size();
  for (const LossOrMetric& metric : options.metrics) {
    const MetricKind& kind = *find_metric(metric.name);
    if (const auto answer = object_to_targets("metrics", kind, dataset.train().target_kind())) return answer;
    const ConfigNode* k = metric.section.find("k");
    if (metric.name == "top_k" && k->as_number() >= static_cast<double>(outputs)) {
      return Objection{"metrics", "`top_k` with k = " + k->as_text() + " says nothing of " +
                                      to_text(dataset.train().target_kind(), outputs)};
    }
    if (const auto answer = object_to_metric(metric, dataset, split)) return answer;
  }
  return std::nullopt;
}

Answer object_to_augment(const AugmentOptions& options, const store::Dataset& dataset) {
  const space::Shape& shape = dataset.shape();
  const bool colours = dataset.train().has_pixels() && shape.channels == kColours;
  for (const auto& [key, value] :
       {std::pair("brightness", options.brightness), std::pair("contrast", options.contrast),
        std::pair("saturation", options.saturation)}) {
    if (value <= 0 || colours) continue;
    const std::string found =
        !dataset.train().has_pixels() ? "has numbers" : "has " + std::to_string(shape.channels) + " of them";
    return Objection{std::string("augment.") + key,
                     "needs pixels with 3 channels (red, green, blue), and the data set " + found};
  }
  const bool grey = dataset.train().has_pixels() && shape.channels == 1;
  if (options.trivial > 0 && (shape.height == 1 || !(colours || grey))) {
    return Objection{"augment.trivial", "needs images of pixels with 1 or 3 channels, and a sample is " +
                                            std::string(dataset.train().has_pixels() ? "" : "numbers, ") +
                                            space::to_text(shape)};
  }
  if (shape.height * shape.width > 1) return std::nullopt;
  for (const auto& [key, on] :
       {std::pair("crop", options.crop > 0), std::pair("flip", options.flip),
        std::pair("cutout", options.cutout > 0), std::pair("cutmix", options.cutmix > 0),
        std::pair("time_shift", options.time_shift > 0), std::pair("time_mask", options.time_mask > 0),
        std::pair("frequency_mask", options.frequency_mask > 0)}) {
    if (on) {
      return Objection{std::string("augment.") + key,
                       "needs images or sequences, and a sample is a vector of " +
                           std::to_string(shape.channels) + " features"};
    }
  }
  return std::nullopt;
}

/// Advises where the accuracy hides small classes.
std::optional<std::string> warning_of_uneven_classes(const TrainingOptions& given, const LossProblem& problem,
                                                     const store::Dataset& dataset) {
  constexpr std::int64_t kUneven = 2;
  if (problem.targets != store::TargetKind::kClasses) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(problem.counts);
  if (*least == 0 || *most < kUneven * *least) return std::nullopt;
  const TrainingOptions options = with_defaults(given, problem.targets);
  const bool has_other_metric = std::ranges::any_of(
      options.metrics, [](const LossOrMetric& metric) { return metric.name == "macro_f1"; });
  if (has_other_metric) return std::nullopt;
  const auto name = [&](auto place) {
    return "`" + printable(dataset.class_names()[static_cast<std::size_t>(place - problem.counts.begin())]) +
           "`";
  };
  return "the classes are uneven, from " + std::to_string(*least) + " samples (" + name(least) + ") to " +
         std::to_string(*most) + " (" + name(most) +
         "): the accuracy hides the small ones; `training.metrics: [macro_f1, accuracy]` shows them, and "
         "`training.loss: {cross_entropy: {class_weights: balanced}}` weighs them equally";
}

/// Refuses changes that are larger than the image.
Answer object_to_sizes(const AugmentOptions& options, const space::Shape& shape) {
  struct Size {
    const char* key;
    std::int64_t asked;
    std::int64_t limit;
    const char* noun;
  };
  const std::int64_t side = std::max(shape.height, shape.width);
  for (const Size& size : {Size{"crop", options.crop, side, "image's # pixels"},
                           Size{"cutout", options.cutout, side, "image's # pixels"},
                           Size{"time_shift", options.time_shift, shape.width, "signal's # columns"},
                           Size{"time_mask", options.time_mask, shape.width, "signal's # columns"},
                           Size{"frequency_mask", options.frequency_mask, shape.height, "signal's # rows"}}) {
    if (size.asked < size.limit || size.asked == 0) continue;
    std::string limit = size.noun;
    limit.replace(limit.find('#'), 1, std::to_string(size.limit));
    return Objection{std::string("augment.") + size.key,
                     "expected less than the " + limit + ", got " + std::to_string(size.asked)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Objection> find_objection(const TrainingOptions& given, const store::Dataset& dataset,
                                        const store::SplitIndices& split) {
  const store::TargetKind targets = dataset.train().target_kind();
  const TrainingOptions options = with_defaults(given, targets);
  if (const auto answer = object_to_targets("loss", *find_loss(options.loss->name), targets)) return answer;
  if (auto answer = object_to_metrics(options, dataset, split)) {
    if (given.metrics.empty()) answer->reason += ", which is measured unless `training.metrics` names others";
    return answer;
  }
  if (const auto answer = object_to_augment(options.augment, dataset)) return answer;
  if (const auto answer = object_to_sizes(options.augment, dataset.shape())) return answer;
  if (options.full.judges_epochs() && split.validation.empty()) {
    return Objection{"full", "`keep: best` and `patience` need a validation set, and `data.validation` is 0"};
  }
  return std::nullopt;
}

TrainingHost find_training_host() {
  TrainingHost host{.processors = allowed_processors().size()};
#ifdef __x86_64__
  host.multiplies_bfloat16 = __builtin_cpu_supports("avx512bf16") != 0;
#endif
  std::error_code failure;
  host.has_gpu = std::filesystem::exists("/proc/driver/nvidia/version", failure);
  return host;
}

std::vector<std::string> find_warnings(const TrainingOptions& options, const store::Dataset& dataset,
                                       const store::SplitIndices& split, const TrainingHost& host) {
  std::vector<std::string> warnings;
  if (options.batch > static_cast<std::int64_t>(split.train.size())) {
    warnings.push_back("training.batch is more than the " + counted(split.train.size(), "sample") +
                       " to train on: an epoch is one step");
  }
  if (options.schedule.warmup > options.epochs) {
    warnings.emplace_back(
        "training.schedule.warmup is longer than a trial (training.epochs): the learning rate never gets "
        "where it is to rise to");
  }
  if (static_cast<std::size_t>(options.threads) > host.processors) {
    warnings.push_back("training.threads is " + std::to_string(options.threads) +
                       ", and this process may use " + counted(host.processors, "core"));
  }
  if (options.int8 != Int8Trials::kNone && split.train.size() < store::kFewCalibrationSamples) {
    warnings.push_back((options.int8 == Int8Trials::kFinal ? "final.int8: " : "training.int8: ") +
                       counted(split.train.size(), "sample") +
                       " to train on are few to measure the values inside a network: expected at least " +
                       std::to_string(store::kFewCalibrationSamples));
  }
  const bool on_cpu = options.device == DeviceChoice::kCpu || !host.has_gpu;
  if (options.precision == Precision::kBf16 && on_cpu && !host.multiplies_bfloat16) {
    warnings.emplace_back(
        "training.precision is bf16, for which this processor has no instructions (AVX512-BF16): results are "
        "those of other machines, but a step takes as long as with fp32, or longer");
  }
  const LossProblem problem = adapt_to_data(options, dataset, split).problem;
  const auto untrained = std::ranges::count(problem.counts, 0);
  if (problem.targets == store::TargetKind::kClasses && untrained > 0) {
    warnings.push_back(
        std::to_string(untrained) + " of " + to_text(problem.targets, problem.outputs) +
        " have no sample to train on: data.validation leaves them none, or the data set has none");
  }
  if (const auto doubt = warning_of_uneven_classes(options, problem, dataset)) warnings.push_back(*doubt);
  return warnings;
}

TrainingOptions adapt_to_data(const TrainingOptions& given, const store::Dataset& dataset,
                              const store::SplitIndices& split) {
  const store::SampleView& train = dataset.train();
  TrainingOptions options = with_defaults(given, train.target_kind());
  LossProblem& problem = options.problem;
  problem = {train.target_kind(), dataset.class_names().size(), split.train.size()};
  if (problem.targets != store::TargetKind::kNumbers) problem.counts.resize(problem.outputs);
  for (const std::int64_t index : split.train) {
    const auto sample = static_cast<std::size_t>(index);
    if (problem.targets == store::TargetKind::kClasses) {
      ++problem.counts[static_cast<std::size_t>(train.classes()[sample])];
    }
    for (std::size_t i = 0; problem.targets == store::TargetKind::kLabels && i < problem.outputs; ++i) {
      problem.counts[i] += std::get<1>(train.targets)[sample * problem.outputs + i];
    }
  }
  return options;
}

}  // namespace skyline::train
