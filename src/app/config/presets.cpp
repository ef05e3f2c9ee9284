#include "app/config/presets.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"
#include "skyline/core/option_kind.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/config/config_text.hpp"
#include "core/system/program_files.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/preparation.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>

namespace skyline::app {
namespace {

constexpr std::size_t kValidationLimit = 2000;
constexpr std::int64_t kCropped = 16;  // pixels of a side for one of the crop
constexpr std::int64_t kShifted = 10;  // frames of a sound for one of the shift
constexpr std::int64_t kMasked = 6;    // frames and bands of a sound for one of a mask

bool is_image(const space::Shape& sample) {
  return sample.height > 1;
}
bool is_sequence(const space::Shape& sample) {
  return sample.height == 1 && sample.width > 1;
}
std::int64_t side(const space::Shape& sample) {
  return std::min(sample.height, sample.width);
}

/// Returns how many times as many samples the largest class has as the smallest; 1 where a class has none,
/// and without classes.
std::size_t unevenness(const store::Dataset& dataset) {
  const store::SampleView& train = dataset.train();
  if (train.target_kind() != store::TargetKind::kClasses) return 1;
  std::vector<std::size_t> counts(dataset.class_names().size());
  for (const std::int32_t index : train.classes()) ++counts[static_cast<std::size_t>(index)];
  const auto [least, most] = std::ranges::minmax(counts);
  return least == 0 ? 1 : most / least;
}

/// Returns what a search for these targets improves.
std::string quality(const store::Dataset& dataset, const FirstSearch& search) {
  switch (dataset.train().target_kind()) {
    case store::TargetKind::kClasses:
      return unevenness(dataset) < kMuchLarger ? "maximize: validation_accuracy"
                                               : "maximize: validation_macro_f1";
    case store::TargetKind::kLabels:
      return "maximize: validation_auc";
    case store::TargetKind::kNumbers:
      if (!search.constant_error) return "minimize: validation_mse";
      return "{minimize: validation_mse, reference: " + objective::number_text(*search.constant_error) +
             "}   # error of a constant answer: worse ones count for no hypervolume";
  }
  throw InternalError("unknown kind of targets");
}

std::string data_section(const store::Dataset& dataset, const std::string& file) {
  const std::optional<double> share = held_out_share(dataset);
  const double held_out = share ? *share * static_cast<double>(dataset.train().count)
                                : static_cast<double>(dataset.validation().count);
  std::string text = "data:\n  " + to_yaml(ConfigNode::make_map({{"file", schema_text(file), {}}}, {}));
  if (share) {
    text += "  validation: " + objective::number_text(*share) +
            "           # share of the training samples that is held out, to score trials\n";
  }
  if (held_out > static_cast<double>(kValidationLimit)) {
    text += "  validation_limit: " + std::to_string(kValidationLimit) +
            "   # samples of it on which a trial of the search is scored\n";
  }
  return text;
}

/// Returns the shifts and masks of spectrograms without which networks learn the voices and the moments of
/// the training sounds.
std::string augmentation_of_sounds(const space::Shape& sample) {
  const auto part = [](std::int64_t side, std::int64_t of) {
    return std::to_string(std::max<std::int64_t>(side / of, 1));
  };
  return "  augment: {time_shift: " + part(sample.width, kShifted) +
         ", time_mask: " + part(sample.width, kMasked) + ", frequency_mask: " + part(sample.height, kMasked) +
         "}   # frames, frames and bands\n";
}

std::string augmentation(const Preset& preset, const store::Dataset& dataset) {
  const space::Shape& sample = dataset.shape();
  if (preset.for_sounds) return augmentation_of_sounds(sample);
  const std::int64_t crop = is_image(sample) ? side(sample) / kCropped : 0;
  if (crop == 0) return "";
  const bool flip = sample.channels == 3;
  return "  augment: {crop: " + std::to_string(crop) + ", flip: " + (flip ? "true" : "false") + "}" +
         (flip ? "   # flip: false where left and right differ, as in writing" : "") + "\n";
}

/// Has small classes shown, too, where some are larger than others, and trained alike where they are much
/// larger.
std::string training_of_uneven(const store::Dataset& dataset) {
  constexpr std::size_t kLarger = 2;
  const std::size_t times = unevenness(dataset);
  if (times < kLarger) return "";
  const std::string metrics =
      "  metrics: [accuracy, macro_f1]   # classes are uneven: macro_f1 counts all alike; ";
  if (times < kMuchLarger) return metrics + "to search by it, `maximize: validation_macro_f1`\n";
  return metrics + "to search by the accuracy, `maximize: validation_accuracy`, without `loss`\n" +
         "  loss: {cross_entropy: {class_weights: balanced}}\n";
}

std::string constraints_text(const FirstSearch& search) {
  if (search.bounds.empty()) return "";
  std::string text = "constraints:\n";
  for (const auto& [cost, most] : search.bounds) {
    text += "  - {" + cost + ": [0, " + objective::number_text(most) + "]}\n";
  }
  return text;
}

std::string final_text(const FirstSearch& search) {
  return "final: {epochs: " + objective::number_text(search.final_epochs) +
         (search.for_device ? ", int8: true, export: [onnx-int8, tflite, c]" : "") +
         (search.refit ? ", refit: true}   # full training of the front, then the metrics on the test set, "
                         "then the refit on all samples but those\n"
                       : "}   # full training of the front, then the metrics on the test set\n");
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {"sound",
       "spectrograms of sounds, of 8 bands and frames or more: separable convolutions in one to six stages",
       [](const space::Shape& sample) { return is_image(sample) && side(sample) >= 8; }, true},
      {"images-small", "images of less than 16 pixels a side: residual networks of two stages",
       [](const space::Shape& sample) { return is_image(sample) && side(sample) < 16; }},
      {"images", "images of 16 to 47 pixels: residual networks of three stages",
       [](const space::Shape& sample) {
         return is_image(sample) && side(sample) >= 16 && side(sample) < 48;
       }},
      {"images-large", "images of 48 pixels and more: inverted residuals in four stages",
       [](const space::Shape& sample) { return is_image(sample) && side(sample) >= 48; }},
      {"images-mobile", "images of 16 pixels and more: inverted residuals in three stages; only by --preset",
       [](const space::Shape& sample) { return is_image(sample) && side(sample) >= 16; }},
      {"signals-short", "sequences of less than 128 steps: temporal convolutions in two stages",
       [](const space::Shape& sample) { return is_sequence(sample) && sample.width < 128; }},
      {"signals", "sequences of 128 steps and more: dilated temporal convolutions in three stages",
       [](const space::Shape& sample) { return is_sequence(sample) && sample.width >= 128; }},
      {"signals-plane",
       "signals as images of one plane, 3 channels and 64 steps or more: temporal convolutions whose "
       "kernels have two sides; only by --preset",
       [](const space::Shape& sample) {
         return sample.height >= 3 && sample.channels == 1 && sample.width >= 64;
       }},
      {"table", "rows of a table: multilayer perceptrons",
       [](const space::Shape& sample) { return !is_image(sample) && !is_sequence(sample); }}};
  return all;
}

const Preset& find_preset(const std::string& name, const store::Dataset& dataset) {
  const space::Shape& sample = dataset.shape();
  const std::string preparation = dataset.preparation();
  std::vector<std::string> fitting;
  const bool of_sounds = !preparation.empty() && store::read_preparation(preparation).of_sounds();
  std::vector<std::string> names;
  const Preset* named = nullptr;
  for (const Preset& preset : presets()) {
    names.emplace_back(preset.name);
    const bool is_for_these = preset.fits(sample) && (of_sounds || !preset.for_sounds);
    if (is_for_these) fitting.emplace_back(preset.name);
    const bool is_meant = name.empty() ? is_for_these : preset.name == name;
    if (!is_meant) continue;
    if (preset.fits(sample)) return preset;
    named = &preset;
  }
  if (named != nullptr) {
    throw UserError("--preset " + name + ": it is for " + std::string(named->meaning) + ", and samples are " +
                    space::to_text(sample) + ", for which there is " + joined(fitting, " or "));
  }
  throw UserError("--preset: unknown preset `" + name + "`, " + suggestion(name, names));
}

std::optional<double> held_out_share(const store::Dataset& dataset) {
  if (dataset.validation().count > 0) return std::nullopt;
  return dataset.train().count < kFewSamples ? 0.2 : 0.1;
}

std::string configuration_text(const Preset& preset, const store::Dataset& dataset,
                               const FirstSearch& search) {
  const std::string file = std::string(preset.name) + ".yaml";
  std::string text = "# Written by skyline init, with the preset `" + std::string(preset.name) +
                     "`. All keys: skyline schema --markdown\n" + data_section(dataset, search.data) +
                     store::read_file(shipped_file("configs/presets/" + file)) +
                     "  epochs: " + objective::number_text(search.epochs) +
                     "   # budget of a trial of the search\n" + "  batch: " + std::to_string(search.batch) +
                     "\n" + augmentation(preset, dataset) + training_of_uneven(dataset) +
                     "objectives:\n  - " + quality(dataset, search) + "\n";
  for (const std::string& cost : search.minimized) text += "  - minimize: " + cost + "\n";
  text += constraints_text(search);
  text += "search: {trials: " + std::to_string(search.trials) + "}\n" + final_text(search);
  text += "run: {seed: 1";
  if (search.window) text += ", window: " + std::to_string(*search.window);
  return text + "}\n";
}

}  // namespace skyline::app
