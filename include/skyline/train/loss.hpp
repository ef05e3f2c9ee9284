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

/// The problem for which a loss is made.
struct LossProblem {
  store::TargetKind targets = store::TargetKind::kClasses;
  std::size_t outputs = 0;
  std::size_t samples = 0;  // number of samples in the training set
  /// [outputs]: number of training samples of each class, or with each label; empty if targets are numbers.
  std::vector<std::size_t> counts = {};
};

/// The function that training minimizes: the mean over the samples of a batch. One per trial; one thread uses
/// it.
class Loss {
 public:
  virtual ~Loss() = default;
  /// Computes the loss of each sample in plain, differentiable ATen calls, on the CPU and on devices. A loss
  /// needs no more than this: autograd differentiates it, and it scores held-out samples.
  /// @param outputs  float32 or float64 [samples, outputs], output of the network's last layer
  /// @param targets  classes: int64 [samples]; labels (0 or 1, or between them if samples are mixed) and
  ///                 numbers: [samples, outputs], of the type of `outputs`
  /// @return         [samples]
  virtual at::Tensor reference(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
  /// Returns whether the device work of `reference` may be recorded and repeated without calling it: it reads
  /// nothing on the host that changes from step to step, and waits for nothing.
  virtual bool may_be_recorded() const { return false; }
};

/// A loss that a configuration can name: `training: {loss: NAME}`, or `{loss: {NAME: {KEY: VALUE}}}`.
struct LossKind {
  std::string name;
  std::string meaning;                     // one sentence for the docs
  std::vector<store::TargetKind> targets;  // kinds of targets that it accepts
  std::shared_ptr<const KeyTable> keys;
  /// @param section  already checked against `keys`
  std::function<std::unique_ptr<Loss>(const ConfigNode& section, const LossProblem& problem)> make;
};

/// The options of a loss or metric without options.
struct NoOptions {
  static const OptionTable<NoOptions>& table() {
    static const OptionTable<NoOptions> table({});
    return table;
  }
};

/// Describes a loss that is constructed from its options and the problem.
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

/// Adds a loss; call it before run_program. @throws InternalError if the name is taken
void register_loss(const LossKind& kind);
/// Returns all names in alphabetical order.
std::vector<std::string> loss_names();

}  // namespace skyline::train
