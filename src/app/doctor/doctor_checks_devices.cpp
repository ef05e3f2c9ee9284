#include "skyline/core/error.hpp"

#include "app/doctor/doctor_checks.hpp"
#include "comm/agreement.hpp"
#include "train/loading/device_plan.hpp"
#include "train/loading/load_accelerator.hpp"

#include <exception>
#include <memory>
#include <optional>

namespace skyline::app {
namespace {

constexpr const char* kGpu = "GPU";

/// Returns the lines that a search would log, as findings.
std::vector<Finding> judge_plan(const train::DevicePlan& plan, bool needed) {
  if (!plan.problem.empty()) return {{needed ? Verdict::kProblem : Verdict::kNote, kGpu, plan.problem, ""}};
  std::vector<Finding> findings;
  for (const std::string& line : plan.lines) {
    findings.push_back({plan.on_gpus ? Verdict::kGood : Verdict::kNote, kGpu, line, ""});
  }
  for (const std::string& warning : plan.warnings) {
    findings.push_back({Verdict::kWarning, kGpu, warning, "docs/gpu.md, \"Binding and topology\""});
  }
  return findings;
}

/// Looks for devices. What ends a search is a finding here, and the doctor continues.
/// @param fault  set if the rank's GPU or the cuda module cannot be used
machine::RankView find_devices(const comm::NodePlace& place, const train::AcceleratorLoader& load,
                               bool needed, const std::filesystem::path& root,
                               std::optional<Finding>& fault) {
  std::string reason;
  std::shared_ptr<train::Accelerator> accelerator;
  const Verdict verdict = needed ? Verdict::kProblem : Verdict::kNote;
  try {
    accelerator = load(reason);
  } catch (const UserError& error) {  // a GPU that cannot be used is refused by `auto`, too
    reason = error.what();
    fault = {verdict, kGpu, reason, needed ? "or training.device: cpu" : ""};
  } catch (const std::exception& error) {
    reason = std::string("the cuda module fails: ") + error.what();
    fault = {verdict, kGpu, reason, needed ? "training.device: cpu does without it, and without GPUs" : ""};
  }
  return train::inspect_devices(place, accelerator.get(), reason, root);
}

}  // namespace

machine::RankView check_devices(comm::Environment& environment, const evaluate::EvaluatorNeeds& needs,
                                const train::AcceleratorLoader& load, const std::filesystem::path& root,
                                std::vector<Finding>& findings) {
  using evaluate::DeviceChoice;
  const bool needed = needs.device != DeviceChoice::kNone;
  const DeviceChoice choice = needed ? needs.device : DeviceChoice::kAuto;
  comm::Communicator& world = environment.world();
  // Rank 0's choice counts, because the configuration of another rank may be unreadable.
  if (!comm::share(world, choice != DeviceChoice::kCpu)) {
    findings.push_back({Verdict::kGood, kGpu, "not looked for: training.device is cpu", ""});
    return train::inspect_devices(environment.place(), nullptr, "", root);
  }
  std::optional<Finding> fault;
  const machine::RankView mine = find_devices(environment.place(), load, needed, root, fault);
  if (fault) findings.push_back(*fault);
  const bool refused = comm::any(world, fault.has_value());
  const std::vector<machine::RankView> ranks = comm::gather(world, mine);
  std::vector<Finding> judged;
  // With `auto` a fault ends the search before there is a plan: it trains on no other device instead.
  if (world.rank() == comm::kCoordinator && !(refused && choice == DeviceChoice::kAuto)) {
    judged = judge_plan(train::plan_devices(choice, "", needs.groups, ranks), needed);
  }
  // All ranks report the same lines, so that they are not attributed to some hosts; the lines name theirs.
  judged = comm::share(world, std::move(judged));
  findings.insert(findings.end(), judged.begin(), judged.end());
  if (mine.devices.empty() || environment.place().local_rank != 0) return mine;
  findings.push_back({Verdict::kGood, kGpu, "by " + train::accelerator_versions(), ""});
  if (world.size() > 1) {
    const std::string told = train::describe_nccl(mine.devices.front().name, root);
    findings.push_back({Verdict::kGood, "NCCL",
                        told.empty() ? "is told nothing: it finds its ways itself" : told,
                        needs.groups ? "" : "for groups of several ranks (training.group)"});
  }
  return mine;
}

}  // namespace skyline::app
