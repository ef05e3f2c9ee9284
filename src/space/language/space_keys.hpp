#pragma once

#include "skyline/core/option_table.hpp"

namespace skyline::space {

/// The `space` section as it is written.
struct SpaceForm {
  ConfigNode parameters;  // null: there are none
  ConfigNode network;
};
/// Its keys, those of the layer kinds that are registered by now included.
OptionTable<SpaceForm> space_keys();

/// A parameter as it is written: `choice` or `range`. What is not given is null.
struct ParameterForm {
  ConfigNode choice;
  ConfigNode range;
  ConfigNode step;
  ConfigNode weights;
};
const OptionTable<ParameterForm>& parameter_keys();

/// A repetition in a network as it is written.
struct RepeatForm {
  ConfigNode repeat;
  ConfigNode body;
};
const OptionTable<RepeatForm>& repeat_keys();

}  // namespace skyline::space
