#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace skyline::train {
namespace {

using store::TargetKind;
using Better = MetricKind::Better;

struct ScoredSample {
  double score = 0;
  bool positive = false;
};

/// Returns the probability that a positive sample has a higher score than a negative one, where a tie counts
/// half; NaN without samples of both kinds.
double area_under_curve(std::vector<ScoredSample> samples) {
  if (std::ranges::any_of(samples, [](const ScoredSample& sample) { return std::isnan(sample.score); })) {
    return std::nan("");
  }
  std::ranges::sort(samples, {}, &ScoredSample::score);
  double positives = 0;
  double wins = 0;
  double negatives_below = 0;
  for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    double positive = 0;
    for (; end < samples.size() && samples[end].score == samples[begin].score; ++end) {
      positive += samples[end].positive ? 1 : 0;
    }
    const double negative = static_cast<double>(end - begin) - positive;
    wins += positive * (negatives_below + negative / 2);
    positives += positive;
    negatives_below += negative;
  }
  return wins / (positives * negatives_below);
}

/// Returns log odds instead of probabilities: the order is the same, and they still differ where
/// probabilities round to 1.
std::vector<double> log_odds(std::span<const float> outputs) {
  const auto best = static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
  const auto largest = static_cast<double>(outputs[best]);
  double second = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i != best) second = std::max(second, static_cast<double>(outputs[i]));
  }
  double others = 0;  // sum over all classes except the best one
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i != best) others += std::exp(static_cast<double>(outputs[i]) - second);
  }
  const double log_others = second + std::log(others);
  const double log_total = largest + std::log1p(std::exp(log_others - largest));
  std::vector<double> odds;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double log_share = static_cast<double>(outputs[i]) - log_total;
    odds.push_back(i == best ? largest - log_others : log_share - std::log1p(-std::exp(log_share)));
  }
  return odds;
}

/// The mean over the outputs of the area under the curve of hits over false alarms: for each label, or for
/// each class against all others by its probability. Outputs whose samples are all of one kind are left out.
class Auc final : public Metric {
 public:
  Auc(const NoOptions& /*options*/, std::size_t outputs) : samples_(outputs) {}
  void add(std::span<const float> outputs, const Target& target) override {
    const bool classes = target.values.empty();
    const std::vector<double> scores =
        classes ? log_odds(outputs) : std::vector<double>(outputs.begin(), outputs.end());
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const bool positive =
          classes ? i == static_cast<std::size_t>(target.class_index) : target.values[i] > 0;
      samples_[i].push_back({scores[i], positive});
    }
  }
  double value() const override {
    double sum = 0;
    double defined = 0;
    for (const std::vector<ScoredSample>& samples : samples_) {
      const double area = area_under_curve(samples);
      if (std::isnan(area)) continue;
      sum += area;
      defined += 1;
    }
    return sum / defined;
  }

 private:
  std::vector<std::vector<ScoredSample>> samples_;  // samples of each output
};

enum class Error { kAbsolute, kSquared, kRootOfSquared };

/// The mean over samples and outputs of the error or of its square, or the root of the latter.
template <Error kError>
class MeanError final : public Metric {
 public:
  MeanError(const NoOptions& /*options*/, std::size_t /*outputs*/) {}
  void add(std::span<const float> outputs, const Target& target) override {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const double error = static_cast<double>(outputs[i]) - static_cast<double>(target.values[i]);
      sum_ += kError == Error::kAbsolute ? std::abs(error) : error * error;
    }
    all_ += static_cast<double>(outputs.size());
  }
  double value() const override {
    return kError == Error::kRootOfSquared ? std::sqrt(sum_ / all_) : sum_ / all_;
  }

 private:
  double sum_ = 0;
  double all_ = 0;
};

/// The mean over the outputs of the share of a number's variance that the outputs explain: 1 minus the
/// squared errors over the squared distances from the mean of the set. An output that is constant is left
/// out.
class R2 final : public Metric {
 public:
  R2(const NoOptions& /*options*/, std::size_t outputs) : sums_(outputs) {}
  void add(std::span<const float> outputs, const Target& target) override {
    ++count_;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const auto value = static_cast<double>(target.values[i]);
      const double error = static_cast<double>(outputs[i]) - value;
      const double from_mean = value - sums_[i].mean;
      sums_[i].mean += from_mean / count_;
      sums_[i].spread += from_mean * (value - sums_[i].mean);
      sums_[i].errors += error * error;
    }
  }
  double value() const override {
    double sum = 0;
    double defined = 0;
    for (const Sums& each : sums_) {
      if (each.spread == 0) continue;
      sum += 1 - each.errors / each.spread;
      defined += 1;
    }
    return sum / defined;
  }

 private:
  struct Sums {
    double mean = 0;
    double spread = 0;  // sum of squared distances from the mean
    double errors = 0;  // sum of squared errors
  };
  double count_ = 0;
  std::vector<Sums> sums_;  // [outputs]
};

}  // namespace

std::vector<MetricKind> metrics_of_values() {
  const auto in_unit = [](MetricKind kind) {
    kind.is_in_unit = true;
    return kind;
  };
  return {make_metric<Auc>("auc", "Mean over classes or labels of the area under the ROC curve.",
                           {TargetKind::kClasses, TargetKind::kLabels}, Better::kHigher, {0, 1}),
          make_metric<MeanError<Error::kSquared>>("mse", "Mean squared error, in the scale of training.",
                                                  {TargetKind::kNumbers}, Better::kLower, {.low = 0}),
          in_unit(make_metric<MeanError<Error::kAbsolute>>(
              "mae", "Mean absolute error, in the unit of the numbers.", {TargetKind::kNumbers},
              Better::kLower, {.low = 0})),
          in_unit(make_metric<MeanError<Error::kRootOfSquared>>(
              "rmse", "Root of the mean squared error, in the unit of the numbers.", {TargetKind::kNumbers},
              Better::kLower, {.low = 0})),
          in_unit(make_metric<R2>(
              "r2",
              "Mean over the numbers of the share of their variance that is explained; below 0 "
              "where their mean would be better.",
              {TargetKind::kNumbers}, Better::kHigher, {.high = 1}))};
}

}  // namespace skyline::train
