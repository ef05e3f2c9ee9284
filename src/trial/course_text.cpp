#include "trial/course_text.hpp"

#include "skyline/core/config_node.hpp"

#include "core/text/foreign_text.hpp"

namespace skyline::trial {

std::string to_text(const CurvePoint& point) {
  std::string text = "step " + std::to_string(point.step) + ":";
  for (const NamedNumber& each : point.values) {
    text += " " + each.name + "=" + ConfigNode::make_number(each.value).as_text();
  }
  return printable(text);
}

}  // namespace skyline::trial
