#include "app/config/config_sections.hpp"
#include "core/config/argument_vector.hpp"
#include "core/config/byte_size.hpp"
#include "core/config/config_text.hpp"
#include "core/config/option_list.hpp"
#include "train/options/training_options.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace skyline::app {
namespace {

OptionKind<std::filesystem::path> folder_or_none() {
  OptionKind<std::string> given = text("`none` or a folder, e.g. /tmp");
  OptionKind<std::filesystem::path> kind{given};
  kind.read = [read = given.read](const ConfigNode& node, std::filesystem::path& folder) {
    std::string name;
    if (!read(node, name)) return false;
    folder = name == "none" ? "" : name;
    return true;
  };
  kind.write = [](const std::filesystem::path& folder) {
    return ConfigNode::make_scalar(folder.empty() ? "none" : folder.string(), {});
  };
  return kind;
}

OptionKind<space::Shape> shape_of_image() {
  const OptionKind<std::int64_t> size = integer<std::int64_t>(at_least(1));
  ConfigNode schema = ConfigNode::make_map({{"items", size.schema, {}}}, {});
  for (const char* bound : {"minItems", "maxItems"}) schema.set(bound, ConfigNode::make_integer(3));
  OptionKind<space::Shape> kind{{"[channels, height, width], each at least 1", schema}};
  kind.read = [size](const ConfigNode& node, space::Shape& shape) {
    if (!node.is_list() || node.items().size() != 3) return false;
    return size.read(node.items()[0], shape.channels) && size.read(node.items()[1], shape.height) &&
           size.read(node.items()[2], shape.width);
  };
  kind.write = [size](const space::Shape& shape) {
    return ConfigNode::make_list(
        {size.write(shape.channels), size.write(shape.height), size.write(shape.width)}, {});
  };
  return kind;
}

/// Quotes the text, because a class may be called 3, or null.
OptionKind<std::string> class_name() {
  OptionKind<std::string> kind = text("a name");
  kind.write = [](const std::string& name) { return ConfigNode::make_scalar(name, {}, true); };
  return kind;
}

void check_data(const DataOptions& options, const ConfigNode& section) {
  if (options.file.empty() && !options.stage.empty()) {
    section.at("stage").fail("needs `file`: there is nothing to copy");
  }
}

/// Returns the number of `0.5 epochs`, or nullopt for any other text.
std::optional<double> epochs_in(std::string_view text) {
  const std::size_t unit = text.find("epoch");
  if (unit == std::string_view::npos) return std::nullopt;
  if (text.substr(unit) != "epoch" && text.substr(unit) != "epochs") return std::nullopt;
  text = text.substr(0, unit);
  return parse_number(text.substr(0, text.find_last_not_of(' ') + 1));
}

/// Reads a time or a number of epochs; the options have one of the two.
OptionKind<engine::CheckpointOptions> interval() {
  const Range range = above(0).at_most(train::kMostEpochs * 86400);
  const OptionKind<double> time = duration(range);
  ConfigNode schema = ConfigNode::make_map({}, {});
  schema.set("type", ConfigNode::make_list({ConfigNode::make_scalar("number", {}, true),
                                            ConfigNode::make_scalar("string", {}, true)},
                                           {}));
  OptionKind<engine::CheckpointOptions> kind{
      {"a duration or a number of epochs above 0, e.g. 60 s or 0.5 epochs", schema}};
  kind.read = [range, time](const ConfigNode& node, engine::CheckpointOptions& options) {
    double seconds = 0;
    options.interval_s.reset();
    options.interval_epochs.reset();
    if (time.read(node, seconds)) options.interval_s = seconds;
    if (node.is_scalar()) options.interval_epochs = epochs_in(node.as_text());
    return options.interval_s || (options.interval_epochs && range.holds(*options.interval_epochs));
  };
  kind.write = [time](const engine::CheckpointOptions& options) {
    if (options.interval_s) return time.write(*options.interval_s);
    return ConfigNode::make_scalar(ConfigNode::make_number(*options.interval_epochs).as_text() + " epochs",
                                   {});
  };
  return kind;
}

}  // namespace

const OptionTable<DataOptions>& DataOptions::table() {
  using evaluate::Normalization;
  using store::TargetKind;
  const auto word_of = [](TargetKind kind) { return std::pair(std::string(to_text(kind)), kind); };
  static const OptionTable<DataOptions> table{
      {{"file", &DataOptions::file, text("a data set file, as `skyline prep` makes it"),
        "The data set, needed where networks are trained.", KeyRule::kMayChange},
       {"validation", &DataOptions::validation, if_given(number(above(0).below(1))),
        "Share of the training set held out for validation, stratified and seeded; by default 0.1, or the "
        "validation set that the file holds."},
       {"validation_limit", &DataOptions::validation_limit, if_given(integer<std::size_t>(at_least(1))),
        "Most images of it on which a trial of the search is scored, a fixed, stratified part; full training "
        "uses all."},
       {"normalization", &DataOptions::normalization,
        choice<Normalization>({{"standard", Normalization::kStandard}, {"unit", Normalization::kUnit}}),
        "How values are scaled: `unit`: pixels by the data set's largest value, numbers not at all; "
        "`standard`: then to mean 0 and deviation 1 per channel."},
       {"stage", &DataOptions::stage, folder_or_none(),
        "Folder of each node: the file is copied there once and read from there.", KeyRule::kMayChange},
       {"sha256", &DataOptions::sha256, text("the checksum of a data set"),
        "Any other data set is refused. A run's `config.yaml` states this key and those below."},
       {"shape", &DataOptions::shape, if_given(shape_of_image()),
        "Shape of a sample; needed without `file`, where nothing is trained."},
       {"targets", &DataOptions::targets,
        if_given(choice<TargetKind>(
            {word_of(TargetKind::kClasses), word_of(TargetKind::kLabels), word_of(TargetKind::kNumbers)})),
        "What the outputs of a network say of a sample: its class, which of some labels it has, or numbers."},
       {"classes", &DataOptions::classes, if_given(integer<std::int64_t>(at_least(1))),
        "Number of outputs: of classes, labels or numbers; needed beside `shape`."},
       {"class_names", &DataOptions::class_names, list_of(class_name(), "a list of names"),
        "Names of the outputs."},
       {"mean", &DataOptions::mean, list_of(number(Range()), "a list of numbers"),
        "Mean of each channel, of values divided by `value_scale`."},
       {"deviation", &DataOptions::deviation, list_of(number(Range()), "a list of numbers"),
        "Standard deviation of each channel, of values divided by `value_scale`."},
       {"value_scale", &DataOptions::value_scale, if_given(number(above(0))),
        "Largest value of a pixel, by which all are divided; 1 where values are numbers."},
       {"preparation", &DataOptions::preparation, text("the preparation of a data set"),
        "How rows of a table, sounds or recordings become samples, as JSON: columns by name, what is subtracted, "
        "missing values, categories, the scale of targets."},
       {"yardsticks", &DataOptions::baselines,
        tree("a map of metrics", ConfigNode::make_map({{"type", schema_text("object"), {}}}, {})),
        "By metric: the number of samples of a share, how many of them score a search trial, and the value "
        "of a model that always says the same.",
        KeyRule::kMayChange}},
      check_data};
  return table;
}

namespace {

/// Reads formats of `skyline export`, a single one or a list.
OptionKind<std::vector<model_export::Format>> export_formats() {
  using model_export::Format;
  std::vector<std::pair<std::string, Format>> words;
  for (const auto& [name, each] : model_export::kFormats) words.emplace_back(name, each);
  const auto format = choice<Format>(words);
  auto formats = list_of(format, format.expected + ", or a list of them");
  formats.schema =
      ConfigNode::make_map({{"anyOf", ConfigNode::make_list({format.schema, formats.schema}, {}), {}}}, {});
  formats.read = [format, list = formats.read](const ConfigNode& node, std::vector<Format>& values) {
    if (!node.is_scalar()) return list(node, values);
    values.assign(1, Format{});
    return format.read(node, values.front());
  };
  return formats;
}

}  // namespace

const OptionTable<CostsOptions>& CostsOptions::table() {
  static const OptionTable<CostsOptions> table{
      {"run", &CostsOptions::run, argument_vector(),
       "The program and its arguments. It reads lists of parameters, and writes their costs, as lines of JSON.",
       KeyRule::kRequired},
      {"timeout", &CostsOptions::timeout_s, duration(above(0)),
       "How long it may take for an answer; then the job ends.", KeyRule::kMayChange},
      {"metrics", &CostsOptions::metrics,
       trial::given_by_name(trial::GivenMetric::counted_table(), "metrics by name, e.g. {params: {}}"),
       "All metrics that it counts. Objectives and constraints use them like costs of networks.",
       KeyRule::kRequired}};
  return table;
}

const OptionTable<FinalOptions>& FinalOptions::table() {
  constexpr double kMostRepeats = 100;
  constexpr double kMostMembers = 1000;
  static const OptionTable<FinalOptions> table =
      OptionTable<FinalOptions>{
          {"epochs", &FinalOptions::epochs, above(0).at_most(train::kMostEpochs), "Budget of each network.",
           KeyRule::kRequired},
          {"repeats", &FinalOptions::repeats, integer<std::uint32_t>(at_least(1).at_most(kMostRepeats)),
           "Trainings of each network, which differ in their seed: the final front compares their means. The "
           "weights of the first one are kept."},
          {"refit", &FinalOptions::refit, flag(),
           "Whether the members of the final front are trained once more, on training and validation "
           "samples, for the epochs after which their full training kept its weights; these weights are then "
           "the model. Only for networks that `training` trains."},
          {"members", &FinalOptions::members,
           if_given(integer<std::size_t>(at_least(1).at_most(kMostMembers))),
           "Networks to train at least: the front, and its nearest rivals where it has fewer; the front alone "
           "unless given. The final front is chosen among all of them."},
          {"int8", &FinalOptions::int8, if_given(flag()),
           "Whether the networks are measured in int8, too, as int8_test_NAME; unless given, where an "
           "objective or a constraint is a number of the int8 network. Fixed when a run begins; only for "
           "networks that `training` trains."},
          {"most", &FinalOptions::most_tied, integer<std::size_t>(at_least(1)),
           "Maximum number of networks with the same values of all objectives that are trained; the first "
           "ones of the search."},
          {"export", &FinalOptions::exports, export_formats(),
           "Formats in which the front is exported at the end, to `exports`; nothing unless given."}}
          .advised(
              "repeats",
              "with three or more, the report tells whether two networks differ by more than their seeds "
              "do. Each costs a full training of every network.")
          .advised("members",
                   "for a single noisy objective, whose front is one trial, the luckiest: `members: 5, "
                   "repeats: 3` compares means of its five best.")
          .advised("refit",
                   "useful where samples are few, as the validation set is a tenth of them by default. Its "
                   "weights have no validation metrics; test metrics stand beside those of the full "
                   "training.");
  return table;
}

namespace {

constexpr double kMostThinkThreads = 256;
constexpr double kMostInFlight = 1'000'000;  // trials of a window, or virtual slots

/// Reads `128`, or `2.5x` for a multiple of the virtual slots.
OptionKind<engine::Window> window_size() {
  ConfigNode multiple = ConfigNode::make_map({{"type", schema_text("string"), {}}}, {});
  multiple.set("pattern", schema_text("^[0-9.]+x$"));
  const ConfigNode trials = integer<std::size_t>(at_least(1).at_most(kMostInFlight)).schema;
  ConfigNode schema =
      ConfigNode::make_map({{"anyOf", ConfigNode::make_list({trials, std::move(multiple)}, {}), {}}}, {});
  OptionKind<engine::Window> kind{
      {"a whole number from 1 to 1000000, or a multiple of at least 1, e.g. 2.5x", std::move(schema)}};
  kind.read = [](const ConfigNode& node, engine::Window& value) {
    if (!node.is_scalar()) return false;
    std::string_view text = node.as_text();
    value.of_slots = text.ends_with('x');
    if (value.of_slots) {
      text.remove_suffix(1);
    } else if (node.quoted()) {
      return false;
    }
    const auto number = parse_number(text);
    if (!number || !at_least(1).at_most(kMostInFlight).holds(*number)) return false;
    value.size = *number;
    return value.of_slots || value.size == std::floor(value.size);
  };
  kind.write = [](const engine::Window& value) {
    if (!value.of_slots) return ConfigNode::make_integer(static_cast<std::int64_t>(value.size));
    return ConfigNode::make_scalar(ConfigNode::make_number(value.size).as_text() + "x", {});
  };
  return kind;
}

void check_run(const RunOptions& run, const ConfigNode& section) {
  if (run.window && run.window->of_slots && !run.virtual_slots) {
    section.at("window").fail("a multiple of `virtual_slots`, which is not given");
  }
  if (run.commit != engine::CommitBy::kVirtualTime) return;
  const ConfigNode& commit = section.at("commit");
  if (!run.virtual_slots) commit.fail("virtual_time needs `virtual_slots`, about as many as the job's slots");
  if (!run.window)
    commit.fail("virtual_time needs a `window`, e.g. 2x: a generation has no order to gain from");
}

}  // namespace

const OptionTable<RunOptions>& RunOptions::table() {
  using engine::CommitBy;
  using engine::DispatchKind;
  using engine::KeepWeights;
  static const OptionTable<RunOptions> table =
      OptionTable<RunOptions>{
          {{"seed", &RunOptions::seed, at_least(0), "Seed of everything random."},
           {"window", &RunOptions::window, or_keyword("generation", window_size()),
            "Maximum number of trials that are asked for and not committed, or a multiple of "
            "`virtual_slots`; `generation`: one generation at a time. Unless given, 8 for `algorithm: "
            "skyline`."},
           {"commit", &RunOptions::commit,
            choice<CommitBy>({{"number", CommitBy::kNumber}, {"virtual_time", CommitBy::kVirtualTime}}),
            "The order of commits: that of asking, or that in which `virtual_slots` would end the trials if "
            "each took its predicted cost."},
           {"virtual_slots", &RunOptions::virtual_slots,
            or_keyword("none", integer<std::size_t>(at_least(1).at_most(kMostInFlight))),
            "Slots of the clock of `commit: virtual_time`, whatever the job has; needed there, and for a "
            "`window` that is a multiple of them."},
           {"dispatch", &RunOptions::dispatch,
            choice<DispatchKind>({{"auto", DispatchKind::kAuto},
                                  {"collective", DispatchKind::kCollective},
                                  {"point_to_point", DispatchKind::kPointToPoint}}),
            "How trials travel to the ranks; results are the same. `auto`: point to point with a window, and "
            "where the launcher lets ranks outlive a lost one; else by collective operations.",
            KeyRule::kMayChange},
           {"think_threads", &RunOptions::think_threads,
            or_keyword("auto", integer<std::size_t>(at_least(1).at_most(kMostThinkThreads))),
            "Threads on which rank 0 judges candidates; trials are the same. At most the processors on which it "
            "may run. `auto`: those of its slots that wait, at least one.",
            KeyRule::kMayChange},
           {"lost_after", &RunOptions::lost_after_s, duration(at_least(2)),
            "A rank that is silent for so long is lost: others train its trials, where the launcher lets "
            "ranks outlive a lost one; else all others save, and the job ends.",
            KeyRule::kMayChange},
           {"trial_timeout", &RunOptions::trial_timeout_s, or_keyword("none", duration(above(0))),
            "A trial that has trained for so long is stopped and goes to another rank, where it resumes; the "
            "second time it fails.",
            KeyRule::kMayChange},
           {"most_failures", &RunOptions::most_failures,
            or_keyword("none", integer<std::size_t>(at_least(1))),
            "The search ends after so many trials if all of them failed.", KeyRule::kMayChange},
           {"keep_weights", &RunOptions::keep_weights,
            choice<KeepWeights>(
                {{"front", KeepWeights::kFront}, {"all", KeepWeights::kAll}, {"none", KeepWeights::kNone}}),
            "Trials whose trained weights, or folders, are kept; part of the run where children inherit "
            "them.",
            KeyRule::kMayChange},
           {"time_limit", &RunOptions::time_limit_s, or_keyword("none", duration(above(0))),
            "Time after which a job saves everything and stops.", KeyRule::kMayChange},
           {"memory", &RunOptions::memory_bytes, or_keyword("auto", byte_size()),
            "Memory of a node for the run's ranks; trials that can never fit into it fail. `auto`: 90 % of "
            "what the least node has.",
            KeyRule::kMayChange},
           {"storage_patience", &RunOptions::storage_patience_s, duration(at_least(0)),
            "How long a full disk or a failing file server is waited for before the run ends; a silent one "
            "ten times as long.",
            KeyRule::kMayChange},
           {"events", &RunOptions::events, "Whether event files for TensorBoard are written.",
            KeyRule::kMayChange}},
          check_run}
          .advised("window",
                   "a larger one keeps more slots busy where trials differ in length (`skyline simulate "
                   "--windows` shows by how much). Each choice then knows fewer results.")
          .advised("lost_after",
                   "a shorter one ends the wait for a dead node sooner. A trial may take any time, since "
                   "heartbeats come from a thread of their own; but a process that a debugger or a busy host "
                   "suspends for so long is lost as well.")
          .advised("trial_timeout",
                   "useful where a trainer of one's own may hang, at about three times its longest trial. "
                   "Only training counts, so a slower node reaches it with a smaller trial.")
          .advised(
              "storage_patience",
              "raise it where a file server is restarted, or where somebody has to free a quota by hand. "
              "A job under a time limit spends that time waiting.");
  return table;
}

const OptionTable<engine::CheckpointOptions>& checkpoint_table() {
  using engine::CheckpointOptions;
  static const OptionTable<CheckpointOptions> table =
      OptionTable<CheckpointOptions>{
          {"interval", interval(),
           "Minimum time between two saves of a half-trained trial; a crash loses what came after the last "
           "one."},
          {"overhead", &CheckpointOptions::most_overhead, above(0).at_most(1),
           "Maximum share of the training time that saving may take; the interval grows if need be."}}
          .advised("interval",
                   "a shorter one loses less in a crash. Each save writes the weights and the state of the "
                   "optimizer, of `adam` three times the bytes of the weights.");
  return table;
}

}  // namespace skyline::app
