#pragma once

#include "skyline/trial/evaluator.hpp"

#include "evaluate/command/command_options.hpp"
#include "evaluate/process/trainer_variables.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// The place of a process among the processes of its trial.
struct ProcessPlace {
  std::size_t rank = 0;
  std::size_t processes = 1;
  std::size_t local_rank = 0;
  std::size_t local_processes = 1;
  std::size_t node_rank = 0;
  std::size_t nodes = 1;
  bool operator==(const ProcessPlace&) const = default;
};

/// Returns the place of each process. The nodes are numbered in the order of their first processes.
/// @param node_of  [processes], equal for processes of one host
std::vector<ProcessPlace> process_places(const std::vector<int>& node_of);

/// Where the processes of a trial meet: an address and a free port of each.
struct Rendezvous {
  struct End {
    std::string address;
    int port = 0;
  };
  std::vector<End> ends;  // [processes]
};

/// Returns the variables that tell a process about the others of its trial, as the section's `launch` and
/// `framework` want them; none if it has no groups.
Variables group_variables(const CommandOptions& options, const ProcessPlace& place,
                          const Rendezvous& rendezvous);

/// Returns the values of the placeholders for a process of a trial, e.g. `rank`. They depend on `launch`,
/// since a trainer that starts processes by itself gives each its own.
Variables group_placeholders(CommandLaunch launch, const ProcessPlace& place, const Rendezvous& rendezvous);

/// Returns whether Skyline alone decides about a variable: its value, or that there is none.
bool is_set_for_trainer(const CommandOptions& options, const std::string& name);

/// Has member 0 ask what must be known before a training, while the others wait. All members call it.
/// @param group  nullptr if the trial has one member
/// @param ask    called on member 0
/// @return  what `ask` returned; on the other members only the extent counts
/// @throws GroupAborted on the other members if it returned a failure
trial::Outcome ask_together(trial::TrialGroup* group, const std::function<trial::Outcome()>& ask);

/// Waits until all members of a trial have come this far, unless this one has failed: then the others hear of
/// it from the engine. Returns the outcome, or the stop that was asked for meanwhile.
/// @throws GroupAborted if another member has failed
trial::Outcome wait_for_members(trial::EvaluationContext& context, trial::Outcome outcome);

}  // namespace skyline::evaluate
