#include "skyline/objective/objective_set.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/models/teacher_outputs.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/data/teacher.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

struct TeacherArguments {
  std::filesystem::path data;
  TeacherSource source;
  std::filesystem::path out;
  bool force = false;
};

/// Says that a class alone would be about as often right for the training samples; empty if it would not.
std::string chance_of_classes(const store::Dataset& dataset, double accuracy) {
  std::vector<std::size_t> counts(dataset.class_names().size());
  for (const std::int32_t each : dataset.train().classes()) ++counts[static_cast<std::size_t>(each)];
  constexpr double kHardly = 0.1;  // part of the way from the commonest class to all samples
  const double most =
      static_cast<double>(*std::ranges::max_element(counts)) / static_cast<double>(dataset.train().count);
  if (accuracy > most + kHardly * (1 - most)) return {};
  return "is hardly more often right than always saying the commonest class, " +
         objective::number_text(most) + " of `train`";
}

/// Warns of outputs that may be those of other samples: a permuted file would be learned silently.
void warn_of_chance(const store::Dataset& dataset, const TaughtData& taught) {
  const auto value_of = [&taught](const std::string& metric) {
    const auto& metrics = taught.scores.front().metrics;
    return std::ranges::find(metrics, metric, &std::pair<std::string, double>::first)->second;
  };
  std::string problem;
  switch (dataset.train().target_kind()) {
    case store::TargetKind::kClasses:
      problem = chance_of_classes(dataset, value_of("accuracy"));
      break;
    case store::TargetKind::kLabels:
      if (const double auc = value_of("auc"); auc <= 0.5)
        problem = "is no more often right than chance, with an auc of " + objective::number_text(auc) +
                  " for `train`";
      break;
    case store::TargetKind::kNumbers:
      if (const double r2 = value_of("r2"); r2 <= 0) {
        problem = "is no closer than always saying the mean, with an r2 of " + objective::number_text(r2) +
                  " for `train`";
      }
      break;
  }
  if (problem.empty()) return;
  log::warning(taught.source + ": " + problem + ": are its rows those of the data's samples, in order?");
}

int run_teacher(const TeacherArguments& arguments) {
  log::start({.file = "", .prefix = "", .terminal_level = log::Level::kWarning});
  const std::vector<std::filesystem::path> inputs{arguments.data, arguments.source.onnx,
                                                  arguments.source.array};
  check_output(arguments.out, arguments.force, inputs);
  const auto dataset = store::Dataset::open(arguments.data, true);
  const TaughtData taught = taught_data(arguments.source, arguments.data, *dataset);
  warn_of_chance(*dataset, taught);
  const std::size_t each = dataset->class_names().size();
  if (arguments.out.has_parent_path()) make_output_folder(arguments.out.parent_path());
  store::write_teacher(arguments.out, {.data_hash = dataset->content_hash(),
                                       .source = taught.source,
                                       .rows = taught.outputs.size() / each,
                                       .outputs = each,
                                       .values = taught.outputs});
  for (const TaughtData::PartScore& score : taught.scores) {
    std::vector<std::string> values;
    for (const auto& [name, value] : score.metrics)
      values.push_back(name + " " + objective::number_text(value));
    std::cout << score.part << ": " << counted(score.samples, "sample") << ", " << joined(values) << "\n";
  }
  if (taught.from_shares) std::cout << "the outputs are probabilities: their logits are taken\n";
  std::cout << "skyline: wrote " << arguments.out.string() << std::endl;
  return kExitDone;
}

}  // namespace

RunCommand teacher_command(CLI::App& command) {
  const auto arguments = std::make_shared<TeacherArguments>();
  TeacherSource& source = arguments->source;
  command.set_help_flag("-h,--help", "print this message");
  command.footer("Example: skyline prep teacher photos.h5 --outputs said.npy -o teacher.h5");
  add_path(command, "data", arguments->data,
           "data set that skyline prep made, on which networks will be trained")
      ->required();
  CLI::Option* const run =
      add_path(command, "--run", source.choice.run, "run folder with the teacher, one of its trials");
  command.add_option("--trial", source.choice.trials, "number of the trial, for --run")
      ->check(whole_number(0, kMostNumber))
      ->needs(run);
  CLI::Option* const onnx = add_path(command, "--onnx", source.onnx, "the teacher as an ONNX model");
  command.add_flag("--unit", source.unit, "the ONNX model reads pixels from 0 to 1")->needs(onnx);
  add_path(command, "--outputs", source.array,
           "what the teacher says, .npy: a row for each sample of `train`, then of `validation`; logits, or "
           "numbers in the unit of their source");
  command.add_flag("--force", arguments->force, "overwrite the file if it is there");
  add_path(command, "-o,--out", arguments->out, "file to write, e.g. data/teacher.h5")->required();
  return [arguments] { return run_teacher(*arguments); };
}

}  // namespace skyline::app
