#include "space/language/space_keys.hpp"

#include "skyline/space/layer_kind.hpp"

#include "core/config/config_text.hpp"

#include <memory>
#include <utility>

namespace skyline::space {
namespace {

ConfigNode schema_of(const char* yaml) {
  return load_yaml_text(yaml, "schema");
}

ConfigNode any_of(std::vector<ConfigNode> schemas) {
  return ConfigNode::make_map({{"anyOf", ConfigNode::make_list(std::move(schemas), {}), {}}}, {});
}

/// A value, or an expression in its place.
ConfigNode value_or_expression(const ConfigNode& value) {
  return any_of({value, schema_of("{type: string, pattern: '[-$(+*/%]'}")});
}

/// The attributes of a layer kind.
class LayerKeys final : public KeyTable {
 public:
  explicit LayerKeys(const LayerKind& kind) {
    for (const LayerAttribute& attribute : attributes_of(kind)) {
      const KeyRule rule = attribute.required ? KeyRule::kRequired : KeyRule::kPartOfRun;
      OptionKey key{attribute.name,
                    attribute.meaning,
                    rule,
                    {attribute.expected, value_or_expression(attribute.schema)}};
      key.write = [fallback = attribute.fallback](const void* /*none*/) { return fallback; };
      append(std::move(key), nullptr);
    }
  }
  ConfigNode complete(const ConfigNode& section) const override { return section; }  // its kind reads it
};

/// A layer by its name alone, a layer with attributes, or a repetition.
OptionKind<ConfigNode> network_items() {
  std::vector<ConfigNode> names;
  ConfigNode with_attributes = schema_of(
      "{type: object, minProperties: 1, maxProperties: 1, properties: {}, additionalProperties: false}");
  std::vector<SubSection> sections{{"", std::make_shared<OptionTable<RepeatForm>>(repeat_keys())}};
  for (const std::string& name : layer_kind_names()) {
    const auto keys = std::make_shared<const LayerKeys>(*find_layer_kind(name));
    ConfigNode attributes = keys->schema();
    if (attributes.find("required") == nullptr) names.push_back(schema_text(name));
    with_attributes.set("properties." + name, std::move(attributes));
    sections.push_back({name, keys});
  }
  const auto name_alone =
      ConfigNode::make_map({{"enum", ConfigNode::make_list(std::move(names), {}), {}}}, {});
  ConfigNode list = schema_of("{type: array, minItems: 1}");
  list.set("items", any_of({name_alone, std::move(with_attributes), repeat_keys().schema()}));
  OptionKind<ConfigNode> kind = tree("a list of layers", std::move(list));
  kind.sections = std::move(sections);
  return kind;
}

}  // namespace

const OptionTable<ParameterForm>& parameter_keys() {
  static const OptionTable<ParameterForm> table{
      {"choice", &ParameterForm::choice, tree("a list of values", schema_of("{type: array, minItems: 1}")),
       "The values: numbers, words or true/false, each once."},
      {"range", &ParameterForm::range,
       tree("[first, last] or [first, last, step]",
            schema_of("{type: array, items: {type: integer}, minItems: 2, maxItems: 3}")),
       "Whole numbers, both ends included."},
      {"step", &ParameterForm::step,
       tree("a whole number of at least 1", whole<std::int64_t>(at_least(1)).schema),
       "Step of the range, 1 unless given."},
      {"weights", &ParameterForm::weights,
       tree("a list of numbers above 0, one for each value",
            schema_of("{type: array, items: {type: number, exclusiveMinimum: 0}}")),
       "How often random samples take each value, relative to the others; equal unless given."}};
  return table;
}

const OptionTable<RepeatForm>& repeat_keys() {
  static const OptionTable<RepeatForm> table{
      {"repeat", &RepeatForm::repeat,
       tree("a whole number of at least 0", value_or_expression(whole<std::int64_t>(at_least(0)).schema)),
       "Number of repetitions of the body.", KeyRule::kRequired},
      {"body", &RepeatForm::body,
       // As a whole configuration places it.
       tree("a list of layers", schema_of("{$ref: '#/properties/space/properties/network'}")),
       "The layers that are repeated.", KeyRule::kRequired}};
  return table;
}

OptionTable<SpaceForm> space_keys() {
  ConfigNode named = schema_of("{type: [object, 'null']}");
  ConfigNode parameter = parameter_keys().schema();
  parameter.set("oneOf", schema_of("[{required: [choice]}, {required: [range]}]"));
  named.set("additionalProperties", std::move(parameter));
  OptionKind<ConfigNode> parameters = tree("a map of names", std::move(named));
  parameters.sections = {{"NAME", std::make_shared<OptionTable<ParameterForm>>(parameter_keys())}};
  return {
      {"parameters", &SpaceForm::parameters, parameters,
       "Named parameters, and the values that each of them may take: `choice` or `range`."},
      {"network", &SpaceForm::network, network_items(),
       "The layers, in order, and repetitions; an expression may stand for any value.", KeyRule::kRequired}};
}

}  // namespace skyline::space
