// Items of a network that make a graph: residual, branch, cell, and the names that `from` reads.
#include "skyline/space/layer_kind.hpp"

#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "space/language/space_reader.hpp"

#include <map>
#include <set>
#include <utility>

namespace skyline::space {

std::vector<TensorReference> SpaceReader::references(const ConfigNode& from, const TreePosition& place) {
  std::vector<TensorReference> found;
  const std::vector<ConfigNode> names = from.is_list() ? from.items() : std::vector<ConfigNode>{from};
  if (names.empty()) from.fail_expected("a name, or a list of names");
  for (const ConfigNode& name : names) {
    const std::string& text = name.as_text();
    const auto output = place.outputs.find(text);
    if (text == "previous") {
      found.push_back(std::nullopt);
    } else if (text == "input") {
      found.emplace_back(place.input);
    } else if (output != place.outputs.end()) {
      found.emplace_back(output->second);
    } else {
      std::vector<std::string> known{"input", "previous"};
      for (const auto& [other, number] : place.outputs) known.push_back(other);
      count_steps(100 * known.size());
      name.fail("no item before this one has the name " + in_quotes(text) + ", " +
                suggestion(text, known, NamesOf::kUser));
    }
  }
  return found;
}

ItemPointer SpaceReader::residual(const ConfigNode& node, const TreePosition& place) {
  const ResidualForm form = residual_keys().parse(node);
  ItemPointer body = list(form.residual, place);
  Shortcut shortcut;
  const ConfigNode& projection = form.projection;
  if (projection.is_scalar() && projection.as_text() == "none") {
    shortcut.kind = Shortcut::Kind::kNone;
  } else if (!projection.is_null() && !(projection.is_scalar() && projection.as_text() == "auto")) {
    shortcut.kind = Shortcut::Kind::kGiven;
    shortcut.given = list(projection, place);
  }
  return make_residual(std::move(body), std::move(shortcut), place_of(node));
}

ItemPointer SpaceReader::branch(const ConfigNode& node, const TreePosition& place) {
  const BranchForm form = branch_keys().parse(node);
  if (form.branch.items().size() < 2) form.branch.fail_expected("a list of two branches or more");
  ItemPointers branches;
  for (const ConfigNode& one : form.branch.items()) branches.push_back(list(one, place));
  const LayerKind& merge = *find_layer_kind(form.merge);
  return make_branch(std::move(branches), LayerTemplate::fixed(merge, node, {}));
}

namespace {

/// An edge into a node of a cell. If `operation` is null, one of the cell's listed operations is meant.
struct EdgeForm {
  ConfigNode from;
  ConfigNode operation;
};

std::vector<EdgeForm> edges_of(const ConfigNode& node) {
  std::vector<EdgeForm> edges;
  if (node.is_map()) {
    for (const ConfigNode::Entry& entry : node.entries()) {
      edges.push_back({key_node(node, entry), entry.value});
    }
  } else {
    for (const ConfigNode& from : node.items()) edges.push_back({from, ConfigNode()});
  }
  if (edges.empty()) node.fail_expected("a list of nodes, or a map of nodes to operations");
  return edges;
}

/// Names of the nodes of a cell that have been read so far.
class NodeNames {
 public:
  std::size_t find(const ConfigNode& name) {
    const auto found = indices_.find(name.as_text());
    if (found == indices_.end()) {
      name.fail("no earlier node has the name " + in_quotes(name.as_text()) + ", " +
                suggestion(name.as_text(), names_, NamesOf::kUser));
    }
    read_.insert(found->second);
    return found->second;
  }
  void add(const ConfigNode::Entry& node) {
    if (!is_parameter_name(node.key) || !indices_.emplace(node.key, names_.size()).second) {
      node.value.fail(
          "a node's name is made of letters, digits and `_`, and no other node or `input` has it");
    }
    names_.push_back(node.key);
  }
  /// Returns the nodes that the output joins: the listed ones, or the last one.
  std::vector<std::size_t> outputs(const ConfigNode& listed) {
    if (listed.is_null()) {
      read_.insert(names_.size() - 1);
      return {names_.size() - 1};
    }
    if (listed.is_scalar()) return {find(listed)};
    std::vector<std::size_t> outputs;
    for (const ConfigNode& name : listed.items()) outputs.push_back(find(name));
    if (outputs.empty()) listed.fail_expected("a node, or a list of nodes");
    return outputs;
  }
  void check_all_read(const ConfigNode& nodes) const {
    for (std::size_t i = 1; i < names_.size(); ++i) {
      if (!read_.contains(i)) nodes.at(names_[i]).fail("nothing reads this node");
    }
  }

 private:
  std::vector<std::string> names_{"input"};
  std::map<std::string, std::size_t> indices_{{"input", 0}};
  std::set<std::size_t> read_;
};

}  // namespace

ItemPointer SpaceReader::cell(const ConfigNode& node, const TreePosition& place) {
  const CellForm form = cell_keys().parse(node);
  const std::string name = choice_name(form.name, "cell", node);
  const std::string own_path = path_of_each(form.each, place);
  NodeNames names;
  std::vector<CellNode> nodes(1);
  for (const ConfigNode::Entry& entry : form.cell.entries()) {
    CellNode& cell_node = nodes.emplace_back();
    for (const EdgeForm& edge : edges_of(entry.value)) {
      const std::string own_name = name + '.' + edge.from.as_text() + '-' + entry.key;
      const std::size_t from = names.find(edge.from);
      TreePosition inner = place;
      inner.path += '.' + own_name;
      if (!edge.operation.is_null()) {
        cell_node.edges.push_back({from, list(edge.operation, inner)});
        continue;
      }
      if (form.operations.is_null()) form.cell.fail("edges without an operation need a list of `operations`");
      cell_node.edges.push_back(
          {from, choice(own_name + own_path, node, {form.operations.items(), form.weights}, inner)});
    }
    names.add(entry);
  }
  if (nodes.size() < 2) form.cell.fail_expected("a map of nodes, as in `middle: [input]`");
  std::vector<std::size_t> outputs = names.outputs(form.output);
  names.check_all_read(form.cell);
  return make_cell(std::move(nodes), std::move(outputs), place_of(node));
}

}  // namespace skyline::space
