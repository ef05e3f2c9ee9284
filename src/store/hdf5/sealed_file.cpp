#include "store/hdf5/sealed_file.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::string_view kMark = "skyline-sealed ";
constexpr int kVersion = 3;
constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kMaxArrays = 7;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void add_range(const FilePieces& file, std::uint64_t begin, std::uint64_t end, FilePieces& range) {
  std::uint64_t place = 0;
  for (const std::span<const std::byte> piece : file) {
    const std::uint64_t first = std::max(begin, place);
    const std::uint64_t last = std::min<std::uint64_t>(end, place + piece.size());
    if (first < last) range.push_back(piece.subspan(first - place, last - first));
    place += piece.size();
  }
}

std::uint64_t total_size(const FilePieces& file) {
  std::uint64_t size = 0;
  for (const std::span<const std::byte> piece : file) size += piece.size();
  return size;
}

/// Returns the pieces of everything except the seal and the arrays.
FilePieces structure_of(const FilePieces& file, const Seal& seal) {
  FilePieces structure;
  std::uint64_t place = kSealBytes;
  for (const Seal::Array& array : seal.arrays) {
    add_range(file, place, array.offset, structure);
    place = array.offset + array.bytes;
  }
  add_range(file, place, total_size(file), structure);
  return structure;
}

/// Returns whether the arrays are ascending, disjoint, after the seal and within the file.
bool are_inside(const std::vector<Seal::Array>& arrays, std::uint64_t file_bytes) {
  std::uint64_t place = kSealBytes;
  for (const Seal::Array& array : arrays) {
    if (array.offset < place || array.offset > file_bytes || array.bytes > file_bytes - array.offset)
      return false;
    place = array.offset + array.bytes;
  }
  return true;
}

bool is_hdf5(std::string_view file) {
  for (std::size_t place = 0; place < file.size(); place = place == 0 ? 512 : 2 * place) {
    if (file.substr(place).starts_with(kHdf5Signature)) return true;
  }
  return false;
}

/// Returns the seal's version, or 0 if there is none.
int version_of(std::string_view block) {
  std::istringstream text{std::string(block.substr(kMark.size(), 8))};
  int version = 0;
  text >> version;
  return version;
}

/// Reads the seal's lines; the caller compares the text made from them with the original.
Seal parse_seal(std::string_view block) {
  std::istringstream lines{std::string(block)};
  Seal seal;
  std::string word;
  lines >> word >> word >> word >> seal.format >> word >> seal.bytes >> word >> seal.structure;
  while (lines >> word && word == "array" && seal.arrays.size() < kMaxArrays) {
    Seal::Array& array = seal.arrays.emplace_back();
    lines >> array.name >> array.offset >> array.bytes >> array.sum;
  }
  return seal;
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message) {
  throw UserError(path.string() + ": " + message);
}

void check_kind(std::string_view file, std::string_view kind, const std::filesystem::path& path) {
  if (file.empty()) fail(path, "the file is empty");
  if (file.starts_with(kMark)) return;
  const std::string expected = "expected a Skyline " + std::string(kind);
  if (is_hdf5(file)) fail(path, "this HDF5 file was not written by Skyline, " + expected);
  fail(path, "not an HDF5 file, " + expected);
}

}  // namespace

std::string seal_text(const Seal& seal) {
  std::ostringstream text;
  text << kMark << kVersion << "\nformat " << seal.format << "\nbytes " << seal.bytes << "\nstructure "
       << seal.structure << "\n";
  for (const Seal::Array& array : seal.arrays) {
    text << "array " << array.name << " " << array.offset << " " << array.bytes << " " << array.sum << "\n";
  }
  const std::string lines = text.str();
  return lines + "seal " + checksum(lines) + "\n";
}

Seal describe_file(const FilePieces& file, std::string_view format, std::vector<Seal::Array> arrays) {
  require(arrays.size() <= kMaxArrays, "too many arrays for a seal");
  std::sort(arrays.begin(), arrays.end(),
            [](const Seal::Array& left, const Seal::Array& right) { return left.offset < right.offset; });
  Seal made{std::string(format), total_size(file), {}, std::move(arrays)};
  for (Seal::Array& array : made.arrays) {
    if (!array.sum.empty()) continue;
    FilePieces contents;
    add_range(file, array.offset, array.offset + array.bytes, contents);
    array.sum = checksum(contents);
  }
  made.structure = checksum(structure_of(file, made));
  return made;
}

std::string make_seal(const FilePieces& file, std::string_view format, std::vector<Seal::Array> arrays) {
  std::string block = seal_text(describe_file(file, format, std::move(arrays)));
  require(block.size() <= kSealBytes, "the seal is longer than the user block");
  block.resize(kSealBytes, '\n');
  return block;
}

void publish_sealed(Hdf5Image& image, std::string_view format, std::vector<Seal::Array> arrays,
                    Effort effort) {
  const FilePieces file = image.finish();
  FilePieces body;
  add_range(file, kSealBytes, total_size(file), body);
  std::string block;
  const auto fill = [&](TemporaryFile& temporary) {
    if (const Fault fault = temporary.write(body, kSealBytes)) return fault;
    // The disk already writes the body while the checksums are computed.
    if (block.empty()) block = make_seal(file, format, std::move(arrays));
    return temporary.write({std::as_bytes(std::span(block))}, 0);
  };
  publish(image.path(), fill, effort);
}

bool is_sealed(std::span<const std::byte> file) {
  return as_text(file).starts_with(kMark);
}

Seal check_seal(std::span<const std::byte> bytes, std::string_view format, std::string_view kind,
                const std::filesystem::path& path) {
  const std::string_view file = as_text(bytes);
  check_kind(file, kind, path);
  const std::string_view block = file.substr(0, kSealBytes);
  if (const int version = version_of(block); version != kVersion) {
    fail(path, "sealed in version " + std::to_string(version) + ", this program reads version " +
                   std::to_string(kVersion) + " (make the file again)");
  }
  Seal seal = parse_seal(block);
  if (!block.starts_with(seal_text(seal))) {
    fail(path, file.size() < kSealBytes ? "truncated" : "damaged: the seal at its start does not match");
  }
  if (seal.format != format) {
    fail(path, "this is a " + seal.format + " file, expected a " + std::string(format) + " file");
  }
  if (file.size() != seal.bytes) {
    fail(path, std::string(file.size() < seal.bytes ? "truncated" : "too long") + ": expected " +
                   std::to_string(seal.bytes) + " bytes, got " + std::to_string(file.size()) +
                   " (copy or make the file again)");
  }
  if (!are_inside(seal.arrays, file.size()) || checksum(structure_of({bytes}, seal)) != seal.structure) {
    fail(path, "damaged: its checksum does not match (copy or make the file again)");
  }
  return seal;
}

bool check_arrays(std::span<const std::byte> file, const Seal& seal, const std::filesystem::path& path,
                  const std::function<bool()>& stop_requested) {
  for (const Seal::Array& array : seal.arrays) {
    const auto sum = checksum(file.subspan(array.offset, array.bytes), stop_requested);
    if (!sum) return false;
    if (*sum == array.sum) continue;
    fail(path, "damaged: the checksum of " + array.name + " does not match (copy or make the file again)");
  }
  return true;
}

std::string content_hash(std::span<const std::byte> file, const Seal& seal) {
  return sha256_hex(structure_of({file}, seal));
}

}  // namespace skyline::store
