#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/network.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/evaluator/training_evaluator.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::train::test {

/// Builds networks by hand, one layer after the other, as the space would.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(space::Shape input);
  NetworkBuilder& conv2d(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1,
                         bool bias = true);
  NetworkBuilder& batch_norm();
  NetworkBuilder& relu();
  NetworkBuilder& dropout(double probability);
  NetworkBuilder& max_pool(std::int64_t kernel);
  NetworkBuilder& global_average_pool();
  NetworkBuilder& flatten();
  NetworkBuilder& linear(std::int64_t features);
  /// The next layer reads these layers in place of the one before.
  NetworkBuilder& reading(std::vector<std::size_t> layers);
  /// `add`, `concat` or `multiply` of these layers.
  NetworkBuilder& merge(const std::string& kind, std::vector<std::size_t> layers);
  /// The index of the layer that was added last.
  std::size_t last() const { return network_.layers.size() - 1; }
  const space::Shape& shape_of(std::size_t layer) const { return network_.layers[layer].output; }
  /// A layer without tensors or attributes, of a kind that need not exist.
  NetworkBuilder& plain(const std::string& kind);
  space::Network build() const { return network_; }

 private:
  space::Layer& add(const std::string& kind, space::Shape output);
  /// Shape of the next layer's input.
  space::Shape input() const;
  space::Network network_;
  std::vector<std::size_t> reading_;  // sources of the next layer; empty: the layer before
};

/// `layers` times conv2d + batch_norm + relu, then global_average_pool and linear.
space::Network conv_network(space::Shape input, int layers, std::int64_t kernel, std::int64_t width,
                            std::int64_t classes);

/// Images in memory. Class c has a bright bar at a place of its own, in noise: easy to tell apart.
class BarImages final : public store::Dataset {
 public:
  BarImages(space::Shape shape, int classes, std::size_t train_count, std::size_t test_count);
  const space::Shape& shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  const std::vector<double>& mean() const override { return mean_; }
  const std::vector<double>& deviation() const override { return deviation_; }
  double value_scale() const override { return 255; }
  const store::SampleView& train() const override { return train_view_; }
  const store::SampleView& validation() const override { return no_view_; }
  const store::SampleView& test() const override { return test_view_; }
  const std::string& content_hash() const override { return hash_; }

 private:
  void fill(store::Samples& set, std::size_t count, RandomStream& random) const;
  space::Shape shape_;
  std::vector<std::string> names_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
  std::string hash_ = "none";
  store::Samples train_;
  store::Samples test_;
  store::SampleView train_view_;
  store::SampleView test_view_;
  store::SampleView no_view_;
};

/// Cross-entropy with label smoothing and balanced class weights.
Choice soft_cross_entropy();

/// Keeps what an evaluator hands over, and stops and saves by a script.
class RecordingContext final : public trial::EvaluationContext,
                               public trial::TrialControl,
                               public trial::TrialState,
                               public trial::TrialWeights {
 public:
  trial::TrialControl& control() override { return *this; }
  trial::TrialState& state() override { return *this; }
  trial::TrialWeights& weights() override { return *this; }
  bool stop_requested() const override { return polls_++ >= stop_after_polls; }
  const trial::TrainingState* saved() const override { return start_from ? &*start_from : nullptr; }
  bool due(double epochs_done) override { return epochs_done >= save_from_epoch; }
  void save(const std::function<void(trial::TrainingState&)>& fill) override {
    fill(last_saved);
    ++saves;
    if (!last_saved.numbers.empty()) {
      loss_sums.push_back(last_saved.numbers.front().value);
    }
  }
  void save_last(const std::function<void(trial::TrainingState&)>& fill) override { fill(left.emplace()); }
  trial::TrialGroup* group() override { return in_group; }
  std::shared_ptr<const Tensors> inherited() const override { return parents; }
  bool wanted() const override { return wants; }
  void keep(Tensors tensors) override { kept = std::move(tensors); }
  trial::TrialTiming& timing() override { return times; }
  void report(std::vector<trial::CoursePoint> points) override { course = std::move(points); }

  /// The evaluator asks once before each step, each batch of scoring or recalibration, and each pass of a
  /// latency measurement.
  int polls() const { return polls_; }

  int stop_after_polls = std::numeric_limits<int>::max();
  double save_from_epoch = std::numeric_limits<double>::infinity();
  std::optional<trial::TrainingState> start_from;
  trial::TrainingState last_saved;
  int saves = 0;
  std::optional<trial::TrainingState> left;  // for trials that continue this one
  std::vector<double> loss_sums;             // of each state that was saved
  trial::TrialGroup* in_group = nullptr;
  std::shared_ptr<const Tensors> parents;  // the parent's tensors
  bool wants = false;
  Tensors kept;
  trial::TrialTiming times;
  std::vector<trial::CoursePoint> course;

 private:
  mutable int polls_ = 0;
};

trial::Trial make_trial(space::Network network, double epochs, std::uint64_t seed,
                        trial::Phase phase = trial::Phase::kSearch);

/// The first `train` samples for training, the next `validation` ones for validation.
store::SplitIndices split_in_two(std::size_t train, std::size_t validation);

}  // namespace skyline::train::test
