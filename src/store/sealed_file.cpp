#include "store/sealed_file.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/hash.hpp"

#include <algorithm>
#include <sstream>

namespace skyline::store {
namespace {

constexpr std::string_view kFirstLine = "skyline-sealed 1\n";
constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kMaxArrays = 4;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Everything but the seal and the arrays.
std::string structure_hash(std::string_view file, const std::vector<Seal::Array>& arrays) {
  std::string structure;
  std::size_t place = kSealBytes;
  for (const Seal::Array& array : arrays) {
    structure += file.substr(place, array.offset - place);
    place = array.offset + array.bytes;
  }
  structure += file.substr(place);
  return sha256_hex(structure);
}

/// Ascending, disjoint, behind the seal and within the file.
bool are_inside(const std::vector<Seal::Array>& arrays, std::uint64_t file_bytes) {
  std::uint64_t place = kSealBytes;
  for (const Seal::Array& array : arrays) {
    if (array.offset < place || array.offset > file_bytes || array.bytes > file_bytes - array.offset)
      return false;
    place = array.offset + array.bytes;
  }
  return true;
}

std::string seal_text(const Seal& seal) {
  std::ostringstream text;
  text << kFirstLine << "format " << seal.format << "\nbytes " << seal.bytes << "\nstructure "
       << seal.structure << "\n";
  for (const Seal::Array& array : seal.arrays) {
    text << "array " << array.name << " " << array.offset << " " << array.bytes << " " << array.sha256
         << "\n";
  }
  const std::string lines = text.str();
  return lines + "seal " + sha256_hex(lines) + "\n";
}

bool is_hdf5(std::string_view file) {
  for (std::size_t place = 0; place < file.size(); place = place == 0 ? 512 : 2 * place) {
    if (file.substr(place).starts_with(kHdf5Signature)) return true;
  }
  return false;
}

/// Reads the seal's lines; the caller compares the text of what was read with what is there.
Seal parse_seal(std::string_view block) {
  std::istringstream lines{std::string(block)};
  Seal seal;
  std::string word;
  std::getline(lines, word);
  lines >> word >> seal.format >> word >> seal.bytes >> word >> seal.structure;
  while (lines >> word && word == "array" && seal.arrays.size() < kMaxArrays) {
    Seal::Array& array = seal.arrays.emplace_back();
    lines >> array.name >> array.offset >> array.bytes >> array.sha256;
  }
  return seal;
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message) {
  throw UserError(path.string() + ": " + message);
}

void check_kind(std::string_view file, std::string_view kind, const std::filesystem::path& path) {
  if (file.empty()) fail(path, "the file is empty");
  if (file.starts_with(kFirstLine)) return;
  const std::string expected = "expected a Skyline " + std::string(kind);
  if (is_hdf5(file)) fail(path, "this HDF5 file was not written by Skyline, " + expected);
  fail(path, "not an HDF5 file, " + expected);
}

}  // namespace

Seal seal(std::string& file, std::string_view format, std::vector<Seal::Array> arrays) {
  require(arrays.size() <= kMaxArrays, "too many arrays for a seal");
  std::sort(arrays.begin(), arrays.end(),
            [](const Seal::Array& left, const Seal::Array& right) { return left.offset < right.offset; });
  Seal made{std::string(format), file.size(), {}, std::move(arrays)};
  for (Seal::Array& array : made.arrays) {
    array.sha256 = sha256_hex(std::string_view(file).substr(array.offset, array.bytes));
  }
  made.structure = structure_hash(file, made.arrays);
  const std::string text = seal_text(made);
  require(text.size() <= kSealBytes, "the seal is longer than the user block");
  std::fill_n(file.begin(), kSealBytes, '\n');
  text.copy(file.data(), text.size());
  return made;
}

Seal check_seal(std::span<const std::byte> bytes, std::string_view format, std::string_view kind,
                const std::filesystem::path& path) {
  const std::string_view file = as_text(bytes);
  check_kind(file, kind, path);
  const std::string_view block = file.substr(0, kSealBytes);
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
  if (!are_inside(seal.arrays, file.size()) || structure_hash(file, seal.arrays) != seal.structure) {
    fail(path, "damaged: the SHA-256 of its structure does not match (copy or make the file again)");
  }
  return seal;
}

void check_arrays(std::span<const std::byte> file, const Seal& seal, const std::filesystem::path& path) {
  for (const Seal::Array& array : seal.arrays) {
    if (sha256_hex(file.subspan(array.offset, array.bytes)) == array.sha256) continue;
    fail(path, "damaged: the SHA-256 of " + array.name + " does not match (copy or make the file again)");
  }
}

}  // namespace skyline::store
