#include "store/weights/checkpoint.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/run_folder/running_trials.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::store {
namespace {

constexpr std::string_view kCheckpointFormat = "skyline-checkpoint";
constexpr std::int64_t kCheckpointVersion = 4;

constexpr std::string_view kKeptEnd = ".kept.h5";

constexpr std::uint64_t kTurns = 2;  // names of an attempt's checkpoints

std::string checkpoint_end(std::uint64_t turn) {
  return "." + std::to_string(turn) + ".h5";
}

/// Returns the trial whose name is before `end`.
std::optional<trial::TrialName> trial_before(std::string_view name, std::string_view end) {
  if (!name.ends_with(end)) return std::nullopt;
  return parse_trial_name(name.substr(0, name.size() - end.size()));
}

std::string array_place(const std::string& name) {
  require(!name.empty() && name != "." && name.find('/') == std::string::npos,
          "an array's name cannot be that of an HDF5 dataset");
  return "arrays/" + name;
}

void write_numbers(Hdf5Image& image, const char* name, const std::vector<double>& values) {
  const hsize_t dims[] = {values.size()};
  const auto bytes = std::as_bytes(std::span(values));
  image.write_array(name, H5T_NATIVE_DOUBLE, dims,
                    std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void write_state(Hdf5Image& image, const trial::TrainingState& state) {
  std::vector<std::string> names;
  std::vector<double> numbers;
  for (const trial::TrainingState::Number& number : state.numbers) {
    names.push_back(number.name);
    numbers.push_back(number.value);
  }
  image.write_texts("number_names", names);
  write_numbers(image, "numbers", numbers);
  names.clear();
  for (const trial::TrainingState::Array& array : state.arrays) names.push_back(array.name);
  image.write_texts("array_names", names);
  image.make_group("arrays");
  for (const trial::TrainingState::Array& array : state.arrays) {
    const hsize_t dims[] = {array.values.size()};
    image.refer_array(array_place(array.name), H5T_NATIVE_FLOAT, dims,
                      std::as_bytes(std::span(array.values)));
  }
}

trial::TrainingState read_state(const Hdf5Reader& reader) {
  trial::TrainingState state;
  state.step = reader.number_attribute<std::int64_t>("step");
  const std::vector<std::string> names = reader.texts("number_names");
  const std::vector<double> numbers = reader.numbers("numbers");
  require(names.size() == numbers.size(), "a checkpoint's numbers and their names are not equally many");
  for (std::size_t i = 0; i < names.size(); ++i) state.numbers.push_back({names[i], numbers[i]});
  for (const std::string& name : reader.texts("array_names")) {
    state.arrays.push_back({name, reader.floats(array_place(name))});
  }
  return state;
}

struct SequencedCheckpoint {
  TrialCheckpoint checkpoint;
  std::uint64_t sequence = 0;
  std::filesystem::path path;
};

/// Reads one file. @throws UserError if it is damaged, of another training, or of another format
SequencedCheckpoint read_checkpoint(const std::filesystem::path& path, trial::TrialName trial,
                                    const std::string& provenance) {
  const std::string file = read_file(path);
  const auto bytes = std::as_bytes(std::span(file));
  check_seal(bytes, kCheckpointFormat, "checkpoint", path);
  const Hdf5Reader reader(bytes.subspan(kSealBytes), path);
  reader.check_version("checkpoint", kCheckpointVersion);
  if (reader.text_attribute("provenance") != provenance) {
    throw UserError(
        path.string() +
        ": the checkpoint of another trial, or of a run with other settings or another version of "
        "Skyline");
  }
  return {{trial, provenance, read_state(reader)}, reader.number_attribute<std::uint64_t>("sequence"), path};
}

/// Says how a trial continues when one of its checkpoints is ignored.
std::string instead(const std::optional<SequencedCheckpoint>& newest) {
  if (!newest) return "training from the start";
  return "going on from step " + std::to_string(newest->checkpoint.state.step) + " of " +
         newest->path.filename().string();
}

void write_state_file(const std::filesystem::path& path, const TrialCheckpoint& checkpoint,
                      std::uint64_t sequence, Effort effort) {
  Hdf5Image image(path, {.user_block = kSealBytes, .num_objects = 24 + checkpoint.state.arrays.size()});
  image.write_attribute("/", "format", kCheckpointFormat);
  image.write_attribute("/", "version", kCheckpointVersion);
  image.write_attribute("/", "provenance", checkpoint.provenance);
  image.write_attribute("/", "sequence", sequence);
  image.write_attribute("/", "step", checkpoint.state.step);
  write_state(image, checkpoint.state);
  publish_sealed(image, kCheckpointFormat, {}, effort);
}

/// Removes temporaries of any process, because only the holder of the claim writes here.
std::size_t remove_all_temporaries(const std::filesystem::path& folder) {
  std::size_t removed = 0;
  for (const std::filesystem::path& path : list_folder(folder)) {
    TemporaryName name;
    if (!parse_temporary_name(path.filename().string(), name)) continue;
    remove_file(path);
    ++removed;
  }
  return removed;
}

}  // namespace

void write_checkpoint(const RunPaths& paths, const TrialCheckpoint& checkpoint, std::uint64_t sequence,
                      Effort effort) {
  const std::uint64_t turn = checkpoint.attempt % kMostAttempts * kTurns + sequence % kTurns;
  write_state_file(checkpoint_path(paths, checkpoint.trial, turn), checkpoint, sequence, effort);
}

std::optional<FoundCheckpoint> find_checkpoint(const RunPaths& paths, trial::TrialName trial,
                                               const std::string& provenance) {
  std::optional<SequencedCheckpoint> newest;
  std::vector<std::string> passed_over;
  for (std::uint64_t turn = 0; turn < kTurns * kMostAttempts; ++turn) {
    try {
      const std::filesystem::path path = checkpoint_path(paths, trial, turn);
      if (!store::exists(path)) continue;
      SequencedCheckpoint found = read_checkpoint(path, trial, provenance);
      if (!newest || found.sequence > newest->sequence) newest = std::move(found);
    } catch (const Problem& error) {
      passed_over.emplace_back(error.what());
    }
  }
  for (const std::string& problem : passed_over) {
    log::warning("trial " + to_text(trial) + ": " + problem + "; " + instead(newest));
  }
  if (!newest) return std::nullopt;
  return FoundCheckpoint{std::move(newest->checkpoint), newest->sequence + 1};
}

void remove_checkpoints(const RunPaths& paths, trial::TrialName trial, std::uint32_t attempts) {
  for (std::uint64_t turn = 0; turn < kTurns * std::min(attempts, kMostAttempts); ++turn) {
    remove_file(checkpoint_path(paths, trial, turn));
  }
}

std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialName trial, std::uint64_t turn) {
  return paths.checkpoints() / (to_text(trial) + checkpoint_end(turn));
}

void write_kept_state(const RunPaths& paths, const TrialCheckpoint& state) {
  write_state_file(kept_state_path(paths, state.trial.number), state, 0, Effort::kPatient);
}

std::optional<trial::TrainingState> find_kept_state(const RunPaths& paths, trial::TrialNumber number,
                                                    const std::string& provenance) {
  const std::filesystem::path path = kept_state_path(paths, number);
  if (!store::exists(path)) return std::nullopt;
  return read_checkpoint(path, {number}, provenance).checkpoint.state;
}

std::set<trial::TrialName> checkpointed_trials(const RunPaths& paths) {
  std::set<trial::TrialName> trials;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    if (const auto trial = trial_of_checkpoint(path.filename().string())) trials.insert(*trial);
  }
  return trials;
}

std::set<trial::TrialNumber> kept_states(const RunPaths& paths) {
  std::set<trial::TrialNumber> numbers;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    const auto trial = trial_before(path.filename().string(), kKeptEnd);
    if (trial && !trial->is_final) numbers.insert(trial->number);
  }
  return numbers;
}

void remove_kept_state(const RunPaths& paths, trial::TrialNumber number) {
  remove_file(kept_state_path(paths, number));
}

std::filesystem::path kept_state_path(const RunPaths& paths, trial::TrialNumber number) {
  return paths.checkpoints() / (std::to_string(number) + std::string(kKeptEnd));
}

std::optional<trial::TrialName> trial_of_checkpoint(const std::string& name) {
  for (std::uint64_t turn = 0; turn < kTurns * kMostAttempts; ++turn) {
    if (const auto trial = trial_before(name, checkpoint_end(turn))) return trial;
  }
  return std::nullopt;
}

RecoveredFolder recover_run_folder(const RunPaths& paths, const trial::CommitLog& committed,
                                   const trial::Budget& final_budget) {
  RecoveredFolder recovered;
  // Other jobs that are trying to claim the folder may have temporaries at its top, so only abandoned ones
  // are removed there.
  recovered.temporaries = remove_temporaries(paths.root);
  for (const std::filesystem::path& folder : paths.folders()) {
    recovered.temporaries += remove_all_temporaries(folder);
  }
  std::set<trial::TrialName> begun;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    const std::optional<trial::TrialName> trial = trial_of_checkpoint(path.filename().string());
    if (!trial) continue;
    if (committed.contains(*trial, final_budget)) {
      remove_file(path);
      ++recovered.checkpoints;
    } else {
      begun.insert(*trial);
    }
  }
  recovered.begun_trials = begun.size();
  return recovered;
}

}  // namespace skyline::store
