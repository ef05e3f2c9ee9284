#include "core/config/argument_vector.hpp"

#include "core/config/config_text.hpp"

#include <utility>

namespace skyline {

OptionKind<std::vector<std::string>> argument_vector() {
  OptionKind<std::vector<std::string>> kind{
      {"a list of arguments, e.g. [python3, train.py]; no shell is used",
       load_yaml_text("{type: array, minItems: 1, items: {type: [string, number, boolean]}}", "schema")}};
  kind.read = [](const ConfigNode& node, std::vector<std::string>& arguments) {
    if (!node.is_list()) return false;
    if (node.items().empty()) node.fail("expected a program and its arguments, got an empty list");
    arguments.clear();
    for (const ConfigNode& item : node.items()) {
      if (!item.is_scalar()) {
        item.fail_expected(item.is_map() ? "an argument; a placeholder needs quotes, e.g. \"{lr}\""
                                         : "an argument");
      }
      if (item.as_text().find('\0') != std::string::npos) item.fail("an argument cannot have a byte 0");
      arguments.push_back(item.as_text());
    }
    if (arguments.front().empty()) node.items().front().fail_expected("a program");
    return true;
  };
  kind.write = [](const std::vector<std::string>& arguments) {
    if (arguments.empty()) return ConfigNode();
    std::vector<ConfigNode> items;
    for (const std::string& argument : arguments)
      items.push_back(ConfigNode::make_scalar(argument, {}, true));
    return ConfigNode::make_list(std::move(items), {});
  };
  return kind;
}

}  // namespace skyline
