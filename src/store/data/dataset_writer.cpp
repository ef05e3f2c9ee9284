#include "skyline/core/error.hpp"
#include "skyline/store/importer.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "core/text/running_hash.hpp"
#include "store/data/channel_moments.hpp"
#include "store/data/dataset_layout.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/temporary_file.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::uint64_t kArrayAlignment = 64;  // alignment of arrays in an Hdf5Image
constexpr std::size_t kNumObjects = 16;        // at least the number of objects in a data set

template <typename Spans>
hid_t stored_type_of(const Spans& spans) {
  return std::visit([](auto span) { return stored_type(typename decltype(span)::value_type{}); }, spans);
}

std::string array_name(Part part, const char* array) {
  return std::string(to_text(part)) + "/" + array;
}

/// Begins an image up to its first array. The first text makes the library reserve room for more texts.
/// Without it that room would lie after the values, and the library would hold all bytes up to it.
void begin_image(Hdf5Image& image) {
  image.write_attribute("/", "format", kDatasetFormat);
  for (const Part part : kAllParts) image.make_group(to_text(part));
}

/// Returns the place at which the first array of a data set begins, whatever its size.
std::uint64_t first_array_offset(const std::filesystem::path& path) {
  Hdf5Image image(path, {.user_block = kSealBytes, .num_objects = kNumObjects});
  begin_image(image);
  const hsize_t dims[] = {1};
  const std::string name = array_name(Part::kTrain, "values");
  image.place_array(name, H5T_STD_U8LE, dims);
  return image.array_offset(name);
}

}  // namespace

const char* to_text(Part part) {
  constexpr std::array kNames{"train", "validation", "test"};
  return kNames.at(static_cast<std::size_t>(part));
}

struct DatasetWriter::State {
  /// The samples of one part that are written so far.
  struct Written {
    std::size_t count = 0;
    std::uint64_t begin = 0;  // place of its values in the file
    std::uint64_t bytes = 0;
    RunningHash hash;
    std::vector<std::byte> targets;
    std::vector<std::size_t> classes;  // number of samples of each class
  };

  explicit State(const std::filesystem::path& target)
      : path(target), file(target), place(first_array_offset(target)) {
    bear(file.create());
  }
  /// Fails at the first fault: the samples that were written are gone and cannot be written again.
  void bear(const Fault& fault) const {
    if (fault) fail_system("write", path, fault.call, fault.error);
  }
  void begin_part(Part part);
  void add_values(Hdf5Image& image, std::vector<Seal::Array>& arrays);
  void describe_image(Hdf5Image& image) const;
  void add_targets(Hdf5Image& image, std::vector<Seal::Array>& arrays);
  void add_groups(Hdf5Image& image, std::vector<Seal::Array>& arrays) const;
  void write_structure(const FilePieces& pieces);

  std::filesystem::path path;
  TemporaryFile file;
  std::uint64_t place;  // place of the next values
  std::optional<DatasetFacts> facts;
  std::optional<SampleView> first;  // has the types; its spans are no longer valid
  std::optional<ChannelMoments> moments;
  std::array<Written, kAllParts.size()> written;
  std::vector<std::int32_t> groups;  // of the training samples, if they have some
  std::vector<std::string> notes;
  Part part = Part::kTrain;
};

DatasetWriter::DatasetWriter(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
DatasetWriter::~DatasetWriter() = default;

void DatasetWriter::describe(const DatasetFacts& facts) {
  const space::Shape& shape = facts.shape;
  if (std::min({shape.channels, shape.height, shape.width}) < 1)
    throw UserError(state_->path.string() + ": samples of shape " + space::to_text(shape));
  if (shape.channels > kMostChannels)
    throw UserError(state_->path.string() + ": expected samples of at most " + std::to_string(kMostChannels) +
                    " channels or features, got " + std::to_string(shape.channels));
  for (const std::string& name : facts.class_names) {
    if (printable(name) == name) continue;
    throw UserError(state_->path.string() +
                    ": expected names of classes in UTF-8 and without control characters, got `" +
                    printable(name) + "`: rename it");
  }
  state_->facts = facts;
  state_->moments.emplace(static_cast<std::size_t>(shape.channels),
                          static_cast<std::size_t>(shape.height * shape.width), facts.value_scale);
}

void DatasetWriter::check_room(std::uint64_t bytes) const {
  std::error_code failure;
  const auto folder = std::filesystem::absolute(state_->path).parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder, failure);
  if (failure || space.available >= bytes) return;
  throw UserError(state_->path.string() + ": needs " + std::to_string(bytes) + " bytes, and " +
                  std::to_string(space.available) + " are free");
}

void DatasetWriter::State::begin_part(Part next) {
  require(next >= part, "the parts of a data set are written in order");
  Written& now = written[static_cast<std::size_t>(next)];
  if (now.count == 0) {
    place = (place + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
    now.begin = place;
  }
  part = next;
}

void DatasetWriter::append(Part part, const SampleView& samples) {
  State& state = *state_;
  require(state.facts.has_value(), "a data set is described before its samples come");
  if (samples.count == 0) return;
  const std::size_t outputs = state.facts->class_names.size();
  if (!state.first) state.first = samples;
  require(state.first->values.index() == samples.values.index() &&
              state.first->targets.index() == samples.targets.index(),
          "the samples of a data set have the same types");
  check_values(samples, outputs, to_text(part), state.path);
  state.begin_part(part);
  State::Written& written = state.written[static_cast<std::size_t>(part)];
  written.count += samples.count;
  std::visit(
      [&](auto values) {
        const auto bytes = std::as_bytes(values);
        require(values.size() == samples.count * static_cast<std::size_t>(state.facts->shape.elements()),
                "the values of samples fill their shape");
        if (part == Part::kTrain) state.moments->add(values);
        state.bear(state.file.write({bytes}, state.place));
        state.place += bytes.size();
        written.bytes += bytes.size();
        written.hash.add(bytes);
      },
      samples.values);
  std::visit(
      [&](auto targets) {
        const auto bytes = std::as_bytes(targets);
        written.targets.insert(written.targets.end(), bytes.begin(), bytes.end());
      },
      samples.targets);
  if (part == Part::kTrain) {
    state.groups.insert(state.groups.end(), samples.groups.begin(), samples.groups.end());
    require(state.groups.empty() || state.groups.size() == written.count, "each training sample has a group");
  }
  if (samples.target_kind() != TargetKind::kClasses) return;
  written.classes.resize(outputs);
  for (const std::int32_t label : samples.classes()) ++written.classes[static_cast<std::size_t>(label)];
}

void DatasetWriter::State::describe_image(Hdf5Image& image) const {
  image.write_attribute("/", "version", kDatasetVersion);
  image.write_attribute("/", "source", facts->source);
  image.write_attribute("/", "value_scale", facts->value_scale);
  if (facts->in_time_order) image.write_attribute("/", kSplitAttribute, kSplitLast);
  image.write_texts("class_names", facts->class_names);
  if (!facts->preparation.empty()) image.write_texts("preparation", {facts->preparation});
  const hsize_t channels[] = {static_cast<hsize_t>(facts->shape.channels)};
  const auto write = [&](const char* name, const std::vector<double>& numbers) {
    std::string bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
    image.write_array(name, H5T_NATIVE_DOUBLE, channels, std::move(bytes));
  };
  write("mean", moments->mean());
  write("deviation", moments->deviation());
}

/// Places the values, which are in the file already, where an image has its first arrays. An empty part gets
/// the types of the others.
void DatasetWriter::State::add_values(Hdf5Image& image, std::vector<Seal::Array>& arrays) {
  const space::Shape& shape = facts->shape;
  for (const Part each : kAllParts) {
    Written& of = written[static_cast<std::size_t>(each)];
    const std::string name = array_name(each, "values");
    const hsize_t dims[] = {of.count, static_cast<hsize_t>(shape.channels),
                            static_cast<hsize_t>(shape.height), static_cast<hsize_t>(shape.width)};
    image.place_array(name, stored_type_of(first->values), dims);
    if (of.count == 0) continue;
    require(image.array_offset(name) == of.begin, "values are not where the file says that they are");
    arrays.push_back({name, of.begin, of.bytes, of.hash.checksum()});
  }
}

void DatasetWriter::State::add_targets(Hdf5Image& image, std::vector<Seal::Array>& arrays) {
  for (const Part each : kAllParts) {
    Written& of = written[static_cast<std::size_t>(each)];
    const std::string name = array_name(each, "targets");
    const hsize_t dims[] = {of.count, facts->class_names.size()};
    const std::size_t rank = first->target_kind() == TargetKind::kClasses ? 1 : 2;
    image.refer_array(name, stored_type_of(first->targets), std::span(dims).first(rank), of.targets);
    if (of.count > 0) arrays.push_back({name, image.array_offset(name), of.targets.size(), {}});
    image.write_attribute(array_name(each, "values"), "sha256", of.hash.sha256_hex());
    image.write_attribute(name, "sha256", sha256_hex(std::span<const std::byte>(of.targets)));
  }
}

void DatasetWriter::State::add_groups(Hdf5Image& image, std::vector<Seal::Array>& arrays) const {
  if (groups.empty()) return;
  const auto bytes = std::as_bytes(std::span(groups));
  const hsize_t dims[] = {groups.size()};
  image.refer_array(kGroupsName, stored_type(std::int32_t{}), dims, bytes);
  image.write_attribute(kGroupsName, "sha256", sha256_hex(bytes));
  arrays.push_back({kGroupsName, image.array_offset(kGroupsName), bytes.size(), {}});
}

void DatasetWriter::State::write_structure(const FilePieces& pieces) {
  std::uint64_t offset = 0;
  for (const std::span<const std::byte> piece : pieces) {
    if (piece.data() != nullptr) bear(file.write({piece}, offset));
    offset += piece.size();
  }
}

void DatasetWriter::finish() {
  State& state = *state_;
  if (!state.first) throw UserError(state.path.string() + ": there are no samples");
  Hdf5Image image(state.path, {.user_block = kSealBytes, .num_objects = kNumObjects});
  begin_image(image);
  std::vector<Seal::Array> arrays;
  state.add_values(image, arrays);
  state.describe_image(image);
  state.add_targets(image, arrays);
  state.add_groups(image, arrays);
  const FilePieces pieces = image.finish();
  state.write_structure(pieces);
  const std::string seal = make_seal(pieces, kDatasetFormat, std::move(arrays));
  state.bear(state.file.write({std::as_bytes(std::span(seal))}, 0));
  state.bear(state.file.sync());
  state.bear(state.file.replace_target());
}

void DatasetWriter::note(const std::string& line) {
  state_->notes.push_back(line);
}

const std::vector<std::string>& DatasetWriter::notes() const {
  return state_->notes;
}

const DatasetFacts& DatasetWriter::facts() const {
  return state_->facts.value();
}

std::size_t DatasetWriter::count(Part part) const {
  return state_->written[static_cast<std::size_t>(part)].count;
}

TargetKind DatasetWriter::target_kind() const {
  return state_->first.value().target_kind();
}

std::vector<std::size_t> DatasetWriter::class_counts(Part part) const {
  return state_->written[static_cast<std::size_t>(part)].classes;
}

}  // namespace skyline::store
