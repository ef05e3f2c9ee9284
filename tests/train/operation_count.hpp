#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

namespace skyline::train::test {

/// While it lives, counts what ATen computes on this thread, from the tensors that its functions take and
/// give: an account of costs that knows nothing of layers, their attributes and shapes. A function that it
/// does not know fails the test.
class OperationCount {
 public:
  OperationCount()
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(begin, end)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {
    current = this;
  }
  ~OperationCount() { at::removeCallback(handle_); }
  OperationCount(const OperationCount&) = delete;
  OperationCount& operator=(const OperationCount&) = delete;

  std::int64_t flops() const { return flops_; }
  std::int64_t macs() const { return macs_; }

 private:
  /// The sizes of a call's arguments.
  struct Call final : at::ObserverContext {
    std::int64_t values = 0;  // of the first one
    std::int64_t row = 0;     // values of the second one that make one value of the output
    bool has_third = false;   // a bias
  };

  static const at::Tensor* tensor_at(c10::ArrayRef<const c10::IValue> inputs, std::size_t index) {
    const bool is_there =
        index < inputs.size() && inputs[index].isTensor() && inputs[index].toTensor().defined();
    return is_there ? &inputs[index].toTensor() : nullptr;
  }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    auto call = std::make_unique<Call>();
    ++current->depth_;
    const auto inputs = function.inputs();
    if (const at::Tensor* first = tensor_at(inputs, 0)) call->values = first->numel();
    const at::Tensor* second = tensor_at(inputs, 1);
    if (second != nullptr && second->dim() > 0) call->row = second->numel() / second->size(0);
    call->has_third = tensor_at(inputs, 2) != nullptr;
    return call;
  }

  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (--current->depth_ > 0) return;  // a part of what is counted already
    const std::int64_t output = function.outputs().empty() || !function.outputs().front().isTensor()
                                    ? 0
                                    : function.outputs().front().toTensor().numel();
    current->add(function.name(), *static_cast<Call*>(context), output);
  }

  void add(std::string_view function, const Call& call, std::int64_t output) {
    if (function == "aten::conv2d" || function == "aten::linear") {
      macs_ += output * call.row;
      flops_ += 2 * output * call.row + (call.has_third ? output : 0);
    } else if (function == "aten::batch_norm") {
      flops_ += 2 * call.values;  // a scale and a shift
    } else if (function == "aten::max_pool2d_with_indices" || function == "aten::mean") {
      flops_ += call.values;
    } else if (function == "aten::relu" || function == "aten::add" || function == "aten::mul") {
      flops_ += output;
    } else {
      constexpr std::array<std::string_view, 6> kFree{"aten::cat", "aten::flatten", "aten::reshape",
                                                      "aten::to",  "aten::view",    "aten::unsqueeze"};
      EXPECT_NE(std::find(kFree.begin(), kFree.end(), function), kFree.end()) << function;
    }
  }

  static inline thread_local OperationCount* current = nullptr;
  std::int64_t flops_ = 0;
  std::int64_t macs_ = 0;
  int depth_ = 0;
  at::CallbackHandle handle_;
};

}  // namespace skyline::train::test
