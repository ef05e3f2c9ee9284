#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline::trial {

/// Where a member of a trial runs, and what it may use there. What is not known is empty.
struct Place {
  std::string host = {};
  int node = 0;       // the job's rank that is the first of the node: tells nodes apart whatever their names
  int node_rank = 0;  // of the member's process among the job's processes on the node
  std::vector<int> processors =
      {};  // numbers of the system, ascending; members of one process may share them
  /// GPUs, as CUDA_VISIBLE_DEVICES of the process names them: the one that the evaluator has chosen, else all
  /// that this variable names.
  std::vector<std::string> devices = {};
  std::optional<std::uint64_t> memory_bytes = {};  // a trial's share of the node's memory
  std::optional<double> timeout_s = {};            // how long a trial may take (`run.trial_timeout`)
};

template <typename Visitor>
void for_each_field(Place& place, Visitor& visit) {
  visit(place.host, place.node, place.node_rank, place.processors, place.devices, place.memory_bytes,
        place.timeout_s);
}

}  // namespace skyline::trial
