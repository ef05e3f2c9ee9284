#include "app/job/run_plan.hpp"

#include "skyline/core/error.hpp"

#include "app/config/config_file.hpp"
#include "app/config/new_run_check.hpp"
#include "app/tuner/search_programs.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "core/version.hpp"
#include "report/html/html_report.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"
#include "store/weights/checkpoint.hpp"

#include <chrono>
#include <cmath>
#include <ranges>
#include <string>
#include <thread>
#include <utility>

namespace skyline::app {
namespace {

void start_log(const store::RunPaths& paths, const std::string& signature, bool quiet) {
  const store::IoOperation operation("open", paths.log());
  log::start({.file = paths.log().string(),
              .prefix = signature,
              .terminal_level = quiet ? log::Level::kWarning : log::Level::kInfo});
}

/// Checks what `--resume=must` asks for.
void check_there_is_a_run(const store::RunPaths& paths) {
  if (store::exists(paths.journal())) return;
  throw UserError("--resume=must: there is no run in " + paths.root.string() + " (no journal.jsonl)");
}

/// Returns the configuration that the user names, or else that of the run.
ConfigNode written_config(const store::RunPaths& paths, const SearchArguments& arguments,
                          const Asked& asked) {
  const bool of_run = arguments.config.empty();
  if (of_run && arguments.resume == Resume::kMust) check_there_is_a_run(paths);
  if (of_run && arguments.resume == Resume::kNo)
    throw UserError("search: name a configuration, or add --resume to resume the run in " +
                    paths.root.string());
  if (!asked.mistake.empty()) throw UserError(asked.mistake);
  if (asked.config) return *asked.config;
  if (!of_run) return load_config(arguments.config, arguments.overrides);  // says why it cannot be read
  throw UserError("--resume without a configuration takes that of the run, and there is no " +
                  paths.config().string());
}

/// Checks before anything in the folder is changed.
void check_may_begin(const store::RunPaths& paths, const SearchArguments& arguments) {
  if (!store::exists(paths.journal())) {
    if (arguments.resume == Resume::kMust) check_there_is_a_run(paths);
    return store::check_fresh_folder(paths, arguments.config, report::result_paths(paths));
  }
  if (arguments.resume != Resume::kNo) return;
  throw UserError(paths.root.string() +
                  " holds a run already: add --resume to resume it, or name another folder");
}

/// Refuses a search whose results come from another run, unless its journal has them: the program that begins
/// the run writes them.
void check_journal_of_train(const store::RunPaths& paths, const SearchArguments& arguments,
                            const RunConfig& config) {
  const bool takes = !config.algorithm().source_run(config.sections.search).empty();
  if (!takes || arguments.beginning != nullptr || store::exists(paths.journal())) return;
  throw UserError(paths.root.string() +
                  ": `skyline train` begins this run, and has written no journal.jsonl: "
                  "repeat that command");
}

/// Checks that a job which resumes the run can read its configuration. @throws UserError if it is too large
void check_readable(const store::RunPaths& paths, const ConfigNode& resolved) {
  const ConfigNode read = load_yaml_text(to_yaml(resolved), paths.config().string());
  const std::string difference = first_difference(read, resolved);
  if (!difference.empty()) throw InternalError("`" + difference + "` is not read as it is written");
}

/// Writes the run's configuration, and what it names and must not lose.
void publish_configuration(const store::RunPaths& paths, const RunConfig& config) {
  copy_known(config.known, paths.root);
  store::publish_config(paths, to_yaml(config.resolved));
}

/// Claims the folder. A job that was requeued after the loss of a node starts before the lost job's claim is
/// stale. Only the claim knows when it becomes stale: by the file server's clock, which may be behind this
/// node's. Returns nullptr if this job must stop before.
std::unique_ptr<store::RunClaim> claim_folder(const store::RunPaths& paths, double wait_s,
                                              const StopRequest& stop) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  for (bool told = false;;) {
    std::optional<store::RunOwner> owner;
    try {
      return store::RunClaim::acquire(paths);
    } catch (const UserError&) {
      owner = store::read_owner(paths);
      if (!owner || std::chrono::steady_clock::now() >= deadline) throw;
    }
    if (stop.requested()) return nullptr;
    if (!std::exchange(told, true)) {
      print_error(paths.root.string() + " is in use by process " + std::to_string(owner->process) +
                  " on host " + owner->host + ": waiting up to " + std::to_string(std::lround(wait_s)) +
                  " s");
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

/// Says where the command's value of a key comes from.
std::string source_of(const SearchArguments& arguments, const std::string& key) {
  for (const std::string& assignment : std::views::reverse(arguments.overrides)) {  // the last one counts
    const std::string name = assignment.substr(0, assignment.find('='));
    const bool is_inside =
        key.starts_with(name) && (key == name || key[name.size()] == '.' || key[name.size()] == '[');
    if (is_inside) return "--set " + assignment;
  }
  const bool is_named = arguments.beginning == nullptr && !arguments.config.empty();
  return is_named ? arguments.config.string() : "this command";
}

/// @param of_run  the configuration of the run
void check_same_run(const store::RunPaths& paths, const ConfigNode& of_run, const RunConfig& config,
                    const SearchArguments& arguments) {
  const std::string key = first_identity_difference(of_run, config.resolved);
  if (key.empty()) return;
  throw UserError("--resume " + paths.root.string() + ": `" + key + "` differs between " +
                  paths.config().string() + " and " + source_of(arguments, key) +
                  "; resume with the configuration that the run was started with");
}

/// Refuses to resume a run whose conditions were read by other rules, if these keep other genotypes.
void check_same_conditions(const store::RunPaths& paths, const space::SearchSpace& space) {
  if (store::read_journal_header(paths.journal()).conditions == space::ConditionRules::kExact) return;
  const std::string difference = space.difference_of_rules();
  if (difference.empty()) return;
  throw UserError(paths.root.string() +
                  ": was begun by a version that calculated conditions otherwise, and " + difference +
                  "; start a run in another folder");
}

/// @param end  was made before
store::JournalContents read_own_journal(const store::RunPaths& paths, const RunConfig& config,
                                        const store::JournalEnd& end) {
  store::JournalContents contents = store::read_journal(paths.journal(), config.space);
  if (contents.header.config_hash != config.identity_hash()) {
    throw UserError(paths.journal().string() + ": was not written with " + paths.config().string() +
                    ", which has been changed since; restore it, or start a run in another folder");
  }
  if (contents.header.skyline_version != program_version()) {
    log::warning(paths.journal().string() + ": was begun by version " + contents.header.skyline_version +
                 ", this is " + program_version());
  }
  if (contents.torn_tail) log::warning(paths.journal().string() + ": dropped a torn last line");
  if (end.has_foreign_tables(contents.started_s)) {
    throw UserError(paths.tables().string() +
                    ": is of another run, since none of its trials is in journal.jsonl: move it to where it "
                    "belongs, or remove it");
  }
  const std::string lost = end.loss(contents.started_s, contents.torn_tail);
  if (!lost.empty()) log::warning(lost + "; what is lost is trained again");
  log::info("resuming: " + counted(contents.entries.size(), "trial") + " in the journal");
  return contents;
}

/// Refuses a shorter run: a run may be extended, but its trials cannot be taken back. Those outside of
/// constraints do not count, because most algorithms give them no place; where they have one, the replay
/// refuses what is left.
void check_not_shortened(const store::RunPaths& paths, const search::Searcher& searcher,
                         const trial::CommitLog& entries) {
  std::size_t searched = 0;
  for (const trial::SharedTrial& entry : entries) {
    if (!entry->trial.is_final() && !trial::is_outside(entry->outcome)) ++searched;
  }
  const std::size_t expected = searcher.expected_trials();
  if (searched <= expected) return;
  throw UserError("--resume " + paths.root.string() + ": the journal holds " + counted(searched, "trial") +
                  " of the search, this configuration asks for at most " + std::to_string(expected) +
                  "; a run can be extended, not shortened: see `search` in " + paths.config().string());
}

/// Returns the user's programs now, as far as a run has recorded them.
/// @param run  whose trials they trained, for messages
/// @throws UserError if they are others than those of its trials, unless the command allows that
store::Checksums check_programs(const std::string& run, const store::Checksums& recorded,
                                const RunConfig& config, const SearchArguments& arguments) {
  const store::Checksums found = config.programs();
  constexpr std::size_t kDigits = 12;  // the message has so many of a checksum
  store::Checksums now;
  std::vector<std::string> changed;
  std::string sums;  // the checksums of the last one, now and before
  for (const auto& [name, sum] : recorded) {
    const auto file = found.find(name);
    now[name] = file != found.end() ? file->second : "";
    if (now[name] == sum) continue;
    const bool there = !now[name].empty();
    changed.push_back('`' + name + (there ? "`" : "` (not there)"));
    sums =
        there ? " (checksum " + now[name].substr(0, kDigits) + ", was " + sum.substr(0, kDigits) + ")" : "";
  }
  if (changed.empty() || arguments.changed) return now;
  throw UserError(run + ": " + joined(changed) + (changed.size() > 1 ? " have" : " has") +
                  " changed since its trials were trained, and its results would be of two versions: restore "
                  "what was there, begin a run in another folder, or add --changed" +
                  (changed.size() == 1 ? sums : ""));
}

/// Notes the user's programs of a run that begins, or checks those of one that is resumed.
void record_programs(const store::RunPaths& paths, const SearchArguments& arguments, RunPlan& plan) {
  if (!plan.replay) {
    plan.programs = plan.config.programs();
    return;
  }
  const store::Checksums& recorded = plan.replay->header.programs;
  plan.programs = check_programs("--resume " + paths.root.string(), recorded, plan.config, arguments);
  if (recorded.empty() && !plan.config.programs().empty()) {
    log::info(paths.journal().string() +
              ": has no checksums of the trainer's files: whether they have changed is not checked");
  }
  if (plan.programs == recorded) return;
  log::warning("files that trials depend on have changed: the journal says so after its first " +
               counted(plan.replay->entries.size(), "trial"));
  store::remove_waiting_results(paths);  // results with the earlier files
}

/// Gives the objectives the ends of a run, unless others are asked for.
void copy_ends(ConfigNode& root, const ConfigNode& of_run) {
  const auto objectives_of = [](const ConfigNode& tree) {
    const ConfigNode* const list = tree.is_map() ? tree.find("objectives") : nullptr;
    return list != nullptr && list->is_list() ? list : nullptr;
  };
  const ConfigNode* const asked = objectives_of(root);
  const ConfigNode* const begun = objectives_of(of_run);
  if (asked == nullptr || begun == nullptr) return;
  root.set("objectives", objective::with_ends_of(*asked, *begun));
  root.assign_paths();
}

/// Reads the configuration of a run that may be resumed. Another program may find other ends in the space:
/// the run keeps its own. Where they do not suit what is asked for, that is another run, as check_same_run()
/// says.
RunConfig parse_resumed(const ConfigNode& root, const ConfigNode& of_run, std::size_t slots) {
  ConfigNode with_ends = root;
  copy_ends(with_ends, of_run);
  try {
    return RunConfig::parse(with_ends, false, slots);
  } catch (const UserError&) {
    return RunConfig::parse(root, false, slots);
  }
}

/// Returns whether trials were begun that the journal does not have.
bool put_in_order(const store::RunPaths& paths, const RunConfig& config, const trial::CommitLog& committed) {
  const trial::Budget final_budget = config.final_budget().value_or(trial::Budget{0});
  const store::RecoveredFolder found = store::recover_run_folder(paths, committed, final_budget);
  const bool begun = found.begun_trials > 0 || store::has_waiting_results(paths);
  if (found.temporaries + found.checkpoints + found.begun_trials == 0) return begun;
  log::info("an earlier job left " + counted(found.begun_trials, "trial") + " to resume; removed " +
            counted(found.temporaries, "unfinished file") + " and " +
            counted(found.checkpoints, "checkpoint") + " of committed trials");
  return begun;
}

/// Returns the programs that a search asks.
search::SearchPrograms search_programs(const store::RunPaths& paths, const RunConfig& config) {
  search::SearchPrograms programs{.start_tuner = tuner_start(paths), .counter = nullptr};
  if (config.sections.costs) programs.counter = make_counter(*config.sections.costs, config.space, paths);
  return programs;
}

/// Makes the rest of a plan that has the claim on the folder.
void complete_plan(const store::RunPaths& paths, const SearchArguments& arguments, RunPlan& plan) {
  if (arguments.beginning != nullptr && !store::exists(paths.journal())) {
    publish_configuration(paths, plan.config);
    arguments.beginning->write_journal(paths, plan.config);
  }
  if (store::exists(paths.journal())) {
    check_same_run(paths, store::load_run_yaml(paths.config()), plan.config, arguments);
    check_same_conditions(paths, plan.config.space);
    const store::JournalEnd end(paths);
    plan.replay = read_own_journal(paths, plan.config, end);
    plan.earlier = end.account(plan.replay->started_s);
  } else if (arguments.resume != Resume::kNo) {
    log::info("nothing to resume in " + paths.root.string() + ": starting from the beginning");
  }
  if (!plan.replay && plan.config.sections.costs)
    store::remove_file(paths.counted_costs());  // answers for a run that did not begin
  if (plan.searcher == nullptr)
    plan.searcher = plan.config.make_searcher(search_programs(paths, plan.config));
  if (plan.replay) {
    check_not_shortened(paths, *plan.searcher, plan.replay->entries);
    store::republish_journal(paths.journal(), *plan.replay);
  }
  const bool begun =
      put_in_order(paths, plan.config, plan.replay ? plan.replay->entries : trial::CommitLog());
  // If nothing was trained, a new journal states the present version and device.
  if (plan.replay && plan.replay->entries.empty() && !begun) plan.replay.reset();
  record_programs(paths, arguments, plan);
  if (arguments.moved) store::remove_file(paths.started_in());  // the evaluator writes it anew
  // The trials in the journal must be reproduced before the run may change.
  if (!plan.replay || plan.replay->entries.empty()) publish_configuration(paths, plan.config);
}

}  // namespace

RunPlan make_plan(const SearchArguments& arguments, const Asked& asked, const std::string& signature,
                  StopRequest& stop, const comm::Launch& launch) {
  const store::RunPaths paths{arguments.run};
  const ConfigNode root = arguments.beginning != nullptr ? arguments.beginning->config()
                                                         : written_config(paths, arguments, asked);
  const bool resumes = arguments.resume != Resume::kNo && store::exists(paths.journal());
  const ConfigNode of_run = resumes ? store::load_run_yaml(paths.config()) : ConfigNode();
  const std::size_t slots = arguments.slots.value_or(1);
  RunPlan plan;
  plan.config = resumes ? parse_resumed(with_sources_of(root, of_run), of_run, slots)
                        : RunConfig::parse(root, false, slots);
  const RunConfig& config = plan.config;
  if (!resumes && arguments.beginning == nullptr) check_new_run(root, config);
  check_readable(paths, config.resolved);
  if (const auto& load = config.evaluator.kind->load) load();
  store::set_patience(config.sections.run.storage_patience_s);
  stop.limit(config.sections.run.time_limit_s, launch);
  check_may_begin(paths, arguments);
  check_journal_of_train(paths, arguments, config);
  // Refused here, before anything is written: a space without a valid architecture, and trainers whose files
  // are not those of the run that `skyline train` begins with.
  if (!store::exists(paths.journal())) {
    plan.searcher = config.make_searcher(search_programs(paths, config));
    if (arguments.beginning != nullptr) {
      check_programs(config.algorithm().source_run(config.sections.search), arguments.beginning->programs(),
                     config, arguments);
    }
  }
  plan.claim = claim_folder(paths, arguments.wait_s, stop);
  if (plan.claim == nullptr) return {.exit_code = kExitStopped};
  check_may_begin(paths, arguments);  // another job may have come and gone meanwhile
  start_log(paths, signature, arguments.quiet);
  // What is waited for may take hours, in which the data set may be made anew.
  if (arguments.wait_s > 0) plan.config.dataset.reset();
  complete_plan(paths, arguments, plan);
  return plan;
}

}  // namespace skyline::app
