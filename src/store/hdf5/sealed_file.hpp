#pragma once

#include "store/hdf5/hdf5_image.hpp"
#include "store/publish/publish.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// Skyline's HDF5 files begin with a user block of text, the seal, with format, length and checksum. It is
/// checked before the HDF5 library sees a byte, because the library may crash on damaged structure. Large
/// arrays may have their own checksums, so that a file can be opened without reading them.
struct Seal {
  struct Array {
    std::string name;          // has no spaces
    std::uint64_t offset = 0;  // position in the file
    std::uint64_t bytes = 0;
    std::string sum;
  };
  std::string format;         // e.g. "skyline-dataset"
  std::uint64_t bytes = 0;    // length of the whole file
  std::string structure;      // checksum of everything except the seal and the arrays
  std::vector<Array> arrays;  // ascending, disjoint
};

/// Size of the user block.
inline constexpr std::size_t kSealBytes = 1024;

/// Describes a file. The contents of arrays with a checksum do not matter, only their sizes.
Seal describe_file(const FilePieces& file, std::string_view format, std::vector<Seal::Array> arrays);
std::string seal_text(const Seal& seal);
/// Makes the seal, as the user block of a file that describe_file describes.
std::string make_seal(const FilePieces& file, std::string_view format, std::vector<Seal::Array> arrays);

/// Publishes an image with a user block of kSealBytes, which gets the seal. @throws UserError
/// @param arrays  arrays with their own checksums: in any order, disjoint, after the user block, at most 6;
///                the checksums are computed here
void publish_sealed(Hdf5Image& image, std::string_view format, std::vector<Seal::Array> arrays = {},
                    Effort effort = Effort::kPatient);

bool is_sealed(std::span<const std::byte> file);

/// Checks everything except the contents of the arrays.
/// @param kind  word for such files in messages: "data set"
/// @throws UserError "<path>: ..." : empty, not HDF5, not ours, of another format, truncated, damaged
Seal check_seal(std::span<const std::byte> file, std::string_view format, std::string_view kind,
                const std::filesystem::path& path);

/// Checks the contents of the arrays. Returns false if it was stopped. @throws UserError
/// @param stop_requested  called now and then
bool check_arrays(std::span<const std::byte> file, const Seal& seal, const std::filesystem::path& path,
                  const std::function<bool()>& stop_requested);

/// Returns the SHA-256 of everything except the seal and the arrays. It identifies the content of a file,
/// because the arrays' own SHA-256 are attributes in it.
std::string content_hash(std::span<const std::byte> file, const Seal& seal);

}  // namespace skyline::store
