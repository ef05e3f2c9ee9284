#include "store/hdf5/hdf5_reader.hpp"

#include "skyline/core/error.hpp"

#include "store/hdf5/hdf5_image.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace skyline::store {
namespace {

constexpr std::size_t kIncrement = std::size_t{1} << 16;

/// Returns the type in which texts are read: the library converts neither lengths nor character sets.
Hdf5Type text_in_memory(const Hdf5Type& stored, const std::filesystem::path& path) {
  const auto check = [&path](auto result) { return check_hdf5(result, "read", path); };
  Hdf5Type type(check(H5Tcopy(H5T_C_S1)));
  const bool variable = check(H5Tis_variable_str(stored.get())) > 0;
  check(H5Tset_size(type.get(), variable ? H5T_VARIABLE : H5Tget_size(stored.get())));
  if (!variable) check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  check(H5Tset_cset(type.get(), H5Tget_cset(stored.get())));
  return type;
}

bool is_text_type(const Hdf5Type& stored) {
  return H5Tget_class(stored.get()) == H5T_STRING;
}

std::string without_zeros(std::string_view padded) {
  return std::string(padded.substr(0, padded.find('\0')));
}

}  // namespace

Hdf5File open_hdf5_file(const std::filesystem::path& path, unsigned access) {
  const char* const task = access == H5F_ACC_RDONLY ? "read" : "write";
  silence_hdf5();
  const Hdf5PropertyList options(check_hdf5(H5Pcreate(H5P_FILE_ACCESS), task, path));
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
  check_hdf5(H5Pset_file_locking(options.get(), false, true), task, path);
#endif
  return Hdf5File(check_hdf5(H5Fopen(path.c_str(), access, options.get()), task, path));
}

Hdf5Reader::Hdf5Reader(const std::filesystem::path& path, int descriptor)
    : path_(path), file_(open_hdf5_file(path)) {
  void* opened = nullptr;
  check(H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &opened));
  struct stat ours {};
  struct stat theirs {};
  const bool known = ::fstat(descriptor, &ours) == 0 && ::fstat(*static_cast<int*>(opened), &theirs) == 0;
  if (!known || ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev) {
    throw FaultError("cannot read " + path.string() +
                     ": another file was published in its place just now (run again)");
  }
  file_bytes_ = static_cast<std::size_t>(ours.st_size);
}

Hdf5Reader::Hdf5Reader(std::span<const std::byte> bytes, const std::filesystem::path& path)
    : path_(path), file_bytes_(bytes.size()) {
  silence_hdf5();
  const Hdf5PropertyList access(check(H5Pcreate(H5P_FILE_ACCESS)));
  check(H5Pset_fapl_core(access.get(), kIncrement, false));
  // The library only copies the image, although it takes a pointer to non-const.
  check(H5Pset_file_image(access.get(), const_cast<std::byte*>(bytes.data()), bytes.size()));
  file_ = Hdf5File(check(H5Fopen(image_name().c_str(), H5F_ACC_RDONLY, access.get())));
}

void Hdf5Reader::fail(const std::string& message) const {
  throw UserError("cannot read " + path_.string() + ": " + message);
}

Hdf5Dataset Hdf5Reader::open_array(const std::string& name) const {
  return Hdf5Dataset(check(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT)));
}

Hdf5Attribute Hdf5Reader::open_attribute(const char* key) const {
  return Hdf5Attribute(check(H5Aopen(file_.get(), key, H5P_DEFAULT)));
}

std::string Hdf5Reader::text_attribute(const char* key) const {
  const Hdf5Attribute attribute = open_attribute(key);
  const Hdf5Type stored(check(H5Aget_type(attribute.get())));
  if (!is_text_type(stored)) fail(std::string("attribute `") + key + "`: expected text");
  const Hdf5Type type = text_in_memory(stored, path_);
  if (check(H5Tis_variable_str(type.get())) == 0) {
    const Hdf5Space space(check(H5Aget_space(attribute.get())));
    if (check(H5Sget_simple_extent_npoints(space.get())) != 1)
      fail(std::string("attribute `") + key + "`: expected one value");
    std::string padded(H5Tget_size(type.get()), '\0');
    check(H5Aread(attribute.get(), type.get(), padded.data()));
    return without_zeros(padded);
  }
  char* text = scalar_attribute<char*>(key, type.get());
  if (text == nullptr) return {};
  std::string value(text);
  H5free_memory(text);
  return value;
}

void Hdf5Reader::check_version(std::string_view kind, std::int64_t expected, std::string_view advice) const {
  const std::int64_t version = number_attribute<std::int64_t>("version");
  if (version == expected) return;
  throw UserError(path_.string() + ": " + std::string(kind) + " of version " + std::to_string(version) +
                  ", this program reads version " + std::to_string(expected) + std::string(advice));
}

bool Hdf5Reader::has(const std::string& name) const {
  return check(H5Lexists(file_.get(), name.c_str(), H5P_DEFAULT)) > 0;
}

std::vector<std::int64_t> Hdf5Reader::array_dims(const std::string& name) const {
  const Hdf5Dataset array = open_array(name);
  const Hdf5Space space(check(H5Dget_space(array.get())));
  std::vector<hsize_t> dims(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space.get()))));
  check(H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr));
  return {dims.begin(), dims.end()};
}

bool Hdf5Reader::has_type(const std::string& name, hid_t type) const {
  const Hdf5Type stored(check(H5Dget_type(open_array(name).get())));
  return check(H5Tequal(stored.get(), type)) > 0;
}

std::uint64_t Hdf5Reader::array_offset(const std::string& name, hid_t type) const {
  const haddr_t offset = H5Dget_offset(open_array(name).get());
  if (!has_type(name, type) || offset == HADDR_UNDEF) {
    fail("array `" + name + "` is not stored in one piece with the expected type");
  }
  return offset;
}

/// Returns the size of an array. Arrays of ours are not compressed, so one that claims more bytes than the
/// file has is refused before memory is taken.
std::size_t Hdf5Reader::element_count(const Hdf5Dataset& array, const std::string& name) const {
  const Hdf5Space space(check(H5Dget_space(array.get())));
  const Hdf5Type stored(check(H5Dget_type(array.get())));
  const auto count = static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space.get())));
  if (count > file_bytes_ / std::max<std::size_t>(H5Tget_size(stored.get()), 1)) {
    fail("array `" + name + "` claims " + std::to_string(count) +
         " values, more than the file has bytes for");
  }
  return count;
}

template <typename T>
std::vector<T> Hdf5Reader::read_array(const std::string& name, hid_t type) const {
  const Hdf5Dataset array = open_array(name);
  std::vector<T> values(element_count(array, name));
  if (!values.empty()) check(H5Dread(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  return values;
}

std::vector<double> Hdf5Reader::numbers(const std::string& name) const {
  return read_array<double>(name, H5T_NATIVE_DOUBLE);
}

std::vector<float> Hdf5Reader::floats(const std::string& name) const {
  return read_array<float>(name, H5T_NATIVE_FLOAT);
}

std::vector<std::string> Hdf5Reader::texts(const std::string& name) const {
  const Hdf5Dataset array = open_array(name);
  const Hdf5Type stored(check(H5Dget_type(array.get())));
  if (!is_text_type(stored)) fail("array `" + name + "`: expected texts");
  const Hdf5Type type = text_in_memory(stored, path_);
  if (check(H5Tis_variable_str(type.get())) == 0) {
    return read_texts(name, type.get(), H5Tget_size(type.get()));
  }
  std::vector<char*> read(element_count(array, name));
  std::vector<std::string> texts;
  if (read.empty()) return texts;
  check(H5Dread(array.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()));
  for (char* const text : read) {
    texts.emplace_back(text == nullptr ? "" : text);
    H5free_memory(text);
  }
  return texts;
}

Hdf5Type Hdf5Reader::column_type(const std::string& table, const std::string& column) const {
  const Hdf5Type row(check(H5Dget_type(open_array(table).get())));
  const int index = check(H5Tget_member_index(row.get(), column.c_str()));
  return Hdf5Type(check(H5Tget_member_type(row.get(), static_cast<unsigned>(index))));
}

bool Hdf5Reader::has_column(const std::string& table, const std::string& column) const {
  const Hdf5Type row(check(H5Dget_type(open_array(table).get())));
  return H5Tget_member_index(row.get(), column.c_str()) >= 0;
}

/// Returns the type of a row with only this column; the library converts any table that has it.
Hdf5Type Hdf5Reader::row_of(const std::string& column, hid_t type) const {
  Hdf5Type row(check(H5Tcreate(H5T_COMPOUND, H5Tget_size(type))));
  check(H5Tinsert(row.get(), column.c_str(), 0, type));
  return row;
}

std::vector<double> Hdf5Reader::numbers(const std::string& table, const std::string& column) const {
  (void)column_type(table, column);  // the library would leave out a missing column silently
  return read_array<double>(table, row_of(column, H5T_NATIVE_DOUBLE).get());
}

std::vector<std::string> Hdf5Reader::texts(const std::string& table, const std::string& column) const {
  const std::size_t length = H5Tget_size(column_type(table, column).get());
  return read_texts(table, row_of(column, make_text_type(length, path_).get()).get(), length);
}

std::vector<std::string> Hdf5Reader::read_texts(const std::string& name, hid_t type,
                                                std::size_t length) const {
  const Hdf5Dataset array = open_array(name);
  std::vector<std::string> texts(element_count(array, name));
  std::string block(length * texts.size(), '\0');
  if (!texts.empty()) check(H5Dread(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, block.data()));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i] = without_zeros(std::string_view(block).substr(i * length, length));
  }
  return texts;
}

}  // namespace skyline::store
