#include "skyline/core/option_table.hpp"

#include "store/data/named_file.hpp"
#include "train/options/training_options.hpp"

#include <string>

namespace skyline::train {
namespace {

constexpr double kMostMembers = 1024;
constexpr double kMostBeta = 100;  // parameter of a beta distribution; above it all shares are about one half
constexpr double kMostNoise = 100;
constexpr double kLeastTemperature = 0.1;
constexpr double kMostTemperature = 100;

/// Refuses keys of another decay, because they would have no effect.
void check_schedule(const ScheduleOptions& options, const ConfigNode& section) {
  const bool steps = options.decay == ScheduleOptions::Decay::kStep;
  if (options.floor > 0 && (steps || options.decay == ScheduleOptions::Decay::kNone)) {
    section.at("floor").fail("a floor needs `decay: linear` or `decay: cosine`");
  }
  if (options.every > 0 && !steps) section.at("every").fail("`every` needs `decay: step`");
  if (options.factor != ScheduleOptions().factor && !steps)
    section.at("factor").fail("`factor` needs `decay: step`");
  if (steps && options.every <= 0) {
    section.fail("`decay: step` needs `every`: the epochs from one step to the next");
  }
}

OptionKind<std::string> teacher_file() {
  OptionKind<std::string> kind = text("a file that `skyline prep teacher` made");
  kind.read = [read = kind.read](const ConfigNode& node, std::string& file) {
    if (!read(node, file)) return false;
    file = store::named_file(node, file);
    return true;
  };
  return kind;
}

void check_teacher(const TeacherOptions& options, const ConfigNode& section) {
  if (options.file.empty()) section.fail("missing key `file`: skyline prep teacher makes one");
}

}  // namespace

const OptionTable<ScheduleOptions>& ScheduleOptions::table() {
  static const OptionTable<ScheduleOptions> table{
      {{"warmup", &ScheduleOptions::warmup, at_least(0).at_most(kMostEpochs),
        "Epochs over which the learning rate rises from zero, step by step."},
       {"decay", &ScheduleOptions::decay,
        choice<Decay>({{"none", Decay::kNone},
                       {"linear", Decay::kLinear},
                       {"cosine", Decay::kCosine},
                       {"step", Decay::kStep}}),
        "How the learning rate falls after the warm-up: over all other steps of the trial, or step by step."},
       {"floor", &ScheduleOptions::floor, at_least(0).at_most(1),
        "Share of the learning rate at which `linear` and `cosine` end."},
       {"every", &ScheduleOptions::every, at_least(0).at_most(kMostEpochs),
        "Epochs from one step of `step` to the next."},
       {"factor", &ScheduleOptions::factor, above(0).at_most(1),
        "The learning rate is multiplied by it in each step of `step`."}},
      check_schedule};
  return table;
}

const OptionTable<AugmentOptions>& AugmentOptions::table() {
  const Range share = at_least(0).at_most(1);
  const Range beta = at_least(0).at_most(kMostBeta);
  const Range columns = at_least(0).at_most(kMostCounted);
  static const OptionTable<AugmentOptions> table{
      {"crop", &AugmentOptions::crop, at_least(0).at_most(kMostCounted),
       "Pixels of border put around the image, of which a window of the image's size is cut out."},
      {"flip", &AugmentOptions::flip, "Mirrors left to right, with probability 1/2."},
      {"cutout", &AugmentOptions::cutout, at_least(0).at_most(kMostCounted),
       "Side of a square that is blanked, its centre anywhere in the image."},
      {"brightness", &AugmentOptions::brightness, share,
       "Most change of the brightness's factor: 0.4 draws from 0.6 to 1.4; for images in colour."},
      {"contrast", &AugmentOptions::contrast, share, "The same of the contrast; for images in colour."},
      {"saturation", &AugmentOptions::saturation, share, "The same of the saturation; for images in colour."},
      {"mixup", &AugmentOptions::mixup, beta,
       "Blends each image with another one; the parameter of the beta distribution of shares, 0 is off."},
      {"cutmix", &AugmentOptions::cutmix, beta,
       "Puts a part of another image into each; the parameter of the distribution of areas, 0 is off."},
      {"trivial", &AugmentOptions::trivial, share,
       "TrivialAugment: one operation for each image, of random strength up to this share of its paper's; 0 "
       "is off."},
      {"trivial_operations", &AugmentOptions::trivial_operations, at_least(12).at_most(14),
       "Operations of TrivialAugment that are drawn: 14 are all, 12 leave out auto-contrast and equalize."},
      {"time_shift", &AugmentOptions::time_shift, columns,
       "Most columns by which a signal moves to either side; its ends are repeated. 0 is off."},
      {"noise", &AugmentOptions::noise, at_least(0).at_most(kMostNoise),
       "Largest deviation of noise that is added to a signal, in units of the network's input; 0 is off."},
      {"time_mask", &AugmentOptions::time_mask, columns,
       "Most adjacent columns that SpecAugment replaces by their mean; 0 is off."},
      {"frequency_mask", &AugmentOptions::frequency_mask, columns,
       "Most rows, the bands of features of sounds, that SpecAugment replaces by their mean; 0 is off."}};
  return table;
}

const OptionTable<TeacherOptions>& TeacherOptions::table() {
  static const OptionTable<TeacherOptions> table{
      {{"file", &TeacherOptions::file, teacher_file(),
        "The teacher's outputs for the training samples, as `skyline prep teacher` writes them.",
        KeyRule::kMayChange},
       {"weight", &TeacherOptions::weight, at_least(0).at_most(1),
        "Weight of the distance to the teacher; the loss of the targets has the rest."},
       {"temperature", &TeacherOptions::temperature, at_least(kLeastTemperature).at_most(kMostTemperature),
        "Divides the outputs of both before they are compared, for classes and labels."}},
      check_teacher};
  return table;
}

const OptionTable<FinalTrainingOptions>& FinalTrainingOptions::table() {
  using Keep = FinalTrainingOptions::Keep;
  static const OptionTable<FinalTrainingOptions> table{
      {"average", &FinalTrainingOptions::average, kShareBelowOne,
       "Weight of the past in an exponential moving average of the weights, which is then tested; 0 is off."},
      {"keep", &FinalTrainingOptions::keep, choice<Keep>({{"last", Keep::kLast}, {"best", Keep::kBest}}),
       "The epoch whose weights are tested and kept: the last one, or the best one by validation."},
      {"patience", &FinalTrainingOptions::patience, at_least(0).at_most(kMostCounted),
       "Epochs without a better one after which training ends; 0 is never."}};
  return table;
}

const OptionTable<LatencyOptions>& LatencyOptions::table() {
  static const OptionTable<LatencyOptions> table{
      {"batch", &LatencyOptions::batch, at_least(1).at_most(kMostCounted), "Samples per forward pass."},
      {"warmup", &LatencyOptions::warmup, at_least(0).at_most(kMostCounted),
       "Passes before the measurement."},
      {"repeats", &LatencyOptions::repeats, at_least(1).at_most(kMostCounted),
       "Measured passes, the fastest of which is reported."}};
  return table;
}

const OptionTable<GroupOptions>& GroupOptions::table() {
  const Range members = at_least(1).at_most(kMostMembers);
  static const OptionTable<GroupOptions> table{
      {"members", &GroupOptions::members, or_keyword("auto", integer<std::uint32_t>(members)),
       "Members of every trial's group; `auto`: by the predicted cost of a step."},
      {"most", &GroupOptions::most, members, "Maximum number of members that `auto` chooses."},
      {"batch_statistics", &GroupOptions::statistics,
       choice<Statistics>({{"local", Statistics::kLocal}, {"synchronized", Statistics::kSynchronized}}),
       "Whether batch normalization uses a member's part of the batch, or all of it."},
      {"sharding", &GroupOptions::sharding,
       choice<Sharding>({{"none", Sharding::kNone},
                         {"optimizer", Sharding::kOptimizer},
                         {"gradients", Sharding::kGradients}}),
       "What each member holds only its part of: the optimizer's state, or the summed gradients as well.",
       KeyRule::kMayChange}};
  return table;
}

}  // namespace skyline::train
