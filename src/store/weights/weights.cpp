#include "store/weights/weights.hpp"

#include "skyline/core/error.hpp"

#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/running_trials.hpp"

#include <cerrno>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::string_view kWeightsFormat = "skyline-weights";
constexpr std::int64_t kWeightsVersion = 5;
constexpr const char* kNames = "tensor_names";

/// The layer of a tensor and its name in the layer, separated by the last point.
struct TensorPlace {
  std::string group;
  std::string array;
};

TensorPlace tensor_place(const std::string& name) {
  const std::size_t point = name.rfind('.');
  const bool usable = point != std::string::npos && point > 0 && point + 1 < name.size() &&
                      name.find('/') == std::string::npos;
  require(usable, "a tensor's name is not <layer>.<name>");
  const std::string group = "tensors/" + name.substr(0, point);
  return {group, group + "/" + name.substr(point + 1)};
}

void write_tensors(Hdf5Image& image, const std::vector<trial::NamedTensor>& tensors) {
  image.make_group("tensors");
  std::vector<std::string> names;
  std::set<std::string> groups;
  for (const trial::NamedTensor& tensor : tensors) {
    const TensorPlace place = tensor_place(tensor.name);
    if (groups.insert(place.group).second) image.make_group(place.group);
    const std::vector<hsize_t> dims(tensor.dims.begin(), tensor.dims.end());
    image.refer_array(place.array, H5T_NATIVE_FLOAT, dims, std::as_bytes(std::span(tensor.values)));
    names.push_back(tensor.name);
  }
  image.write_texts(kNames, names);
}

/// @throws UserError like read_weights
WeightsFile decode_weights(std::string_view file, const std::filesystem::path& path) {
  const auto bytes = std::as_bytes(std::span(file));
  check_seal(bytes, kWeightsFormat, "weights file", path);
  const Hdf5Reader reader(bytes.subspan(kSealBytes), path);
  reader.check_version("weights file", kWeightsVersion);
  WeightsFile weights;
  weights.trial = reader.number_attribute<std::uint64_t>("trial");
  weights.provenance = reader.text_attribute("provenance");
  weights.genotype = reader.text_attribute("genotype");
  for (const std::string& name : reader.texts(kNames)) {
    const std::string array = tensor_place(name).array;
    weights.tensors.push_back({name, reader.array_dims(array), reader.floats(array)});
  }
  return weights;
}

}  // namespace

void write_weights(const std::filesystem::path& path, const WeightsFile& weights) {
  // Each layer is a group, often with two tensors.
  Hdf5Image image(path, {.user_block = kSealBytes, .num_objects = 8 + 2 * weights.tensors.size()});
  image.write_attribute("/", "format", kWeightsFormat);
  image.write_attribute("/", "version", kWeightsVersion);
  image.write_attribute("/", "trial", weights.trial);
  image.write_attribute("/", "provenance", weights.provenance);
  image.write_attribute("/", "genotype", weights.genotype);
  write_tensors(image, weights.tensors);
  publish_sealed(image, kWeightsFormat);
}

WeightsFile read_weights(const std::filesystem::path& path) {
  return decode_weights(read_file(path), path);
}

WeightsReading try_weights(const std::filesystem::path& path, trial::TrialNumber trial) {
  std::string file;
  if (const Fault fault = read_once(path, file)) {
    const bool missing = fault.error == ENOENT;  // a name of the shared folder may not show yet
    const std::string what = missing ? "there is no such file" : system_error_text(fault.error);
    return {nullptr, path.string() + ": " + what, missing || is_transient(fault.error)};
  }
  try {
    auto weights = std::make_shared<const WeightsFile>(decode_weights(file, path));
    if (weights->trial == trial) return {std::move(weights), "", false};
    return {nullptr,
            path.string() + ": expected the weights of trial " + std::to_string(trial) +
                ", got those of trial " + std::to_string(weights->trial),
            true};
  } catch (const UserError& error) {
    return {nullptr, error.what(), false};
  }
}

void remove_weights(const RunPaths& paths, trial::TrialName name) {
  if (name.is_final) remove_file(paths.answers(name));
  remove_file(paths.weights(name));
}

void remove_unwanted_weights(const RunPaths& paths, const std::set<trial::TrialName>& names) {
  for (const std::filesystem::path& path : list_folder(paths.weights_folder())) {
    const auto trial = parse_trial_name(path.stem().string());
    if (trial && names.contains(*trial) && path == paths.weights(*trial)) remove_weights(paths, *trial);
  }
}

}  // namespace skyline::store
