#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/option_table.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/network.hpp"
#include "skyline/store/dataset.hpp"

#include "engine/work/engine_options.hpp"
#include "model_export/model/exported_model.hpp"
#include "trial/given_metric.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The `data` section: a data set file, or only its shape if nothing is trained.
struct DataOptions {
  std::string file;                             // empty if only a shape is given
  std::optional<double> validation;             // share of the training set; if not given, the stored part
  std::optional<std::size_t> validation_limit;  // samples of it that the search uses; if not given, all
  evaluate::Normalization normalization = evaluate::Normalization::kStandard;
  std::filesystem::path stage;  // folder on each node for a copy that is then read; empty for no copy
  // Facts about the data set, stated by a run's config.yaml, so that it can be read without the file.
  std::string sha256;
  std::optional<space::Shape> shape;
  std::optional<store::TargetKind> targets;
  std::optional<std::int64_t> classes;
  std::vector<std::string> class_names;
  std::vector<double> mean;       // [channels], mean of values / value_scale
  std::vector<double> deviation;  // [channels]
  std::optional<double> value_scale;
  std::string preparation;  // value of store::Dataset::preparation()
  ConfigNode baselines;     // node that run::baselines_node() returned
  static const OptionTable<DataOptions>& table();
};

/// The `costs` section: a program that counts costs of architectures before any training.
struct CostsOptions {
  std::vector<std::string> run;  // program and arguments
  double timeout_s = 600;        // how long it may be silent when it is asked
  std::vector<trial::GivenMetric> metrics;
  static const OptionTable<CostsOptions>& table();
};

/// The `final` section.
struct FinalOptions {
  double epochs = 0;
  std::uint32_t repeats = 1;  // number of trainings of each network
  bool refit = false;         // train the members of the final front on the validation samples, too
  std::size_t most_tied = 10;
  std::optional<std::size_t> members;  // networks to train at least, the front's and its nearest rivals'
  std::optional<bool> int8;  // measure the front in int8, too; if not given, if a cost in int8 is an aim
  std::vector<model_export::Format> exports;  // formats in which the front is exported at the end
  static const OptionTable<FinalOptions>& table();
};

/// The `run` section: options of the engine, and other settings of a job.
struct RunOptions : engine::EngineOptions {
  std::optional<double> time_limit_s;         // time of a job from its start, after which it stops early
  std::optional<std::uint64_t> memory_bytes;  // memory of a node; if not given, all it has
  double storage_patience_s = 60;             // how long storage faults that may pass are tolerated
  bool events = true;                         // write event files for TensorBoard
  static const OptionTable<RunOptions>& table();
};

/// The `checkpoint` section.
const OptionTable<engine::CheckpointOptions>& checkpoint_table();

/// A whole configuration as its tables read it. No file is opened, and no network is built.
struct ConfigSections {
  DataOptions data;
  ConfigNode space;
  std::string evaluator;         // name of the evaluator's section
  ConfigNode evaluator_section;  // the evaluator's section, complete
  ConfigNode objectives;
  ConfigNode constraints;  // null if there are none
  std::optional<CostsOptions> costs;
  ConfigNode search;  // complete
  std::optional<FinalOptions> final_training;
  RunOptions run;
  std::optional<engine::CheckpointOptions> checkpoint = engine::CheckpointOptions{};
};

/// Returns whether the evaluator has no metrics of its own, but those that its section declares.
bool declares_metrics(const evaluate::EvaluatorKind& evaluator);
/// Returns the metrics that other evaluators measure in the search.
std::vector<std::string> measured_metrics();
/// Returns all sections, with those of the evaluators and algorithms that are registered by now.
OptionTable<ConfigSections> all_sections();

/// Returns the JSON schema (draft 2020-12) of a whole configuration, for editors.
ConfigNode config_schema();
/// Returns docs/configuration.md with every key of every section.
std::string configuration_page();

}  // namespace skyline::app
