#include "store/hdf5/hdf5_image.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

namespace skyline::store {
namespace {

// Arrays start at multiples of a cache line.
constexpr hsize_t kAlignment = 64;
constexpr std::size_t kImageIncrement = std::size_t{1} << 14;
// Bytes that the library needs in a file: for itself, and per object for its name, sizes and types.
constexpr hsize_t kOwnBytes = std::size_t{1} << 12;
constexpr hsize_t kObjectBytes = std::size_t{1} << 10;

}  // namespace

std::string image_name() {
  static std::atomic<std::uint64_t> counter{0};
  // The library first looks for a file of this name. Nothing exists under /dev/null, and no file system is
  // asked.
  return "/dev/null/image-" + std::to_string(counter++);
}

Hdf5Type make_text_type(std::size_t length, const std::filesystem::path& path) {
  Hdf5Type type(check_hdf5(H5Tcopy(H5T_C_S1), "write", path));
  check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(length, 1)), "write", path);
  check_hdf5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "write", path);
  check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "write", path);
  return type;
}

void add_hdf5_attribute(const Hdf5File& file, const std::string& name, const char* key, std::string_view text,
                        const std::filesystem::path& path) {
  const Hdf5Type type(check_hdf5(H5Tcopy(H5T_C_S1), "write", path));
  check_hdf5(H5Tset_size(type.get(), H5T_VARIABLE), "write", path);
  check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "write", path);
  const std::string terminated(text);
  const char* pointer = terminated.c_str();
  add_hdf5_attribute(file, name, key, type.get(), &pointer, path);
}

void add_hdf5_attribute(const Hdf5File& file, const std::string& name, const char* key, hid_t type,
                        const void* value, const std::filesystem::path& path) {
  const Hdf5Space space(check_hdf5(H5Screate(H5S_SCALAR), "write", path));
  const Hdf5Attribute attribute(check_hdf5(H5Acreate_by_name(file.get(), name.c_str(), key, type, space.get(),
                                                             H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                                           "write", path));
  check_hdf5(H5Awrite(attribute.get(), type, value), "write", path);
}

/// The library's output, which is kept when it closes the file.
struct Hdf5Image::Memory {
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::vector<std::byte> zeros;  // fills the gaps between arrays, which the library does not write

  Memory() = default;
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  H5FD_file_image_callbacks_t callbacks() {
    return {nullptr, nullptr, &resize, &keep, &share, &unshare, this};
  }
  static void* resize(void* /*data*/, std::size_t size, H5FD_file_image_op_t /*operation*/, void* self) {
    auto& memory = *static_cast<Memory*>(self);
    void* grown = std::realloc(memory.data, size);
    if (grown == nullptr) return nullptr;
    memory.data = static_cast<std::byte*>(grown);
    memory.size = size;
    return grown;
  }
  static herr_t keep(void* /*data*/, H5FD_file_image_op_t /*operation*/, void* /*self*/) { return 0; }
  static void* share(void* self) { return self; }
  static herr_t unshare(void* /*self*/) { return 0; }
};

Hdf5Image::Hdf5Image(const std::filesystem::path& path, const Options& options)
    : path_(path), memory_(std::make_unique<Memory>()) {
  silence_hdf5();
  const Hdf5PropertyList creation(check(H5Pcreate(H5P_FILE_CREATE)));
  check(H5Pset_userblock(creation.get(), options.user_block));
  check(H5Pset_obj_track_times(creation.get(), false));  // no times, as formats from 1.8 on have
  const Hdf5PropertyList access(check(H5Pcreate(H5P_FILE_ACCESS)));
  check(H5Pset_fapl_core(access.get(), kImageIncrement, false));
  H5FD_file_image_callbacks_t callbacks = memory_->callbacks();
  check(H5Pset_file_image_callbacks(access.get(), &callbacks));
  check(H5Pset_alignment(access.get(), 1, kAlignment));
  check(H5Pset_small_data_block_size(access.get(), 0));  // small arrays must not share a block
  // The earliest format is used, because later ones write structure at the close, when the file's length is
  // fixed.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V18));
  // All structure goes into one block at the front, because the library's memory reaches to its last byte.
  check(H5Pset_meta_block_size(access.get(), kOwnBytes + kObjectBytes * options.num_objects));
  const std::string name = image_name();
  file_ = Hdf5File(check(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get())));

  group_creation_ = Hdf5PropertyList(check(H5Pcreate(H5P_GROUP_CREATE)));
  check(H5Pset_obj_track_times(group_creation_.get(), false));
  array_creation_ = Hdf5PropertyList(check(H5Pcreate(H5P_DATASET_CREATE)));
  check(H5Pset_layout(array_creation_.get(), H5D_CONTIGUOUS));
  check(H5Pset_alloc_time(array_creation_.get(), H5D_ALLOC_TIME_EARLY));  // fixes the place at once
  check(H5Pset_fill_time(array_creation_.get(), H5D_FILL_TIME_NEVER));    // never written by the library
  check(H5Pset_obj_track_times(array_creation_.get(), false));
}

Hdf5Image::~Hdf5Image() = default;

void Hdf5Image::make_group(const std::string& name) {
  const Hdf5Group group(
      check(H5Gcreate2(file_.get(), name.c_str(), H5P_DEFAULT, group_creation_.get(), H5P_DEFAULT)));
}

void Hdf5Image::write_array(const std::string& name, hid_t type, std::span<const hsize_t> dims,
                            std::string bytes) {
  const std::string& copy = copies_.emplace_back(std::move(bytes));
  refer_array(name, type, dims, std::as_bytes(std::span(copy)));
}

void Hdf5Image::refer_array(const std::string& name, hid_t type, std::span<const hsize_t> dims,
                            std::span<const std::byte> bytes) {
  const std::size_t size = place_array(name, type, dims);
  require(bytes.size() == size, "an array's bytes do not fill its dimensions");
  if (size > 0) arrays_.back().bytes = bytes;
}

std::size_t Hdf5Image::place_array(const std::string& name, hid_t type, std::span<const hsize_t> dims) {
  const Hdf5Space space(check(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr)));
  const Hdf5Dataset array(check(H5Dcreate2(file_.get(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                           array_creation_.get(), H5P_DEFAULT)));
  const auto elements = static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space.get())));
  const std::size_t bytes = elements * H5Tget_size(type);
  const std::byte* const elsewhere = nullptr;
  if (bytes > 0) arrays_.push_back({H5Dget_offset(array.get()), {elsewhere, bytes}});
  return bytes;
}

void Hdf5Image::write_texts(const std::string& name, const std::vector<std::string>& texts) {
  std::size_t longest = 1;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  std::string block(longest * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].copy(block.data() + i * longest, longest);
  const Hdf5Type type = make_text_type(longest, path_);
  const hsize_t dims[] = {texts.size()};
  write_array(name, type.get(), dims, std::move(block));
}

std::uint64_t Hdf5Image::array_offset(const std::string& name) const {
  const Hdf5Dataset array(check(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT)));
  return H5Dget_offset(array.get());
}

FilePieces Hdf5Image::finish() {
  hsize_t file_bytes = 0;
  check(H5Fget_filesize(file_.get(), &file_bytes));
  // There is no flush before this: it would make the library's memory as large as the file.
  check(H5Fclose(file_.release()));
  return collect_pieces(file_bytes);
}

FilePieces Hdf5Image::collect_pieces(std::uint64_t file_bytes) {
  std::sort(arrays_.begin(), arrays_.end(),
            [](const Array& left, const Array& right) { return left.offset < right.offset; });
  FilePieces pieces;
  std::uint64_t place = 0;
  memory_->zeros.resize(kImageIncrement);
  const auto add_structure = [&](std::uint64_t end) {
    while (place < end) {
      const bool written = place < memory_->size;
      const std::uint64_t border = written ? memory_->size : place + memory_->zeros.size();
      const std::size_t size = std::min(end, border) - place;
      pieces.emplace_back(written ? memory_->data + place : memory_->zeros.data(), size);
      place += size;
    }
  };
  for (const Array& array : arrays_) {
    add_structure(array.offset);
    pieces.push_back(array.bytes);
    place += array.bytes.size();
  }
  add_structure(file_bytes);
  return pieces;
}

}  // namespace skyline::store
