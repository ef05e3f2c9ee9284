// What the program `skyline-light` has in place of the module `train`, which needs LibTorch: linked before
// that module's library, from which only the plans for devices are still taken.
#include "skyline/core/error.hpp"

#include "train/evaluator/inference.hpp"
#include "train/evaluator/step_profile.hpp"
#include "train/evaluator/training_evaluator.hpp"
#include "train/loading/load_accelerator.hpp"

namespace skyline::train {
namespace {

constexpr const char* kReason = "this program was built without LibTorch";

[[noreturn]] void refuse() {
  throw UserError(std::string(kReason) +
                  ", and computes no networks itself: expected the program, or wheel, that has it");
}

}  // namespace

void register_training() {}

InferenceResult infer(comm::Environment& /*job*/, const InferenceTask& /*task*/) {
  refuse();
}
std::vector<trial::NamedTensor> initial_tensors(const space::Network& /*network*/, std::uint64_t /*seed*/) {
  refuse();
}
std::vector<double> to_answers(std::span<const float> /*outputs*/, store::TargetKind /*targets*/) {
  refuse();
}
StepProfile profile_step(comm::Environment& /*job*/, const ProfileTask& /*task*/) {
  refuse();
}
double StepProfile::parts_s() const {
  refuse();
}
std::int64_t StepProfile::most_bytes() const {
  refuse();
}

std::shared_ptr<Accelerator> load_accelerator(std::string& reason) {
  reason = kReason;
  return nullptr;
}
std::string accelerator_versions() {
  refuse();
}
std::string torch_version() {
  return "none";
}

}  // namespace skyline::train
