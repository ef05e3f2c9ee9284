#include "train/device/host_reducer.hpp"

#include "skyline/core/error.hpp"

#include <deque>
#include <memory>
#include <span>
#include <utility>

#include <ATen/core/Tensor.h>

namespace skyline::train {
namespace {

template <typename T>
std::span<T> values_of(const at::Tensor& values) {
  require(values.is_contiguous(), "values to sum must be plain");
  return {values.mutable_data_ptr<T>(), static_cast<std::size_t>(values.numel())};
}

class HostReducer final : public DeviceReducer {
 public:
  explicit HostReducer(trial::TrialGroup& group) : group_(group) {}

  void all_reduce(at::Tensor& values) override {
    if (values.scalar_type() == at::kDouble) {
      group_.sum(values_of<double>(values));
    } else {
      begin({group_.all_reduce(floats(values)), {}, {}});
    }
  }

  void reduce_scatter(at::Tensor& values, at::Tensor& part) override {
    const at::Tensor own = own_part(values, part);
    begin({group_.reduce_scatter(floats(values)), own, part});
  }

  void all_gather(const at::Tensor& part, at::Tensor& values) override {
    own_part(values, part).copy_(part);
    begin({group_.all_gather(floats(values)), {}, {}});
  }

  void progress() override {
    for (const Begun& begun : begun_) begun.operation->test();
  }

  void join(std::size_t but_last) override {
    while (begun_.size() > but_last) {
      Begun& oldest = begun_.front();
      oldest.operation->wait();
      if (oldest.part.defined()) oldest.part.copy_(oldest.result);
      begun_.pop_front();
    }
  }

  void check() override { group_.check(); }

 private:
  /// An unfinished operation, and the tensor for its result, if that is another one.
  struct Begun {
    std::unique_ptr<trial::TrialGroup::Operation> operation;
    at::Tensor result;
    at::Tensor part;
  };

  void begin(Begun begun) {
    progress();
    begun_.push_back(std::move(begun));
  }

  static std::span<float> floats(const at::Tensor& values) {
    require(values.scalar_type() == at::kFloat, "values to sum must be floats");
    return values_of<float>(values);
  }

  at::Tensor own_part(const at::Tensor& values, const at::Tensor& part) const {
    const trial::Part own =
        trial::part_of(static_cast<std::size_t>(values.numel()), group_.members(), group_.member());
    require(part.numel() * static_cast<std::int64_t>(group_.members()) == values.numel() &&
                part.numel() == static_cast<std::int64_t>(own.end - own.begin),
            "values that the members of a group share out must be equal parts");
    return values.slice(0, static_cast<std::int64_t>(own.begin), static_cast<std::int64_t>(own.end));
  }

  trial::TrialGroup& group_;
  std::deque<Begun> begun_;
};

}  // namespace

std::unique_ptr<DeviceReducer> make_host_reducer(trial::TrialGroup& group) {
  return std::make_unique<HostReducer>(group);
}

}  // namespace skyline::train
