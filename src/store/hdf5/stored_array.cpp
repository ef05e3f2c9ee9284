#include "store/hdf5/stored_array.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <string_view>

#include <unistd.h>
#include <zlib.h>

namespace skyline::store {
namespace {

constexpr std::size_t kSumBytes = 4;            // that the filter fletcher32 appends
constexpr std::size_t kVariableTextBytes = 16;  // of a reference: a length, the place of a heap, an index

template <typename T>
T check_stored(T result, const std::filesystem::path& path) {
  return check_hdf5(result, "read", path);
}

/// Unpacks to at most `most` bytes.
std::string inflated(const std::string& packed, std::size_t most) {
  std::string bytes(most, '\0');
  uLongf count = bytes.size();
  const int status = ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &count,
                                  reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (status == Z_BUF_ERROR) throw UserError("damaged: a chunk holds more values than it should");
  if (status != Z_OK) throw UserError("damaged: a chunk cannot be unpacked");
  bytes.resize(count);
  return bytes;
}

/// Undoes the filter shuffle, which puts the first bytes of all values first.
std::string unshuffled(const std::string& bytes, std::size_t value_bytes) {
  if (value_bytes < 2) return bytes;
  std::string values = bytes;  // keeps what is left after the last whole value
  const std::size_t count = bytes.size() / value_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t place = 0; place < value_bytes; ++place)
      values[i * value_bytes + place] = bytes[place * count + i];
  }
  return values;
}

template <typename Number>
Number number_at(std::string_view bytes, std::size_t place) {
  if (place > bytes.size() || bytes.size() - place < sizeof(Number))
    throw UserError("damaged: a heap of texts is cut off");
  std::array<unsigned char, sizeof(Number)> stored{};
  std::memcpy(stored.data(), bytes.data() + place, sizeof(Number));
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) number = static_cast<Number>(number << 8 | stored.at(i));
  return number;
}

/// Reads bytes of a file at any place.
class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path) : path_(path) {
    struct stat status {};
    file_ = open_regular_file(path, status);
    if (!file_) fail_system("read", path, "open", errno);
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  /// @throws UserError, without the file's name, if the file ends before
  std::string at(std::uint64_t place, std::uint64_t count) const {
    if (place > size_ || count > size_ - place) throw UserError("damaged: values lie outside the file");
    std::string bytes(count, '\0');
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got =
          ::pread(file_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(place + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_system("read", path_, "read", errno);
      if (got == 0) throw UserError("damaged: values lie outside the file");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

 private:
  const std::filesystem::path& path_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

/// Reads the heaps of a file, in which texts of variable length lie.
class TextHeaps {
 public:
  TextHeaps(const Hdf5Dataset& array, const std::filesystem::path& path) : bytes_(path) {
    const Hdf5File owner(check_stored(H5Iget_file_id(array.get()), path));
    const Hdf5PropertyList creation(check_stored(H5Fget_create_plist(owner.get()), path));
    std::size_t address_bytes = 0;
    std::size_t length_bytes = 0;
    check_stored(H5Pget_sizes(creation.get(), &address_bytes, &length_bytes), path);
    if (address_bytes != sizeof(std::uint64_t) || length_bytes != sizeof(std::uint64_t))
      throw UserError(
          "texts of variable length in a file with short addresses: save them with a fixed length");
    check_stored(H5Pget_userblock(creation.get(), &base_), path);
  }
  /// @param reference  as an array stores it
  std::string text(std::string_view reference) {
    const auto length = number_at<std::uint32_t>(reference, 0);
    const auto place = number_at<std::uint64_t>(reference, 4);
    const auto index = number_at<std::uint32_t>(reference, 12);
    if (length == 0 || place == 0) return {};
    auto heap = heaps_.find(place);
    if (heap == heaps_.end()) {
      if (heaps_.size() == kMostHeaps) heaps_.clear();
      heap = heaps_.emplace(place, read_heap(place)).first;
    }
    const auto found = heap->second.find(index);
    if (found == heap->second.end() || found->second.size() != length)
      throw UserError("damaged: a text is not where the array says");
    return found->second.substr(0, found->second.find('\0'));
  }

 private:
  using Heap = std::map<std::uint32_t, std::string>;
  static constexpr std::size_t kMostHeaps = 1024;

  Heap read_heap(std::uint64_t place) const {
    constexpr std::size_t kHeaderBytes = 16;  // of a heap, and of an object
    if (place > std::numeric_limits<hsize_t>::max() - base_)
      throw UserError("damaged: values lie outside the file");
    const std::string header = bytes_.at(base_ + place, kHeaderBytes);
    if (!header.starts_with("GCOL\1")) throw UserError("damaged: a text is not where the array says");
    const std::string bytes = bytes_.at(base_ + place, number_at<std::uint64_t>(header, 8));
    Heap heap;
    for (std::size_t at = kHeaderBytes; bytes.size() > at && bytes.size() - at >= kHeaderBytes;) {
      const auto index = number_at<std::uint16_t>(bytes, at);
      if (index == 0) break;  // the rest is free
      const auto count = number_at<std::uint64_t>(bytes, at + 8);
      at += kHeaderBytes;
      if (count > bytes.size() - at || !heap.emplace(index, bytes.substr(at, count)).second)
        throw UserError("damaged: a heap of texts claims more than it has");
      at += (count + 7) / 8 * 8;
    }
    return heap;
  }

  FileBytes bytes_;
  hsize_t base_ = 0;  // places are counted from here
  std::map<std::uint64_t, Heap> heaps_;
};

}  // namespace

StoredArray::StoredArray(const Hdf5Dataset& array, const std::filesystem::path& path)
    : array_(array), path_(path) {
  const Hdf5Space space(check_stored(H5Dget_space(array.get()), path));
  dims_.resize(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.get()), 0)));
  check_stored(H5Sget_simple_extent_dims(space.get(), dims_.data(), nullptr), path);
  const Hdf5Type type(check_stored(H5Dget_type(array.get()), path));
  value_bytes_ = H5Tis_variable_str(type.get()) > 0 ? kVariableTextBytes
                                                    : std::max<std::size_t>(H5Tget_size(type.get()), 1);
  const Hdf5PropertyList creation(check_stored(H5Dget_create_plist(array.get()), path));
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) {
    hsize_t bytes = value_bytes_;
    for (const hsize_t dim : dims_) bytes *= dim;
    const hsize_t stored = H5Dget_storage_size(array.get());
    is_written_ = stored != 0;
    if (is_written_ && stored != bytes)
      throw UserError("damaged: " + std::to_string(stored) + " bytes are stored, expected " +
                      std::to_string(bytes));
    return;
  }
  chunk_.resize(dims_.size());
  check_stored(H5Pget_chunk(creation.get(), static_cast<int>(chunk_.size()), chunk_.data()), path);
  chunk_bytes_ = value_bytes_;
  for (const hsize_t dim : chunk_) {
    if (dim == 0 || dim > kMostChunkBytes / chunk_bytes_)  // a chunk is held in memory as a whole
      throw UserError("chunks of more than " + std::to_string(kMostChunkBytes) + " bytes");
    chunk_bytes_ *= dim;
  }
  const int filters = check_stored(H5Pget_nfilters(creation.get()), path);
  for (int i = 0; i < filters; ++i) {
    std::array<unsigned, 1> values{};
    std::size_t count = values.size();
    const H5Z_filter_t kind = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), nullptr, &count,
                                             values.data(), 0, nullptr, nullptr);
    filters_.push_back({kind, count > 0 ? values[0] : 0});
    if (kind != H5Z_FILTER_DEFLATE && kind != H5Z_FILTER_SHUFFLE && kind != H5Z_FILTER_FLETCHER32)
      unpacks_here_ = false;
  }
}

std::optional<hsize_t> StoredArray::check_rows(hsize_t first, hsize_t count) {
  if (chunk_.empty()) return is_written_ ? std::nullopt : std::optional(first);
  std::optional<hsize_t> missing;
  const hsize_t end = std::min(first + count, dims_[0]);
  for (hsize_t row = std::max(first / chunk_[0] * chunk_[0], checked_rows_); row < end; row += chunk_[0]) {
    std::vector<hsize_t> place(dims_.size());
    place[0] = row;
    for (std::size_t axis = 0; axis < place.size();) {
      if (!check_chunk(place) && !missing) missing = row;
      for (axis = 1; axis < place.size(); ++axis) {  // counts in the axes behind the rows
        place[axis] += chunk_[axis];
        if (place[axis] < dims_[axis]) break;
        place[axis] = 0;
      }
    }
    checked_rows_ = row + chunk_[0];
  }
  return missing;
}

bool StoredArray::check_chunk(const std::vector<hsize_t>& place) {
  unsigned left_out = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t stored = 0;
  check_stored(H5Dget_chunk_info_by_coord(array_.get(), place.data(), &left_out, &address, &stored), path_);
  if (address == HADDR_UNDEF) return false;
  if (!unpacks_here_) return true;
  std::size_t expected = chunk_bytes_;
  bool is_packed = false;
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if ((left_out >> i & 1) != 0) continue;
    if (filters_[i].kind == H5Z_FILTER_FLETCHER32) expected += kSumBytes;
    is_packed = is_packed || filters_[i].kind == H5Z_FILTER_DEFLATE;
  }
  if (!is_packed && stored != expected)
    throw UserError("damaged: a chunk has " + std::to_string(stored) + " bytes, expected " +
                    std::to_string(expected));
  // Packed values have a sum of their own, so that their number is in doubt only if the array's facts are.
  if (is_packed && !has_unpacked_) read_chunk(place);
  has_unpacked_ = has_unpacked_ || is_packed;
  return true;
}

std::string StoredArray::read_chunk(const std::vector<hsize_t>& place) const {
  std::uint32_t left_out = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t stored = 0;
  check_stored(H5Dget_chunk_info_by_coord(array_.get(), place.data(), &left_out, &address, &stored), path_);
  if (address == HADDR_UNDEF) return std::string(chunk_bytes_, '\0');
  hsize_t file_bytes = 0;
  const Hdf5File owner(check_stored(H5Iget_file_id(array_.get()), path_));
  check_stored(H5Fget_filesize(owner.get(), &file_bytes), path_);
  if (stored > file_bytes) throw UserError("damaged: a chunk of more bytes than the file has");
  std::string bytes(stored, '\0');
  check_stored(H5Dread_chunk(array_.get(), H5P_DEFAULT, place.data(), &left_out, bytes.data()), path_);
  bytes = unpack(std::move(bytes), left_out);
  if (bytes.size() != chunk_bytes_)
    throw UserError("damaged: a chunk has " + std::to_string(bytes.size()) + " bytes, expected " +
                    std::to_string(chunk_bytes_));
  return bytes;
}

std::string StoredArray::unpack(std::string bytes, unsigned left_out) const {
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if ((left_out >> i & 1) != 0) continue;
    if (filters_[i].kind == H5Z_FILTER_DEFLATE)
      bytes = inflated(bytes, chunk_bytes_ + kSumBytes * filters_.size());
    if (filters_[i].kind == H5Z_FILTER_SHUFFLE) bytes = unshuffled(bytes, filters_[i].value_bytes);
    if (filters_[i].kind == H5Z_FILTER_FLETCHER32)
      bytes.resize(std::max(bytes.size(), kSumBytes) - kSumBytes);
  }
  return bytes;
}

std::string StoredArray::read_piece() const {
  const std::size_t bytes = dims_[0] * value_bytes_;
  if (!is_written_) return std::string(bytes, '\0');
  const haddr_t offset = H5Dget_offset(array_.get());
  if (offset == HADDR_UNDEF) throw UserError("texts within the array's header: save them in chunks");
  return FileBytes(path_).at(offset, bytes);
}

std::string StoredArray::first_of_rows() {
  if (dims_.empty()) throw UserError("expected one text per row");
  if (!unpacks_here_)
    throw UserError("texts of variable length that are packed: save them without compression");
  if (chunk_.empty()) return read_piece();
  std::string values;
  const hsize_t row_bytes = chunk_bytes_ / chunk_[0];
  for (hsize_t row = 0; row < dims_[0]; row += chunk_[0]) {
    std::vector<hsize_t> place(dims_.size());
    place[0] = row;
    const std::string chunk = read_chunk(place);
    for (hsize_t i = 0; i < std::min(chunk_[0], dims_[0] - row); ++i)
      values.append(chunk, i * row_bytes, value_bytes_);
  }
  return values;
}

std::vector<std::string> read_variable_texts(const Hdf5Dataset& array, const std::filesystem::path& path) {
  const std::string references = StoredArray(array, path).first_of_rows();
  TextHeaps heaps(array, path);
  std::vector<std::string> texts;
  for (std::size_t place = 0; place < references.size(); place += kVariableTextBytes)
    texts.push_back(heaps.text(std::string_view(references).substr(place, kVariableTextBytes)));
  return texts;
}

}  // namespace skyline::store
