#pragma once

#include "app/prep/made_dataset.hpp"

#include <filesystem>

namespace skyline::app {

/// What `skyline prep KIND SOURCE... -o FILE` makes.
struct PrepArguments {
  PrepSource source;
  std::filesystem::path out;
  bool force = false;  // overwrite an existing file
};

/// Writes the data set, and prints its classes, what was guessed and what looks wrong.
/// @throws UserError, one line that names the file
void prepare(const PrepArguments& arguments);

}  // namespace skyline::app
