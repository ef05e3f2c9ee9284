#include "train/device/staged_reducer.hpp"

#include "train/device/host_accelerator.hpp"

#include <deque>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace skyline::train {
namespace {

at::Tensor host_like(const at::Tensor& values) {
  return at::empty(values.sizes(), values.options().device(at::kCPU));
}

class StagedReducer final : public DeviceReducer {
 public:
  explicit StagedReducer(trial::TrialGroup& group) : host_(make_host_reducer(group)) {}

  void all_reduce(at::Tensor& values) override {
    at::Tensor staged = values.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
    host_->all_reduce(staged);
    if (values.scalar_type() == at::kDouble) {  // the sum is there
      values.copy_(staged);
    } else {
      begun_.push_back({staged, values, staged});
    }
  }

  void reduce_scatter(at::Tensor& values, at::Tensor& part) override {
    at::Tensor staged = values.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
    at::Tensor staged_part = host_like(part);
    host_->reduce_scatter(staged, staged_part);
    begun_.push_back({staged_part, part, staged});
  }

  void all_gather(const at::Tensor& part, at::Tensor& values) override {
    at::Tensor staged = host_like(values);
    host_->all_gather(part.to(at::kCPU), staged);
    begun_.push_back({staged, values, staged});
  }

  void progress() override { host_->progress(); }

  void join(std::size_t but_last) override {
    while (begun_.size() > but_last) {
      host_->join(begun_.size() - 1);
      begun_.front().target.copy_(begun_.front().result);
      begun_.pop_front();
    }
  }

  bool may_be_recorded() const override { return false; }

 private:
  struct Begun {
    at::Tensor result;
    at::Tensor target;
    at::Tensor staged;  // kept until the operation is complete
  };

  std::deque<Begun> begun_;  // destroyed after the reducer, which refers to its tensors
  std::unique_ptr<DeviceReducer> host_;
};

}  // namespace

std::unique_ptr<DeviceReducer> make_staged_reducer(trial::TrialGroup& group) {
  return std::make_unique<StagedReducer>(group);
}

}  // namespace skyline::train
