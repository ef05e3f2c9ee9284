#pragma once

#include "skyline/store/dataset.hpp"

#include "app/models/selected_model.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {

/// What a teacher's outputs come from: one of a trial of a run, an ONNX model, and an array that another
/// program has computed.
struct TeacherSource {
  ModelChoice choice;
  std::filesystem::path onnx;
  std::filesystem::path array;  // .npy, [samples of `train`, then of `validation`; outputs]
  bool unit = false;            // the ONNX model reads pixels from 0 to 1
};

/// The outputs of a teacher, and how right they are.
struct TaughtData {
  /// What a part's outputs are worth.
  struct PartScore {
    std::string part;
    std::size_t samples = 0;
    std::vector<std::pair<std::string, double>> metrics;  // name and value
  };
  std::vector<float> outputs;  // see store::TeacherOutputs::values
  std::string source;          // a word for people
  bool from_shares = false;    // they were probabilities, of which the logits were taken
  std::vector<PartScore> scores;
};

/// Computes or reads a teacher's outputs for the samples of `train` and `validation` of a data set.
/// @param file  that of `dataset`
/// @throws UserError, one line, for a source with other samples, classes or sizes, or without finite outputs
TaughtData taught_data(const TeacherSource& source, const std::filesystem::path& file,
                       const store::Dataset& dataset);

}  // namespace skyline::app
