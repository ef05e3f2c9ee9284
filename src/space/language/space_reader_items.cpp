// Items of a network: layers, repetitions, choices.
#include "skyline/space/layer_kind.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "space/language/space_reader.hpp"
#include "space/layers/layers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace skyline::space {
namespace {

constexpr std::size_t kStepsOfAnItem = 2'500;

/// Returns the key of a map that says which kind of item it is, or nullptr if there is none, or several.
const ConfigNode::Entry* main_entry(const ConfigNode& node) {
  const ConfigNode::Entry* main = nullptr;
  for (const ConfigNode::Entry& entry : node.entries()) {
    if (is_key_beside(entry.key)) continue;
    if (is_key_of_item(entry.key)) return &entry;
    if (main != nullptr) return nullptr;
    main = &entry;
  }
  return main;
}

/// Returns the word that selects an alternative.
std::string word_of(const ConfigNode& alternative) {
  if (alternative.is_scalar()) return alternative.as_text();
  if (alternative.is_list()) {
    return alternative.items().empty() ? "nothing" : word_of(alternative.items().front());
  }
  if (!alternative.is_map()) return "nothing";
  const ConfigNode::Entry* main = main_entry(alternative);
  return main == nullptr ? "nothing" : main->key;
}

std::vector<std::string> alternative_words(const std::vector<ConfigNode>& alternatives) {
  std::vector<std::string> words;
  std::set<std::string> taken;
  std::map<std::string, int> numbers;  // last number given to each word
  for (const ConfigNode& alternative : alternatives) {
    const std::string first = word_of(alternative);
    std::string word = first;
    int& number = numbers.try_emplace(first, 1).first->second;
    while (!taken.insert(word).second) word = first + '_' + std::to_string(++number);
    words.push_back(word);
  }
  return words;
}

}  // namespace

ItemPointer SpaceReader::list(const ConfigNode& node, const TreePosition& place) {
  count_steps(10 * (place.names.size() + place.outputs.size()));
  TreePosition inner = place;
  inner.input = tensor_names_++;
  ItemPointers items;
  if (node.is_list()) {
    for (const ConfigNode& each : node.items()) {
      problems_.attempt([&] { items.push_back(item(each, inner)); });
    }
  } else {
    problems_.attempt([&] { items.push_back(item(node, inner)); });
  }
  return make_sequence(std::move(items), inner.input, place_of(node));
}

ItemPointer SpaceReader::layers(const ConfigNode& node, const TreePosition& place) {
  if (!node.is_list() || node.items().empty()) node.fail_expected("a list of layers");
  return list(node, place);
}

ItemPointer SpaceReader::item(const ConfigNode& node, TreePosition& place) {
  ConfigNode around = std::exchange(reading_, place_of(node));
  count_steps(kStepsOfAnItem);
  ItemPointer read = any_item(node, place);
  reading_ = std::move(around);
  return read;
}

ItemPointer SpaceReader::any_item(const ConfigNode& node, TreePosition& place) {
  if (node.is_list()) return list(node, place);
  if (node.is_map()) return map_item(node, place);
  if (!node.is_scalar()) node.fail_expected("one layer, as in `relu` or `conv2d: {channels: 16, kernel: 3}`");
  if (node.as_text().starts_with('$')) return chosen_item(node, ConfigNode(), place);
  return named_item(node.as_text(), ConfigNode(), node, {}, place);
}

ItemPointer SpaceReader::map_item(const ConfigNode& node, TreePosition& place) {
  const auto [name, from, when] = beside_form(node);
  std::vector<TensorReference> reads;
  if (!from.is_null()) reads = references(from, place);
  ItemPointer built = main_item(node, reads, place);
  if (reads.size() == 1) built = make_reading(reads.front(), std::move(built));
  if (!when.is_null()) {
    Expression condition = expression(when, place);
    for (const Value& value : values_of(condition)) {
      if (!std::holds_alternative<bool>(value)) {
        when.fail("expected true or false, got " + condition.describe(value));
      }
    }
    built = make_condition(std::move(condition), std::move(built));
  }
  if (name.is_null()) return built;
  if (!is_parameter_name(name.as_text()) || name.as_text() == "input" || name.as_text() == "previous") {
    name.fail_expected("a name of letters, digits and `_`, other than input and previous");
  }
  const std::size_t number = tensor_names_++;
  place.outputs[name.as_text()] = number;
  return make_naming(number, std::move(built));
}

ItemPointer SpaceReader::main_item(const ConfigNode& node, const std::vector<TensorReference>& reads,
                                   const TreePosition& place) {
  const ConfigNode::Entry* main = main_entry(node);
  if (main == nullptr) node.fail_expected("one layer, as in `relu` or `conv2d: {channels: 16, kernel: 3}`");
  const LayerKind* kind = find_layer_kind(main->key);
  const bool merges = kind != nullptr ? kind->merges() : admits_missing_kinds_;
  if (reads.size() > 1 && !merges) {
    node.at("from").fail("only `add`, `concat` and `multiply` read several");
  }
  if (main->key == "repeat" || main->key == "body") return repeat(node, place);
  if (main->key == "one_of") return one_of(node, place);
  if (main->key == "residual") return residual(node, place);
  if (main->key == "branch") return branch(node, place);
  if (main->key == "cell") return cell(node, place);
  if (main->key.starts_with('$')) return chosen_item(key_node(node, *main), main->value, place);
  return named_item(main->key, main->value, node, reads, place);
}

ItemPointer SpaceReader::named_item(const std::string& name, const ConfigNode& arguments,
                                    const ConfigNode& node, const std::vector<TensorReference>& reads,
                                    const TreePosition& place) {
  if (blocks_.contains(name)) return block(name, arguments, place);
  if (broken_blocks_.contains(name)) throw UserError(broken_blocks_.at(name));
  const LayerKind* kind = find_layer_kind(name);
  if (!is_built_in(name)) registered_kinds_.insert(name);
  PlaceNames names(*this, place);
  const auto read_by = reads.size() > 1 ? reads : std::vector<TensorReference>{};
  if (kind == nullptr && admits_missing_kinds_) {
    return make_layer(LayerTemplate::of_missing_kind(arguments, node, names), read_by);
  }
  if (kind == nullptr) {
    std::vector<std::string> known = layer_kind_names();
    for (const auto& [block, form] : blocks_) known.push_back(block);
    count_steps(100 * known.size());
    std::ranges::sort(known);
    node.fail("unknown layer " + in_quotes(name) + ", " + suggestion(name, known));
  }
  return make_layer(LayerTemplate::parse(*kind, arguments, node, names, data_.classes), read_by);
}

ItemPointer SpaceReader::chosen_item(const ConfigNode& name, const ConfigNode& arguments,
                                     const TreePosition& place) {
  Expression selector = expression(name, place);
  std::vector<Alternative> alternatives;
  for (const Value& value : values_of(selector)) {
    const auto* word = std::get_if<std::string>(&value);
    if (word == nullptr) name.fail("expected names of layers or blocks, got " + selector.describe(value));
    alternatives.push_back({*word, named_item(*word, arguments, name, {}, place)});
  }
  return make_choice(std::move(selector), std::move(alternatives));
}

ItemPointer SpaceReader::repeat(const ConfigNode& node, const TreePosition& place) {
  const RepeatForm form = repeat_keys().parse(node);
  if (form.repeat.is_null()) {
    if (!form.as.is_null()) form.as.fail("can be used with `repeat` only");
    return layers(form.body, place);
  }
  if (!form.as.is_null()) check_name(form.as.as_text(), "a number", form.as);
  Expression count = expression(form.repeat, place);
  std::int64_t most = 0;
  for (const Value& value : values_of(count)) most = std::max(most, repetitions(count, value));
  const std::size_t depth = repeats_.size();
  repeats_.push_back(false);
  ItemPointers bodies;
  for (std::int64_t i = 0; i == 0 || (i < most && repeats_[depth]); ++i) {
    TreePosition inner = place;
    inner.path += '.' + std::to_string(i);
    if (!form.as.is_null()) inner.names[form.as.as_text()] = {{constant_part(i), true}, depth};
    bodies.push_back(layers(form.body, inner));
  }
  repeats_.pop_back();
  return make_repeat(std::move(count), std::move(bodies));
}

ItemPointer SpaceReader::choice(const std::string& name, const ConfigNode& source, const ChoiceForm& form,
                                const TreePosition& place) {
  Parameter parameter{name, {}, {}};
  std::vector<Alternative> alternatives;
  for (const std::string& word : alternative_words(form.options)) {
    alternatives.push_back({word, list(form.options[alternatives.size()], place)});
    parameter.values.emplace_back(word);
  }
  parameter.weights = read_weights(form.weights, parameter.values.size());
  const std::size_t index = parameter_at(name, parameter);
  return make_choice({parameter_part(index), place_of(source)}, std::move(alternatives));
}

ItemPointer SpaceReader::one_of(const ConfigNode& node, const TreePosition& place) {
  const OneOfForm form = one_of_keys().parse(node);
  if (form.one_of.items().size() < 2) form.one_of.fail_expected("a list of two items or more");
  const std::string name = choice_name(form.name, "one_of", node) + path_of_each(form.each, place);
  return choice(name, node, {form.one_of.items(), form.weights}, place);
}

}  // namespace skyline::space
