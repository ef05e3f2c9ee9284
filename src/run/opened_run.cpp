#include "run/opened_run.hpp"

#include "skyline/core/error.hpp"
#include "skyline/search/algorithm.hpp"

#include "space/language/searched_section.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "trial/given_metric.hpp"

#include <cstdint>
#include <utility>

namespace skyline::run {
namespace {

/// Reads the shape of a run's data from its config.yaml; empty if the run has none, as its space has no
/// network.
space::DataShape read_shape(const ConfigNode& config) {
  if (config.find("data") == nullptr && config.at("space").find("network") == nullptr) return {};
  const ConfigNode& data = config.at("data");
  const ConfigNode& shape = data.at("shape");
  if (!shape.is_list() || shape.items().size() != 3) shape.fail_expected("[channels, height, width]");
  const auto size = [&](std::size_t i) { return shape.items()[i].as_integer(); };
  return {{size(0), size(1), size(2)}, data.at("classes").as_integer()};
}

}  // namespace

ConfigNode baselines_node(std::span<const trial::Baseline> baselines) {
  std::vector<ConfigNode::Entry> entries;
  for (const trial::Baseline& baseline : baselines) {
    std::vector<ConfigNode::Entry> facts;
    const auto count = [&](const char* name, const std::optional<std::uint64_t>& value) {
      if (value) facts.push_back({name, ConfigNode::make_integer(static_cast<std::int64_t>(*value)), {}});
    };
    count("samples", baseline.samples);
    count("scored", baseline.scored);
    if (baseline.constant) facts.push_back({"constant", ConfigNode::make_number(*baseline.constant), {}});
    if (!facts.empty()) entries.push_back({baseline.metric, ConfigNode::make_map(std::move(facts), {}), {}});
  }
  return entries.empty() ? ConfigNode() : ConfigNode::make_map(std::move(entries), {});
}

std::vector<trial::Baseline> baselines_of(const ConfigNode& config) {
  const ConfigNode* data = config.is_map() ? config.find("data") : nullptr;
  const ConfigNode* stated = data != nullptr && data->is_map() ? data->find("yardsticks") : nullptr;
  std::vector<trial::Baseline> baselines;
  if (stated == nullptr || !stated->is_map()) return baselines;
  for (const ConfigNode::Entry& entry : stated->entries()) {
    trial::Baseline& baseline = baselines.emplace_back(trial::Baseline{entry.key, {}, {}, {}});
    const auto count = [&](const char* name, std::optional<std::uint64_t>& value) {
      const ConfigNode* node = entry.value.find(name);
      if (node == nullptr) return;
      if (node->as_integer() < 1) node->fail_expected("a whole number above 0");
      value = static_cast<std::uint64_t>(node->as_integer());
    };
    count("samples", baseline.samples);
    count("scored", baseline.scored);
    if (const ConfigNode* node = entry.value.find("constant")) baseline.constant = node->as_number();
  }
  return baselines;
}

OpenedRun OpenedRun::open(const std::filesystem::path& folder) {
  OpenedRun opened;
  opened.paths = {folder};
  if (!store::exists(opened.paths.journal())) {
    throw UserError(folder.string() + ": not a run folder (no journal.jsonl)");
  }
  const store::JournalEnd end(opened.paths);
  opened.config = store::load_run_yaml(opened.paths.config());
  const ConfigNode& config = opened.config;
  const std::vector<trial::GivenMetric> given = trial::given_metrics(config);
  opened.space = space::SearchSpace::read(
      config.at("space"), read_shape(config), space::searched_scalars(config),
      store::read_journal_header(opened.paths.journal()).conditions, trial::expressions_of(given),
      objective::first_aim(config, objective::is_int8_cost));
  store::JournalContents journal = store::read_journal(opened.paths.journal(), opened.space);
  end.check(journal.started_s, journal.torn_tail);
  opened.header = std::move(journal.header);
  auto objectives = objective::ObjectiveSet::parse(config.at("objectives"), config.find("constraints"),
                                                   opened.header.metrics, opened.space.has_network(),
                                                   trial::descriptions_of(given));
  objectives.complete_references(opened.space);
  const ConfigNode* const search = config.find("search");
  opened.state = RunState(std::move(objectives), search == nullptr ? 1 : search::repeats_of(*search));
  for (const trial::SharedTrial& trial : journal.entries) {
    opened.state.add({trial, true});
    journal.entries.forget_before(trial->position);
  }
  opened.account = with_job(end.account(journal.started_s), {});
  return opened;
}

}  // namespace skyline::run
