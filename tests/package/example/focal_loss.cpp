#include "additions.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/log_softmax.h>

using namespace skyline;

namespace {

struct FocalOptions {
  double gamma = 2;
  static const OptionTable<FocalOptions>& table() {
    static const OptionTable<FocalOptions> table{
        {"gamma", &FocalOptions::gamma, at_least(0), "How much less an easy sample counts; 0: not at all."}};
    return table;
  }
};

/// Lin et al., ICCV 2017.
class FocalLoss final : public train::Loss {
 public:
  FocalLoss(const FocalOptions& options, const train::LossProblem& /*problem*/) : gamma_(options.gamma) {}

  at::Tensor reference(const at::Tensor& outputs, const at::Tensor& targets) const override {
    const at::Tensor log_share = at::log_softmax(outputs, 1).gather(1, targets.unsqueeze(1)).squeeze(1);
    return log_share.exp().neg().add(1).pow(gamma_).mul(log_share).neg();
  }
  bool may_be_recorded() const override { return true; }

 private:
  double gamma_;
};

}  // namespace

train::LossKind focal_loss() {
  return train::make_loss<FocalLoss, FocalOptions>("focal", "Cross-entropy that cares for hard samples.",
                                                   {store::TargetKind::kClasses});
}
