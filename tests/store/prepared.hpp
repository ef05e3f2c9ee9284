#pragma once

#include "skyline/store/importer.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace skyline::testing {

using Options = std::vector<std::pair<std::string, std::string>>;

/// The data set that `skyline prep KIND PATHS --options` makes.
inline std::shared_ptr<const store::Dataset> prepared(const std::string& kind,
                                                      std::vector<std::filesystem::path> paths,
                                                      const std::filesystem::path& out,
                                                      const Options& options = {}, std::size_t threads = 3) {
  std::vector<ConfigNode::Entry> entries;
  for (const auto& [key, text] : options) entries.push_back({key, ConfigNode::make_scalar(text, {}), {}});
  store::DatasetWriter writer(out);
  store::find_importer(kind)->import(
      {std::move(paths), ConfigNode::make_map(std::move(entries), {}), threads}, writer);
  writer.finish();
  return store::Dataset::open(out, true);
}

}  // namespace skyline::testing
