#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::evaluate {

/// kNone: uses no device. kAuto: a GPU if the rank has a usable one, otherwise the CPU.
enum class DeviceChoice { kNone, kAuto, kCpu, kCuda };

/// The scaling of inputs. kUnit: pixels / value_scale. kStandard: then minus mean, over deviation, per
/// channel.
enum class Normalization { kUnit, kStandard };

/// The needs of an evaluator.
struct EvaluatorNeeds {
  double epochs = 1;          // budget of a search trial
  int threads = 1;            // threads of a slot
  bool groups = false;        // whether a trial may have several members
  bool inherits = false;      // whether a child starts from the weights of its parent
  bool weights = false;       // whether a trial leaves weights
  bool folders = false;       // whether a trial has a folder, whose files are what it leaves
  bool data = false;          // whether a data set is needed; otherwise its shape is enough
  bool network = true;        // whether it reads the network; otherwise a space of parameters alone is enough
  bool deterministic = true;  // whether equal trials have equal results, so that equal runs do
  bool seeded = true;         // whether results may depend on a trial's seed
  DeviceChoice device = DeviceChoice::kNone;

  /// Returns whether something of a trial can be kept and inherited (`run.keep_weights`).
  bool leaves_state() const { return weights || folders; }
};

/// The time from the request to stop until the end of a Slurm job. All that must end before needs less.
constexpr double kStopMargin_s = 60;

/// The ranks of a job, which make their evaluators at the same time. Only the main thread of each rank uses
/// it.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the texts of all ranks, indexed by rank. Collective. A text has at most 1 MiB. If a rank may
  /// find that it cannot continue, all ranks exchange their problems, so that all end in the same way.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
};

/// The files in which a trained network is exported. A file without a path is left out.
struct ModelFiles {
  std::filesystem::path onnx = {};
  std::filesystem::path pytorch = {};  // source of a module, which reads the weights beside it
  std::filesystem::path weights = {};  // safetensors
};

/// A constraint on a measured metric.
struct MetricBound {
  std::string metric;
  trial::MetricRange range;
};

/// The services of a run for its evaluator.
struct EvaluatorServices {
  std::shared_ptr<const store::Dataset> dataset;  // nullptr if the configuration gives only a shape
  store::SplitIndices split;                      // split of its training set; empty without a data set
  Normalization normalization = Normalization::kStandard;
  std::uint64_t seed = 0;                // seed of the run
  std::vector<std::string> wanted = {};  // metrics that objectives and constraints use
  std::vector<MetricBound> bounds = {};  // constraints of the search on what is measured
  Ranks* ranks = nullptr;                // nullptr if this process is not in a job, and only predicts costs
  trial::Place place = {};               // place of this rank
  bool evaluates = true;                 // whether this rank evaluates; otherwise it only predicts costs
  // on rank 0: Evaluator::device() when the run began; empty if unknown, or if it begins now
  std::string begun_on = {};
  std::optional<std::size_t> slots = {};  // slots of this rank, if the user has set them
  /// Memory of a node for its ranks; if not given, what the machine or its control groups allow.
  std::optional<std::uint64_t> memory_bytes = {};
  space::SearchSpace space = {};
  std::filesystem::path folder = {};     // folder of the run, absolute; empty if there is no run
  std::filesystem::path data_file = {};  // the data set, absolute; empty without one
  /// Writes the network of an architecture as the source of a PyTorch module, without weights. Any thread may
  /// call it. @throws UserError if a kind of layer has no such source, FaultError if the file cannot be
  /// written
  std::function<void(const space::Architecture& architecture, const std::filesystem::path& file)>
      write_network = {};
  /// Exports a trained network, as `skyline export` does. Any thread may call it. @throws as write_network
  std::function<void(const space::Architecture& architecture, std::vector<trial::NamedTensor> weights,
                     const ModelFiles& files)>
      write_model = {};
  /// Shows a line to a person who watches a single trial, e.g. which program it starts. Any thread may call
  /// it. Empty if nobody watches.
  std::function<void(const std::string& line)> watch = {};
  /// Says whether the job should end while its evaluators are made. Only the calling thread uses it. Empty if
  /// nobody asks it to. An evaluator that is made nevertheless is never used.
  std::function<bool()> stop_requested = {};
  /// The section as the configuration states it, so that messages have a line. Null if there is none.
  ConfigNode written = {};
};

/// The surroundings of an evaluator's section in a user's configuration.
struct SectionPlace {
  const space::SearchSpace& space;
  const ConfigNode& space_section;
  const std::vector<ConfigNode>& searched;  // expressions of parameters in the section, e.g. `$n`, as written
  bool has_data_file = false;
  std::size_t slots = 1;                      // slots of a rank, as far as they are known
  std::vector<std::string> needed = {};       // metrics that objectives and constraints of the search use
  std::vector<std::string> full_needed = {};  // metrics that those of full trainings use
  const ConfigNode* full_epochs = nullptr;    // `final.epochs`; nullptr if there are no full trainings
  std::vector<double> budgets = {};           // epochs of other trials of the search than whole ones
  const ConfigNode* budgets_from = nullptr;   // node that states them; nullptr if there are none
};

/// An evaluator that a configuration can name, by its own section. A run has exactly one evaluator.
struct EvaluatorKind {
  std::string name;     // name of the section, e.g. "synthetic"
  std::string meaning;  // one sentence for docs/configuration.md
  /// Returns the metrics that are measured for a section and the targets of the data, in the order of
  /// Measurements::values. Called on every rank; all ranks must get the same answer.
  /// @param section  complete; a null node asks for all metrics that any section has, which the JSON schema
  ///                 names: none if sections declare their metrics
  /// @throws UserError if the section describes impossible metrics
  std::function<std::vector<trial::Metric>(const ConfigNode& section, store::TargetKind targets)> metrics;
  std::shared_ptr<const KeyTable> keys;
  /// Dotted paths of the keys that messages advise to change; empty if there is none.
  std::string inherit_key = {};  // says whether children start from their parents' weights
  std::string members_key = {};  // says how many members train a trial together
  /// Dotted paths, below the section, of keys and sections whose values may differ from trial to trial:
  /// parameters of the space may give them, and each trial has its values in Architecture::training.
  std::vector<std::string> searchable = {};
  /// Whether texts of its section may have a `$` that names no value of a parameter.
  bool is_plain = false;
  /// Here and below the section is complete: keys->complete(...).
  std::function<EvaluatorNeeds(const ConfigNode& section)> needs;
  /// Loads what evaluators need beyond the program, so that a run which lacks it on rank 0 doesn't begin. It
  /// may be left out. @throws UserError
  std::function<void()> load = {};
  /// Makes the evaluator. Collective over the ranks, if there are any; `services.ranks` is valid only during
  /// the call.
  /// @throws UserError, on one rank or all, if something that the section needs is missing
  std::function<std::unique_ptr<trial::Evaluator>(const ConfigNode& section,
                                                  const EvaluatorServices& services)>
      make;
  /// Checks the section's requests against the data before anything is made, so that errors have a line. It
  /// may be left out. @param written  the section as the user wrote it. @throws UserError
  std::function<void(const ConfigNode& written, const store::Dataset& dataset,
                     const store::SplitIndices& split)>
      check = {};
  /// Returns the facts about the data by which values of its metrics are judged. It may be left out.
  std::function<std::vector<trial::Baseline>(const ConfigNode& section, const store::Dataset& dataset,
                                             const store::SplitIndices& split)>
      baselines = {};
  /// Checks the section's requests against the space, the budgets and this machine when a user's
  /// configuration is read; not when a run is. It may be left out. @param written  the section as the user
  /// wrote it. @throws UserError
  std::function<void(const ConfigNode& written, const SectionPlace& place)> check_place = {};
  /// Returns the checksums of the files of the user's programs that evaluate, by name. A run that is resumed
  /// with others is refused. It may be left out.
  std::function<std::map<std::string, std::string>(const ConfigNode& section)> programs = {};
  /// Describes the device on which this machine would evaluate, in lines; starts nothing. It may be left out.
  std::function<std::vector<std::string>(const ConfigNode& section)> describe_device = {};
  /// Describes the source of its results, in lines for `skyline validate`. It may be left out.
  std::function<std::vector<std::string>(const ConfigNode& section, const EvaluatorServices& services)>
      describe = {};
};

/// Adds a kind; call it before run_program. @throws InternalError for a second kind of the same name, or if a
/// function is missing that may not be left out. If another section has that name, reading a configuration
/// throws InternalError.
void register_evaluator(EvaluatorKind kind);
/// Returns the kind of that name, or nullptr if there is none. Any thread may call it.
const EvaluatorKind* find_evaluator(std::string_view name);
std::vector<std::string> evaluator_names();

}  // namespace skyline::evaluate
