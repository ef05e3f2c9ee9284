#include "evaluate/job_ranks.hpp"
#include "store/data/sample_draw.hpp"
#include "store/data/teacher.hpp"
#include "train/evaluator/inference.hpp"
#include "train/evaluator/step_profile.hpp"
#include "train/evaluator/training_evaluator.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/loading/device_choice.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/loading/load_training.hpp"
#include "train/loading/shared_library.hpp"
#include "train/sharing/node_memory_limiter.hpp"

#include <algorithm>
#include <utility>

#include <caffe2/core/common.h>

namespace skyline::train {
namespace {

/// Returns LibTorch's own version, since that of the headers is only the build's. at::show_config() is not
/// used, because it looks for the CUDA part: if the module is not loaded yet, LibTorch then never finds it.
std::string linked_torch_version() {
  const auto& options = caffe2::GetBuildOptions();
  const auto version = options.find("TORCH_VERSION");
  return version == options.end() ? "unknown" : version->second;
}

/// Returns the number of this rank's slots that train on the CPU.
std::size_t slots_of_rank(const evaluate::EvaluatorServices& services, int threads) {
  if (!services.evaluates) return 0;
  const std::size_t processors = services.place.processors.size();
  return services.slots.value_or(std::max<std::size_t>(1, processors / static_cast<std::size_t>(threads)));
}

std::unique_ptr<trial::Evaluator> make_evaluator(TrainingOptions options,
                                                 const evaluate::EvaluatorServices& services) {
  (void)layer_op_kinds();  // a clash of names ends the job, and not each trial
  DeviceWish wish = wish_of(options);
  wish.trains = services.evaluates;
  wish.begun = services.begun_on;
  const std::size_t slots = slots_of_rank(services, options.threads);
  auto memory = share_node_memory(*services.ranks, services.place.node, slots, services.memory_bytes);
  DeviceUse device = choose_device(*services.ranks, services.place, wish, load_accelerator);
  // A rank that only predicts costs may have no GPU, which another precision could need.
  if (!services.evaluates) options.precision = Precision::kFp32;
  const bool latency = std::ranges::find(services.wanted, "latency_ms") != services.wanted.end();
  std::vector<std::int64_t> calibration;
  if (options.int8 != Int8Trials::kNone) {
    calibration = store::calibration_samples(*services.dataset, services.split, store::kCalibrationSamples,
                                             services.seed);
  }
  std::shared_ptr<const store::Teacher> teacher;
  if (options.teacher) {
    const bool verifies = services.place.node_rank == 0;  // once per node, as the data set
    teacher = store::Teacher::open(options.teacher->file, verifies);
    teacher->check_data(*services.dataset);
  }
  return make_training_evaluator(options, services.normalization, services.dataset, services.split, latency,
                                 std::move(device), std::move(memory), std::move(calibration),
                                 std::move(teacher));
}

constexpr TrainingModule kModule = {kModuleInterface, &linked_torch_version, &make_evaluator, &infer,
                                    &quantize,        &initial_tensors,      &profile_step};

}  // namespace

extern "C" const TrainingModule* skyline_training_module() {
  return &kModule;
}

}  // namespace skyline::train
