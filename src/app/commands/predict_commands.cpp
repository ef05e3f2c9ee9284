// The commands that use a trained network: predict, evaluate.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/job/stop_request.hpp"
#include "app/models/calibration.hpp"
#include "app/models/evaluation.hpp"
#include "app/models/model_data.hpp"
#include "app/models/onnx_model.hpp"
#include "app/models/selected_model.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "report/files/search_state_csv.hpp"
#include "store/publish/publish.hpp"
#include "train/evaluator/inference.hpp"
#include "train/scoring/answers.hpp"
#include "train/scoring/scored_outputs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

/// Writes predictions as CSV: the row of the source, the trial if there are several, the most likely class
/// for classes, each output, and the reason if the source's row gave no sample.
class PredictionTable {
 public:
  /// @param rows  those of the samples; must outlive the table, like `samples`
  PredictionTable(const SourceRows& rows, const store::Dataset& samples, bool names_trials);

  /// Adds the rows of a model. @param outputs  [samples, outputs]
  void add(trial::TrialNumber trial, std::span<const float> outputs);
  const std::string& csv() const { return csv_; }
  std::size_t size() const { return lines_ - 1; }  // without the titles

 private:
  void add_answers(std::span<const float> outputs, std::vector<std::string>& fields) const;
  void add_line(const std::vector<std::string>& fields);

  const SourceRows& rows_;
  const std::vector<std::string>& names_;  // names of the outputs
  store::TargetKind targets_;
  bool names_trials_;
  std::string csv_;
  std::size_t lines_ = 0;
};

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

PredictionTable::PredictionTable(const SourceRows& rows, const store::Dataset& samples, bool names_trials)
    : rows_(rows),
      names_(samples.class_names()),
      targets_(samples.test().target_kind()),
      names_trials_(names_trials) {
  std::vector<std::string> titles{rows_.title};
  if (names_trials_) titles.emplace_back("trial");
  if (targets_ == store::TargetKind::kClasses) titles.emplace_back("class");
  if (rows_.may_fail) titles.emplace_back("error");
  std::vector<std::string> columns = names_;
  const auto clashes = [&](const std::string& name) {
    return std::ranges::find(titles, name) != titles.end();
  };
  while (std::ranges::any_of(columns, clashes)) {
    for (std::string& name : columns) name.insert(0, "output_");
  }
  titles.insert(titles.end() - (rows_.may_fail ? 1 : 0), columns.begin(), columns.end());
  add_line(titles);
}

void PredictionTable::add(trial::TrialNumber trial, std::span<const float> outputs) {
  for (const SourceRows::Row& row : rows_.rows) {
    std::vector<std::string> fields{row.name};
    if (names_trials_) fields.push_back(std::to_string(trial));
    if (row.problem.empty()) {
      add_answers(outputs.first(names_.size()), fields);
      outputs = outputs.subspan(names_.size());
    } else {
      fields.resize(fields.size() + names_.size() + (targets_ == store::TargetKind::kClasses ? 1 : 0));
    }
    if (rows_.may_fail) fields.push_back(printable(row.problem));
    add_line(fields);
  }
}

void PredictionTable::add_answers(std::span<const float> outputs, std::vector<std::string>& fields) const {
  const auto answers = train::to_answers(outputs, targets_);
  const auto best = static_cast<std::size_t>(std::ranges::max_element(answers) - answers.begin());
  if (targets_ == store::TargetKind::kClasses) fields.push_back(names_[best]);
  for (const double answer : answers) fields.push_back(short_number(answer));
}

void PredictionTable::add_line(const std::vector<std::string>& fields) {
  csv_ += report::csv_line(fields);
  ++lines_;
}

struct PredictArguments {
  ModelChoice choice;
  DataChoice data;
  std::filesystem::path out;            // file; empty for standard output
  bool force = false;                   // overwrite an existing file
  bool int8 = false;                    // use the int8 forms of the models of a run
  std::filesystem::path run_data = {};  // data set of the run, for int8; empty for where it was
  // The others are for an ONNX model alone.
  std::vector<std::string> metrics;  // if empty, the default ones of the targets
  bool unit = false;                 // the network reads pixels from 0 to 1
};

/// The data on which models of a run are used.
struct UsedData {
  ModelSource source;
  SourceRows rows;
  std::shared_ptr<const store::Dataset> samples;
  std::optional<CalibrationSet> calibration = {};  // samples for int8; nullopt without it
};

UsedData open_data(const PredictArguments& arguments, bool has_targets) {
  log::start({.file = "", .prefix = "", .terminal_level = log::Level::kWarning});
  UsedData data{.source = ModelSource::open(arguments.choice.run), .rows = {}, .samples = {}};
  if (arguments.data.sources.empty()) throw UserError("expected --data with the samples");
  (void)chosen_trials(data.source.run, arguments.choice);  // a wrong choice is told before the data are read
  if (arguments.int8) {
    data.calibration = draw_calibration(
        data.source, {.file = arguments.run_data, .option = "--int8", .file_option = "--run-data"});
  }
  data.samples = open_model_data({.data = data.source.data}, arguments.data, has_targets,
                                 has_targets ? nullptr : &data.rows);
  return data;
}

/// Uses each model that the command line names. Returns the exit code, after a line for each that is missing.
int use_models(const PredictArguments& arguments, const UsedData& data,
               const std::function<void(const SelectedModel&, const train::InferenceResult&)>& use) {
  const auto missing = select_models(data.source, arguments.choice, [&](const SelectedModel& model) {
    train::InferenceResult result;
    if (data.samples->test().count > 0) {  // else each row has its reason
      std::optional<space::Int8Network> int8;
      if (data.calibration) int8 = int8_form(data.source, model, *data.calibration);
      result = outputs_of(data.source, model, data.samples, int8 ? &*int8 : nullptr);
    }
    use(model, result);
  });
  for (const std::string& line : missing) print_error(line);
  return missing.empty() ? kExitDone : kExitUserError;
}

/// Returns whether outputs say which model they are of.
bool names_models(const ModelChoice& choice) {
  return choice.front || choice.trials.size() != 1;
}

/// Writes to a file, which must be new unless --force is given, or to standard output.
void give_out(const PredictArguments& arguments, const std::string& text) {
  if (arguments.out.empty() || arguments.out == "-") {
    std::cout << text << std::flush;
  } else {
    write_output(arguments.out, text, arguments.force, arguments.data.sources);
  }
}

int run_predict(const PredictArguments& arguments) {
  if (!arguments.out.empty() && arguments.out != "-") {  // told before the data are read
    check_output(arguments.out, arguments.force, arguments.data.sources);
  }
  const UsedData data = open_data(arguments, false);
  PredictionTable table(data.rows, *data.samples, names_models(arguments.choice));
  bool any = false;
  const int code =
      use_models(arguments, data, [&](const SelectedModel& model, const train::InferenceResult& result) {
        table.add(model.trained->trial.number, result.outputs);
        any = true;
      });
  if (!any) return code;
  give_out(arguments, table.csv());
  if (!arguments.out.empty() && arguments.out != "-") {
    std::cout << "skyline: wrote " << arguments.out.string() << ": " << counted(table.size(), "row")
              << std::endl;
  }
  return code;
}

using Entries = std::vector<ConfigNode::Entry>;

void add_text(Entries& entries, const std::string& name, const std::string& value) {
  entries.push_back({name, ConfigNode::make_scalar(value, {}, true), {}});
}

/// Adds an evaluation to what says of which model it is.
ConfigNode evaluation(const PredictArguments& arguments, Entries entries, Entries measured) {
  add_text(entries, "data", arguments.data.sources.front().string());
  entries.insert(entries.end(), measured.begin(), measured.end());
  return ConfigNode::make_map(std::move(entries), {});
}

void print_samples(const store::Dataset& samples) {
  std::cout << "of " << counted(samples.test().count, "sample") << std::endl;
}

/// Prints the metrics of a model, and returns them with its origin.
ConfigNode evaluated(const PredictArguments& arguments, const UsedData& data, const SelectedModel& model,
                     const train::InferenceResult& result) {
  if (names_models(arguments.choice)) std::cout << "trial " << model.trained->trial.number << "\n";
  Entries origin;
  if (arguments.int8) origin.push_back({"int8", ConfigNode::make_scalar("true", {}), {}});
  for (const auto& [name, value] : metadata_of(data.source, model)) {
    if (name == "run" || name == "trial" || name == "arch_id" || name == "weights")
      add_text(origin, name, value);
  }
  return evaluation(arguments, std::move(origin), print_evaluation(*data.samples, result));
}

/// Returns whether the models are not those of a run, but one in a file.
bool is_onnx(const PredictArguments& arguments) {
  const std::filesystem::path& path = arguments.choice.run;
  return path.extension() == ".onnx" && !std::filesystem::is_directory(path);
}

/// Evaluates a network in an ONNX file.
int evaluate_onnx(const PredictArguments& arguments) {
  const std::string label = arguments.choice.run.string();
  if (!arguments.choice.trials.empty() || arguments.choice.front || arguments.choice.weights) {
    throw UserError(label + ": --trial, --front and --weights choose models of a run, and this is one model");
  }
  if (arguments.int8) throw UserError("--int8 is for models of a run; " + label + " is used as it is");
  log::start({.file = "", .prefix = "", .terminal_level = log::Level::kWarning});
  if (arguments.data.sources.empty()) throw UserError("expected --data with the samples");
  const OnnxModel model = OnnxModel::open(arguments.choice.run);
  if (arguments.unit && model.scales_input()) {
    throw UserError("--unit: " + label + " scales its input itself, as its metadata say");
  }
  const auto samples = open_model_data(model.needs(), arguments.data, true);
  const auto metrics = train::named_metrics(arguments.metrics, samples->test().target_kind());
  train::InferenceResult result{.outputs = model.outputs_for(*samples, arguments.unit), .metrics = {}};
  result.metrics = train::score_outputs(metrics, *samples, result.outputs);
  Entries origin;
  add_text(origin, "model", label);
  for (const auto& [name, value] : model.origin()) add_text(origin, name, printable(value));
  const ConfigNode found = evaluation(arguments, std::move(origin), print_evaluation(*samples, result));
  print_samples(*samples);
  if (!arguments.out.empty()) give_out(arguments, to_json(found));
  return kExitDone;
}

int run_evaluate(const PredictArguments& arguments) {
  if (is_onnx(arguments)) return evaluate_onnx(arguments);
  if (!arguments.metrics.empty() || arguments.unit) {
    throw UserError(std::string(arguments.unit ? "--unit" : "--metrics") +
                    ": of an ONNX model alone; a run states its own");
  }
  const UsedData data = open_data(arguments, true);
  std::vector<ConfigNode> evaluations;
  const int code =
      use_models(arguments, data, [&](const SelectedModel& model, const train::InferenceResult& result) {
        evaluations.push_back(evaluated(arguments, data, model, result));
      });
  if (evaluations.empty()) return code;
  print_samples(*data.samples);
  if (arguments.out.empty()) return code;
  const bool several = names_models(arguments.choice);
  give_out(arguments,
           to_json(several ? ConfigNode::make_list(std::move(evaluations), {}) : evaluations.front()));
  return code;
}

/// Adds the options that choose the samples for a model.
void add_data(CLI::App& command, DataChoice& data) {
  add_path(command, "--data", data.sources,
           "samples: a prepared data set, or what `skyline prep` takes; must be given");
  command.add_option(
      "--kind", data.kind,
      "kind of source, as in skyline prep (default: by the run's data and by what the source has)");
  add_prep_options(command, data.options);
  command.add_option("--part", data.part, "train, validation or test (default: test if it has samples)")
      ->check(CLI::IsMember({"train", "validation", "test"}));
}

std::shared_ptr<PredictArguments> add_use(CLI::App& command, const std::string& out) {
  const auto arguments = std::make_shared<PredictArguments>();
  add_models(command, arguments->choice);
  add_data(command, arguments->data);
  CLI::Option* const int8 =
      command.add_flag("--int8", arguments->int8, "use the networks in int8, as a device would run them");
  add_path(command, "--run-data", arguments->run_data,
           "data set of the run, for --int8, where it is elsewhere than when the run began")
      ->needs(int8);
  command.add_flag("--force", arguments->force, "overwrite the file if it is there");
  add_path(command, "-o,--out", arguments->out, out);
  return arguments;
}

}  // namespace

RunCommand predict_command(CLI::App& command) {
  const auto arguments = add_use(command, "CSV file to write (default: to standard output)");
  return [arguments] { return run_predict(*arguments); };
}

RunCommand evaluate_command(CLI::App& command) {
  const auto arguments = add_use(command, "JSON file to write as well");
  command.get_option("run")->description("run folder, which is only read, or an ONNX model (MODEL.onnx)");
  command
      .add_option(
          "--metrics", arguments->metrics,
          "of an ONNX model: metrics of `training.metrics`, e.g. accuracy,macro_f1 (default: as there)")
      ->delimiter(',');
  command.add_flag("--unit", arguments->unit,
                   "of an ONNX model that another program wrote: it reads pixels from 0 to 1");
  return [arguments] { return run_evaluate(*arguments); };
}

}  // namespace skyline::app
