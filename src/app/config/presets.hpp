#pragma once

#include "skyline/space/network.hpp"
#include "skyline/store/dataset.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// Training samples below which a first search holds a larger share out, and trains on it in the end.
constexpr std::size_t kFewSamples = 20'000;

/// A space with its training, in a file of `configs/presets`.
struct Preset {
  std::string_view name;
  std::string_view meaning;  // the samples that it is for, e.g. "images of 8 to 15 pixels a side"
  bool (*fits)(const space::Shape& sample);
  bool for_sounds = false;  // taken by itself only where samples are made from sounds
};

/// Returns all presets; the first one that fits a sample is the one that is taken for it.
const std::vector<Preset>& presets();

/// Returns the preset of this name, or, if the name is empty, the first one for the samples.
/// @throws UserError for an unknown name, and if the preset does not fit
const Preset& find_preset(const std::string& name, const store::Dataset& dataset);

/// A class that has so many times as many samples as another one hides it in the accuracy.
constexpr std::size_t kMuchLarger = 4;

/// What the configuration of a first search is made of, beside its data and its preset.
struct FirstSearch {
  std::string data;                                    // the data set file, as the configuration names it
  std::vector<std::string> minimized;                  // names of the costs besides the error
  std::vector<std::pair<std::string, double>> bounds;  // costs and their greatest values
  std::size_t batch = 32;
  double epochs = 1;  // epochs of a trial
  std::size_t trials = 20;
  double final_epochs = 3;
  bool for_device = false;               // whether the networks become files in int8 at the end
  bool refit = false;                    // whether the final front is trained on the validation samples, too
  std::optional<double> constant_error;  // error of a constant answer; only where targets are numbers
  std::optional<std::size_t> window;     // nullopt: the algorithm's default
};

/// Returns the share of the training samples that the configuration of a first search holds out, or nullopt
/// if the data set has validation samples.
std::optional<double> held_out_share(const store::Dataset& dataset);

/// Writes a configuration with comments. The text is a function of the arguments alone.
/// @throws UserError if the file of the preset is missing
std::string configuration_text(const Preset& preset, const store::Dataset& dataset,
                               const FirstSearch& search);

}  // namespace skyline::app
