#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <cstddef>

namespace skyline::train {
namespace {

using store::TargetKind;
using Better = MetricKind::Better;

/// Returns the class of the largest output, among equal ones the first.
std::size_t best_class(std::span<const float> outputs) {
  return static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
}

/// Returns whether a label is predicted, i.e. has a probability above one half.
bool says(float output) {
  return output > 0;
}

/// The share of samples whose class is predicted, or of labels that are predicted correctly.
class Accuracy final : public Metric {
 public:
  Accuracy(const NoOptions& /*options*/, std::size_t /*outputs*/) {}
  void add(std::span<const float> outputs, const Target& target) override {
    if (target.values.empty()) count(best_class(outputs) == static_cast<std::size_t>(target.class_index));
    for (std::size_t i = 0; i < target.values.size(); ++i) count(says(outputs[i]) == says(target.values[i]));
  }
  double value() const override { return static_cast<double>(hits_) / static_cast<double>(all_); }

 private:
  void count(bool hit) {
    ++all_;
    hits_ += hit ? 1 : 0;
  }
  std::size_t hits_ = 0;
  std::size_t all_ = 0;
};

struct TopKOptions {
  std::size_t k = 5;
  static const OptionTable<TopKOptions>& table() {
    static const OptionTable<TopKOptions> table{
        {"k", &TopKOptions::k, at_least(1), "Number of largest outputs among which the class must be."}};
    return table;
  }
};

/// The share of samples whose class is among the k largest outputs; among equal ones the first count.
class TopK final : public Metric {
 public:
  TopK(const TopKOptions& options, std::size_t /*outputs*/) : k_(options.k) {}
  void add(std::span<const float> outputs, const Target& target) override {
    const auto wanted = static_cast<std::size_t>(target.class_index);
    std::size_t larger = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] > outputs[wanted] || (outputs[i] == outputs[wanted] && i < wanted)) ++larger;
    }
    ++all_;
    hits_ += larger < k_ ? 1 : 0;
  }
  double value() const override { return static_cast<double>(hits_) / static_cast<double>(all_); }

 private:
  std::size_t k_;
  std::size_t hits_ = 0;
  std::size_t all_ = 0;
};

/// The mean over the classes (or labels) of the harmonic mean of precision and recall. A class that no sample
/// has and that is never predicted is left out.
class MacroF1 final : public Metric {
 public:
  MacroF1(const NoOptions& /*options*/, std::size_t outputs) : counts_(outputs) {}
  void add(std::span<const float> outputs, const Target& target) override {
    const bool classes = target.values.empty();
    const std::size_t best = classes ? best_class(outputs) : 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const bool said = classes ? i == best : says(outputs[i]);
      const bool right = classes ? i == static_cast<std::size_t>(target.class_index) : says(target.values[i]);
      counts_[i].said += said ? 1 : 0;
      counts_[i].right += right ? 1 : 0;
      counts_[i].both += said && right ? 1 : 0;
    }
  }
  double value() const override {
    double sum = 0;
    double present = 0;
    for (const Counts& counts : counts_) {
      if (counts.said + counts.right == 0) continue;
      sum += 2 * counts.both / (counts.said + counts.right);
      present += 1;
    }
    return sum / present;
  }

 private:
  struct Counts {
    double said = 0;
    double right = 0;
    double both = 0;
  };
  std::vector<Counts> counts_;
};

}  // namespace

std::vector<MetricKind> metrics_of_classes() {
  std::vector<MetricKind> kinds{
      make_metric<Accuracy>("accuracy", "Share of right answers: classes, or labels.",
                            {TargetKind::kClasses, TargetKind::kLabels}, Better::kHigher, {0, 1}),
      make_metric<TopK, TopKOptions>("top_k", "Share of samples whose class is among the k best ones.",
                                     {TargetKind::kClasses}, Better::kHigher, {0, 1}),
      make_metric<MacroF1>("macro_f1", "Mean over classes or labels of the F1 score.",
                           {TargetKind::kClasses, TargetKind::kLabels}, Better::kHigher, {0, 1})};
  for (MetricKind& kind : kinds) kind.is_share_of_samples = kind.name != "macro_f1";
  return kinds;
}

}  // namespace skyline::train
