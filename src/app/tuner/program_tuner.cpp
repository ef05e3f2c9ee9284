#include "app/tuner/program_tuner.hpp"

#include "skyline/core/error.hpp"

#include "app/tuner/tuner_lines.hpp"
#include "app/tuner/tuner_process.hpp"
#include "core/log.hpp"
#include "evaluate/process/trainer_process.hpp"
#include "evaluate/process/trainer_variables.hpp"

#include <filesystem>
#include <memory>
#include <utility>

namespace skyline::app {
namespace {

evaluate::ProcessPlan plan_of_tuner(const search::TunerProgram& program, const store::RunPaths& paths) {
  evaluate::Variables variables = evaluate::allowed_variables(evaluate::process_variables(), {});
  variables["SKYLINE_TUNER_FD"] = std::to_string(evaluate::kReportDescriptor);
  variables["PYTHONUNBUFFERED"] = "1";  // so that the log of a killed program has all that it printed
  variables["OMP_NUM_THREADS"] = "1";   // the other processors train
  return {.arguments = program.run,
          .environment = evaluate::environment_of(variables),
          .folder = std::filesystem::current_path(),
          .log = paths.tuner_log()};
}

/// Speaks with a program in lines of JSON.
class ProgramTuner final : public search::Tuner {
 public:
  ProgramTuner(evaluate::ProcessPlan plan, double timeout_s, const search::TunerTask& task)
      : space_(task.space), objectives_(task.objectives), process_(std::move(plan), timeout_s) {
    process_.send(task_line(task), false);
  }

  void ask(const search::TunerQuestion& question) override {
    process_.send(question_line(question, space_), true);
  }
  void repeat(const search::TunerQuestion& question, const std::vector<space::Genotype>& recorded) override {
    if (!std::exchange(has_repeated_, true)) {
      log::info(std::string(kTunerSubject) +
                " gets the questions and results of the journal again: if its proposals depend on more than "
                "these and their seeds, the next ones are not those of an undisturbed run");
    }
    process_.send(question_line(question, space_, &recorded), false);
  }
  void tell(std::optional<trial::TrialNumber> number, const trial::CommittedTrial& result) override {
    process_.send(result_line(number, result, space_, objectives_), false);
  }
  std::optional<search::TunerAnswer> answer() override {
    const std::optional<std::string> line = process_.receive();
    if (!line) return std::nullopt;
    try {
      return read_answer(*line, space_);
    } catch (const UserError& mistake) {
      throw UserError(std::string(kTunerSubject) + ": its answer: " + mistake.what());
    }
  }
  void end() override { process_.end(); }

 private:
  const space::SearchSpace space_;
  const objective::ObjectiveSet objectives_;
  bool has_repeated_ = false;
  TunerProcess process_;
};

}  // namespace

search::TunerStart tuner_start(const store::RunPaths& paths) {
  return [paths](const search::TunerProgram& program, const search::TunerTask& task) {
    return std::make_unique<ProgramTuner>(plan_of_tuner(program, paths), program.timeout_s, task);
  };
}

}  // namespace skyline::app
