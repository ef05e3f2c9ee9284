#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/option_table.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/network.hpp"
#include "skyline/store/dataset.hpp"

#include "engine/work/engine_options.hpp"
#include "model_export/model/exported_model.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The `data` section: a data set file, or just the shape of one where nothing is trained.
struct DataOptions {
  std::string file;                             // empty: no data, a shape is given
  std::optional<double> validation;             // share of the training set; nothing: what is stored
  std::optional<std::size_t> validation_limit;  // samples of it that the search uses; nothing: all
  evaluate::Normalization normalization = evaluate::Normalization::kStandard;
  std::filesystem::path stage;  // of each node, for a copy that is then read; empty: none is made
  // Facts about the data set, stated by a run's config.yaml, so that it can be read without the file.
  std::string sha256;
  std::optional<space::Shape> shape;
  std::optional<store::TargetKind> targets;
  std::optional<std::int64_t> classes;
  std::vector<std::string> class_names;
  std::vector<double> mean;       // [channels], of values / value_scale
  std::vector<double> deviation;  // [channels]
  std::optional<double> value_scale;
  static const OptionTable<DataOptions>& table();
};

/// The `final` section.
struct FinalOptions {
  double epochs = 0;
  std::size_t most_tied = 10;
  std::vector<model_export::Format> exports;  // of the front at the end; empty: none
  static const OptionTable<FinalOptions>& table();
};

/// The `run` section: options of the engine, and what else a job needs.
struct RunOptions : engine::EngineOptions {
  std::optional<double> time_limit_s;         // of a job, from its start; then it stops early
  std::optional<std::uint64_t> memory_bytes;  // of a node; nothing: what it has
  double storage_patience_s = 60;             // for how long faults of storage that may pass are borne
  bool events = true;                         // event files for TensorBoard
  static const OptionTable<RunOptions>& table();
};

/// The `checkpoint` section.
const OptionTable<engine::CheckpointOptions>& checkpoint_table();

/// A whole configuration as its tables read it: nothing is opened, and no network built.
struct ConfigSections {
  DataOptions data;
  ConfigNode space;
  std::string evaluator;         // name of its section
  ConfigNode evaluator_section;  // complete
  ConfigNode objectives;
  ConfigNode constraints;  // null if there are none
  ConfigNode search;       // complete
  std::optional<FinalOptions> final_training;
  RunOptions run;
  std::optional<engine::CheckpointOptions> checkpoint = engine::CheckpointOptions{};
};

/// All sections, those of the evaluators and algorithms that are registered by now included.
OptionTable<ConfigSections> all_sections();

/// JSON schema (draft 2020-12) of a whole configuration, for editors.
ConfigNode config_schema();
/// docs/configuration.md: every key of every section.
std::string configuration_page();

}  // namespace skyline::app
