#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/train/loss.hpp"

#include "evaluate/command/command_metric.hpp"
#include "train/scoring/metrics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline {
template <typename T>
class OptionTable;
}

namespace skyline::train {

using evaluate::DeviceChoice;
using evaluate::Normalization;

struct OptimizerOptions {
  enum class Kind { kAdam, kAdamW, kSgd };
  enum class Decayed { kAll, kWeights };
  Kind kind = Kind::kAdam;
  double learning_rate = 1e-3;
  double beta1 = 0.9;             // used by adam, adamw
  double beta2 = 0.999;           // used by adam, adamw
  double epsilon = 1e-8;          // used by adam, adamw
  double momentum = 0.9;          // used by sgd
  bool nesterov = false;          // used by sgd
  double weight_decay = 0;        // L2 penalty, added to the gradient; used by adam and sgd
  double decoupled_decay = 0.01;  // used by adamw: subtracted from the parameter, times the learning rate
  Decayed decayed = Decayed::kAll;
  double clip_norm = 0;  // largest norm of all gradients together; 0 for no limit
  bool is_adam() const { return kind != Kind::kSgd; }
};

/// The change of the learning rate during a trial.
struct ScheduleOptions {
  /// kLinear, kCosine: down to the floor, over the horizon's steps after the warm-up.
  enum class Decay { kNone, kLinear, kCosine, kStep };
  double warmup = 0;  // epochs in which it rises to the optimizer's learning rate
  Decay decay = Decay::kNone;
  double floor = 0;     // kLinear, kCosine: the share of the learning rate at the end
  double every = 0;     // kStep: epochs between two steps, after the warm-up
  double factor = 0.1;  // kStep: factor of a step
  static const OptionTable<ScheduleOptions>& table();
};

/// Random changes of the training images, different in each epoch. The defaults turn them off.
struct AugmentOptions {
  std::int64_t crop = 0;    // pixels of a border of 0, from which a window of the image's size is cut
  bool flip = false;        // left to right, with probability 1/2
  std::int64_t cutout = 0;  // side of a square that becomes 0; its centre is anywhere in the image
  double brightness = 0;    // largest change of a factor: 0.4 draws from 0.6 to 1.4
  double contrast = 0;      // largest change of the contrast's factor, as for brightness
  double saturation = 0;    // largest change of the saturation's factor, as for brightness
  double mixup = 0;         // parameter of the beta distribution; 0 for off
  double cutmix = 0;        // parameter of the beta distribution; 0 for off
  double trivial = 0;       // largest strength of TrivialAugment, 1 for that of its paper; 0 for off
  std::int64_t trivial_operations = 12;  // so many of its operations are drawn, the first ones
  // For sounds and other signals.
  std::int64_t time_shift = 0;      // most columns, to either side
  double noise = 0;                 // largest deviation
  std::int64_t time_mask = 0;       // most columns that become the mean
  std::int64_t frequency_mask = 0;  // most rows that become the mean
  bool mixes() const { return mixup > 0 || cutmix > 0; }
  bool any() const {
    return crop > 0 || flip || cutout > 0 || brightness > 0 || contrast > 0 || saturation > 0 || mixes() ||
           trivial > 0 || time_shift > 0 || noise > 0 || time_mask > 0 || frequency_mask > 0;
  }
  static const OptionTable<AugmentOptions>& table();
};

/// A larger network whose outputs a small one learns, beside the targets.
struct TeacherOptions {
  std::string file;        // made by `skyline prep teacher`
  double weight = 0.9;     // weight of the distance to the teacher; the loss has the rest
  double temperature = 4;  // divides the outputs of both before they are compared; not used by numbers
  static const OptionTable<TeacherOptions>& table();
};

/// Extras of full trainings.
struct FinalTrainingOptions {
  enum class Keep { kLast, kBest };
  double average = 0;         // largest weight of the past in the moving average of weights; 0 for off
  Keep keep = Keep::kLast;    // epoch whose weights are tested and kept
  std::int64_t patience = 0;  // training ends after so many epochs without a better one; 0 for never
  bool judges_epochs() const { return keep == Keep::kBest || patience > 0; }
  static const OptionTable<FinalTrainingOptions>& table();
};

struct LatencyOptions {
  std::int64_t batch = 1;  // samples per forward pass
  int warmup = 5;
  int repeats = 30;  // the median is reported
  static const OptionTable<LatencyOptions>& table();
};

/// Format of products. Weights and optimizer state are always float32. kTf32: matrix products with 10 bits of
/// mantissa, on GPUs that have it. kBf16: convolutions and products in bfloat16.
enum class Precision { kFp32, kTf32, kBf16 };

/// How several members train a trial together, data-parallel.
struct GroupOptions {
  enum class Statistics { kLocal, kSynchronized };        // samples that batch normalization uses
  enum class Sharding { kNone, kOptimizer, kGradients };  // state that is divided among members
  std::optional<std::uint32_t> members = 1;  // members of every trial's group; no value: by predicted cost
  std::uint32_t most = 8;                    // limit if the number is chosen by predicted cost
  Statistics statistics = Statistics::kLocal;
  Sharding sharding = Sharding::kNone;
  static const OptionTable<GroupOptions>& table();
};

/// A larger number is a typing error, and would overflow counters of steps.
constexpr double kMostEpochs = 1e6;
/// The largest number of samples, pixels or passes that an option can have.
constexpr double kMostCounted = 1e6;
/// A factor of forgetting. At 1 nothing new would ever be learned.
constexpr Range kShareBelowOne = at_least(0).below(1);

/// Beginning of the names of metrics of int8 networks, and of their costs.
inline constexpr const char* kInt8Prefix = "int8_";
/// The trainings that are measured as int8 networks, too. kFinal: full trainings alone.
enum class Int8Trials { kNone, kFinal, kAll };

/// The `training` section.
struct TrainingOptions {
  double epochs = 1;  // fractions count: steps = max(1, round(epochs * steps per epoch))
  std::int64_t batch = 32;
  std::int64_t accumulate = 1;  // parts in which a member computes its samples of a batch, one after another
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  AugmentOptions augment;
  std::optional<LossOrMetric> loss;  // if not given, the kind of targets decides
  std::optional<TeacherOptions> teacher;
  std::vector<LossOrMetric> metrics;  // the first one judges epochs; if empty, one by the targets
  std::vector<evaluate::CommandMetric> described;  // metrics that programs measure or expressions give
  std::int64_t recalibrate = 0;  // batches that measure batch norm's statistics again; 0 for off
  FinalTrainingOptions full;
  DeviceChoice device = DeviceChoice::kAuto;
  Precision precision = Precision::kFp32;
  GroupOptions group;
  int threads = 1;       // threads of a slot
  bool inherit = false;  // start from a parent's weights where layers match
  Int8Trials int8 = Int8Trials::kNone;
  LatencyOptions latency;
  LossProblem problem;  // not an option: set when the data set and its split are known
  static const OptionTable<TrainingOptions>& table();
};

/// Returns the batch for a message: "256", or "256 in 8 parts".
std::string batch_text(const TrainingOptions& options);
/// Returns the options with the trial's own values. @throws UserError for values that the keys refuse
TrainingOptions with_values(const TrainingOptions& options, const std::vector<space::TrainingValue>& values);
/// Fills in the loss and the metrics that the targets imply.
TrainingOptions with_defaults(TrainingOptions options, store::TargetKind targets);

/// Returns the steps of an epoch; a smaller last batch counts as one.
std::int64_t steps_per_epoch(std::size_t samples, std::int64_t batch);
/// Returns the steps of a budget, at least one.
std::int64_t steps_for(double epochs, std::size_t samples, std::int64_t batch);

}  // namespace skyline::train
