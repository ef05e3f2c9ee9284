#pragma once

#include "skyline/search/searcher.hpp"

#include <span>
#include <string_view>

namespace skyline::search {

/// One key of the `search` section: its name, how it is read into the options and how it is written back.
struct OptionKey {
  std::string_view name;
  void (*read)(const ConfigNode& value, SearchOptions& options);
  /// Null if the option is not set.
  ConfigNode (*write)(const SearchOptions& options);
};

/// What a run can name as `search: {algorithm: ...}`.
struct Algorithm {
  std::string_view name;
  std::span<const OptionKey> keys;  // besides `algorithm`
  std::unique_ptr<Searcher> (*make)(const SearchOptions& options, const space::SearchSpace& space,
                                    const objective::ObjectiveSet& objectives, std::uint64_t seed);
};

/// All algorithms. A new one is a class in a file of its own and a line here.
std::span<const Algorithm> algorithms();

}  // namespace skyline::search
