#include "model_export/tflite/c_text.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace skyline::model_export {

std::string c_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    constexpr std::string_view kEscaped = "\"\\?";  // two question marks may begin a trigraph
    constexpr unsigned char kFirstPrintable = 0x20;
    constexpr unsigned char kLastPrintable = 0x7e;
    if (kEscaped.find(letter) != std::string_view::npos) {
      literal += {'\\', letter};
    } else if (code >= kFirstPrintable && code <= kLastPrintable) {
      literal += letter;
    } else {
      const auto digit = [&](unsigned shift) { return static_cast<char>('0' + (code >> shift & 7U)); };
      literal += {'\\', digit(6), digit(3), digit(0)};
    }
  }
  return literal + '"';
}

std::string c_comment(std::string_view text) {
  std::string comment;
  for (const char letter : text) {
    if (letter == '/' && comment.ends_with('*')) comment += ' ';
    if (letter == '*' && comment.ends_with('/')) comment += ' ';
    comment += std::iscntrl(static_cast<unsigned char>(letter)) != 0 ? ' ' : letter;
  }
  return comment;
}

std::string c_float(float value) {
  std::array<char, 64> text{};
  const auto result = std::to_chars(text.begin(), text.end(), value);
  std::string literal(text.begin(), result.ptr);
  if (literal.find_first_of(".e") == std::string::npos) literal += ".0";
  return literal + "F";
}

std::string c_floats(const std::vector<float>& values) {
  std::string list = "{";
  for (const float value : values) list += (list.size() > 1 ? ", " : "") + c_float(value);
  return list + "}";
}

std::string c_bytes(std::string_view bytes) {
  constexpr std::size_t kOfLine = 24;
  std::string lines;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    lines += i % kOfLine == 0 ? "    " : " ";
    lines += std::to_string(static_cast<unsigned>(static_cast<unsigned char>(bytes[i]))) + ",";
    if ((i + 1) % kOfLine == 0 || i + 1 == bytes.size()) lines += "\n";
  }
  return lines;
}

std::string filled(std::string_view text, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find('@', at);
    result += text.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = text.find('@', begin + 1);
    const std::string_view name = text.substr(begin + 1, end - begin - 1);
    const auto found = std::ranges::find(values, name, [](const auto& value) { return value.first; });
    require(found != values.end(), "a template has a name without a value");
    result += found->second;
    at = end + 1;
  }
  return result;
}

}  // namespace skyline::model_export
