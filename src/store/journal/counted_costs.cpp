#include "store/journal/counted_costs.hpp"

#include "skyline/core/error.hpp"

#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"

#include <string>
#include <string_view>

namespace skyline::store {
namespace {

constexpr const char* kArch = "arch";
constexpr const char* kCounted = "costs";

void read_counted_line(std::string_view text, std::size_t costs, CountedCosts& counted) {
  const auto line = parse_line(text);
  if (!line) return;
  std::vector<double> values;
  for (const auto& value : member(*line, kCounted)) values.push_back(decode_number(value, kCounted));
  if (values.size() == costs) counted[decode_arch_id(*line)] = std::move(values);
}

}  // namespace

CountedCosts read_counted_costs(const RunPaths& paths, std::size_t costs) {
  CountedCosts counted;
  if (!store::exists(paths.counted_costs())) return counted;
  read_lines(paths.counted_costs(), [&](std::string_view line) { read_counted_line(line, costs, counted); });
  return counted;
}

void append_counted_costs(const RunPaths& paths,
                          std::span<const std::pair<space::ArchId, std::vector<double>>> counted) {
  std::string lines;
  for (const auto& [id, costs] : counted) {
    nlohmann::ordered_json line{{kArch, space::to_text(id)}, {kCounted, nlohmann::ordered_json::array()}};
    for (const double cost : costs) line[kCounted].push_back(encode_number(cost));
    lines += seal_line(line);
  }
  make_own_folder(paths.trainer());
  append_lines(paths.counted_costs(), lines);
}

}  // namespace skyline::store
