#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace skyline::app {

/// What `skyline prep KIND SOURCE... -o FILE` makes.
struct Preparation {
  std::string kind;  // one of store::importer_names()
  std::vector<std::filesystem::path> sources;
  std::filesystem::path out;
  bool force = false;  // overwrite an existing file
  std::size_t threads = std::max(std::thread::hardware_concurrency(), 1U);
  std::vector<std::pair<std::string, std::string>> options;  // the importer's options as key and value
  bool by_with = false;  // whether the command has them as --with KEY=VALUE
};

/// Writes the data set, and prints its classes, what was guessed and what looks wrong.
/// @throws UserError, one line that names the file
void prepare(const Preparation& arguments);

}  // namespace skyline::app
