#include "app/tuner/program_tuner.hpp"

#include "skyline/core/error.hpp"

#include "app/tuner/asked_program.hpp"
#include "app/tuner/tuner_lines.hpp"
#include "core/log.hpp"

#include <memory>
#include <utility>

namespace skyline::app {
namespace {

constexpr const char* kTunerSubject = "search.run: the tuner";

/// Speaks with a program in lines of JSON.
class ProgramTuner final : public search::Tuner {
 public:
  ProgramTuner(Asking asking, const search::TunerTask& task)
      : space_(task.space), objectives_(task.objectives), process_(std::move(asking)) {
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
  AskedProgram process_;
};

}  // namespace

search::TunerStart tuner_start(const store::RunPaths& paths) {
  return [paths](const search::TunerProgram& program, const search::TunerTask& task) {
    return std::make_unique<ProgramTuner>(Asking{.run = program.run,
                                                 .variable = "SKYLINE_TUNER_FD",
                                                 .log = paths.tuner_log(),
                                                 .subject = kTunerSubject,
                                                 .timeout_key = "search.timeout",
                                                 .timeout_s = program.timeout_s},
                                          task);
  };
}

}  // namespace skyline::app
