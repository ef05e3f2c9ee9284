#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/store/dataset.hpp"

#include "store/data/part_shares.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace skyline::store {

/// The meaning of the dimensions of an array of samples.
enum class Layout { kByRank, kChw, kHwc, kHw, kLength, kChannelsLength, kLengthChannels, kFeatures };

/// The options of `skyline prep arrays`.
struct ArrayOptions {
  std::string x_train;
  std::string y_train;
  std::string x_val;
  std::string y_val;
  std::string x_test;
  std::string y_test;
  std::string label;
  std::string drop;
  std::string id;
  std::string group;
  std::string categories;
  std::size_t most_categories = 32;
  std::string missing = "median";
  Layout layout = Layout::kByRank;
  std::string shape;
  std::optional<TargetKind> targets;
  double value_scale = 255;
  std::optional<double> test;
  double validation = 0;
  std::uint64_t seed = 1;
  Split split = Split::kDrawn;
};

const OptionTable<ArrayOptions>& array_keys();

}  // namespace skyline::store
