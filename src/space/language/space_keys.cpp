#include "space/language/space_keys.hpp"

#include "skyline/space/layer_kind.hpp"

#include "core/config/config_text.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace skyline::space {
namespace {

constexpr std::array kItemKeys{"repeat", "body", "one_of", "residual", "branch", "cell"};

ConfigNode schema_of(const char* yaml) {
  return load_yaml_text(yaml, "schema");
}

ConfigNode any_of(std::vector<ConfigNode> schemas) {
  return ConfigNode::make_map({{"anyOf", ConfigNode::make_list(std::move(schemas), {}), {}}}, {});
}

/// Describes a value, or an expression that gives it.
ConfigNode value_or_expression(const ConfigNode& value) {
  return any_of({value, schema_of("{type: string, pattern: '[-$(+*/%]'}")});
}

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
  // the kind reads its own attributes
  ConfigNode complete(const ConfigNode& section) const override { return section; }
};

/// The schema of items, at its place in a whole configuration.
ConfigNode items_schema() {
  return schema_of("{$ref: '#/properties/space/properties/network'}");
}

ConfigNode item_schema() {
  return schema_of("{$ref: '#/properties/space/properties/network/items'}");
}

OptionKind<ConfigNode> items() {
  return tree("a list of items", items_schema());
}

OptionKind<ConfigNode> item_or_items() {
  return tree("an item, or a list of items", item_schema());
}

OptionKind<ConfigNode> alternatives(const char* expected) {
  ConfigNode list = schema_of("{type: array, minItems: 1}");
  list.set("items", item_schema());
  return tree(expected, list);
}

OptionKind<ConfigNode> weights() {
  return tree("a list of numbers above 0",
              schema_of("{type: array, items: {type: number, exclusiveMinimum: 0}}"));
}

OptionKind<ConfigNode> names() {
  return tree("a name, or a list of names",
              schema_of("{anyOf: [{type: string}, {type: array, items: {type: string}, minItems: 1}]}"));
}

std::vector<Key<BesideForm>> beside_keys() {
  return {{"name", &BesideForm::name, tree("a word", schema_of("{type: string}")),
           "What `from` calls the output of this item, and genotypes the choice that it makes."},
          {"from", &BesideForm::from, names(),
           "What the item reads instead of the item before: names, `input` (what the list reads) or "
           "`previous`."},
          {"when", &BesideForm::when,
           tree("true or false, or an expression", schema_of("{type: [string, boolean]}")),
           "Whether the item is built; otherwise its input goes on unchanged."}};
}

/// The keys of an item, with those that any item may have.
template <typename Form>
OptionTable<Form> with_beside(OptionTable<Form> table) {
  table.add({"name", &BesideForm::name, tree("a word", schema_of("{type: string}")), ""});
  table.add({"from", &BesideForm::from, names(), ""});
  table.add({"when", &BesideForm::when,
             tree("true or false, or an expression", schema_of("{type: [string, boolean]}")), ""});
  return table;
}

OptionTable<RepeatForm> own_repeat_keys() {
  return {
      {"repeat", &RepeatForm::repeat,
       tree("a whole number of at least 0", value_or_expression(integer<std::int64_t>(at_least(0)).schema)),
       "Number of repetitions of the body."},
      {"as", &RepeatForm::as, tree("a word", schema_of("{type: string}")),
       "Name of the number of the repetition in the body, from 0 on."},
      {"body", &RepeatForm::body, items(), "The items that are repeated, or are built as one.",
       KeyRule::kRequired}};
}

OptionTable<OneOfForm> own_one_of_keys() {
  return {{"one_of", &OneOfForm::one_of, alternatives("a list of items"),
           "Alternatives, each an item or a list of items.", KeyRule::kRequired},
          {"weights", &OneOfForm::weights, weights(), "How often random samples take each alternative."},
          {"each", &OneOfForm::each, "Whether every place of the item has a choice of its own."}};
}

OptionTable<ResidualForm> own_residual_keys() {
  return {
      {"residual", &ResidualForm::residual, items(), "The items to whose output their input is added.",
       KeyRule::kRequired},
      {"projection", &ResidualForm::projection,
       tree("`auto`, `none` or a list of items", any_of({schema_of("{enum: [auto, none]}"), items_schema()})),
       "What the input passes where its shape is not the output's: `auto`: a 1x1 convolution and a norm; "
       "`none`: nothing is added there; a list of items is always built."}};
}

OptionTable<BranchForm> own_branch_keys() {
  return {{"branch", &BranchForm::branch, alternatives("a list of branches"),
           "Items or lists of items that read the same input.", KeyRule::kRequired},
          {"merge", &BranchForm::merge,
           choice<std::string>({{"add", "add"}, {"concat", "concat"}, {"multiply", "multiply"}}),
           "How one output is made of theirs.", KeyRule::kRequired}};
}

OptionTable<CellForm> own_cell_keys() {
  return {{"cell", &CellForm::cell, tree("a map of nodes", schema_of("{type: object, minProperties: 1}")),
           "Nodes by name, each with the nodes that it reads, `input` or earlier ones: a list, or a map to "
           "the operation of each edge. A node is the sum of its edges.",
           KeyRule::kRequired},
          {"operations", &CellForm::operations, alternatives("a list of items"),
           "Alternatives for each edge without an operation of its own."},
          {"weights", &CellForm::weights, weights(), "How often random samples take each operation."},
          {"each", &CellForm::each, "Whether every place of the cell has choices of its own."},
          {"output", &CellForm::output, names(),
           "The node that is the output, or a list of nodes that are joined; the last node unless given."}};
}

template <typename Form>
SubSection own_section(const OptionTable<Form>& table) {
  return {"", std::make_shared<OptionTable<Form>>(table)};
}

/// The word of a layer or block, a layer or block with attributes, or another item.
OptionKind<ConfigNode> network_items() {
  ConfigNode with_attributes = schema_of(
      "{type: object, minProperties: 1, maxProperties: 4, properties: {}, additionalProperties: {type: "
      "[object, 'null']}}");
  OptionTable<BesideForm> beside({});
  for (const Key<BesideForm>& key : beside_keys()) {
    beside.add(key);
    with_attributes.set("properties." + key.name, key.value.schema);
  }
  for (const char* form : kItemKeys) {
    with_attributes.set(std::string("properties.") + form, ConfigNode::make_scalar("false", {}));
  }
  std::vector<SubSection> sections{own_section(own_repeat_keys()),   own_section(own_one_of_keys()),
                                   own_section(own_residual_keys()), own_section(own_branch_keys()),
                                   own_section(own_cell_keys()),     own_section(beside)};
  std::vector<ConfigNode> need_attributes;  // names that are no layer without attributes
  for (const std::string& name : layer_kind_names()) {
    const auto keys = std::make_shared<const LayerKeys>(*find_layer_kind(name));
    ConfigNode attributes = keys->schema();
    if (attributes.find("required") != nullptr) need_attributes.push_back(schema_text(name));
    with_attributes.set("properties." + name, std::move(attributes));
    sections.push_back({name, keys});
  }
  ConfigNode word = schema_of("{type: string}");
  word.set("not.enum", ConfigNode::make_list(std::move(need_attributes), {}));
  ConfigNode list = schema_of("{type: array, minItems: 1}");
  ConfigNode as_one = schema_of("{type: array}");
  as_one.set("items", item_schema());
  list.set("items", any_of({std::move(word), std::move(with_attributes), std::move(as_one),
                            repeat_keys().schema(), one_of_keys().schema(), residual_keys().schema(),
                            branch_keys().schema(), cell_keys().schema()}));
  OptionKind<ConfigNode> kind = tree("a list of items", std::move(list));
  kind.sections = std::move(sections);
  return kind;
}

OptionKind<ConfigNode> named_parameters() {
  ConfigNode named = schema_of("{type: [object, 'null']}");
  ConfigNode parameter = parameter_keys().schema();
  parameter.set("oneOf", schema_of("[{required: [choice]}, {required: [range]}]"));
  named.set("additionalProperties", std::move(parameter));
  OptionKind<ConfigNode> kind = tree("a map of names", std::move(named));
  kind.sections = {{"NAME", std::make_shared<OptionTable<ParameterForm>>(parameter_keys())}};
  return kind;
}

OptionKind<ConfigNode> named_blocks() {
  ConfigNode named = schema_of("{type: [object, 'null']}");
  named.set("additionalProperties", any_of({item_schema(), block_keys().schema()}));
  OptionKind<ConfigNode> kind = tree("a map of names", std::move(named));
  kind.sections = {{"NAME", std::make_shared<OptionTable<BlockForm>>(block_keys())}};
  return kind;
}

}  // namespace

const OptionTable<ParameterForm>& parameter_keys() {
  static const OptionTable<ParameterForm> table{
      {"choice", &ParameterForm::choice, tree("a list of values", schema_of("{type: array, minItems: 1}")),
       "The values: numbers, words, true/false, null or [height, width], each once."},
      {"range", &ParameterForm::range,
       tree("[first, last] or [first, last, step]",
            schema_of("{type: array, items: {type: number}, minItems: 2, maxItems: 3}")),
       "Numbers from the first to the last, both included."},
      {"step", &ParameterForm::step, tree("a number above 0", number(above(0)).schema),
       "Step of the range; 1 unless given, in a range of whole numbers."},
      {"count", &ParameterForm::count,
       tree("a whole number of at least 2", integer<std::int64_t>(at_least(2)).schema),
       "Number of values, evenly spaced. Unless given, a range of fractions has as many as four digits tell "
       "apart, at most 1,000."},
      {"log", &ParameterForm::log,
       "Whether the values of a range are evenly spaced by their ratios; 100 values without a `count`."},
      {"weights", &ParameterForm::weights, weights(),
       "How often random samples take each value, relative to the others; equal unless given."},
      {"each", &ParameterForm::each,
       "Whether every place has a value of its own: every repetition and every use of a block."},
      {"when", &ParameterForm::when, tree("a condition", schema_of("{type: string}")),
       "Condition on other parameters, e.g. `$optimizer == sgd`. Where it does not hold, the parameter is not "
       "used: it has no value, and does not tell trials apart. In spaces without a network."}};
  return table;
}

const OptionTable<BlockForm>& block_keys() {
  static const OptionTable<BlockForm> table{
      {"arguments", &BlockForm::arguments, tree("a map of names", schema_of("{type: [object, 'null']}")),
       "Names that the body uses as `$name`, with their defaults; without a default, one must be given."},
      {"body", &BlockForm::body, item_or_items(), "The items that replace the block where it is used.",
       KeyRule::kRequired}};
  return table;
}

BesideForm beside_form(const ConfigNode& item) {
  const auto value = [&](const char* key) {
    const ConfigNode* found = item.find(key);
    return found == nullptr ? ConfigNode() : *found;
  };
  return {value("name"), value("from"), value("when")};
}

bool is_key_beside(std::string_view key) {
  return key == "name" || key == "from" || key == "when";
}

bool is_key_of_item(std::string_view key) {
  return std::ranges::find(kItemKeys, key) != kItemKeys.end();
}

const OptionTable<RepeatForm>& repeat_keys() {
  static const OptionTable<RepeatForm> table = with_beside(own_repeat_keys());
  return table;
}

const OptionTable<OneOfForm>& one_of_keys() {
  static const OptionTable<OneOfForm> table = with_beside(own_one_of_keys());
  return table;
}

const OptionTable<ResidualForm>& residual_keys() {
  static const OptionTable<ResidualForm> table = with_beside(own_residual_keys());
  return table;
}

const OptionTable<BranchForm>& branch_keys() {
  static const OptionTable<BranchForm> table = with_beside(own_branch_keys());
  return table;
}

const OptionTable<CellForm>& cell_keys() {
  static const OptionTable<CellForm> table = with_beside(own_cell_keys());
  return table;
}

OptionTable<SpaceForm> space_keys() {
  return {{"file", &SpaceForm::file, tree("a file", schema_of("{type: string}")),
           "A file that holds this section, looked for beside the configuration; instead of the other keys."},
          {"parameters", &SpaceForm::parameters, named_parameters(),
           "Named parameters, and the values that each of them may take: `choice` or `range`."},
          {"blocks", &SpaceForm::blocks, named_blocks(),
           "Named lists of items, which stand in the network as layers do."},
          {"network", &SpaceForm::network, network_items(),
           "The items, in order: layers, blocks, repetitions, ...; an expression may stand for any value."},
          {"where", &SpaceForm::where,
           tree("a condition, or a list of conditions",
                schema_of("{anyOf: [{type: string}, {type: array, items: {type: string}}]}")),
           "Conditions between parameters that every genotype keeps, e.g. `$w2 >= $w1`."}};
}

}  // namespace skyline::space
