#include "report/files/csv.hpp"

#include <charconv>
#include <string_view>

namespace skyline::report {
namespace {

/// Returns whether a spreadsheet would calculate the field instead of showing it.
bool is_formula(std::string_view text) {
  if (text.size() < 2 || text.find_first_of("=+-@\t\r") != 0) return false;  // a sign alone is none
  if (text.starts_with('+')) text.remove_prefix(1);                          // from_chars takes none
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc() || end != text.data() + text.size();
}

std::string csv_field(std::string_view text) {
  if (is_formula(text)) return csv_field("'" + std::string(text));
  const bool has_outer_blanks = text.starts_with(' ') || text.ends_with(' ');  // readers may remove them
  if (!has_outer_blanks && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += csv_field(field);
  }
  return line + '\n';
}

}  // namespace skyline::report
