#include "engine/weights_keeper.hpp"

#include "skyline/core/error.hpp"
#include "skyline/store/weights.hpp"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace skyline::engine {
namespace {

store::WeightsFile describe(const objective::Trial& trial, const space::SearchSpace& space) {
  store::WeightsFile file;
  file.arch_id = to_text(trial.architecture().id);
  file.genotype = space.describe(trial.architecture().genotype);
  file.phase = to_text(trial.phase);
  file.trial = trial.number;
  file.seed = trial.seed;
  file.epochs = trial.epochs;
  file.parents = trial.proposal.parents;
  return file;
}

}  // namespace

WeightsSink make_weights_sink(const RunInputs& inputs, store::StorageThread& storage) {
  if (inputs.options.keep_weights == KeepWeights::kNone) return {};
  return [&inputs, &storage](const objective::Trial& trial, std::vector<objective::NamedTensor> tensors,
                             std::function<void()> written) {
    auto file = std::make_shared<store::WeightsFile>(describe(trial, inputs.space));
    file->tensors = std::move(tensors);
    storage.submit([path = inputs.paths.weights(file->arch_id), file, done = std::move(written)] {
      store::write_weights(path, *file);
      done();
    });
  };
}

void remove_weights(const RunInputs& inputs, store::StorageThread& storage, space::ArchId arch) {
  storage.submit([path = inputs.paths.weights(to_text(arch))] {
    std::error_code error;
    std::filesystem::remove(path, error);  // without an error if there is none
    if (error) throw UserError("cannot remove " + path.string() + ": " + error.message());
  });
}

}  // namespace skyline::engine
