#pragma once

#include "skyline/core/option_table.hpp"

#include <string>
#include <string_view>

namespace skyline::space {

/// The `space` section as it is written. Members that are not given are null, here and below.
struct SpaceForm {
  ConfigNode file;  // the reader of the configuration replaces it by the file's content
  ConfigNode parameters;
  ConfigNode blocks;
  ConfigNode network;
  ConfigNode where;
};
/// The keys of the section, with those of all layer kinds that are registered by now.
OptionTable<SpaceForm> space_keys();

/// A parameter: `choice` or `range`.
struct ParameterForm {
  ConfigNode choice;
  ConfigNode range;
  ConfigNode step;
  ConfigNode count;
  bool log = false;
  ConfigNode weights;
  bool each = false;
  ConfigNode when;
};
const OptionTable<ParameterForm>& parameter_keys();

/// A block with arguments.
struct BlockForm {
  ConfigNode arguments;
  ConfigNode body;
};
const OptionTable<BlockForm>& block_keys();

/// The keys that any item of a network may have.
struct BesideForm {
  ConfigNode name;
  ConfigNode from;
  ConfigNode when;
};
BesideForm beside_form(const ConfigNode& item);
bool is_key_beside(std::string_view key);
/// Returns whether the key begins an item that is neither a layer nor a block.
bool is_key_of_item(std::string_view key);

/// A repetition, or a list of items as one.
struct RepeatForm : BesideForm {
  ConfigNode repeat;
  ConfigNode as;
  ConfigNode body;
};
const OptionTable<RepeatForm>& repeat_keys();

struct OneOfForm : BesideForm {
  ConfigNode one_of;
  ConfigNode weights;
  bool each = false;
};
const OptionTable<OneOfForm>& one_of_keys();

struct ResidualForm : BesideForm {
  ConfigNode residual;
  ConfigNode projection;
};
const OptionTable<ResidualForm>& residual_keys();

struct BranchForm : BesideForm {
  ConfigNode branch;
  std::string merge;
};
const OptionTable<BranchForm>& branch_keys();

struct CellForm : BesideForm {
  ConfigNode cell;
  ConfigNode operations;
  ConfigNode weights;
  bool each = false;
  ConfigNode output;
};
const OptionTable<CellForm>& cell_keys();

}  // namespace skyline::space
