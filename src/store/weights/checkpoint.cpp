#include "store/weights/checkpoint.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/stamp_attributes.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/sealed_file.hpp"
#include "store/weights/checkpoint_name.hpp"

#include <span>
#include <utility>
#include <vector>

namespace skyline::store {
namespace {

constexpr std::string_view kCheckpointFormat = "skyline-checkpoint";
constexpr std::int64_t kCheckpointVersion = 1;

std::string array_place(const std::string& name) {
  require(!name.empty() && name != "." && name.find('/') == std::string::npos,
          "an array's name cannot be that of an HDF5 dataset");
  return "arrays/" + name;
}

void write_integer(Hdf5Image& image, const char* key, std::int64_t value) {
  image.write_attribute("/", key, H5T_NATIVE_INT64, &value);
}

void write_number(Hdf5Image& image, const char* key, double value) {
  image.write_attribute("/", key, H5T_NATIVE_DOUBLE, &value);
}

void write_numbers(Hdf5Image& image, const char* name, const std::vector<double>& values) {
  const hsize_t dims[] = {values.size()};
  const auto bytes = std::as_bytes(std::span(values));
  image.write_array(name, H5T_NATIVE_DOUBLE, dims,
                    std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void write_owner(Hdf5Image& image, const CheckpointOwner& owner) {
  write_stamp(image, owner.run);
  image.write_attribute("/", "arch_id", owner.arch_id);
  image.write_attribute("/", "phase",
                        to_text(owner.trial.is_final ? trial::Phase::kFinal : trial::Phase::kSearch));
  image.write_attribute("/", "trial", H5T_NATIVE_UINT64, &owner.trial.number);
  image.write_attribute("/", "seed", H5T_NATIVE_UINT64, &owner.seed);
  write_number(image, "epochs", owner.epochs);
  if (owner.members > 1) image.write_attribute("/", "members", H5T_NATIVE_UINT64, &owner.members);
  if (owner.inherits_from) {
    image.write_attribute("/", "inherits_from", H5T_NATIVE_UINT64, &*owner.inherits_from);
  }
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

CheckpointOwner read_owner(const Hdf5Reader& reader) {
  CheckpointOwner owner;
  owner.run = read_stamp(reader);
  owner.arch_id = reader.text_attribute("arch_id");
  owner.trial.is_final = trial::parse_phase(reader.text_attribute("phase")) == trial::Phase::kFinal;
  owner.trial.number = reader.unsigned_attribute("trial");
  owner.seed = reader.unsigned_attribute("seed");
  owner.epochs = reader.number_attribute("epochs");
  if (reader.has_attribute("members")) owner.members = reader.unsigned_attribute("members");
  if (reader.has_attribute("inherits_from")) owner.inherits_from = reader.unsigned_attribute("inherits_from");
  return owner;
}

trial::TrainingState read_state(const Hdf5Reader& reader) {
  trial::TrainingState state;
  state.step = reader.integer_attribute("step");
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
};

/// @throws UserError: damaged, of another owner, or of a newer format
SequencedCheckpoint read_checkpoint(const std::filesystem::path& path, const CheckpointOwner& owner) {
  const std::string file = read_file(path);
  const auto bytes = std::as_bytes(std::span(file));
  check_seal(bytes, kCheckpointFormat, "checkpoint", path);
  const Hdf5Reader reader(bytes.subspan(kSealBytes), path);
  reader.check_version("checkpoint", kCheckpointVersion);
  SequencedCheckpoint found{{read_owner(reader), {}}, reader.unsigned_attribute("sequence")};
  if (found.checkpoint.owner != owner) {
    throw UserError(path.string() + ": the checkpoint of another trial (trial " +
                    to_text(found.checkpoint.owner.trial) + ", architecture " +
                    found.checkpoint.owner.arch_id +
                    ", or of a run with other settings or another version of Skyline)");
  }
  found.checkpoint.state = read_state(reader);
  return found;
}

/// What a trial does when one of its checkpoints is passed over.
std::string instead(const std::optional<SequencedCheckpoint>& newest, const RunPaths& paths) {
  if (!newest) return "training from the start";
  const TrialCheckpoint& checkpoint = newest->checkpoint;
  const std::string name =
      checkpoint_path(paths, checkpoint.owner.trial, newest->sequence % kCheckpointNames).filename().string();
  return "going on from step " + std::to_string(checkpoint.state.step) + " of " + name;
}

}  // namespace

void write_checkpoint(const RunPaths& paths, const TrialCheckpoint& checkpoint, std::uint64_t sequence,
                      Effort effort) {
  const std::filesystem::path path =
      checkpoint_path(paths, checkpoint.owner.trial, sequence % kCheckpointNames);
  Hdf5Image image(path, {.user_block = kSealBytes, .num_objects = 16 + checkpoint.state.arrays.size()});
  image.write_attribute("/", "format", kCheckpointFormat);
  write_integer(image, "version", kCheckpointVersion);
  write_owner(image, checkpoint.owner);
  image.write_attribute("/", "sequence", H5T_NATIVE_UINT64, &sequence);
  write_integer(image, "step", checkpoint.state.step);
  write_state(image, checkpoint.state);
  publish_sealed(image, kCheckpointFormat, {}, effort);
}

std::optional<FoundCheckpoint> find_checkpoint(const RunPaths& paths, const CheckpointOwner& owner) {
  std::optional<SequencedCheckpoint> newest;
  std::vector<std::string> passed_over;
  for (std::uint64_t turn = 0; turn < kCheckpointNames; ++turn) {
    try {
      const std::filesystem::path path = checkpoint_path(paths, owner.trial, turn);
      if (!store::exists(path)) continue;
      SequencedCheckpoint found = read_checkpoint(path, owner);
      if (!newest || found.sequence > newest->sequence) newest = std::move(found);
    } catch (const Problem& error) {
      passed_over.emplace_back(error.what());
    }
  }
  for (const std::string& problem : passed_over) {
    log::warning("trial " + to_text(owner.trial) + ": " + problem + "; " + instead(newest, paths));
  }
  if (!newest) return std::nullopt;
  return FoundCheckpoint{std::move(newest->checkpoint), newest->sequence + 1};
}

void remove_checkpoints(const RunPaths& paths, trial::TrialName trial) {
  for (std::uint64_t turn = 0; turn < kCheckpointNames; ++turn)
    remove_file(checkpoint_path(paths, trial, turn));
}

}  // namespace skyline::store
