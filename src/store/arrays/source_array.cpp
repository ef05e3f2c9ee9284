#include "store/arrays/source_array.hpp"

#include "skyline/core/error.hpp"

#include "store/arrays/array_formats.hpp"
#include "store/arrays/csv_reader.hpp"
#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

namespace skyline::store {
namespace {

using Kind = ElementType::Kind;

/// Represents the 16-bit float, which C++20 does not have.
struct Half {
  std::uint16_t bits;
  explicit operator float() const {
    const int exponent = bits >> 10 & 0x1f;
    const int fraction = bits & 0x3ff;
    float value = std::ldexp(static_cast<float>(fraction), -24);
    if (exponent == 0x1f) {
      value =
          fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent > 0) {
      value = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
  }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

template <typename T, typename Value>
void convert(bool big_endian, std::span<const std::byte> bytes, std::span<Value> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::array<std::byte, sizeof(T)> element{};
    std::memcpy(element.data(), bytes.data() + i * sizeof(T), sizeof(T));
    if (big_endian) std::ranges::reverse(element);
    values[i] = static_cast<Value>(std::bit_cast<T>(element));
  }
}

template <typename Value>
void convert_integers(const ElementType& type, std::span<const std::byte> bytes, std::span<Value> values) {
  const bool is_signed = type.kind == Kind::kSigned;
  const bool swapped = type.big_endian;
  switch (type.bytes) {
    case 1:
      return is_signed ? convert<std::int8_t>(swapped, bytes, values)
                       : convert<std::uint8_t>(swapped, bytes, values);
    case 2:
      return is_signed ? convert<std::int16_t>(swapped, bytes, values)
                       : convert<std::uint16_t>(swapped, bytes, values);
    case 4:
      return is_signed ? convert<std::int32_t>(swapped, bytes, values)
                       : convert<std::uint32_t>(swapped, bytes, values);
    default:
      return is_signed ? convert<std::int64_t>(swapped, bytes, values)
                       : convert<std::uint64_t>(swapped, bytes, values);
  }
}

template <typename Value>
void convert_any(const ElementType& type, std::span<const std::byte> bytes, std::span<Value> values) {
  if (type.kind != Kind::kFloat) return convert_integers(type, bytes, values);
  if (type.bytes == 2) return convert<Half>(type.big_endian, bytes, values);
  if (type.bytes == 4) return convert<float>(type.big_endian, bytes, values);
  convert<double>(type.big_endian, bytes, values);
}

/// Returns the name of an array in a file without names: "x_train" for "x_train.npy.gz".
std::string name_of(const std::filesystem::path& file) {
  std::filesystem::path name = file.filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.extension() == ".npy" ? name.stem().string() : name.string();
}

using ReadHeader = ArrayHeader (*)(ArrayStream& stream);

std::vector<SourceArray> list_single(const std::filesystem::path& file, ReadHeader read_header) {
  PlainOrGzipStream stream(file);
  SourceArray array{name_of(file), file, {}, {}, {}};
  array.open = [file, read_header]() -> std::unique_ptr<ArrayStream> {
    auto opened = std::make_unique<PlainOrGzipStream>(file);
    read_header(*opened);
    return opened;
  };
  try {
    take_header(array, read_header(stream));
  } catch (const UserError& error) {
    const std::string message = error.what();
    throw UserError(message.starts_with(file.string()) ? message : file.string() + ": " + message);
  }
  return {array};
}

bool is_text(std::string_view start) {
  return start.find('\0') == std::string_view::npos;
}

}  // namespace

std::string to_text(const ElementType& type) {
  constexpr std::array kNames{"uint", "int", "float"};
  return kNames.at(static_cast<std::size_t>(type.kind)) + std::to_string(8 * type.bytes);
}

void to_floats(const ElementType& type, std::span<const std::byte> bytes, std::span<float> values) {
  convert_any(type, bytes, values);
}

void to_doubles(const ElementType& type, std::span<const std::byte> bytes, std::span<double> values) {
  convert_any(type, bytes, values);
}

void to_integers(const ElementType& type, std::span<const std::byte> bytes, std::span<std::int64_t> values) {
  require(type.kind != Kind::kFloat, "floats are read as integers");
  convert_integers(type, bytes, values);
  if (type.kind == Kind::kSigned || type.bytes < 8) return;
  for (const std::int64_t value : values) {
    if (value < 0) throw UserError("a whole number of 2^63 or more");
  }
}

std::size_t SourceArray::row_elements() const {
  std::size_t count = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) count *= static_cast<std::size_t>(dims[i]);
  return count;
}

std::string SourceArray::row_name(std::size_t row) const {
  return table != nullptr && !table->ids.empty() ? table->ids[row] : std::to_string(row);
}

std::string SourceArray::label() const {
  return file.string() + ": " + name;
}

void SourceArray::fail(std::string_view message) const {
  throw UserError(label() + ": " + std::string(message));
}

void check_dims(const std::vector<std::int64_t>& dims) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 44;
  if (dims.empty() || dims.size() > 4) {
    throw UserError("expected 1 to 4 dimensions, got " + std::to_string(dims.size()));
  }
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 1 || dim > kMostElements / elements) {
      throw UserError("a dimension of size " + std::to_string(dim) +
                      (dim < 1 ? "" : ": larger than any array that can be read"));
    }
    elements *= dim;
  }
}

PlainOrGzipStream::PlainOrGzipStream(const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  FileDescriptor descriptor = open_regular_file(path, status);
  if (!descriptor) fail_system("read", path, "", errno);
  file_ = gzdopen(descriptor.release(), "rb");
  require(file_ != nullptr, "zlib cannot start");
  gzbuffer(file_, 1 << 18);
}

std::size_t PlainOrGzipStream::read_at_most(std::span<std::byte> bytes) {
  const int count = gzread(file_, bytes.data(), static_cast<unsigned>(bytes.size()));
  int problem = Z_OK;
  gzerror(file_, &problem);  // also reports a file that ends too early
  if (count < 0 || problem != Z_OK) throw UserError(path_.string() + ": damaged or truncated gzip file");
  return static_cast<std::size_t>(count);
}

std::string PlainOrGzipStream::read_some(std::size_t most) {
  std::string text(most, '\0');
  text.resize(read_at_most(std::as_writable_bytes(std::span(text))));
  return text;
}

void PlainOrGzipStream::read(std::span<std::byte> bytes) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const std::size_t count = read_at_most(bytes.first(std::min(bytes.size(), kMostAtOnce)));
    if (count == 0) throw UserError(path_.string() + ": truncated: it ends before its array does");
    bytes = bytes.subspan(count);
  }
}

std::vector<SourceArray> list_arrays(const std::filesystem::path& file, const TableOptions& tables) {
  using namespace std::literals;
  const std::string start = PlainOrGzipStream(file).read_some(4096);
  if (start.empty()) throw UserError(file.string() + ": the file is empty");
  if (start.starts_with("\x93NUMPY"sv)) return list_single(file, read_npy_header);
  if (start.starts_with("PK\x03\x04"sv)) return list_npz(file);
  for (std::size_t place = 0; place < start.size(); place = place == 0 ? 512 : 2 * place) {
    if (std::string_view(start).substr(place).starts_with("\x89HDF\r\n\x1a\n"sv)) return list_hdf5(file);
  }
  if (start.starts_with("\0\0"sv)) return list_single(file, read_idx_header);
  if (start.starts_with("MATLAB 5.0 MAT-file"sv))
    throw UserError(file.string() + ": a MATLAB file of version 5: save it by save(..., '-v7.3')");
  if (start.size() > 1 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5)
    throw UserError(
        file.string() +
        ": a Python pickle, which is not read, since it may run code: load it in Python, and save "
        "its arrays by numpy.savez(\"set.npz\", x_train=..., y_train=...)");
  if (is_text(start) || is_utf16(start)) return list_csv(file, tables);
  throw UserError(file.string() + ": expected an npz, npy, IDX, HDF5 or CSV file");
}

}  // namespace skyline::store
