#include "report/files/csv.hpp"

#include <string_view>

namespace skyline::report {
namespace {

std::string csv_field(std::string_view text) {
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
