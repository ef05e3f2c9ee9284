#pragma once

#include "skyline/store/dataset.hpp"

#include "app/models/model_data.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace skyline::app {

/// A network in an ONNX file, of this program or of another. A process of Python loads and computes it with
/// ONNX Runtime (python/skyline/prep/onnx_model.py), since anybody may have written the file.
class OnnxModel {
 public:
  /// Loads the file. @throws UserError, one line, if it is no model with an input of samples and one output,
  /// or if no Python has ONNX Runtime
  static OnnxModel open(const std::filesystem::path& file);

  const SampleNeeds& needs() const { return needs_; }
  /// Returns whether the file says that it scales its input itself, as those of this program do.
  bool scales_input() const { return needs_.data.value_scale.has_value(); }
  /// Returns where it comes from, as far as the file says: `run`, `trial`, `arch_id`, `weights`.
  const std::map<std::string, std::string>& origin() const { return origin_; }

  /// Computes the outputs for the test set of a data set: [samples, outputs].
  /// @param unit  whether the network reads pixels from 0 to 1 instead of those that are stored
  /// @throws UserError, one line, if ONNX Runtime cannot, or the output has another size
  std::vector<float> outputs_for(const store::Dataset& samples, bool unit) const;

 private:
  std::filesystem::path file_;
  SampleNeeds needs_;
  std::map<std::string, std::string> origin_;
};

}  // namespace skyline::app
