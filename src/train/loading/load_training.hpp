#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace skyline::comm {
class Environment;
}
namespace skyline::space {
struct Int8Network;
}

namespace skyline::train {

struct InferenceResult;
struct InferenceTask;
struct ProfileTask;
struct QuantizationTask;
struct StepProfile;
struct TrainingOptions;

/// The interface of the training module, libskyline_train.so, its only export. What it uses of other modules
/// comes from the program, which exports them, so that all state is one for the process: log, registries.
struct TrainingModule {
  const char* interface;           // kModuleInterface of the module's build
  std::string (*torch_version)();  // version of the loaded LibTorch, e.g. "2.11.0"
  /// Makes an evaluator for a job. Collective over its ranks.
  std::unique_ptr<trial::Evaluator> (*make_evaluator)(TrainingOptions options,
                                                      const evaluate::EvaluatorServices& services);
  InferenceResult (*infer)(comm::Environment& job, const InferenceTask& task);
  space::Int8Network (*quantize)(comm::Environment& job, const QuantizationTask& task);
  std::vector<trial::NamedTensor> (*initial_tensors)(const space::Network& network, std::uint64_t seed);
  StepProfile (*profile_step)(comm::Environment& job, const ProfileTask& task);
};

/// Loads the training module, and LibTorch with it, at the first call. Its file is SKYLINE_TRAIN_LIBRARY, or
/// is looked for like that of the cuda module.
/// @throws UserError if it is missing or of another build, or if it lacks its LibTorch
const TrainingModule& load_training();

/// Loads it on all ranks of a job. Collective.
/// @param host  host of this rank
/// @throws UserError on all ranks if one of them cannot load it, or if they load several versions of LibTorch
const TrainingModule& load_training(evaluate::Ranks& ranks, const std::string& host);

/// Returns the version of the loaded LibTorch; empty before load_training().
std::string torch_version();

extern "C" const TrainingModule* skyline_training_module();

}  // namespace skyline::train
