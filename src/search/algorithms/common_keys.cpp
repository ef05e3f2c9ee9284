#include "skyline/search/algorithm.hpp"

#include "core/config/config_text.hpp"
#include "core/config/option_list.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace skyline::search {
namespace {

constexpr const char* kKnown = "known";
constexpr const char* kRepeats = "repeats";
constexpr std::array<std::string_view, 3> kCommonKeys{kKnown, kRepeats, "pruning"};

/// A run's own configuration states the checksum, too.
const OptionTable<KnownSource>& stated_source() {
  static const OptionTable<KnownSource> table{
      {"from", &KnownSource::from, text("a run folder or a CSV file"), "The run or the file.",
       KeyRule::kMayChange},
      {"checksum", &KnownSource::checksum, text("32 hex digits"), "Checksum of its results."}};
  return table;
}

}  // namespace

OptionKind<std::vector<KnownSource>> known_kind() {
  OptionKind<KnownSource> source{
      {"a run folder or a CSV file", load_yaml_text("{type: [string, object]}", "schema")}};
  source.read = [](const ConfigNode& node, KnownSource& known) {
    if (node.is_map()) known = stated_source().parse(node);
    if (node.is_scalar()) known = {node.as_text(), {}};
    return !known.from.empty();
  };
  source.write = [](const KnownSource& known) { return stated_source().to_config(known); };
  OptionKind<std::vector<KnownSource>> kind = list_of(source, "a list of run folders and CSV files");
  kind.identity = [](const ConfigNode& written) {
    std::vector<ConfigNode> contents;
    for (const ConfigNode& one : written.items()) contents.push_back(stated_source().identity(one));
    return ConfigNode::make_list(std::move(contents), {});
  };
  return kind;
}

OptionKind<std::uint32_t> repeats_kind() {
  OptionKind<std::uint32_t> kind = integer<std::uint32_t>(at_least(1).at_most(100));
  kind.write = [write = kind.write](const std::uint32_t& repeats) {
    return repeats == 1 ? ConfigNode() : write(repeats);
  };
  return kind;
}

std::uint32_t repeats_of(const ConfigNode& section) {
  std::uint32_t repeats = 1;
  if (const ConfigNode* stated = section.find(kRepeats)) (void)repeats_kind().read(*stated, repeats);
  return repeats;
}

ConfigNode without_common_keys(const ConfigNode& section) {
  if (!section.is_map()) return section;
  std::vector<ConfigNode::Entry> own = section.entries();
  std::erase_if(own, [](const ConfigNode::Entry& entry) {
    return std::ranges::find(kCommonKeys, entry.key) != kCommonKeys.end();
  });
  ConfigNode without = ConfigNode::make_map(std::move(own), section.position());
  without.assign_paths(section.path());
  return without;
}

std::vector<KnownSource> known_sources(const ConfigNode& section) {
  std::vector<KnownSource> sources;
  if (const ConfigNode* known = section.find(kKnown)) (void)known_kind().read(*known, sources);
  return sources;
}

void set_known_sources(ConfigNode& section, const std::vector<KnownSource>& sources) {
  section.set(kKnown, known_kind().write(sources));
}

}  // namespace skyline::search
