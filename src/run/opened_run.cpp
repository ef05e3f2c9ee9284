#include "run/opened_run.hpp"

#include "skyline/core/error.hpp"
#include "skyline/search/algorithm.hpp"

#include "space/language/searched_section.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "trial/given_metric.hpp"

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
