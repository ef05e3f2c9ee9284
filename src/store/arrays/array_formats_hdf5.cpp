#include "skyline/core/error.hpp"

#include "store/arrays/array_formats.hpp"
#include "store/hdf5/hdf5_reader.hpp"

#include <algorithm>
#include <array>

namespace skyline::store {
namespace {

constexpr std::size_t kMostChunkBytes = std::size_t{1} << 30;

template <typename T>
T check_read(T result, const std::filesystem::path& path) {
  return check_hdf5(result, "read", path);
}

std::vector<std::string> dataset_names(const Hdf5File& file, const std::filesystem::path& path) {
  std::vector<std::string> names;
  const auto add = [](hid_t /*root*/, const char* name, const H5O_info_t* info, void* list) -> herr_t {
    if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  check_read(H5Ovisit(file.get(), H5_INDEX_NAME, H5_ITER_INC, add, &names), path);
  return names;
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

class Hdf5ArrayStream final : public ArrayStream {
 public:
  Hdf5ArrayStream(const std::filesystem::path& path, const std::string& name, const ElementType& type)
      : path_(path), file_(open_hdf5_file(path)) {
    const Hdf5PropertyList access(check_read(H5Pcreate(H5P_DATASET_ACCESS), path));
    constexpr std::size_t kCacheBytes = std::size_t{1} << 26;  // rows of one chunk are read in several calls
    H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, kCacheBytes, 1);
    array_ = Hdf5Dataset(check_read(H5Dopen2(file_.get(), name.c_str(), access.get()), path));
    own_type_ = Hdf5Type(check_read(H5Dget_type(array_.get()), path));
    memory_type_ = memory_type(type, own_type_.get());
    dims_ = dims_of(array_);
    row_bytes_ = type.bytes;
    for (std::size_t i = 1; i < dims_.size(); ++i) row_bytes_ *= dims_[i];
  }

  void read(std::span<std::byte> bytes) override {
    std::vector<hsize_t> begin(dims_.size());
    std::vector<hsize_t> count = dims_;
    begin[0] = next_;
    count[0] = bytes.size() / row_bytes_;
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
  std::filesystem::path path_;
  Hdf5File file_;
  Hdf5Dataset array_;
  Hdf5Type own_type_;
  hid_t memory_type_ = 0;
  std::vector<hsize_t> dims_;
  std::size_t row_bytes_ = 0;
  hsize_t next_ = 0;
};

/// Checks the storage, since a chunk is held in memory as a whole. @throws UserError, without the file's name
void check_storage(const Hdf5Dataset& array, const std::filesystem::path& path) {
  const Hdf5PropertyList creation(check_read(H5Dget_create_plist(array.get()), path));
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0)
    throw UserError("its values lie in other files: copy them into this one");
  if (layout != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = check_read(H5Pget_chunk(creation.get(), H5S_MAX_RANK, dims.data()), path);
  const Hdf5Type type(check_read(H5Dget_type(array.get()), path));
  std::size_t room = kMostChunkBytes / std::max<std::size_t>(H5Tget_size(type.get()), 1);
  for (int i = 0; i < rank; ++i) room /= std::max<hsize_t>(dims.at(static_cast<std::size_t>(i)), 1);
  if (room == 0) throw UserError("chunks of more than " + std::to_string(kMostChunkBytes) + " bytes");
}

SourceArray array_named(const Hdf5File& file, const std::string& name, const std::filesystem::path& path) {
  SourceArray listed{name, path, {}, {1}, {}};
  const Hdf5Dataset array(check_read(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), path));
  const std::optional<ElementType> type = element_type(array);
  try {
    std::vector<std::int64_t> dims;
    for (const hsize_t dim : dims_of(array)) dims.push_back(static_cast<std::int64_t>(dim));
    check_dims(dims);
    listed.dims = dims;
    if (!type) throw UserError("expected whole numbers or floats");
    check_storage(array, path);
  } catch (const UserError& error) {
    listed.problem = error.what();
    return listed;
  }
  listed.type = *type;
  listed.open = [path, name, type = *type] { return std::make_unique<Hdf5ArrayStream>(path, name, type); };
  return listed;
}

}  // namespace

std::vector<SourceArray> list_hdf5(const std::filesystem::path& path) {
  const Hdf5File file = open_hdf5_file(path);
  std::vector<SourceArray> arrays;
  for (const std::string& name : dataset_names(file, path)) arrays.push_back(array_named(file, name, path));
  return arrays;
}

}  // namespace skyline::store
