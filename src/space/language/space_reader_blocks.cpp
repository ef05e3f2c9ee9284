// Blocks: named lists of items with arguments.
#include "skyline/space/layer_kind.hpp"

#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "space/language/space_reader.hpp"

#include <algorithm>
#include <utility>

namespace skyline::space {
namespace {

constexpr std::size_t kDeepestBlocks = 50;

}  // namespace

void SpaceReader::read_blocks() {
  if (form_.blocks.is_null()) return;
  for (const ConfigNode::Entry& entry : form_.blocks.entries()) {
    const auto read = [&] {
      const bool taken =
          find_layer_kind(entry.key) != nullptr || is_key_beside(entry.key) || is_key_of_item(entry.key);
      if (taken)
        entry.value.fail(in_quotes(entry.key) + " is a word of the language or a layer; choose another");
      if (!is_parameter_name(entry.key)) {
        entry.value.fail("a block's name is made of letters, digits and `_`, and starts with no digit");
      }
      if (blocks_.contains(entry.key)) entry.value.fail("the block is given twice");
      BlockForm form;
      if (entry.value.is_map()) {
        form = block_keys().parse(entry.value);
      } else {
        form.body = entry.value;
      }
      if (!form.arguments.is_null()) {
        for (const ConfigNode::Entry& argument : form.arguments.entries())
          check_name(argument.key, "an argument", key_node(form.arguments, argument));
      }
      blocks_[entry.key] = std::move(form);
    };
    try {
      read();
    } catch (const UserError& problem) {
      broken_blocks_[entry.key] = problem.what();
      problems_.add(problem.what());
    }
  }
}

ItemPointer SpaceReader::block(const std::string& name, const ConfigNode& arguments,
                               const TreePosition& place) {
  const BlockForm& form = blocks_.at(name);
  if (std::ranges::find(place.blocks, name) != place.blocks.end()) {
    std::string way;
    for (const std::string& around : place.blocks) way += shortened(around) + " > ";
    form.body.fail("a block cannot contain itself: " + way + shortened(name));
  }
  if (place.blocks.size() >= kDeepestBlocks) form.body.fail("blocks are nested more than 50 deep");
  TreePosition inner;
  inner.path = place.path + '.' + name;
  inner.path += '_' + std::to_string(uses_[inner.path]++);
  count_steps(inner.path.size());
  inner.blocks = place.blocks;
  inner.blocks.push_back(name);
  give_arguments(name, arguments, place, inner);
  return list(form.body, inner);
}

void SpaceReader::give_arguments(const std::string& block, const ConfigNode& given, const TreePosition& place,
                                 TreePosition& inner) {
  const ConfigNode& wanted = blocks_.at(block).arguments;
  TreePosition outside = place;
  outside.path = inner.path;
  std::vector<std::string> known;
  if (wanted.is_map()) {
    for (const ConfigNode::Entry& entry : wanted.entries()) known.push_back(entry.key);
  }
  if (given.is_map()) {
    for (const ConfigNode::Entry& entry : given.entries()) {
      count_steps(known.size());
      if (std::ranges::find(known, entry.key) == known.end()) {
        key_node(given, entry)
            .fail("block " + shortened(block) + " has no argument " + in_quotes(entry.key) + ", " +
                  suggestion(entry.key, known, NamesOf::kUser));
      }
      inner.names[entry.key] = {{expression(entry.value, outside).root(), true}, std::nullopt};
    }
  } else if (!given.is_null()) {
    given.fail_expected("a map of arguments");
  }
  if (!wanted.is_map()) return;
  for (const ConfigNode::Entry& entry : wanted.entries()) {
    if (inner.names.contains(entry.key)) continue;
    if (entry.value.is_null()) {
      (given.is_map() ? given : blocks_.at(block).body)
          .fail("block " + shortened(block) + " needs the argument " + in_quotes(entry.key));
    }
    TreePosition global;
    global.path = inner.path;
    inner.names[entry.key] = {{expression(entry.value, global).root(), true}, std::nullopt};
  }
}

}  // namespace skyline::space
