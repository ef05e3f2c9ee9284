#include "skyline/search/pruning.hpp"

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"

#include "core/config/option_list.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace skyline::search {
namespace {

constexpr const char* kPruningKey = "pruning";

void check_pruning_options(const PruningOptions& options, const ConfigNode& section) {
  const std::vector<std::int64_t>& at = options.at;
  const bool ascends = std::ranges::adjacent_find(at, std::greater_equal<>()) == at.end();
  if (ascends && at.size() <= trial::kMostDeclaredSteps) return;
  section.at("at").fail_expected("at most " + std::to_string(trial::kMostDeclaredSteps) +
                                 " numbers of epochs, each above the one before");
}

}  // namespace

const OptionTable<PruningOptions>& PruningOptions::table() {
  constexpr double kMostLeast = 1000;
  constexpr double kMostEpoch = 1'000'000'000;
  static const OptionTable<PruningOptions> table{
      {{"at", &PruningOptions::at,
        list_of(integer<std::int64_t>(at_least(1).at_most(kMostEpoch)), "a list of epochs, e.g. [1, 3, 9]"),
        "Epochs after which a trial is compared with those that were known when it was proposed.",
        KeyRule::kRequired},
       {"keep", &PruningOptions::keep, number(above(0).below(1)),
        "Share of the known trials that count as good: a trial that one of the worst of these dominates "
        "ends."},
       {"least", &PruningOptions::least, integer<std::size_t>(at_least(2).at_most(kMostLeast)),
        "So many values of an epoch must be known before a trial may end there."}},
      check_pruning_options};
  return table;
}

OptionKind<std::optional<PruningOptions>> pruning_kind() {
  return if_given(section(PruningOptions::table()));
}

std::optional<PruningOptions> pruning_of(const ConfigNode& section) {
  const ConfigNode* const stated = section.is_map() ? section.find(kPruningKey) : nullptr;
  if (stated == nullptr) return std::nullopt;
  return PruningOptions::table().parse(*stated);
}

void check_pruning(const ConfigNode& written, const ConfigNode& section, const Algorithm& algorithm,
                   const trial::Budget& whole) {
  const std::optional<PruningOptions> options = pruning_of(written);
  if (!options) return;
  const ConfigNode& stated = written.at(kPruningKey);
  if (!algorithm.budgets(section, whole).empty()) {
    stated.fail("not with rungs, which end trials in their own way (`search.budgets`, `algorithm: " +
                algorithm.name + "`)");
  }
  if (repeats_of(written) > 1) stated.fail("not with `search.repeats`");
  if (static_cast<double>(options->at.back()) < whole.epochs) return;
  stated.at("at").fail("expected epochs before the last of a trial, " + objective::number_text(whole.epochs) +
                       ", got " + std::to_string(options->at.back()));
}

}  // namespace skyline::search
