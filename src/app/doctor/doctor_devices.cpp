#include "app/doctor/doctor_devices.hpp"

#include "app/job/device_plan.hpp"
#include "comm/agreement.hpp"
#include "comm/binding_exchange.hpp"
#include "machine/node.hpp"
#include "train/loading/load_accelerator.hpp"

#include <exception>
#include <memory>
#include <string>

namespace skyline::app {
namespace {

constexpr const char* kGpu = "GPU";

/// What the search would say, as findings.
std::vector<Finding> judge_plan(const DevicePlan& plan, bool needed) {
  if (!plan.problem.empty()) {
    return {{needed ? Verdict::kProblem : Verdict::kNote, kGpu, plan.problem, ""}};
  }
  std::vector<Finding> findings;
  for (const std::string& line : plan.lines) {
    findings.push_back({plan.on_gpus ? Verdict::kGood : Verdict::kNote, kGpu, line, ""});
  }
  for (const std::string& warning : plan.warnings) {
    findings.push_back({Verdict::kWarning, kGpu, warning, "docs/gpu.md, \"Binding and topology\""});
  }
  return findings;
}

/// A module that throws ends a search; the doctor goes on and says so.
machine::RankView look(const comm::NodePlace& place, const AcceleratorLoader& load, bool needed,
                       const std::filesystem::path& root, std::vector<Finding>& findings) {
  try {
    std::string reason;
    const std::shared_ptr<train::Accelerator> accelerator = load(reason);
    return look_at_devices(place, accelerator.get(), reason, root);
  } catch (const std::exception& error) {
    const std::string text = std::string("the cuda module fails: ") + error.what();
    findings.push_back({needed ? Verdict::kProblem : Verdict::kNote, kGpu, text,
                        "training.device: cpu does without it, and without GPUs"});
    return look_at_devices(place, nullptr, text, root);
  }
}

}  // namespace

machine::RankView check_devices(comm::Environment& environment,
                                const std::optional<train::TrainingOptions>& options, bool needed,
                                const AcceleratorLoader& load, const std::filesystem::path& root,
                                std::vector<Finding>& findings) {
  const train::TrainingOptions wanted = options.value_or(train::TrainingOptions{});
  comm::Communicator& world = environment.world();
  // As rank 0 has it: another one's configuration may be unreadable.
  const bool looks = wanted.device != train::DeviceChoice::kCpu;
  if (!comm::share(world, looks)) {
    findings.push_back({Verdict::kGood, kGpu, "not looked for: training.device is cpu", ""});
    return look_at_devices(environment.place(), nullptr, "", root);
  }
  const machine::RankView mine = look(environment.place(), load, needed, root, findings);
  const std::vector<machine::RankView> ranks = comm::gather_views(world, mine);
  std::string message;
  if (world.rank() == comm::kCoordinator) {
    message =
        to_message(judge_plan(plan_devices(wanted.device, "", trains_in_groups(wanted), ranks), needed));
  }
  // On all ranks, so that it is no matter of some hosts alone: the lines name theirs.
  const std::vector<Finding> judged = from_message(comm::share(world, message));
  findings.insert(findings.end(), judged.begin(), judged.end());
  if (mine.devices.empty() || environment.place().local_rank != 0) return mine;
  findings.push_back({Verdict::kGood, kGpu, "by " + train::accelerator_versions(), ""});
  if (world.size() > 1) {
    const std::string told = describe_nccl(mine.devices.front().name, root);
    findings.push_back({Verdict::kGood, "NCCL",
                        told.empty() ? "is told nothing: it finds its ways itself" : told,
                        trains_in_groups(wanted) ? "" : "for groups of several ranks (training.group)"});
  }
  return mine;
}

}  // namespace skyline::app
