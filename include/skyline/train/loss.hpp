#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/store/dataset.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace at {
class Tensor;
}

namespace skyline::train {

/// What is trained on.
struct LossProblem {
  store::TargetKind targets = store::TargetKind::kClasses;
  std::size_t outputs = 0;
  std::size_t samples = 0;  // of the training set
  /// [outputs]: training samples of each class, or with each label; empty where targets are numbers.
  std::vector<std::size_t> counts = {};
};

/// What a network is trained to lower: the mean over the samples of a batch. One for each trial, used by one
/// thread.
class Loss {
 public:
  virtual ~Loss() = default;
  /// The loss of each sample in plain, differentiable ATen calls, on the CPU and on devices. It is all that a
  /// loss needs: autograd differentiates it, and held-out samples are scored with it.
  /// @param outputs  float32 or float64 [samples, outputs], of the network's last layer
  /// @param targets  classes: int64 [samples]; labels (0 or 1, or between them where samples are mixed) and
  /// numbers: [samples, outputs], of the type of `outputs`
  /// @return         [samples]
  virtual at::Tensor reference(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
  /// Whether the device work of `reference` may be recorded and done again without calling it: it reads
  /// nothing of the host that changes from step to step, and waits for nothing.
  virtual bool may_be_recorded() const { return false; }
};

/// A loss as a configuration names it: `training: {loss: NAME}`, or `{loss: {NAME: {KEY: VALUE}}}`.
struct LossKind {
  std::string name;
  std::string meaning;                     // one sentence
  std::vector<store::TargetKind> targets;  // those that it takes
  std::shared_ptr<const KeyTable> keys;
  /// @param section  checked by `keys`
  std::function<std::unique_ptr<Loss>(const ConfigNode& section, const LossProblem& problem)> make;
};

/// The options of what has none.
struct NoOptions {
  static const OptionTable<NoOptions>& table() {
    static const OptionTable<NoOptions> table({});
    return table;
  }
};

/// A loss that is constructed from its options and the problem.
template <typename AnyLoss, typename Options = NoOptions>
LossKind make_loss(const std::string& name, const std::string& meaning,
                   std::vector<store::TargetKind> targets,
                   const OptionTable<Options>& table = Options::table()) {
  const auto keys = std::make_shared<const OptionTable<Options>>(table);
  return {name, meaning, std::move(targets), keys,
          [keys](const ConfigNode& section, const LossProblem& problem) {
            return std::make_unique<AnyLoss>(keys->parse(section), problem);
          }};
}

/// Adds a loss, before run_program; a second one of the same name is an InternalError.
void register_loss(const LossKind& kind);
/// In alphabetical order.
std::vector<std::string> loss_names();

}  // namespace skyline::train
