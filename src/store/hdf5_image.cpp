#include "store/hdf5_image.hpp"

#include <algorithm>
#include <atomic>

namespace skyline::store {
namespace {

// Arrays start at multiples of a cache line, and grow the image in steps.
constexpr hsize_t kAlignment = 64;
constexpr std::size_t kIncrement = std::size_t{1} << 20;

}  // namespace

std::string image_name() {
  static std::atomic<std::uint64_t> counter{0};
  return "skyline-image-" + std::to_string(counter++);
}

Hdf5Type make_text_type(std::size_t length, const std::filesystem::path& path) {
  Hdf5Type type(check_hdf5(H5Tcopy(H5T_C_S1), "write", path));
  check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(length, 1)), "write", path);
  check_hdf5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "write", path);
  check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "write", path);
  return type;
}

Hdf5Image::Hdf5Image(const std::filesystem::path& path, std::size_t user_block)
    : path_(path), user_block_(user_block) {
  silence_hdf5();
  const Hdf5PropertyList creation(check(H5Pcreate(H5P_FILE_CREATE)));
  check(H5Pset_userblock(creation.get(), user_block));
  const Hdf5PropertyList access(check(H5Pcreate(H5P_FILE_ACCESS)));
  check(H5Pset_fapl_core(access.get(), kIncrement, false));
  check(H5Pset_alignment(access.get(), 1, kAlignment));
  check(H5Pset_small_data_block_size(access.get(), 0));  // small arrays would share a block, unaligned
  const std::string name = image_name();
  file_ = Hdf5File(check(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get())));
}

void Hdf5Image::make_group(const std::string& name) {
  const Hdf5PropertyList creation(check(H5Pcreate(H5P_GROUP_CREATE)));
  check(H5Pset_obj_track_times(creation.get(), false));
  const Hdf5Group group(
      check(H5Gcreate2(file_.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT)));
}

void Hdf5Image::write_array(const std::string& name, hid_t type, std::span<const hsize_t> dims,
                            const void* data) {
  const Hdf5Space space(check(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr)));
  const Hdf5PropertyList creation(check(H5Pcreate(H5P_DATASET_CREATE)));
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS));
  check(H5Pset_obj_track_times(creation.get(), false));
  const Hdf5Dataset array(check(
      H5Dcreate2(file_.get(), name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT)));
  const bool empty = std::find(dims.begin(), dims.end(), hsize_t{0}) != dims.end();
  if (!empty) check(H5Dwrite(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
}

void Hdf5Image::write_texts(const std::string& name, const std::vector<std::string>& texts) {
  std::size_t longest = 1;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  std::string block(longest * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].copy(block.data() + i * longest, longest);
  const Hdf5Type type = make_text_type(longest, path_);
  const hsize_t dims[] = {texts.size()};
  write_array(name, type.get(), dims, block.data());
}

void Hdf5Image::write_attribute(const std::string& name, const char* key, std::string_view text) {
  const Hdf5Type type(check(H5Tcopy(H5T_C_S1)));
  check(H5Tset_size(type.get(), H5T_VARIABLE));
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8));
  const std::string terminated(text);
  const char* pointer = terminated.c_str();
  write_attribute(name, key, type.get(), &pointer);
}

void Hdf5Image::write_attribute(const std::string& name, const char* key, hid_t type, const void* value) {
  const Hdf5Space space(check(H5Screate(H5S_SCALAR)));
  const Hdf5Attribute attribute(check(H5Acreate_by_name(file_.get(), name.c_str(), key, type, space.get(),
                                                        H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
  check(H5Awrite(attribute.get(), type, value));
}

std::uint64_t Hdf5Image::array_offset(const std::string& name) const {
  const Hdf5Dataset array(check(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT)));
  return H5Dget_offset(array.get());
}

std::string Hdf5Image::finish() {
  check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL));
  const ssize_t size = check(H5Fget_file_image(file_.get(), nullptr, 0));
  std::string bytes(user_block_ + static_cast<std::size_t>(size), '\0');
  check(H5Fget_file_image(file_.get(), bytes.data() + user_block_, static_cast<std::size_t>(size)));
  check(H5Fclose(file_.release()));
  return bytes;
}

}  // namespace skyline::store
