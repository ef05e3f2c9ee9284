#include "evaluate/measured_evaluator.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "evaluate/command/command_check.hpp"
#include "evaluate/command/host_preparation.hpp"
#include "evaluate/command/metric_commands.hpp"
#include "evaluate/command/process_group.hpp"
#include "evaluate/command/storage_fault.hpp"
#include "evaluate/command/trial_attempt.hpp"
#include "evaluate/command/trial_inputs.hpp"
#include "evaluate/process/trainer_variables.hpp"
#include "trial/forwarding.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;

/// The context of a training whose weights are measured afterwards.
class TrainingContext final : public trial::ForwardingContext, private trial::ForwardingWeights {
 public:
  explicit TrainingContext(trial::EvaluationContext& slot)
      : ForwardingContext(slot), ForwardingWeights(slot.weights()) {}
  trial::TrialWeights& weights() override { return *this; }

  void report(trial::CurvePoint point) override {
    last_step_ = point.step;
    ForwardingContext::report(std::move(point));
  }

  Tensors take_trained() { return std::move(trained_); }
  std::int64_t last_step() const { return last_step_; }

 private:
  bool wanted() const override { return true; }
  void keep(Tensors weights) override {
    if (ForwardingWeights::wanted()) ForwardingWeights::keep(weights);
    trained_ = std::move(weights);
  }
  void keep_answers(std::string json) override {
    if (ForwardingWeights::wanted()) ForwardingWeights::keep_answers(std::move(json));
  }

  Tensors trained_;
  std::int64_t last_step_ = 0;
};

class MeasuredEvaluator final : public trial::ForwardingEvaluator {
 public:
  /// @param logs  nullptr if this rank evaluates nothing
  MeasuredEvaluator(std::unique_ptr<trial::Evaluator> trains, MetricCommands measuring, int threads,
                    const EvaluatorServices& services, std::unique_ptr<store::TrialLogs> logs)
      : ForwardingEvaluator(std::move(trains)),
        measuring_(std::move(measuring)),
        threads_(threads),
        services_(services),
        variables_(allowed_variables(process_variables(), {})),
        logs_(std::move(logs)) {
    services_.ranks = nullptr;
  }

  std::exception_ptr fault() override {
    const std::lock_guard lock(mutex_);
    return fault_ != nullptr ? fault_ : ForwardingEvaluator::fault();
  }

  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    if (!measuring_.measures(trial))
      return measuring_.unmeasured(ForwardingEvaluator::evaluate(trial, context), context);
    const auto with_place = [&](const MetricCommands::Asking& ask) {
      return with_programs(trial, context, 0, ask);
    };
    if (auto ended = measuring_.ask(trial, context, with_place)) return *std::move(ended);
    TrainingContext training(context);
    trial::Outcome outcome = ForwardingEvaluator::evaluate(trial, training);
    if (!trial::is_whole(outcome)) return measuring_.unmeasured(std::move(outcome), context);
    if (leads(context)) {
      outcome = with_programs(trial, context, training.last_step(), [&](MeasuringPlace& place) {
        export_model(trial, training.take_trained(), place);
        return measuring_.measured(std::move(outcome), trial, context, place);
      });
    }
    return wait_for_members(context, std::move(outcome));
  }

 private:
  static bool leads(trial::EvaluationContext& context) {
    return context.group() == nullptr || context.group()->member() == 0;
  }

  /// Runs programs of a trial in a folder of their own. What this host lacks, such as room for a folder or a
  /// process, is no fault of the trial: the job ends.
  trial::Outcome with_programs(const trial::Trial& trial, trial::EvaluationContext& context,
                               std::int64_t last_step,
                               const std::function<trial::Outcome(MeasuringPlace& place)>& run) {
    try {
      require(logs_ != nullptr, "a rank without a run measures a trial");
      std::optional<store::AttemptFolder> made;
      try {
        check_program_folders(services_.folder, logs_->path(trial.name(), 0, 1));
        made.emplace(services_.folder, trial.name());
      } catch (const UserError&) {
        note(std::current_exception());
        throw;
      }
      const store::AttemptFolder& folder = *made;
      const trial::TrialFolder files{.path = folder.temporary()};
      const WrittenPlaces written{folder.parameters().parent_path().parent_path(),
                                  folder.temporary().parent_path()};
      MeasuringPlace place{
          trial_placeholders(services_, trial, folder, files),
          program_variables(variables_, folder.temporary(), threads_, context.place().devices),
          {},
          folder,
          written,
          *logs_,
          last_step};
      write_parameters(services_, trial, folder, files, {});
      trial::Outcome outcome = run(place);
      const auto* const failure = std::get_if<trial::Failure>(&outcome);
      if (failure != nullptr && failure->is_of_storage()) {
        const std::optional<StorageFault> fault = find_storage_fault(written, {failure->reason});
        made.reset();
        return storage_.wait(trial, context, *failure, fault, written);
      }
      storage_.relieve();
      return outcome;
    } catch (const FaultError&) {
      note(std::current_exception());
      throw;
    } catch (const fs::filesystem_error& failure) {
      note(std::make_exception_ptr(FaultError(failure.what())));
      throw;
    }
  }

  /// Exports the files whose placeholders are used.
  void export_model(const trial::Trial& trial, trial::TrialWeights::Tensors weights,
                    MeasuringPlace& place) const {
    const fs::path folder = place.folder.parameters().parent_path();
    const fs::path onnx = folder / "model.onnx";
    const fs::path pytorch = folder / "model.py";
    const fs::path safetensors = folder / "model.safetensors";
    ModelFiles files;
    if (measuring_.uses_placeholder("onnx")) files.onnx = onnx;
    if (measuring_.uses_placeholder("pytorch")) files.pytorch = pytorch;
    if (measuring_.uses_placeholder("weights") || !files.pytorch.empty()) files.weights = safetensors;
    place.placeholders["onnx"] = onnx.string();
    place.placeholders["pytorch"] = pytorch.string();
    place.placeholders["weights"] = safetensors.string();
    if (files.onnx.empty() && files.weights.empty()) return;
    services_.write_model(trial.architecture(), std::move(weights), files);
  }

  void note(std::exception_ptr fault) {
    const std::lock_guard lock(mutex_);
    if (fault_ == nullptr) fault_ = std::move(fault);
  }

  MetricCommands measuring_;
  int threads_;
  EvaluatorServices services_;
  Variables variables_;
  std::unique_ptr<store::TrialLogs> logs_;
  StoragePatience storage_;
  std::mutex mutex_;
  std::exception_ptr fault_;  // guarded by the mutex; the first one
};

/// Prepares the folder of the run, and this rank. Returns the logs of its trials.
std::unique_ptr<store::TrialLogs> prepare_rank(const MetricCommands& measuring,
                                               const EvaluatorServices& services) {
  if (services.ranks->rank() == 0) prepare_program_folders(services.folder);
  if (!services.evaluates) return nullptr;
  if (services.place.node_rank == 0) store::remove_temporary_folders();
  measuring.check_programs(process_variable("PATH").value_or(""));
  return std::make_unique<store::TrialLogs>(services.folder, most_logs(services.ranks->size()));
}

}  // namespace

std::unique_ptr<trial::Evaluator> with_measured_metrics(std::unique_ptr<trial::Evaluator> trains,
                                                        std::size_t own_metrics,
                                                        const std::vector<CommandMetric>& metrics,
                                                        int threads, const EvaluatorServices& services,
                                                        const std::string& section) {
  if (std::ranges::none_of(metrics, &CommandMetric::is_measured)) return trains;
  MetricCommands measuring(metrics, own_metrics, services, section);
  std::unique_ptr<store::TrialLogs> logs;
  if (services.ranks != nullptr && !services.folder.empty()) {
    std::string problem;
    try {
      logs = prepare_rank(measuring, services);
    } catch (const UserError& error) {
      problem = error.what();
    }
    const std::vector<std::string> problems = services.ranks->exchange(problem);
    if (!problem.empty()) throw UserError(problem);
    const bool all_ready = std::ranges::all_of(problems, &std::string::empty);
    if (all_ready) measuring.check_locks(*services.ranks);
  }
  return std::make_unique<MeasuredEvaluator>(std::move(trains), std::move(measuring), threads, services,
                                             std::move(logs));
}

}  // namespace skyline::evaluate
