#include "core/config/byte_size.hpp"

#include "core/config/config_text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace skyline {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array kUnits{Unit{"k", 1e3},      Unit{"K", 1e3},      Unit{"M", 1e6},     Unit{"G", 1e9},
                            Unit{"Ki", 0x1p10},  Unit{"Mi", 0x1p20},  Unit{"Gi", 0x1p30}, Unit{"kB", 1e3},
                            Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12},   Unit{"KiB", 0x1p10},
                            Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};
constexpr const char* kPattern = "^[-+.0-9eE]+ *([kKMG]|[KMG]i|(k|[KMGT]i|[MGT])B)$";

ConfigNode text_schema() {
  ConfigNode schema = ConfigNode::make_map({{"type", schema_text("string"), {}}}, {});
  schema.set("pattern", schema_text(kPattern));
  return schema;
}

}  // namespace

std::optional<double> amount_in(std::string_view text, bool of_bytes) {
  if (const auto number = parse_number(text)) return number;
  const std::size_t end = text.find_last_of("+-.0123456789") + 1;
  const auto count = parse_number(text.substr(0, end));
  const std::string_view name = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  const auto unit = std::ranges::find(kUnits, name, &Unit::name);
  if (!count || unit == kUnits.end() || (name.size() > 1 && !of_bytes)) return std::nullopt;
  return *count * unit->factor;
}

double amount_of(const ConfigNode& node, bool of_bytes) {
  auto amount = node.is_scalar() ? amount_in(node.as_text(), of_bytes) : std::nullopt;
  if (node.quoted() && parse_number(node.as_text()))
    amount.reset();  // JSON has "64k" in quotes, and no number
  if (!amount) node.fail_expected(of_bytes ? "a number, or bytes such as 64k or 64 KiB" : "a number");
  return *amount;
}

ConfigNode amount_schema() {
  const auto plain = ConfigNode::make_map({{"type", schema_text("number"), {}}}, {});
  return ConfigNode::make_map({{"anyOf", ConfigNode::make_list({plain, text_schema()}, {}), {}}}, {});
}

OptionKind<std::uint64_t> byte_size() {
  OptionKind<std::uint64_t> kind{{"a size above 0 with a unit, e.g. 64 GB or 60 GiB", text_schema()}};
  kind.read = [](const ConfigNode& node, std::uint64_t& bytes) {
    if (!node.is_scalar() || parse_number(node.as_text())) return false;
    const auto amount = amount_in(node.as_text(), true);
    if (!amount || !(*amount >= 1) || *amount > 0x1p60) return false;
    bytes = static_cast<std::uint64_t>(*amount);
    return true;
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
