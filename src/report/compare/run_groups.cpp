#include "report/compare/run_groups.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace skyline::report {
namespace {

constexpr const char* kSeed = "run.seed";

using Settings = std::vector<std::pair<std::string, std::string>>;  // paths and values

void add_settings(const ConfigNode& node, const std::string& path, Settings& settings) {
  if (node.is_map()) {
    for (const ConfigNode::Entry& entry : node.entries()) {
      add_settings(entry.value, path.empty() ? entry.key : path + "." + entry.key, settings);
    }
  } else if (node.is_list()) {
    for (std::size_t i = 0; i < node.items().size(); ++i) {
      add_settings(node.items()[i], path + "[" + std::to_string(i) + "]", settings);
    }
  } else {
    settings.emplace_back(path, node.is_null() ? "none" : node.as_text());
  }
}

std::string value_at(const Settings& settings, const std::string& path) {
  const auto found = std::ranges::find(settings, path, &Settings::value_type::first);
  return found == settings.end() ? "none" : found->second;
}

std::string join_values(const Settings& settings, const std::vector<std::string>& paths) {
  std::vector<std::string> values;
  for (const std::string& path : paths) values.push_back(path + "=" + value_at(settings, path));
  return joined(values);
}

/// Returns the number of different combinations of values that the groups have at these paths.
std::size_t kinds(const std::vector<Settings>& groups, const std::vector<std::string>& paths) {
  std::map<std::string, std::size_t> seen;
  for (const Settings& settings : groups) ++seen[join_values(settings, paths)];
  return seen.size();
}

/// Returns paths that tell the groups apart; each path separates some groups that those before it do not.
std::vector<std::string> telling_paths(const std::vector<Settings>& groups) {
  std::vector<std::string> chosen;
  for (const Settings& settings : groups) {
    for (const auto& [path, value] : settings) {
      const std::size_t before = kinds(groups, chosen);
      if (before == groups.size()) return chosen;
      chosen.push_back(path);
      if (kinds(groups, chosen) == before) chosen.pop_back();
    }
  }
  return chosen;
}

void check_seeds(const std::vector<ComparedRun>& runs, const RunGroup& group,
                 const std::vector<std::string>& seeds) {
  std::map<std::string, std::size_t> by_seed;
  for (const std::size_t run : group.runs) {
    const auto [same, is_new] = by_seed.emplace(seeds[run], run);
    if (is_new) continue;
    throw UserError(runs[run].name + " is the same run as " + runs[same->second].name +
                    ", configuration and seed " + seeds[run] + ": expected runs with seeds of their own");
  }
}

}  // namespace

std::vector<RunGroup> group_runs(const std::vector<ComparedRun>& runs) {
  std::vector<RunGroup> groups;
  std::vector<Settings> settings_of;
  std::vector<std::string> seeds;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    Settings settings;
    add_settings(runs[run].identity, "", settings);
    seeds.push_back(value_at(settings, kSeed));
    std::erase_if(settings, [](const auto& setting) { return setting.first == kSeed; });
    const auto same = std::ranges::find(settings_of, settings);
    const auto place = static_cast<std::size_t>(same - settings_of.begin());
    if (same == settings_of.end()) {
      settings_of.push_back(std::move(settings));
      groups.emplace_back();
    }
    groups[place].runs.push_back(run);
  }
  const std::vector<std::string> paths = telling_paths(settings_of);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = paths.empty() ? "all runs" : join_values(settings_of[i], paths);
    check_seeds(runs, groups[i], seeds);
  }
  return groups;
}

}  // namespace skyline::report
