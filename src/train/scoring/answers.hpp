#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"

#include "train/scoring/metrics.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::train {

/// Collects what a trained network answers to the samples of a set, for the report: which classes it takes
/// for which others and the samples that it is least right about; how often it says each label; or its
/// numbers beside the true ones. It stays small for any number of samples. One thread uses it.
class Answers {
 public:
  /// @param samples  a set of `dataset`; both must outlive the object
  /// @param metrics  those of numbers, whose values on resamples are kept; must outlive the object
  Answers(const store::Dataset& dataset, const store::SampleView& samples,
          std::span<const LossOrMetric> metrics = {});
  /// Adds a batch.
  /// @param indices  indices in the set of the batch's samples
  /// @param outputs  [samples of the batch, outputs]
  void add(std::span<const std::int64_t> indices, std::span<const float> outputs);
  /// Returns the answers as JSON (docs/internals/files.md). Numbers have the units of the data's source.
  /// Empty without samples, or if there are more classes or labels than anybody can read.
  std::string json() const;

 private:
  using Class = std::int32_t;
  /// A sample with the probability of its class.
  struct Doubt {
    double probability = 0;
    std::int64_t sample = 0;
    Class answer = 0;
  };
  struct LabelCounts {
    std::int64_t said = 0;
    std::int64_t right = 0;  // the label applies
    std::int64_t both = 0;
  };

  using Entries = std::vector<ConfigNode::Entry>;

  void add_class(std::int64_t sample, std::span<const float> outputs);
  void add_labels(std::int64_t sample, std::span<const float> outputs);
  void add_numbers(std::int64_t sample, std::span<const float> outputs);

  std::size_t shown_numbers() const;
  void put_classes(Entries& entries) const;
  ConfigNode doubt_node(const Doubt& doubt) const;
  void put_points(Entries& entries) const;
  void put_replicates(Entries& entries) const;

  const store::Dataset& dataset_;
  const store::SampleView& samples_;
  const std::size_t outputs_;
  std::map<std::pair<Class, Class>, std::int64_t> counts_;  // number of samples by their class and the answer
  std::vector<Doubt> worst_;                                // the least probable first
  std::vector<LabelCounts> labels_;
  std::vector<std::pair<float, float>> points_;  // true number and answer, [some samples, shown outputs]
  std::span<const LossOrMetric> metrics_;
  std::vector<float> numbers_;  // [samples, outputs] answers; empty where nothing is resampled
};

/// Returns the answers for one sample: a probability per class or label, or the numbers unchanged.
std::vector<double> to_answers(std::span<const float> outputs, store::TargetKind targets);

}  // namespace skyline::train
