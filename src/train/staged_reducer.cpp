#include "skyline/core/error.hpp"
#include "skyline/train/accelerator.hpp"

#include <span>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace skyline::train {
namespace {

std::span<float> values_of(at::Tensor& host_tensor) {
  return {host_tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(host_tensor.numel())};
}

class StagedReducer final : public DeviceReducer {
 public:
  StagedReducer(objective::TrialGroup& group, bool on_host) : group_(group), on_host_(on_host) {}

  void all_reduce(at::Tensor& values) override {
    at::Tensor host = host_values(values);
    fill(host, values);
    group_.all_reduce(values_of(host))->wait();
    fill(values, host);
  }

  void reduce_scatter(const at::Tensor& values, at::Tensor& part) override {
    at::Tensor host = staging(values);  // the group spoils the other parts
    host.copy_(values);
    group_.reduce_scatter(values_of(host))->wait();
    part.copy_(own_part(host));
  }

  void all_gather(const at::Tensor& part, at::Tensor& values) override {
    at::Tensor host = host_values(values);
    own_part(host).copy_(part);
    group_.all_gather(values_of(host))->wait();
    fill(values, host);
  }

  bool may_be_recorded() const override { return on_host_; }

  void check() override { group_.check(); }

 private:
  /// Where the group works: the values themselves, or the staging area.
  at::Tensor host_values(const at::Tensor& values) {
    require(values.is_contiguous() && values.scalar_type() == at::kFloat,
            "values to sum must be plain floats");
    return on_host_ ? values : staging(values);
  }

  /// Pinned where there is a device, which then copies at full speed. Grows only.
  at::Tensor staging(const at::Tensor& values) {
    if (!staging_.defined() || staging_.numel() < values.numel()) {
      staging_ = at::empty(values.sizes(), at::TensorOptions(at::kFloat).pinned_memory(values.is_cuda()));
    }
    return staging_.narrow(0, 0, values.numel());
  }

  static void fill(at::Tensor& target, const at::Tensor& source) {
    if (!target.is_same(source)) {
      target.copy_(source);
    }
  }

  at::Tensor own_part(const at::Tensor& values) const {
    const objective::Part part =
        objective::part_of(static_cast<std::size_t>(values.numel()), group_.members(), group_.member());
    return values.slice(0, static_cast<std::int64_t>(part.begin), static_cast<std::int64_t>(part.end));
  }

  objective::TrialGroup& group_;
  bool on_host_;
  at::Tensor staging_;
};

}  // namespace

std::unique_ptr<DeviceReducer> make_staged_reducer(objective::TrialGroup& group, bool on_host) {
  return std::make_unique<StagedReducer>(group, on_host);
}

}  // namespace skyline::train
