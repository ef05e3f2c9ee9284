#include "skyline/core/error.hpp"

#include "train/device/accelerator.hpp"

#include <deque>
#include <memory>
#include <span>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace skyline::train {
namespace {

std::span<float> host_values(at::Tensor& host_tensor) {
  return {host_tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(host_tensor.numel())};
}

void check_plain(const at::Tensor& values) {
  require(values.is_contiguous() && values.scalar_type() == at::kFloat, "values to sum must be plain floats");
}

class StagedReducer final : public DeviceReducer {
 public:
  StagedReducer(trial::TrialGroup& group, bool on_host) : group_(group), on_host_(on_host) {}

  void all_reduce(at::Tensor& values) override {
    if (values.scalar_type() == at::kDouble) {
      require(on_host_ && values.is_contiguous(), "values in float64 to sum must be plain, on the host");
      group_.sum({values.mutable_data_ptr<double>(), static_cast<std::size_t>(values.numel())});
      return;
    }
    Begun begun = stage(values, values);
    begun.host.copy_(values);  // nothing, if they are the same
    begun.operation = group_.all_reduce(host_values(begun.host));
    begun_.push_back(std::move(begun));
  }

  void reduce_scatter(at::Tensor& values, at::Tensor& part) override {
    check_part(values, part);
    Begun begun = stage(values, part);
    begun.host.copy_(values);
    begun.result = own_part(begun.host);
    begun.operation = group_.reduce_scatter(host_values(begun.host));
    begun_.push_back(std::move(begun));
  }

  void all_gather(const at::Tensor& part, at::Tensor& values) override {
    check_part(values, part);
    Begun begun = stage(values, values);
    own_part(begun.host).copy_(part);
    begun.operation = group_.all_gather(host_values(begun.host));
    begun_.push_back(std::move(begun));
  }

  void progress() override {
    for (const Begun& begun : begun_) {
      begun.operation->test();
    }
  }

  void join(std::size_t but_last) override {
    while (begun_.size() > but_last) {
      Begun& oldest = begun_.front();
      oldest.operation->wait();
      oldest.target.copy_(oldest.result);  // nothing, if they are the same
      begun_.pop_front();
    }
  }

  bool may_be_recorded() const override { return on_host_; }

  void check() override { group_.check(); }

 private:
  /// An unfinished operation. The group uses `host` until it is complete or given up.
  struct Begun {
    at::Tensor host;    // the values themselves, or where they are staged
    at::Tensor result;  // result of the operation, in `host`
    at::Tensor target;  // destination of the result
    std::unique_ptr<trial::TrialGroup::Operation> operation;
  };

  Begun stage(const at::Tensor& values, const at::Tensor& target) {
    check_plain(values);
    // Pinned if there is a device, which then copies at full speed.
    const at::Tensor host =
        on_host_ ? values
                 : at::empty(values.sizes(), at::TensorOptions(at::kFloat).pinned_memory(values.is_cuda()));
    return {host, host, target, nullptr};
  }

  void check_part(const at::Tensor& values, const at::Tensor& part) const {
    check_plain(part);
    require(part.numel() * static_cast<std::int64_t>(group_.members()) == values.numel() &&
                own_part(values).numel() == part.numel(),
            "values that the members of a group share out must be equal parts");
  }

  at::Tensor own_part(const at::Tensor& values) const {
    const trial::Part part =
        trial::part_of(static_cast<std::size_t>(values.numel()), group_.members(), group_.member());
    return values.slice(0, static_cast<std::int64_t>(part.begin), static_cast<std::int64_t>(part.end));
  }

  trial::TrialGroup& group_;
  bool on_host_;
  std::deque<Begun> begun_;
};

}  // namespace

std::unique_ptr<DeviceReducer> make_staged_reducer(trial::TrialGroup& group, bool on_host) {
  return std::make_unique<StagedReducer>(group, on_host);
}

}  // namespace skyline::train
