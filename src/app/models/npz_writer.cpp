#include "app/models/npz_writer.hpp"

#include "skyline/core/error.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <string_view>

#include <zlib.h>

namespace skyline::app {
namespace {

/// Appends the lowest bytes of a number, lowest first.
void append_number(std::string& bytes, std::size_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
}

/// Returns the array as an npy file.
std::string npy_bytes(const NpzArray& array) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::array kTypes{"<f4", "<i4", "|u1"};
  constexpr std::size_t kAlignment = 64;
  std::string shape;
  for (const std::int64_t dim : array.dims) shape += std::to_string(dim) + ", ";
  std::string header = "{'descr': '" + std::string(kTypes.at(array.values.index())) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::string_view kMagic("\x93NUMPY\1\0", 8);
  const std::size_t before = kMagic.size() + 2;  // the length of the header
  header.resize((before + header.size() + kAlignment) / kAlignment * kAlignment - before - 1, ' ');
  header += '\n';
  std::string bytes(kMagic);
  append_number(bytes, header.size(), 2);
  bytes += header;
  std::visit(
      [&bytes](const auto& values) {
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
      },
      array.values);
  return bytes;
}

/// Returns what the header of a file in a zip file and its entry in the directory have in common.
std::string entry_bytes(const std::string& name, std::string_view file) {
  constexpr std::size_t kVersion = 20;
  constexpr std::size_t kFirstDay = 0x21;  // 1 January 1980, so that equal arrays give equal bytes
  const auto checksum = crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), file.size());
  std::string bytes;
  append_number(bytes, kVersion, 2);
  append_number(bytes, 0, 6);  // no flags, stored, no time of day
  append_number(bytes, kFirstDay, 2);
  append_number(bytes, checksum, 4);
  append_number(bytes, file.size(), 4);
  append_number(bytes, file.size(), 4);
  append_number(bytes, name.size(), 2);
  append_number(bytes, 0, 2);  // nothing more
  return bytes;
}

}  // namespace

std::string npz_bytes(const std::vector<NpzArray>& arrays) {
  constexpr std::string_view kFile = "PK\3\4";
  constexpr std::string_view kEntry = "PK\1\2";
  constexpr std::string_view kEnd = "PK\5\6";
  constexpr std::size_t kVersion = 20;
  std::string bytes;
  std::string directory;
  for (const NpzArray& array : arrays) {
    const std::string name = array.name + ".npy";
    const std::string file = npy_bytes(array);
    const std::string entry = entry_bytes(name, file);
    directory += kEntry;
    append_number(directory, kVersion, 2);
    directory += entry;
    append_number(directory, 0, 10);  // no comment, first disk, no attributes
    append_number(directory, bytes.size(), 4);
    directory += name;
    bytes += kFile;
    bytes += entry;
    bytes += name;
    bytes += file;
  }
  const std::size_t begin = bytes.size();
  if (begin + directory.size() > std::numeric_limits<std::uint32_t>::max())
    throw UserError("an npz file has less than 4 GB, these arrays have " + std::to_string(begin >> 20U) +
                    " MiB");
  bytes += directory;
  bytes += kEnd;
  append_number(bytes, 0, 4);  // the first disk
  append_number(bytes, arrays.size(), 2);
  append_number(bytes, arrays.size(), 2);
  append_number(bytes, directory.size(), 4);
  append_number(bytes, begin, 4);
  append_number(bytes, 0, 2);  // no comment
  return bytes;
}

}  // namespace skyline::app
