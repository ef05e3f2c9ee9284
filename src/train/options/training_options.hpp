#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/train/loss.hpp"

#include "train/scoring/metrics.hpp"

#include <cstdint>
#include <memory>
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
  double beta1 = 0.9;             // adam, adamw
  double beta2 = 0.999;           // adam, adamw
  double epsilon = 1e-8;          // adam, adamw
  double momentum = 0.9;          // sgd
  bool nesterov = false;          // sgd
  double weight_decay = 0;        // adam, sgd: L2, added to the gradient
  double decoupled_decay = 0.01;  // adamw: taken from the parameter, times the learning rate
  Decayed decayed = Decayed::kAll;
  double clip_norm = 0;  // most norm of all gradients together; 0: off
  bool is_adam() const { return kind != Kind::kSgd; }
};

/// How the learning rate changes in the course of a trial.
struct ScheduleOptions {
  /// kLinear, kCosine: to the floor, over the steps that the horizon has after the warm-up.
  enum class Decay { kNone, kLinear, kCosine, kStep };
  double warmup = 0;  // epochs over which it rises to the optimizer's learning rate
  Decay decay = Decay::kNone;
  double floor = 0;     // kLinear, kCosine: the share of the learning rate that is left at the end
  double every = 0;     // kStep: epochs after the warm-up from one step to the next
  double factor = 0.1;  // kStep
  static const OptionTable<ScheduleOptions>& table();
};

/// Random changes of the training images, drawn anew in each epoch; off as they stand here.
struct AugmentOptions {
  std::int64_t crop = 0;    // pixels of border, all 0, of which a window of the image's size is cut out again
  bool flip = false;        // left to right, with probability 1/2
  std::int64_t cutout = 0;  // side of a square that becomes 0, its centre anywhere in the image
  double brightness = 0;    // most change of a factor: 0.4 draws from 0.6 to 1.4
  double contrast = 0;      // the same
  double saturation = 0;    // the same
  double mixup = 0;         // parameter of the beta distribution; 0: off
  double cutmix = 0;        // the same
  bool mixes() const { return mixup > 0 || cutmix > 0; }
  bool any() const {
    return crop > 0 || flip || cutout > 0 || brightness > 0 || contrast > 0 || saturation > 0 || mixes();
  }
  static const OptionTable<AugmentOptions>& table();
};

/// Extras of full trainings.
struct FinalTrainingOptions {
  enum class Keep { kLast, kBest };
  double average = 0;         // most weight of the past in the moving average of weights; 0: off
  Keep keep = Keep::kLast;    // the epoch whose weights are tested and kept
  std::int64_t patience = 0;  // epochs without a better one after which training ends; 0: never
  bool judges_epochs() const { return keep == Keep::kBest || patience > 0; }
  static const OptionTable<FinalTrainingOptions>& table();
};

struct LatencyOptions {
  std::int64_t batch = 1;  // samples a forward pass
  int warmup = 5;
  int repeats = 30;  // the median is reported
  static const OptionTable<LatencyOptions>& table();
};

/// Format of products. Weights and optimizer state are float32 in any case. kTf32: matrix products with
/// 10 bits of mantissa, on GPUs that have it; kBf16: convolutions and products in bfloat16.
enum class Precision { kFp32, kTf32, kBf16 };

/// How trials are trained by several members together, data-parallel.
struct GroupOptions {
  enum class Statistics { kLocal, kSynchronized };  // of batch normalization: of a member's part, or of all
  enum class Sharding { kNone, kOptimizer, kGradients };  // what each member holds its part of only
  std::optional<std::uint32_t> members = 1;  // of every trial's group; nothing: by predicted cost
  std::uint32_t most = 8;                    // if by predicted cost
  Statistics statistics = Statistics::kLocal;
  Sharding sharding = Sharding::kNone;
  static const OptionTable<GroupOptions>& table();
};

/// More is a typing error, and would overflow counters of steps.
constexpr double kMostEpochs = 1e6;

/// The `training` section.
struct TrainingOptions {
  double epochs = 1;  // a fraction is honoured to the step: steps = max(1, round(epochs * steps an epoch))
  std::int64_t batch = 32;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  AugmentOptions augment;
  std::optional<Choice> loss;    // nothing: by what the targets are
  std::vector<Choice> metrics;   // the first one tells which epoch is the best; empty: one, by the targets
  std::int64_t recalibrate = 0;  // batches by which batch norm's statistics are measured anew; 0: off
  FinalTrainingOptions full;
  DeviceChoice device = DeviceChoice::kAuto;
  Precision precision = Precision::kFp32;
  GroupOptions group;
  int threads = 1;       // a slot
  bool inherit = false;  // start from a parent's weights where layers match
  LatencyOptions latency;
  LossProblem problem;  // no option: of the data set and its split, once they are known
  static const OptionTable<TrainingOptions>& table();
};

/// The options with the trial's own values in place. @throws UserError for values that the keys refuse
TrainingOptions with_values(const TrainingOptions& options, const std::vector<space::TrainingValue>& values);
/// Fills in the loss and the metrics that the targets imply.
TrainingOptions with_defaults(TrainingOptions options, store::TargetKind targets);
/// Makes the loss for the problem of the options.
std::unique_ptr<Loss> loss_of(const TrainingOptions& options);

}  // namespace skyline::train
