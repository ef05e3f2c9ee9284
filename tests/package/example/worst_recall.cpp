#include "additions.hpp"

#include <algorithm>

using namespace skyline;

namespace {

class WorstRecall final : public train::Metric {
 public:
  WorstRecall(const train::NoOptions& /*options*/, std::size_t outputs) : hits_(outputs), all_(outputs) {}

  void add(std::span<const float> outputs, const train::Target& target) override {
    const auto wanted = static_cast<std::size_t>(target.class_index);
    ++all_[wanted];
    if (*std::ranges::max_element(outputs) == outputs[wanted]) ++hits_[wanted];
  }

  double value() const override {
    double worst = 1;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i] > 0) worst = std::min(worst, hits_[i] / all_[i]);
    }
    return worst;
  }

 private:
  std::vector<double> hits_;  // hits by class
  std::vector<double> all_;
};

}  // namespace

train::MetricKind worst_recall() {
  return train::make_metric<WorstRecall>("worst_recall", "Share of right answers in the worst class.",
                                         {store::TargetKind::kClasses}, trial::Better::kHigher, {0, 1});
}
