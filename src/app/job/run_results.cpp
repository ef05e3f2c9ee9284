#include "app/job/run_results.hpp"

#include "app/config/config_file.hpp"
#include "core/log.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_tables.hpp"

#include <algorithm>
#include <iostream>
#include <string>

namespace skyline::app {
namespace {

std::string volume_line(const report::ReportInputs& inputs) {
  const report::FrontVolume volume = report::front_volume(inputs);
  std::string line = "hypervolume " + report::format_number(volume.volume) + " against the point (";
  for (std::size_t i = 0; i < volume.reference.size(); ++i) {
    line += (i == 0 ? "" : ", ") + inputs.objectives.objectives()[i].metric + " " +
            report::format_number(volume.reference[i]);
  }
  return line + ")";
}

}  // namespace

void write_results(const store::RunPaths& paths, const RunConfig& config,
                   const report::ReportInputs& inputs) {
  store::write_run_tables(paths.tables(), inputs.committed, inputs.on_front, inputs.metrics, config.space,
                          to_yaml(config.resolved));
  report::write_models_json(paths, inputs);
  report::write_search_state_csv(paths, inputs);
  report::write_pareto_json(paths, inputs);
}

void print_results(const store::RunPaths& paths, const report::ReportInputs& inputs,
                   const engine::RunResult& result) {
  const auto failed = std::count_if(inputs.committed.begin(), inputs.committed.end(), [](const auto& trial) {
    return std::holds_alternative<trial::Failure>(trial.outcome);
  });
  std::cout << "\nThe front:\n"
            << report::front_table(inputs) << volume_line(inputs) << "\n\nAccount of time:\n"
            << report::account_table(result.account) << "\nsearch ended: " << result.finish_reason << "\n"
            << "skyline: done: " << inputs.committed.size() << " trials (" << failed
            << " failed), results in " << paths.root.string() << std::endl;
}

void warn_of_missing_weights(const store::RunPaths& paths, const RunConfig& config,
                             const engine::RunResult& result) {
  if (config.sections.run.keep_weights == engine::KeepWeights::kNone || !config.training) return;
  for (std::size_t i = 0; i < result.committed.size(); ++i) {
    if (!result.on_front[i]) continue;
    const trial::CommittedTrial& member = result.committed[i];
    if (std::holds_alternative<trial::Failure>(member.outcome)) continue;  // of a full training
    const std::string id = space::to_text(member.trial.architecture().id);
    const bool is_final = member.trial.is_final();
    const auto file = is_final ? paths.final_weights(id) : paths.weights(id);
    if (!store::exists(file)) log::warning("missing weights of a front member: " + file.string());
  }
}

}  // namespace skyline::app
