#include "engine/weights_keeper.hpp"

#include "skyline/core/hash.hpp"
#include "skyline/store/publish.hpp"
#include "skyline/store/weights.hpp"
#include "skyline/store/weights_cache.hpp"

#include "engine/storage_call.hpp"

#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace skyline::engine {
namespace {

constexpr std::size_t kMostCopiedBytes = std::size_t{1} << 30U;

/// Of this run and user, on this node; empty if the node has no folder for temporary files.
std::filesystem::path copies_folder(const RunInputs& inputs) {
  std::error_code error;
  const std::filesystem::path node_folder = std::filesystem::temp_directory_path(error);
  if (error) return {};
  std::filesystem::path root = std::filesystem::absolute(inputs.paths.root, error);
  if (error) root = inputs.paths.root;
  const std::string run =
      root.string() + '\n' + std::to_string(::getuid()) + '\n' + inputs.header.config_hash;
  return node_folder / ("skyline-" + to_hex(stable_hash64(run)));
}

store::WeightsFile describe(const objective::Trial& trial, const RunInputs& inputs) {
  store::WeightsFile file;
  file.run = stamp_of(inputs);
  file.arch_id = to_text(trial.architecture().id);
  file.genotype = inputs.space.describe(trial.architecture().genotype);
  file.phase = to_text(trial.phase);
  file.trial = trial.number;
  file.seed = trial.seed;
  file.epochs = trial.epochs;
  file.parents = trial.proposal.parents;
  if (trial.inherits) file.inherits_from = trial.inherits->from;
  return file;
}

}  // namespace

WeightsSink make_weights_sink(const RunInputs& inputs) {
  if (inputs.options.keep_weights == KeepWeights::kNone) return {};
  return [&inputs](const objective::Trial& trial, std::vector<objective::NamedTensor> tensors,
                   std::function<void()> written) {
    auto file = std::make_shared<store::WeightsFile>(describe(trial, inputs));
    file->tensors = std::move(tensors);
    const bool is_final = trial.phase == objective::Phase::kFinal;
    const auto path =
        is_final ? inputs.paths.final_weights(file->arch_id) : inputs.paths.weights(file->arch_id);
    inputs.storage.submit([path, file, done = std::move(written)] {
      store::write_weights(path, *file);
      done();
    });
  };
}

WeightsSource make_weights_source(const RunInputs& inputs) {
  if (!inputs.options.inherit) return {};
  const auto cache = std::make_shared<store::WeightsCache>(copies_folder(inputs), kMostCopiedBytes);
  return [&inputs, cache](const objective::Inheritance& inherits) {
    using File = std::shared_ptr<const store::WeightsFile>;
    const auto path = inputs.paths.weights(to_text(inherits.architecture->id));
    const File file = call_storage<File>(
        inputs.storage, [cache, path, from = inherits.from] { return cache->read(path, from); });
    return std::shared_ptr<const std::vector<objective::NamedTensor>>(file, &file->tensors);
  };
}

void remove_weights_copies(const RunInputs& inputs) {
  if (!inputs.options.inherit) return;
  const std::filesystem::path folder = copies_folder(inputs);
  std::error_code ignored;  // what stays costs room on the node, and nothing else
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
}

void WeightsRemoval::asked(const objective::Trial& trial) {
  if (trial.inherits) ++heirs_[trial.inherits->from];
}

void WeightsRemoval::committed(const objective::Trial& trial) {
  if (!trial.inherits) return;
  const auto heirs = heirs_.find(trial.inherits->from);
  if (--heirs->second > 0) return;
  heirs_.erase(heirs);
  const auto waiting = dropped_.find(trial.inherits->from);
  if (waiting == dropped_.end()) return;
  remove(waiting->second);
  dropped_.erase(waiting);
}

void WeightsRemoval::drop(const objective::Trial& trial) {
  if (heirs_.contains(trial.number)) {
    dropped_[trial.number] = trial.architecture().id;
  } else {
    remove(trial.architecture().id);
  }
}

void WeightsRemoval::remove(space::ArchId arch) {
  inputs_.storage.submit([paths = inputs_.paths, id = to_text(arch)] {
    store::remove_file(paths.weights(id));
    store::remove_file(paths.final_weights(id));
  });
}

}  // namespace skyline::engine
