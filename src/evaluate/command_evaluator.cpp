#include "evaluate/command_evaluator.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "evaluate/command/command_check.hpp"
#include "evaluate/command/host_preparation.hpp"
#include "evaluate/command/placeholders.hpp"
#include "evaluate/command/program_checksums.hpp"
#include "evaluate/command/trial_attempt.hpp"
#include "evaluate/job_ranks.hpp"
#include "evaluate/process/trainer_variables.hpp"
#include "store/publish/folder_tree.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using trial::FailureKind;

constexpr std::uint32_t kMostPorts = 10;  // tries of a trial whose port somebody else takes
constexpr double kUnitsOfCost = 1000;     // costs are rounded to whole units

/// A rank as the others see it.
struct RankFacts {
  int node = 0;
  bool evaluates = true;
};

/// The number of this rank among the ranks of its node that evaluate.
struct PlaceOnNode {
  int number = 0;
  int ranks = 0;
  int ranks_of_job = 0;
  bool is_first = false;  // first of all ranks of the node that evaluate
};

PlaceOnNode place_on_node(Ranks& ranks, const RankFacts& own) {
  PlaceOnNode place;
  const std::vector<RankFacts> all = exchange(ranks, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].evaluates) continue;
    ++place.ranks_of_job;
    if (all[rank].node != own.node) continue;
    if (static_cast<int>(rank) < ranks.rank()) ++place.number;
    ++place.ranks;
  }
  place.is_first = own.evaluates && place.number == 0;
  return place;
}

/// Returns the GPUs of this process as CUDA_VISIBLE_DEVICES names them.
std::vector<std::string> gpus_of(const trial::Place& place) {
  if (process_variable("CUDA_VISIBLE_DEVICES")) return place.devices;
  std::vector<std::string> gpus;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev", failure)) {
    const std::string name = entry.path().filename().string();
    const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
    constexpr std::string_view kBeginning = "nvidia";
    if (!name.starts_with(kBeginning) || name.size() == kBeginning.size()) continue;
    if (std::all_of(name.begin() + kBeginning.size(), name.end(), is_digit)) {
      gpus.push_back(std::to_string(gpus.size()));
    }
  }
  return gpus;
}

/// Returns the GPU of this rank, or none. Ranks of a node that see the same GPUs take them in turn.
/// @param begun_on  kind of device on which the run began, or empty
std::vector<std::string> device_of(const CommandOptions& options, const trial::Place& place,
                                   const PlaceOnNode& on_node, const std::string& begun_on) {
  if (options.device == DeviceChoice::kCpu || begun_on == "cpu") return {};
  const std::vector<std::string> gpus = gpus_of(place);
  if (!gpus.empty()) return {gpus[static_cast<std::size_t>(on_node.number) % gpus.size()]};
  if (options.device == DeviceChoice::kAuto && begun_on.empty()) return {};
  throw UserError("command.device: expected a GPU for each rank" +
                  std::string(begun_on.empty() ? "" : ", as the run began with") + ", and there is none on " +
                  place.host);
}

class CommandEvaluator final : public trial::Evaluator {
 public:
  /// @param host  nullptr if the evaluator only predicts costs
  CommandEvaluator(CommandOptions options, std::unique_ptr<TrainerHost> host,
                   std::vector<std::string> devices, bool shares_device)
      : options_(std::move(options)),
        host_(std::move(host)),
        devices_(std::move(devices)),
        shares_device_(shares_device) {}

  double predicted_cost(const trial::Trial& trial) const override {
    const trial::Continue* const earlier = trial.continues();
    const double epochs = trial.budget().epochs - (earlier != nullptr ? earlier->epochs : 0);
    return std::max(1.0, kUnitsOfCost * value_of(trial, "cost", options_.cost) * epochs);
  }
  std::uint32_t members_for(const trial::Trial& trial) const override {
    return static_cast<std::uint32_t>(value_of(trial, "processes", options_.processes.value_or(1)));
  }
  bool forms_groups() const override { return options_.processes.has_value(); }
  std::size_t slots() const override { return shares_device_ ? 1 : 0; }
  trial::Place place(trial::Place rank) const override {
    rank.devices = devices_;
    return rank;
  }
  std::string device() const override { return devices_.empty() ? "cpu" : "gpu"; }
  std::exception_ptr fault() override { return fault_.first(); }

  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    require(host_ != nullptr, "a rank without a run evaluates a command");
    std::optional<TrialAttempt> attempt;
    try {
      check_program_folders(host_->services.folder, host_->logs.path(trial.name(), 0, 1));
      attempt.emplace(*host_, trial, context);
    } catch (const Problem&) {
      fault_.note(std::current_exception());
      throw;
    }
    return fault_.watch([&] {
      trial::Outcome outcome = outcome_of(*attempt);
      const auto* const failure = std::get_if<trial::Failure>(&outcome);
      if (failure != nullptr && failure->is_of_storage())
        return after_storage_fault(trial, context, *failure, attempt);
      if (failure == nullptr || failure->kind != FailureKind::kStopped) host_->storage.relieve();
      return outcome;
    });
  }
  bool tries_again(const trial::Failure& failure, std::uint32_t tried) const override {
    const auto retries = static_cast<std::uint32_t>(options_.retries);
    if (failure.kind == FailureKind::kProgram) return tried < retries;
    if (failure.reason.ends_with(kPortInUse) && tried < kMostPorts) return true;  // each try has a new one
    return tried < retries || Evaluator::tries_again(failure, tried);
  }

 private:
  static trial::Outcome outcome_of(TrialAttempt& attempt) {
    try {
      return attempt.run();
    } catch (const trial::GroupAborted& aborted) {
      return aborted.failure();
    }
  }

  /// Decides about an attempt that has no result because of a host's storage: member 0, which may hear of it
  /// from another member, removes what the trial has written where room is short, and waits, unless the trial
  /// itself has filled a disk.
  trial::Outcome after_storage_fault(const trial::Trial& trial, trial::EvaluationContext& context,
                                     const trial::Failure& failure, std::optional<TrialAttempt>& attempt) {
    if (context.group() != nullptr && context.group()->member() != 0) return failure;
    const WrittenPlaces places = attempt->written_places();
    const std::optional<StorageFault> fault = find_storage_fault(places, {failure.reason});
    attempt.reset();
    const bool lacks_room = fault && (fault->error == ENOSPC || fault->error == EDQUOT);
    const bool is_elsewhere = fault && !fault->place.empty() && fault->place != places.folder;
    if (lacks_room && !is_elsewhere) remove_files(context);
    return host_->storage.wait(trial, context, failure, fault, places);
  }

  static void remove_files(trial::EvaluationContext& context) {
    const trial::TrialFolder* const files = context.folder();
    try {
      if (files != nullptr) store::remove_tree(files->path);
    } catch (const Problem& problem) {  // the next attempt finds what stays
      log::warning(problem.what());
    }
  }

  /// Returns the value that parameters give to a key in a trial, or else that of the section.
  static double value_of(const trial::Trial& trial, std::string_view key, double value) {
    for (const space::TrainingValue& own : trial.architecture().training()) {
      if (own.key == key) return space::as_number(own.value);
    }
    return value;
  }

  CommandOptions options_;
  std::unique_ptr<TrainerHost> host_;
  std::vector<std::string> devices_;
  bool shares_device_;
  HostFault fault_;
};

/// Makes what this rank has for its trials, and prepares the folder of the run, and this host if it is the
/// first rank there. @throws UserError
std::unique_ptr<TrainerHost> make_host(const CommandOptions& options, const EvaluatorServices& services,
                                       const PlaceOnNode& on_node, const std::vector<std::string>& devices) {
  const std::size_t processors = services.place.processors.size();
  const std::size_t slots = services.slots.value_or(
      std::max<std::size_t>(1, processors / static_cast<std::size_t>(options.threads)));
  const auto ranks = static_cast<std::size_t>(std::max(1, on_node.ranks));
  check_room(options, services.written,
             {.slots = slots, .ranks = ranks, .processors = processors, .host = services.place.host});
  const PortRange ports = options.ports.value_or(default_ports(ephemeral_ports()));
  (void)find_launcher();  // a rank without it cannot start
  const std::string program = options.trainer().front();
  fs::path found;
  if (placeholders_in(program).empty()) {
    try {
      found = find_program(filled(program, {}), path_of_trainer(options));
    } catch (const UserError& reason) {
      throw UserError(std::string(options.python ? "command.interpreter: " : "command.run: ") +
                      reason.what());
    }
  }
  for (const std::string& name : options.passed) {
    if (on_node.is_first && !process_variable(name.c_str()))
      log::warning("command.pass: " + name + " is not set on " + services.place.host);
  }
  const fs::path cache = store::cache_folder(services.folder, services.place.host);
  const store::RunPaths paths{services.folder};
  for (const fs::path& folder : {paths.trainer(), paths.trials(), cache.parent_path(), cache}) {
    store::make_own_folder(folder);
  }
  const std::vector<trial::Metric> metrics = descriptions_of(options.metrics, MetricSource::kTrainer);
  std::unique_ptr<TrainerHost> host(
      new TrainerHost{.options = options,
                      .metrics = metrics,
                      .measuring = MetricCommands(options.metrics, metrics.size(), services, "command"),
                      .services = services,
                      .variables = allowed_variables(process_variables(), options.passed),
                      .program = std::move(found),
                      .processors = ProcessorShares(services.place.processors),
                      .ports = PortBlock(ports_of_rank(ports, on_node.number, std::max(1, on_node.ranks))),
                      .logs = store::TrialLogs(services.folder, most_logs(on_node.ranks_of_job))});
  host->services.ranks = nullptr;
  host->measuring.check_programs(path_of_trainer(options));
  if (on_node.is_first) {
    store::remove_temporary_folders();
    store::remove_left_locks(cache);
    prepare_host(*host, devices);
  }
  return host;
}

std::unique_ptr<trial::Evaluator> make(const CommandOptions& options, const EvaluatorServices& services) {
  if (services.ranks == nullptr || services.folder.empty()) {
    return std::make_unique<CommandEvaluator>(options, nullptr, std::vector<std::string>(), false);
  }
  Ranks& ranks = *services.ranks;
  if (ranks.rank() == 0) {
    prepare_program_folders(services.folder);
  }
  const std::string begun_on = ranks.exchange(services.begun_on).front();
  const PlaceOnNode on_node = place_on_node(ranks, {services.place.node, services.evaluates});
  MetricCommands(options.metrics, 0, services, "command").check_locks(ranks);
  std::unique_ptr<TrainerHost> host;
  std::vector<std::string> devices;
  std::string problem;
  try {
    if (services.evaluates) {
      devices = device_of(options, services.place, on_node, begun_on);
      host = make_host(options, services, on_node, devices);
    }
  } catch (const UserError& error) {
    problem = error.what();
  }
  // Every host is prepared then.
  const std::string gpu = !services.evaluates ? "" : devices.empty() ? "none" : "gpu";
  const std::vector<std::string> all = ranks.exchange(gpu);
  if (!problem.empty()) throw UserError(problem);
  if (std::ranges::count(all, "gpu") > 0 && std::ranges::count(all, "none") > 0) {
    throw UserError(
        "command.device: some ranks have a GPU and others have none; expected `cpu`, or a GPU for each rank");
  }
  if (host != nullptr) start_server(*host, devices, ranks.rank());
  const bool shares_device = !devices.empty() && !services.slots;
  return std::make_unique<CommandEvaluator>(options, std::move(host), std::move(devices), shares_device);
}

}  // namespace

template <typename Visitor>
void for_each_field(RankFacts& facts, Visitor& visit) {
  visit(facts.node, facts.evaluates);
}

/// Returns whether a program of a trial is given the trial's network.
bool uses_network(const CommandOptions& options) {
  return uses_placeholder(options.trainer(), "network") ||
         std::ranges::any_of(options.metrics, [](const CommandMetric& metric) {
           return uses_placeholder(metric.run, "network");
         });
}

/// Returns whether a program is asked before a training that may answer otherwise the next time.
bool asks_anew(const CommandMetric& metric) {
  return metric.is_before && !metric.is_exact;
}

EvaluatorKind command_kind() {
  const auto read = [](const ConfigNode& section) { return CommandOptions::table().parse(section); };
  return {.name = "command",
          .meaning = "A user's own trainer, which is started as a process for each trial (commands.md).",
          .metrics =
              [read](const ConfigNode& section, store::TargetKind /*targets*/) {
                return section.is_null() ? std::vector<trial::Metric>() : metrics_of(read(section));
              },
          .keys = std::make_shared<const OptionTable<CommandOptions>>(CommandOptions::table()),
          .inherit_key = "command.inherit",
          .members_key = "command.processes",
          .searchable = {"cost", "processes"},
          .is_plain = true,
          .needs =
              [read](const ConfigNode& section) {
                const CommandOptions options = read(section);
                return EvaluatorNeeds{.epochs = options.epochs,
                                      .threads = options.threads,
                                      .groups = options.processes.has_value(),
                                      .inherits = options.inherit,
                                      .folders = true,
                                      .network = uses_network(options),
                                      .deterministic = options.deterministic &&
                                                       std::ranges::none_of(options.metrics, asks_anew),
                                      .device = options.device};
              },
          .make = [read](const ConfigNode& section,
                         const EvaluatorServices& services) { return make(read(section), services); },
          .check_place = check_command_section,
          .programs = [read](const ConfigNode& section) { return program_checksums(read(section)); }};
}

}  // namespace skyline::evaluate
