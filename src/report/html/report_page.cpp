// The page: its template, with style, scripts and data inserted.
#include "core/text/hash.hpp"
#include "report/html/html_report.hpp"
#include "report/html/run_json.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

// Bytes of page_files.S: each file ends where the next one begins.
extern "C" {
extern const char skyline_page_template[];
extern const char skyline_page_style[];
extern const char skyline_page_script[];
extern const char skyline_page_library[];
extern const char skyline_page_end[];
}

namespace skyline::report {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Replaces the only `{{name}}` of the template.
void fill(std::string& page, std::string_view name, std::string_view text) {
  const std::string mark = "{{" + std::string(name) + "}}";
  page.replace(page.find(mark), mark.size(), text);
}

std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 6) {  // three bytes
    const std::string digits(hex.substr(i, 6));
    const auto bits = static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16))
                      << (4 * (6 - digits.size()));
    const std::size_t letters = digits.size() / 2 + 1;
    for (std::size_t l = 0; l < 4; ++l) text += l < letters ? kLetters[(bits >> (18 - 6 * l)) & 63] : '=';
  }
  return text;
}

/// Returns the source expression with which the page's policy allows a script.
std::string script_source(std::string_view script) {
  return "'sha256-" + base64_of_hex(sha256_hex(script)) + "'";
}

/// Returns JSON that can be embedded in an element of the page, since none of its texts can end the element.
std::string embedded(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<') {
      safe += "\\u003c";
    } else {
      safe += letter;
    }
  }
  return safe;
}

}  // namespace

std::string report_page(std::span<const ReportedRun> runs, const ReportOptions& options) {
  const std::string_view library = between(skyline_page_library, skyline_page_end);
  const std::string_view script = between(skyline_page_script, skyline_page_library);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json data{{"made", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
            {"reload", options.reload_s ? Json(*options.reload_s) : Json(nullptr)},
            {"comparison", comparison_json(options)},
            {"runs", Json::array()}};
  for (const ReportedRun& run : runs) data["runs"].push_back(run_json(run));
  std::string page(between(skyline_page_template, skyline_page_style));
  fill(page, "policy", script_source(library) + " " + script_source(script));
  fill(page, "style", between(skyline_page_style, skyline_page_script));
  fill(page, "library", library);
  fill(page, "script", script);
  fill(page, "data", embedded(data));
  return page;
}

}  // namespace skyline::report
