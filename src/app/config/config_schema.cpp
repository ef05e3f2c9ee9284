#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"
#include "skyline/space/layer_kind.hpp"

#include "app/config/config_sections.hpp"
#include "core/config/config_text.hpp"

#include <set>
#include <string>
#include <vector>

namespace skyline::app {
namespace {

ConfigNode schema_of(const std::string& yaml) {
  return load_yaml_text(yaml, "schema");
}

template <typename Names>
ConfigNode words(const Names& names) {
  std::vector<ConfigNode> words;
  for (const std::string& name : names) words.push_back(ConfigNode::make_scalar(name, {}, true));
  return ConfigNode::make_list(std::move(words), {});
}

std::set<std::string> metric_names() {
  std::set<std::string> names;
  const auto add = [&](const std::vector<std::string>& some) { names.insert(some.begin(), some.end()); };
  add(objective::computed_metric_names());
  for (const std::string& name : evaluate::evaluator_names()) add(evaluate::find_evaluator(name)->metrics);
  return names;
}

ConfigNode layer_schema() {
  ConfigNode kinds = ConfigNode::make_map({}, {});
  for (const std::string& name : space::layer_kind_names()) {
    ConfigNode attributes =
        schema_of("{type: [object, 'null'], properties: {}, additionalProperties: false}");
    for (const space::LayerAttribute& attribute : space::attributes_of(*space::find_layer_kind(name))) {
      attributes.set("properties." + attribute.name, schema_of("true"));
    }
    kinds.set(name, std::move(attributes));
  }
  kinds.set("repeat", schema_of("{description: How often the body follows itself.}"));
  kinds.set("body", schema_of("{$ref: '#/properties/space/properties/network'}"));
  ConfigNode item = schema_of("{anyOf: []}");
  ConfigNode with_attributes = schema_of("{type: object, minProperties: 1, additionalProperties: false}");
  with_attributes.set("properties", std::move(kinds));
  ConfigNode name_alone = ConfigNode::make_map({{"enum", words(space::layer_kind_names()), {}}}, {});
  item.set("anyOf", ConfigNode::make_list({std::move(name_alone), std::move(with_attributes)}, {}));
  return item;
}

}  // namespace

ConfigNode space_schema() {
  ConfigNode schema = schema_of(
      "type: object\n"
      "required: [network]\n"
      "additionalProperties: false\n"
      "properties:\n"
      "  parameters:\n"
      "    description: Named parameters and the values that each of them may take.\n"
      "    type: [object, 'null']\n"
      "    additionalProperties:\n"
      "      type: object\n"
      "      additionalProperties: false\n"
      "      properties:\n"
      "        choice: {description: The values., type: array, minItems: 1}\n"
      "        range: {description: 'First and last whole number, and a step.', type: array, minItems: 2, "
      "maxItems: 3}\n"
      "        step: {description: Step of the range., type: integer, minimum: 1}\n"
      "        weights: {description: 'Weights of the values in random samples.', type: array}\n"
      "  network:\n"
      "    description: The layers, in order.\n"
      "    type: array\n"
      "    minItems: 1\n");
  schema.set("properties.network.items", layer_schema());
  return schema;
}

ConfigNode objectives_schema() {
  ConfigNode schema = schema_of(
      "{type: array, minItems: 1, items: {type: object, minProperties: 1, maxProperties: 1, properties: {}, "
      "additionalProperties: false}}");
  for (const char* sense : {"maximize", "minimize"}) {
    schema.set("items.properties." + std::string(sense),
               ConfigNode::make_map({{"enum", words(metric_names()), {}}}, {}));
  }
  return schema;
}

ConfigNode constraints_schema() {
  ConfigNode schema = schema_of(
      "{type: [array, 'null'], items: {type: object, minProperties: 1, maxProperties: 1, properties: {}, "
      "additionalProperties: false}}");
  for (const std::string& metric : metric_names()) {
    schema.set("items.properties." + metric,
               schema_of("{type: array, items: {type: number}, minItems: 2, maxItems: 2}"));
  }
  return schema;
}

ConfigNode search_schema() {
  const std::string preset = search::algorithm_of(ConfigNode()).name;
  std::vector<ConfigNode> variants;
  for (const std::string& name : search::algorithm_names()) {
    variants.push_back(search::algorithm(name).keys->schema());
    if (name != preset) variants.back().set("required", schema_of("[algorithm]"));
  }
  return ConfigNode::make_map({{"anyOf", ConfigNode::make_list(std::move(variants), {}), {}}}, {});
}

ConfigNode config_schema() {
  ConfigNode schema = schema_of(
      "{$schema: 'https://json-schema.org/draft/2020-12/schema', title: Configuration of a Skyline run}");
  const ConfigNode sections = all_sections().schema();
  for (const ConfigNode::Entry& entry : sections.entries()) schema.set(entry.key, entry.value);
  std::vector<ConfigNode> evaluators;
  for (const std::string& name : evaluate::evaluator_names()) {
    evaluators.push_back(schema_of("{required: [" + name + "]}"));
  }
  schema.set("oneOf", ConfigNode::make_list(std::move(evaluators), {}));
  return schema;
}

}  // namespace skyline::app
