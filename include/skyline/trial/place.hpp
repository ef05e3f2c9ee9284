#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline::trial {

/// The place where a member of a trial runs, and the resources that it may use there. Unknown facts are
/// empty.
struct Place {
  std::string host = {};
  int node = 0;       // first rank of the node in the job: distinguishes nodes, whatever their names
  int node_rank = 0;  // number of the member's process among the job's processes on the node
  std::vector<int> processors = {};  // the system's numbers, ascending; members of one process may share them
  /// GPUs, as CUDA_VISIBLE_DEVICES of the process names them: the GPU that the evaluator has chosen, else all
  /// in this variable.
  std::vector<std::string> devices = {};
  std::optional<std::uint64_t> memory_bytes = {};  // share of the node's memory for one trial
  std::optional<double> timeout_s = {};            // time limit of a trial (`run.trial_timeout`)
};

template <typename Visitor>
void for_each_field(Place& place, Visitor& visit) {
  visit(place.host, place.node, place.node_rank, place.processors, place.devices, place.memory_bytes,
        place.timeout_s);
}

}  // namespace skyline::trial
