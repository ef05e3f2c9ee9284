#include "skyline/core/error.hpp"

#include "store/arrays/array_formats.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace skyline::store {
namespace {

constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 16;
constexpr std::size_t kMostLetters = 4096;  // of a word

std::string read_text(ArrayStream& stream, std::size_t bytes) {
  std::string text(bytes, '\0');
  stream.read(std::as_writable_bytes(std::span(text)));
  return text;
}

/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }, the keys in any order.
class NpyDictionary {
 public:
  explicit NpyDictionary(std::string_view text) : rest_(text) {}

  ArrayHeader read() {
    expect("{");
    while (!accept("}")) {
      const std::string key = quoted();
      expect(":");
      read_value(key);
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty() || !has_type_ || !has_order_ || header_.dims.empty()) fail();
    return header_;
  }

 private:
  [[noreturn]] static void fail() { throw UserError("not a header that NumPy writes for numbers"); }

  void read_value(const std::string& key) {
    if (key == "descr" && !has_type_) {
      take_type(quoted());
      has_type_ = true;
    } else if (key == "fortran_order" && !has_order_) {
      header_.by_columns = accept("True");
      if (!header_.by_columns) expect("False");
      has_order_ = true;
    } else if (key == "shape" && header_.dims.empty()) {
      read_shape();
    } else {
      fail();
    }
  }

  void read_shape() {
    expect("(");
    while (!accept(")")) {
      skip_blanks();
      std::int64_t dim = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (error != std::errc() || header_.dims.size() > 8) fail();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      header_.dims.push_back(dim);
      accept("L");  // NumPy under Python 2 writes 100L
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    check_dims(header_.dims);
  }

  void take_type(const std::string& code) {
    const std::string kind = code.substr(0, 2);
    std::size_t letters = 0;
    const char* const end = code.data() + code.size();
    const bool sized = code.size() > 2 && std::from_chars(code.data() + 2, end, letters).ptr == end;
    if (sized && (kind == "|S" || kind == "<U" || kind == ">U") && letters >= 1 && letters <= kMostLetters) {
      header_.words = WordType{letters, kind == "|S" ? std::size_t{1} : std::size_t{4}, kind == ">U"};
    } else {
      header_.type = type_in(code);
    }
  }

  static ElementType type_in(const std::string& code) {
    if (code == "|O")
      throw UserError(
          "Python objects: save words as y.astype(str), and samples of several lengths cut or filled to one "
          "length");
    constexpr std::string_view kKinds = "uif";
    if (code == "|b1" || code == "?") return {};
    const std::size_t kind = code.size() == 3 ? kKinds.find(code[1]) : std::string_view::npos;
    const std::size_t bytes = kind == std::string_view::npos ? 0 : static_cast<std::size_t>(code[2] - '0');
    const bool known =
        std::string_view("1248").find(static_cast<char>('0' + bytes)) != std::string_view::npos;
    if (!known || (kind == 2 && bytes == 1) ||
        std::string_view("<>|=").find(code[0]) == std::string_view::npos) {
      throw UserError("elements of type '" + code.substr(0, 20) + "', expected whole numbers or floats");
    }
    return {static_cast<ElementType::Kind>(kind), bytes, code[0] == '>'};
  }

  std::string quoted() {
    expect("'");
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos || end > 20) fail();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool accept(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail();
  }

  std::string_view rest_;
  ArrayHeader header_;
  bool has_type_ = false;
  bool has_order_ = false;
};

}  // namespace

ArrayHeader read_npy_header(ArrayStream& stream) {
  const std::string start = read_text(stream, 8);
  const int version = start[6];
  if (!start.starts_with("\x93NUMPY") || version < 1 || version > 3)
    throw UserError("not an npy file of version 1 to 3");
  const std::string length = read_text(stream, version == 1 ? 2 : 4);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < length.size(); ++i) {
    bytes |= static_cast<std::size_t>(static_cast<std::uint8_t>(length[i])) << (8 * i);
  }
  if (bytes > kMostHeaderBytes) throw UserError("an npy header of " + std::to_string(bytes) + " bytes");
  return NpyDictionary(read_text(stream, bytes)).read();
}

ArrayHeader read_idx_header(ArrayStream& stream) {
  constexpr std::array kTypes{0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e};
  using Kind = ElementType::Kind;
  constexpr std::array<ElementType, 6> kElements{{{Kind::kUnsigned, 1, true},
                                                  {Kind::kSigned, 1, true},
                                                  {Kind::kSigned, 2, true},
                                                  {Kind::kSigned, 4, true},
                                                  {Kind::kFloat, 4, true},
                                                  {Kind::kFloat, 8, true}}};
  const std::string magic = read_text(stream, 4);
  const auto* const type = std::ranges::find(kTypes, magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || type == kTypes.end()) throw UserError("wrong IDX magic");
  ArrayHeader header{kElements[static_cast<std::size_t>(type - kTypes.begin())], {}};
  if (magic[3] < 1 || magic[3] > 4)
    throw UserError("expected 1 to 4 dimensions, got " + std::to_string(static_cast<std::uint8_t>(magic[3])));
  for (char i = 0; i < magic[3]; ++i) {
    const std::string word = read_text(stream, 4);
    std::int64_t dim = 0;
    for (const char byte : word) dim = dim << 8 | static_cast<std::uint8_t>(byte);
    header.dims.push_back(dim);
  }
  check_dims(header.dims);
  return header;
}

}  // namespace skyline::store
