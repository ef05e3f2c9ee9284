#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "store/arrays/array_formats.hpp"
#include "store/hdf5/crash_watch.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/stored_array.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace skyline::store {
namespace {

template <typename T>
T check_read(T result, const std::filesystem::path& path) {
  return check_hdf5(result, "read", path);
}

/// Returns the elements' type in memory, in this machine's byte order, or nullopt if they are not numbers.
std::optional<ElementType> element_type(const Hdf5Dataset& array) {
  const Hdf5Type type(H5Dget_type(array.get()));
  const std::size_t bytes = H5Tget_size(type.get());
  using Kind = ElementType::Kind;
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER:
      if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return std::nullopt;
      return ElementType{H5Tget_sign(type.get()) == H5T_SGN_NONE ? Kind::kUnsigned : Kind::kSigned, bytes};
    case H5T_FLOAT:
      return ElementType{Kind::kFloat, bytes <= 4 ? std::size_t{4} : std::size_t{8}};
    case H5T_ENUM:  // h5py writes booleans as an enumeration
      return bytes == 1 ? std::optional(ElementType{}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// @param own_type  type of the array in its file
hid_t memory_type(const ElementType& type, hid_t own_type) {
  if (H5Tget_class(own_type) == H5T_ENUM) return own_type;
  if (type.kind == ElementType::Kind::kFloat) return type.bytes == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  const std::array unsigned_types{H5T_NATIVE_UINT8, H5T_NATIVE_UINT16, H5T_NATIVE_UINT32, H5T_NATIVE_UINT64};
  const std::array signed_types{H5T_NATIVE_INT8, H5T_NATIVE_INT16, H5T_NATIVE_INT32, H5T_NATIVE_INT64};
  const std::size_t place = type.bytes == 1 ? 0 : type.bytes == 2 ? 1 : type.bytes == 4 ? 2 : 3;
  return type.kind == ElementType::Kind::kUnsigned ? unsigned_types.at(place) : signed_types.at(place);
}

std::vector<hsize_t> dims_of(const Hdf5Dataset& array) {
  const Hdf5Space space(H5Dget_space(array.get()));
  std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.get()), 0)));
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return dims;
}

struct ChunkCache {
  std::size_t slots = H5D_CHUNK_CACHE_NSLOTS_DEFAULT;
  std::size_t bytes = std::size_t{1} << 26;
};

/// Returns a cache that holds all chunks of a row, since rows are read a few at a time: a chunk that does not
/// fit would be unpacked again for each of them.
ChunkCache chunk_cache(const std::filesystem::path& path, const std::string& name) {
  const Hdf5File file = open_hdf5_file(path);
  const Hdf5Dataset array(check_read(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), path));
  const Hdf5PropertyList creation(check_read(H5Dget_create_plist(array.get()), path));
  ChunkCache cache;
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return cache;
  const std::vector<hsize_t> dims = dims_of(array);
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  check_read(H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data()), path);
  const Hdf5Type type(check_read(H5Dget_type(array.get()), path));
  std::size_t bytes = H5Tget_size(type.get());
  std::size_t chunks = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t across = i == 0 ? 1 : (dims[i] + chunk.at(i) - 1) / chunk.at(i);
    chunks *= across;
    bytes *= across * chunk.at(i);
  }
  cache.bytes = std::clamp(bytes, cache.bytes, kMostChunkBytes);
  constexpr std::size_t kMostSlots = 1'000'003;
  cache.slots = std::clamp(10 * chunks + 1, cache.slots, kMostSlots);
  return cache;
}

class Hdf5ArrayStream final : public ArrayStream {
 public:
  /// @param told  whether the user knows already that values are missing
  Hdf5ArrayStream(const std::filesystem::path& path, const std::string& name, const ElementType& type,
                  std::shared_ptr<bool> told)
      : path_(path),
        label_(path.string() + ": " + name),
        told_(std::move(told)),
        file_(open_hdf5_file(path)) {
    const Hdf5PropertyList access(check_read(H5Pcreate(H5P_DATASET_ACCESS), path));
    const ChunkCache cache = chunk_cache(path, name);
    H5Pset_chunk_cache(access.get(), cache.slots, cache.bytes, 1);
    array_ = Hdf5Dataset(check_read(H5Dopen2(file_.get(), name.c_str(), access.get()), path));
    own_type_ = Hdf5Type(check_read(H5Dget_type(array_.get()), path));
    memory_type_ = memory_type(type, own_type_.get());
    dims_ = dims_of(array_);
    stored_.emplace(array_, path_);
    row_bytes_ = type.bytes;
    for (std::size_t i = 1; i < dims_.size(); ++i) row_bytes_ *= dims_[i];
  }

  void read(std::span<std::byte> bytes) override {
    const Hdf5CrashWatch watch(path_);
    std::vector<hsize_t> begin(dims_.size());
    std::vector<hsize_t> count = dims_;
    begin[0] = next_;
    count[0] = bytes.size() / row_bytes_;
    check_rows(count[0]);
    std::ranges::fill(bytes, std::byte{0});  // the library leaves out values that have no fill value either
    const Hdf5Space in_file(check_read(H5Dget_space(array_.get()), path_));
    check_read(
        H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr),
        path_);
    const Hdf5Space in_memory(
        check_read(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), path_));
    check_read(H5Dread(array_.get(), memory_type_, in_memory.get(), in_file.get(), H5P_DEFAULT, bytes.data()),
               path_);
    next_ += count[0];
  }

 private:
  void check_rows(hsize_t count) {
    std::optional<hsize_t> missing;
    try {
      missing = stored_->check_rows(next_, count);
    } catch (const UserError& error) {
      throw UserError(label_ + ": " + error.what());
    }
    if (!missing || std::exchange(*told_, true)) return;
    log::warning(label_ + ": values were never written, as in row " + std::to_string(*missing) +
                 ": the fill value of the file stands for them");
  }

  std::filesystem::path path_;
  std::string label_;
  std::shared_ptr<bool> told_;
  Hdf5File file_;
  Hdf5Dataset array_;
  std::optional<StoredArray> stored_;
  Hdf5Type own_type_;
  hid_t memory_type_ = 0;
  std::vector<hsize_t> dims_;
  std::size_t row_bytes_ = 0;
  hsize_t next_ = 0;
};

/// Checks that the library can unpack the values. @throws UserError, without the file's name
void check_filters(const Hdf5PropertyList& creation, const std::filesystem::path& path) {
  const int filters = check_read(H5Pget_nfilters(creation.get()), path);
  for (int i = 0; i < filters; ++i) {
    std::array<char, 64> name{};
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), nullptr, &values,
                                               nullptr, name.size() - 1, name.data(), nullptr);
    if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
    constexpr std::array<std::pair<H5Z_filter_t, const char*>, 8> kNames{{{4, "szip"},
                                                                          {307, "bzip2"},
                                                                          {32000, "lzf"},
                                                                          {32001, "blosc"},
                                                                          {32004, "lz4"},
                                                                          {32008, "bitshuffle"},
                                                                          {32015, "zstd"},
                                                                          {32026, "blosc2"}}};
    const auto* const known = std::ranges::find(kNames, filter, &std::pair<H5Z_filter_t, const char*>::first);
    const std::string text = known != kNames.end() ? known->second : name.data();
    throw UserError(
        "packed by the filter " + text + " (" + std::to_string(filter) +
        "), which the HDF5 library here does not have: save it with compression=\"gzip\", or name the "
        "folder of the filter's plugin by HDF5_PLUGIN_PATH");
  }
}

/// Checks that the values can be read. @throws UserError, without the file's name
void check_storage(const Hdf5Dataset& array, const std::filesystem::path& path) {
  const Hdf5PropertyList creation(check_read(H5Dget_create_plist(array.get()), path));
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0)
    throw UserError("its values lie in other files: copy them into this one");
  if (layout == H5D_CHUNKED) check_filters(creation, path);
  const StoredArray whole(array, path);
}

/// Returns the class that MATLAB gave the array, or an empty text if MATLAB did not write it.
std::string matlab_class(const Hdf5Dataset& array, const std::filesystem::path& path) {
  constexpr const char* kAttribute = "MATLAB_class";
  if (H5Aexists(array.get(), kAttribute) <= 0) return {};
  const Hdf5Attribute attribute(check_read(H5Aopen(array.get(), kAttribute, H5P_DEFAULT), path));
  const Hdf5Type type(check_read(H5Aget_type(attribute.get()), path));
  constexpr std::size_t kMostLetters = 64;
  if (!is_text_type(type) || H5Tis_variable_str(type.get()) > 0 || H5Tget_size(type.get()) > kMostLetters)
    return "unknown";
  std::string name(H5Tget_size(type.get()), '\0');
  check_read(H5Aread(attribute.get(), type.get(), name.data()), path);
  return name.substr(0, name.find('\0'));
}

/// Takes an array that MATLAB wrote: it writes the dimensions in reverse. Each row of letters is a word.
/// @throws UserError, without the file's name
void take_matlab(SourceArray& listed, const std::string& of_class) {
  constexpr std::array kNumbers{"double", "single", "logical", "int8",   "int16", "int32",
                                "int64",  "uint8",  "uint16",  "uint32", "uint64"};
  const bool are_letters = of_class == "char" && listed.type.bytes == 2 && listed.dims.size() == 2;
  if (!are_letters && std::ranges::find(kNumbers, of_class) == kNumbers.end())
    throw UserError("MATLAB's class `" + printable(of_class) +
                    "`, expected numbers or words: save words as char(y)");
  if (listed.dims.size() < 2) return;
  std::vector<std::int64_t> dims(listed.dims.rbegin(), listed.dims.rend());
  log::info(listed.label() + ": written by MATLAB, its dimensions are read in reverse");
  take_header(listed, {.type = listed.type, .dims = dims, .by_columns = true});
  if (!are_letters) return;
  const WordType letters{.letters = static_cast<std::size_t>(dims[1]), .letter_bytes = 2};
  take_header(listed, {.type = listed.type, .dims = {dims[0]}, .words = letters});
  for (std::string& word : listed.words)
    word.erase(word.find_last_not_of(' ') + 1);  // MATLAB fills with blanks
}

/// Reads what is known of an array before its values. @throws UserError, without the file's name
void read_facts(SourceArray& listed, const Hdf5Dataset& array) {
  const std::filesystem::path& path = listed.file;
  std::vector<std::int64_t> dims;
  for (const hsize_t dim : dims_of(array)) dims.push_back(static_cast<std::int64_t>(dim));
  check_dims(dims);
  listed.dims = dims;
  const Hdf5Type stored(check_read(H5Dget_type(array.get()), path));
  if (is_text_type(stored)) {
    if (listed.row_elements() != 1) throw UserError("texts in several columns, expected one word per sample");
    constexpr std::size_t kMostTexts = std::size_t{1} << 28;
    if (listed.rows() > kMostTexts / H5Tget_size(stored.get()))
      throw UserError("more texts than can be read");
    check_storage(array, path);
    return take_words(listed, read_hdf5_texts(array, listed.rows(), path));
  }
  const std::optional<ElementType> type = element_type(array);
  const std::string of_matlab = matlab_class(array, path);
  if (!type && of_matlab.empty()) throw UserError("expected whole numbers, floats or texts");
  check_storage(array, path);
  listed.type = type.value_or(ElementType{});
  listed.open = [path, name = listed.name, type = listed.type,
                 told = std::make_shared<bool>(false)]() -> std::unique_ptr<ArrayStream> {
    const Hdf5CrashWatch watch(path);
    return std::make_unique<Hdf5ArrayStream>(path, name, type, told);
  };
  if (!of_matlab.empty()) take_matlab(listed, of_matlab);
}

/// Lists the arrays of a file, and follows links within it.
class Hdf5Listing {
 public:
  explicit Hdf5Listing(const std::filesystem::path& path) : path_(path), file_(open_hdf5_file(path)) {
    add_group("", 0, false);
  }
  std::vector<SourceArray> arrays;

 private:
  struct Link {
    std::string name;
    H5L_type_t type;
  };
  std::vector<Link> links_in(const std::string& group) const {
    std::vector<Link> links;
    const auto add = [](hid_t /*group*/, const char* name, const H5L_info_t* info, void* list) -> herr_t {
      static_cast<std::vector<Link>*>(list)->push_back({name, info->type});
      return 0;
    };
    const Hdf5Group opened(check_read(H5Gopen2(file_.get(), ("/" + group).c_str(), H5P_DEFAULT), path_));
    check_read(H5Literate(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &links), path_);
    return links;
  }
  /// @param linked  the group lies behind a soft link; links to groups are followed once, since they may lead
  /// back
  void add_group(const std::string& group, std::size_t depth, bool linked) {
    constexpr std::size_t kMostDepth = 32;
    constexpr std::size_t kMostObjects = 10'000;
    if (depth > kMostDepth)
      throw UserError(path_.string() + ": groups within groups, more than " + std::to_string(kMostDepth) +
                      " deep");
    for (const Link& link : links_in(group)) {
      if (++objects_ > kMostObjects)
        throw UserError(path_.string() + ": more than " + std::to_string(kMostObjects) +
                        " arrays and groups");
      add_link(link, group.empty() ? link.name : group + "/" + link.name, depth, linked);
    }
  }
  void add_link(const Link& link, const std::string& name, std::size_t depth, bool linked) {
    const auto add_problem = [&](const std::string& problem) {
      SourceArray& array = arrays.emplace_back(SourceArray{name, path_, {}, {1}, {}});
      array.problem = problem;
    };
    if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT)
      return add_problem("a link to another file: copy the array into this one");
    const Hdf5Object object(H5Oopen(file_.get(), name.c_str(), H5P_DEFAULT));
    if (!object) return add_problem("a link that leads nowhere");
    if (!is_in_file(object)) return add_problem("a link to another file: copy the array into this one");
    const H5I_type_t type = H5Iget_type(object.get());
    const bool soft = link.type == H5L_TYPE_SOFT;
    if (type == H5I_GROUP && !(soft && linked)) add_group(name, depth + 1, linked || soft);
    if (type != H5I_DATASET) return;
    SourceArray& array = arrays.emplace_back(SourceArray{name, path_, {}, {1}, {}});
    try {
      read_facts(array, Hdf5Dataset(check_read(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), path_)));
    } catch (const UserError& error) {
      array.problem = error.what();
    }
  }
  bool is_in_file(const Hdf5Object& object) const {
    const ssize_t length = H5Fget_name(object.get(), nullptr, 0);
    std::string name(static_cast<std::size_t>(std::max<ssize_t>(length, 0)) + 1, '\0');
    H5Fget_name(object.get(), name.data(), name.size());
    name.pop_back();
    return name == path_.string();
  }

  std::filesystem::path path_;
  Hdf5File file_;
  std::size_t objects_ = 0;
};

}  // namespace

std::vector<SourceArray> list_hdf5(const std::filesystem::path& path) {
  const Hdf5CrashWatch watch(path);
  return std::move(Hdf5Listing(path).arrays);
}

}  // namespace skyline::store
