#include "app/prep/prep_report.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"

#include <nlohmann/json.hpp>

namespace skyline::app {

void PrepReport::read_line(std::string_view line) {
  using Json = nlohmann::json;
  const Json root = Json::parse(shallow_json(line), nullptr, false);
  if (!root.is_object()) return fail("expected an object of JSON, got " + shortened(printable(line)));
  for (const auto& [key, value] : root.items()) {
    if (!value.is_string()) return fail("expected a text, got " + shortened(value.dump()));
    const std::string text = printable(value.get<std::string>());
    if (key == "line") {
      said_.push_back(text);
    } else if (key == "started") {
      has_started_ = true;
    } else if (key == "progress") {
      log::info(text);
    } else if (key == "reading") {
      reading_ = text;
    } else if (key == "error") {
      error_ = text;
    } else if (key == "missing") {
      missing_ = text;
    }
  }
}

}  // namespace skyline::app
