#include "core/config/byte_size.hpp"

#include "core/config/config_text.hpp"

#include <array>
#include <string_view>

namespace skyline {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kUnits{Unit{"kB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
                            Unit{"TB", 1e12},    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
                            Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};

}  // namespace

OptionKind<std::uint64_t> byte_size() {
  ConfigNode schema = ConfigNode::make_map({{"type", schema_text("string"), {}}}, {});
  schema.set("pattern", schema_text("^[0-9.]+ *(k|[KMGT]i|[MGT])B$"));
  OptionKind<std::uint64_t> kind{{"a size above 0 with a unit, e.g. 64 GB or 60 GiB", schema}};
  kind.read = [](const ConfigNode& node, std::uint64_t& bytes) {
    if (!node.is_scalar()) return false;
    const std::string text = node.as_text();
    for (const Unit& unit : kUnits) {
      if (!text.ends_with(unit.name)) continue;
      const std::string_view number = std::string_view(text).substr(0, text.size() - unit.name.size());
      const auto count = number_in(number.substr(0, number.find_last_not_of(' ') + 1));
      if (!count || !(*count * unit.bytes >= 1) || *count * unit.bytes > 0x1p60) continue;
      bytes = static_cast<std::uint64_t>(*count * unit.bytes);
      return true;
    }
    return false;
  };
  kind.write = [](std::uint64_t bytes) {
    constexpr std::uint64_t kMiB = 1U << 20U;
    const bool is_binary = bytes % kMiB == 0;
    const double count = static_cast<double>(bytes) / (is_binary ? 0x1p20 : 1e6);
    return ConfigNode::make_scalar(ConfigNode::make_number(count).as_text() + (is_binary ? " MiB" : " MB"),
                                   {});
  };
  return kind;
}

}  // namespace skyline
