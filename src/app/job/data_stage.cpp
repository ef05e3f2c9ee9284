#include "app/job/data_stage.hpp"

#include "skyline/core/error.hpp"

#include "app/job/host_difference.hpp"
#include "comm/agreement.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/data/staged_dataset.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace skyline::app {
namespace {

constexpr std::size_t kHashDigits = 16;  // enough digits for a person to tell data sets apart
// One node reports for all, unless another one takes much longer.
constexpr double kReportAfter_s = 5;
constexpr double kOthersReportAfter_s = 60;

bool is_first_of_node(const comm::Environment& environment) {
  return environment.place().local_rank == 0;
}

/// Returns e.g. "made on 3 nodes, the slowest in 2.1 s, found on 1 node".
/// @param copy_s  seconds of copying of each rank: 0 if it found the copy, negative if it was not to look
std::string describe(const std::vector<double>& copy_s) {
  const std::ptrdiff_t found = std::ranges::count(copy_s, 0);
  const double slowest_s = std::ranges::max(copy_s);
  if (slowest_s <= 0) return "found on " + counted(found, "node");
  const std::ptrdiff_t copied = std::ranges::count_if(copy_s, [](double seconds) { return seconds > 0; });
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", slowest_s);
  return "made on " + counted(copied, "node") + ", the slowest in " + seconds.data() +
         (found > 0 ? ", found on " + counted(found, "node") : "");
}

std::string gigabytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f GB", static_cast<double>(bytes) / 1e9);
  return text.data();
}

/// Returns whether nodes share such a file system, so that a copy there gains nothing.
bool is_shared(std::string_view kind) {
  constexpr std::array kShared{"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs"};
  return std::ranges::find(kShared, kind) != kShared.end();
}

}  // namespace

std::optional<std::string> data_difference(comm::Environment& environment, RunConfig* config) {
  const std::string file = config != nullptr ? config->sections.data.file : "";
  std::string found;
  if (!file.empty() && is_first_of_node(environment)) {
    try {
      if (config->dataset == nullptr) config->dataset = store::Dataset::open(file, false);
      found = config->dataset->content_hash().substr(0, kHashDigits);
    } catch (const UserError& error) {
      found = "not usable (" + std::string(error.what()) + ")";
    }
  }
  const auto difference = host_difference(environment, found);
  if (!difference) return std::nullopt;
  return "the hosts have different data: " + file + " is " + *difference;
}

std::string verify_data(const comm::Environment& environment, const RunConfig& config,
                        const std::function<bool()>& stop_requested) {
  if (config.dataset == nullptr || !config.sections.data.stage.empty() || !is_first_of_node(environment))
    return {};
  try {
    config.dataset->verify(stop_requested);
    return {};
  } catch (const UserError& error) {
    return (environment.place().node_count > 1 ? environment.place().host + ": " : "") + error.what();
  }
}

std::string stage_data(comm::Environment& environment, RunConfig& config,
                       const std::function<bool()>& stop_requested) {
  const DataOptions& data = config.sections.data;
  if (data.stage.empty()) return {};
  comm::Communicator& world = environment.world();
  const bool speaks = world.rank() == comm::kCoordinator;
  std::string problem;
  double copy_s = -1;
  bool stopped = false;
  if (is_first_of_node(environment)) {
    try {
      const auto copied =
          store::stage_dataset(data.file, data.stage,
                               {.report_after_s = speaks ? kReportAfter_s : kOthersReportAfter_s,
                                .stop_requested = stop_requested});
      copy_s = copied.value_or(copy_s);
      stopped = !copied;
    } catch (const UserError& error) {
      problem = error.what();
    }
  }
  const std::vector<double> of_ranks = comm::gather(world, copy_s);
  problem = comm::first_problem(world, problem);
  if (!problem.empty()) return problem;
  stopped = comm::any(world, stopped);
  const std::string stage = data.stage.string();
  if (speaks && stopped) {
    log::info("no longer copying " + data.file + " to " + stage + ": this job is to stop");
  } else if (speaks) {
    log::info(data.file + " is read from copies in " + stage + ": " + describe(of_ranks));
  }
  if (stopped) return {};
  try {
    config.dataset = store::Dataset::open(store::staged_path(stage, config.dataset->content_hash()), false);
    return {};
  } catch (const UserError& error) {
    return environment.place().host + ": " + error.what();
  }
}

std::optional<Finding> check_stage(const RunConfig& config) {
  const DataOptions& data = config.sections.data;
  if (data.stage.empty()) return std::nullopt;
  try {
    const std::filesystem::path stage = store::make_stage(data.stage);
    std::optional<std::uint64_t> needed_bytes;
    if (!store::exists(store::staged_path(data.stage, config.dataset->content_hash()))) {
      needed_bytes = store::staging_bytes(data.file);
    }
    return judge_stage(stage, store::try_folder(stage), needed_bytes);
  } catch (const Problem& error) {
    return Finding{Verdict::kProblem, "data stage", error.what(), ""};
  }
}

Finding judge_stage(const std::filesystem::path& stage, const store::FolderCheck& check,
                    std::optional<std::uint64_t> needed_bytes) {
  const std::string kind = check.kind.empty() ? "an unknown file system" : check.kind;
  const std::string name = stage.string() + ": " + kind;
  const std::string advice = "free some space, name another folder by data.stage, or leave that out";
  if (!check.refused.empty()) {
    const store::RefusedCall& refused = check.refused.front();
    return {Verdict::kProblem, "data stage", name + " refused " + refused.call + ": " + refused.reason,
            advice};
  }
  const std::string free = name + ", " + gigabytes(check.free_bytes) + " free";
  if (needed_bytes && check.free_bytes < *needed_bytes) {
    return {Verdict::kProblem, "data stage", free + ", a copy needs " + gigabytes(*needed_bytes), advice};
  }
  if (is_shared(check.kind)) {
    return {Verdict::kWarning, "data stage", free + ": is no disk of the node",
            "a copy there saves the file server nothing: name a folder on a disk of the node"};
  }
  const std::string copy = needed_bytes ? "" : ", the copy is there";
  if (check.kind == "tmpfs") {
    return {Verdict::kNote, "data stage", free + " in memory" + copy,
            "the copy takes its size of the node's memory, and of the job's if that is limited"};
  }
  return {Verdict::kGood, "data stage", free + copy, ""};
}

}  // namespace skyline::app
