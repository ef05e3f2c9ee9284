#include "train/scoring/loss_kinds.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"

namespace skyline::train {
namespace {

using store::TargetKind;
using Losses = Registry<LossKind>;

template <typename Options = NoOptions>
void add(Losses& losses, const std::string& name, const std::string& meaning, TargetKind targets) {
  const auto keys = std::make_shared<const OptionTable<Options>>(Options::table());
  losses.add(name, {name, meaning, {targets}, keys, {}});
}

Losses& losses() {
  static Losses registry("loss", [](Losses& built_in) {
    add<CrossEntropyOptions>(built_in, "cross_entropy", "Cross-entropy of the classes.",
                             TargetKind::kClasses);
    add(built_in, "binary_cross_entropy", "Cross-entropy of each label by itself.", TargetKind::kLabels);
    add(built_in, "mse", "Squared error.", TargetKind::kNumbers);
    add(built_in, "mae", "Absolute error.", TargetKind::kNumbers);
  });
  return registry;
}

}  // namespace

const OptionTable<CrossEntropyOptions>& CrossEntropyOptions::table() {
  static const OptionTable<CrossEntropyOptions> table{
      {"label_smoothing", &CrossEntropyOptions::label_smoothing, at_least(0).below(1),
       "Share of each target that is spread evenly over all classes."},
      {"class_weights", &CrossEntropyOptions::class_weights,
       choice<ClassWeights>({{"none", ClassWeights::kNone}, {"balanced", ClassWeights::kBalanced}}),
       "Whether a class weighs less the more training samples it has."}};
  return table;
}

void register_loss(const LossKind& kind) {
  require(static_cast<bool>(kind.make), "a loss without a function that makes it");
  losses().add(kind.name, kind);
}

std::vector<std::string> loss_names() {
  return losses().names();
}

const LossKind* find_loss(std::string_view name) {
  return losses().find(name);
}

std::string_view default_loss(TargetKind targets) {
  switch (targets) {
    case TargetKind::kClasses:
      return "cross_entropy";
    case TargetKind::kLabels:
      return "binary_cross_entropy";
    case TargetKind::kNumbers:
      return "mse";
  }
  throw InternalError("unknown targets");
}

}  // namespace skyline::train
