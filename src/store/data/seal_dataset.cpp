#include "store/data/seal_dataset.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/running_hash.hpp"
#include "store/data/channel_moments.hpp"
#include "store/data/dataset_layout.hpp"
#include "store/data/mapped_dataset.hpp"
#include "store/data/unsealed_file.hpp"
#include "store/hdf5/hdf5_handle.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Adds to an HDF5 file in place. What it had stays where it is. The same calls on the same file give the
/// same bytes.
class Hdf5Editor {
 public:
  /// @throws UserError if the library cannot open it
  explicit Hdf5Editor(const std::filesystem::path& path);
  /// Adds an array of one dimension. @throws UserError
  void add_numbers(const std::string& name, const std::vector<double>& numbers);
  /// Adds an attribute to an object. @throws UserError
  void add_attribute(const std::string& name, const char* key, std::string_view text);
  /// Writes everything to the file. Call once, at the end. @throws UserError
  void close();

 private:
  template <typename T>
  T check(T result) const {
    return check_hdf5(result, "write", path_);
  }

  std::filesystem::path path_;
  Hdf5File file_;
};

Hdf5Editor::Hdf5Editor(const std::filesystem::path& path)
    : path_(path), file_(open_hdf5_file(path, H5F_ACC_RDWR)) {}

void Hdf5Editor::add_numbers(const std::string& name, const std::vector<double>& numbers) {
  const hsize_t count = numbers.size();
  const Hdf5Space space(check(H5Screate_simple(1, &count, nullptr)));
  const Hdf5PropertyList creation(check(H5Pcreate(H5P_DATASET_CREATE)));
  check(H5Pset_obj_track_times(creation.get(), false));
  const Hdf5Dataset array(check(H5Dcreate2(file_.get(), name.c_str(), H5T_IEEE_F64LE, space.get(),
                                           H5P_DEFAULT, creation.get(), H5P_DEFAULT)));
  check(H5Dwrite(array.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()));
}

void Hdf5Editor::add_attribute(const std::string& name, const char* key, std::string_view text) {
  add_hdf5_attribute(file_, name, key, text, path_);
}

void Hdf5Editor::close() {
  check(H5Fclose(file_.release()));
}

constexpr std::size_t kBytesAtOnce = std::size_t{1} << 24;

/// Returns some samples of a part, without their groups.
SampleView samples_between(const SampleView& part, std::size_t begin, std::size_t count) {
  SampleView view{.values = {}, .targets = {}, .count = count};
  const auto cut = [&](auto& cut_values, auto values) {
    const std::size_t each = values.size() / part.count;
    cut_values = values.subspan(begin * each, count * each);
  };
  std::visit([&](auto values) { cut(view.values, values); }, part.values);
  std::visit([&](auto targets) { cut(view.targets, targets); }, part.targets);
  return view;
}

/// Finds what a sealed file says of its values, and checks them.
class ValueSums {
 public:
  ValueSums(const MappedDataset& made, const fs::path& path)
      : made_(made),
        path_(path),
        moments_(static_cast<std::size_t>(made.shape().channels),
                 static_cast<std::size_t>(made.shape().height * made.shape().width), made.value_scale()) {}

  /// Returns false if it was stopped.
  bool add_part(const SampleView& part, const std::string& name,
                const std::function<bool()>& stop_requested) {
    hashes_.try_emplace(name + "/values");
    hashes_.try_emplace(name + "/targets");
    const std::size_t bytes = std::visit([](auto values) { return values.size_bytes(); }, part.values);
    const std::size_t of_sample = bytes / std::max<std::size_t>(part.count, 1);
    const std::size_t most = std::max<std::size_t>(kBytesAtOnce / std::max<std::size_t>(of_sample, 1), 1);
    for (std::size_t begin = 0; begin < part.count; begin += most) {
      if (stop_requested()) return false;
      add_samples(samples_between(part, begin, std::min(most, part.count - begin)), name, begin);
    }
    if (!part.groups.empty()) hashes_[kGroupsName].add(std::as_bytes(part.groups));
    return true;
  }
  const ChannelMoments& moments() const { return moments_; }
  /// Returns the hashes of the arrays by name, also those of empty parts.
  std::map<std::string, RunningHash>& hashes() { return hashes_; }

 private:
  void add_samples(const SampleView& samples, const std::string& name, std::size_t begin) {
    check_values(samples, made_.class_names().size(), name, path_, begin);
    std::visit([&](auto targets) { hashes_[name + "/targets"].add(std::as_bytes(targets)); },
               samples.targets);
    std::visit(
        [&](auto values) {
          hashes_[name + "/values"].add(std::as_bytes(values));
          if (name == "train") moments_.add(values);
        },
        samples.values);
  }

  const MappedDataset& made_;
  const fs::path& path_;
  ChannelMoments moments_;
  std::map<std::string, RunningHash> hashes_;
};

void check_class_names(const MappedDataset& made, const fs::path& path) {
  for (const std::string& name : made.class_names()) {
    if (printable(name) == name) continue;
    throw UserError(path.string() +
                    ": expected names of classes in UTF-8 and without control characters, got `" +
                    printable(name) + "`: rename it");
  }
}

/// Adds to the file what its values say. Returns its arrays with their sums; nullopt if it was stopped.
std::optional<std::vector<Seal::Array>> complete(const fs::path& path,
                                                 const std::function<bool()>& stop_requested) {
  MappedDataset made = MappedDataset::before_seal(path);
  made.read_layout();
  check_class_names(made, path);
  ValueSums sums(made, path);
  const bool is_whole = sums.add_part(made.train(), "train", stop_requested) &&
                        sums.add_part(made.validation(), "validation", stop_requested) &&
                        sums.add_part(made.test(), "test", stop_requested);
  if (!is_whole) return std::nullopt;
  std::vector<Seal::Array> arrays = made.arrays();
  for (Seal::Array& array : arrays) array.sum = sums.hashes().at(array.name).checksum();
  Hdf5Editor editor(path);
  editor.add_numbers("mean", sums.moments().mean());
  editor.add_numbers("deviation", sums.moments().deviation());
  for (auto& [name, hash] : sums.hashes()) editor.add_attribute(name, "sha256", hash.sha256_hex());
  editor.close();
  return arrays;
}

void bear(int error, const fs::path& path, std::string_view call) {
  if (error != 0) fail_system("write", path, call, error);
}

std::filesystem::path facts_path(const std::filesystem::path& path) {
  return path.string() + ".seal";
}

UnsealedFacts facts_in(const Json& json) {
  UnsealedFacts facts;
  facts.seal.format = json.at("format");
  facts.seal.bytes = json.at("bytes");
  facts.seal.structure = json.at("structure");
  for (const Json& array : json.at("arrays")) {
    facts.seal.arrays.push_back({array.at("name"), array.at("offset"), array.at("bytes"), array.at("sum")});
  }
  facts.mean = json.at("mean").get<std::vector<double>>();
  facts.deviation = json.at("deviation").get<std::vector<double>>();
  return facts;
}

}  // namespace

bool seal_dataset(const fs::path& made, const fs::path& target, const std::function<bool()>& stop_requested) {
  auto arrays = complete(made, stop_requested);
  if (!arrays) return false;
  FileDescriptor file = open_file(made, O_RDWR);
  if (!file) bear(errno, made, "open");
  const std::string seal = make_seal({MappedFile(made).bytes()}, kDatasetFormat, std::move(*arrays));
  bear(write_at(file, std::as_bytes(std::span(seal)), 0), made, "write");
  MappedDataset(made).read();  // check: every later reader reads it so
  bear(sync_file(file), made, "fsync");
  bear(close_file(std::move(file)), made, "close");
  if (::rename(made.c_str(), target.c_str()) != 0) bear(errno, target, "rename");
  bear(sync_folder(target.parent_path()), target, "fsync of the folder");
  return true;
}

bool is_plain_hdf5(std::span<const std::byte> file) {
  return std::string_view(reinterpret_cast<const char*>(file.data()), file.size())
      .starts_with("\x89HDF\r\n\x1a\n");
}

std::optional<UnsealedFacts> known_facts(const std::filesystem::path& path,
                                         const MappedFile::Version& version) {
  try {
    const Json json = Json::parse(shallow_json(read_file(facts_path(path))));
    if (json.at("bytes") != version.bytes || json.at("written_ns") != version.written_ns) return std::nullopt;
    UnsealedFacts facts = facts_in(json);
    const bool inside = std::ranges::all_of(facts.seal.arrays, [&](const Seal::Array& array) {
      return array.offset <= version.bytes && array.bytes <= version.bytes - array.offset;
    });
    return inside ? std::optional(std::move(facts)) : std::nullopt;
  } catch (const Problem&) {
    return std::nullopt;  // there is no such file
  } catch (const Json::exception&) {
    return std::nullopt;  // the file is not whole
  }
}

void keep_facts(const std::filesystem::path& path, const MappedFile::Version& version,
                const UnsealedFacts& facts) {
  Json json{{"format", facts.seal.format},
            {"bytes", version.bytes},
            {"written_ns", version.written_ns},
            {"structure", facts.seal.structure},
            {"mean", facts.mean},
            {"deviation", facts.deviation},
            {"arrays", Json::array()}};
  for (const Seal::Array& array : facts.seal.arrays) {
    json["arrays"].push_back(
        {{"name", array.name}, {"offset", array.offset}, {"bytes", array.bytes}, {"sum", array.sum}});
  }
  try {
    publish_file(facts_path(path), json.dump(1) + "\n", Effort::kOnce);
  } catch (const Problem& problem) {
    log::info(path.string() + " is read as a whole each time that it is opened: " + problem.what());
  }
}

}  // namespace skyline::store
