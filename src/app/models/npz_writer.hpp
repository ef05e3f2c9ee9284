#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace skyline::app {

/// An array to be written, row by row.
struct NpzArray {
  std::string name;
  std::vector<std::int64_t> dims;
  std::variant<std::vector<float>, std::vector<std::int32_t>, std::vector<std::uint8_t>> values;
};

/// Returns an npz file, as numpy.savez writes it: the same bytes for the same arrays. @throws UserError if it
/// would have 4 GB or more
/// @see https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, and PKWARE's APPNOTE.TXT
std::string npz_bytes(const std::vector<NpzArray>& arrays);

}  // namespace skyline::app
