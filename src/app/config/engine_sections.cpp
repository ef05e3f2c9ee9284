#include "app/config/engine_sections.hpp"

#include "core/config/scalar_text.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace skyline::app {
namespace {

ConfigNode word(const std::string& text) {
  return ConfigNode::make_scalar(text, {});
}

ConfigNode with_unit(double number, const std::string& unit) {
  return word(ConfigNode::make_number(number).as_text() + " " + unit);
}

engine::KeepWeights read_keep_weights(const ConfigNode& node) {
  const std::string& text = node.as_text();
  if (text == "front") return engine::KeepWeights::kFront;
  if (text == "all") return engine::KeepWeights::kAll;
  if (text == "none") return engine::KeepWeights::kNone;
  node.fail_expected("`front`, `all` or `none`");
}

const char* to_text(engine::KeepWeights keep) {
  switch (keep) {
    case engine::KeepWeights::kFront:
      return "front";
    case engine::KeepWeights::kAll:
      return "all";
    case engine::KeepWeights::kNone:
      break;
  }
  return "none";
}

double read_epochs(const ConfigNode& node) {
  const double epochs = node.as_number();
  if (!(epochs > 0 && epochs <= train::kMostEpochs)) {
    node.fail_expected("a number of epochs above 0, at most a million");
  }
  return epochs;
}

std::optional<std::size_t> read_window(const ConfigNode& node) {
  if (node.is_scalar() && node.as_text() == "generation") return std::nullopt;
  const std::int64_t trials = node.as_integer();
  if (trials < 1) node.fail_expected("`generation` or a number of trials of at least 1");
  return static_cast<std::size_t>(trials);
}

double read_time(const ConfigNode& node) {
  const double seconds = node.as_duration_s();
  if (seconds <= 0) node.fail_expected("a duration above 0");
  return seconds;
}

void read_run(const ConfigNode& section, RunConfig& config) {
  section.allow_only({"seed", "window", "keep_weights", "time_limit", "storage_patience", "events"});
  engine::EngineOptions& options = config.engine;
  if (const ConfigNode* node = section.find("seed")) {
    const std::int64_t seed = node->as_integer();
    if (seed < 0) node->fail_expected("a whole number of at least 0");
    options.seed = static_cast<std::uint64_t>(seed);
  }
  if (const ConfigNode* node = section.find("window")) options.window = read_window(*node);
  if (const ConfigNode* node = section.find("time_limit")) config.time_limit_s = read_time(*node);
  if (const ConfigNode* node = section.find("storage_patience")) {
    config.storage_patience_s = node->as_duration_s();
  }
  if (const ConfigNode* node = section.find("events")) config.events = node->as_flag();
  const ConfigNode* keep = section.find("keep_weights");
  if (keep == nullptr) return;
  options.keep_weights = read_keep_weights(*keep);
  if (options.inherit && options.keep_weights == engine::KeepWeights::kNone) {
    keep->fail(
        "expected `front` or `all` beside `training.inherit: true`, got none: children start from "
        "their parents' weights");
  }
}

/// The number of `0.5 epochs`; nothing if it is no number of epochs.
std::optional<double> epochs_in(std::string_view text) {
  const std::size_t unit = text.find("epoch");
  if (unit == std::string_view::npos) return std::nullopt;
  if (text.substr(unit) != "epoch" && text.substr(unit) != "epochs") return std::nullopt;
  text = text.substr(0, unit);
  return number_in(text.substr(0, text.find_last_not_of(' ') + 1));
}

void read_interval(const ConfigNode& node, engine::CheckpointOptions& options) {
  const bool plain = node.is_scalar() && !node.quoted();
  options.interval_s = plain ? duration_in(node.as_text()) : std::nullopt;
  options.interval_epochs = plain ? epochs_in(node.as_text()) : std::nullopt;
  const double interval = options.interval_s.value_or(options.interval_epochs.value_or(0));
  if (!(interval > 0 && interval <= train::kMostEpochs * 86400)) {
    node.fail_expected("a duration or a number of epochs above 0, e.g. 60 s or 0.5 epochs");
  }
}

std::optional<engine::CheckpointOptions> read_checkpoints(const ConfigNode& section) {
  engine::CheckpointOptions options;
  if (section.is_null()) return options;
  if (section.is_scalar() && section.as_text() == "none") return std::nullopt;
  if (!section.is_map()) section.fail_expected("`none` or a map with the keys interval, overhead");
  section.allow_only({"interval", "overhead"});
  if (const ConfigNode* node = section.find("interval")) read_interval(*node, options);
  if (const ConfigNode* node = section.find("overhead")) {
    options.most_overhead = node->as_number();
    if (!(options.most_overhead > 0 && options.most_overhead <= 1)) {
      node->fail_expected("a share of the training time above 0, at most 1");
    }
  }
  return options;
}

void write_checkpoints(const std::optional<engine::CheckpointOptions>& options, ConfigNode& tree) {
  if (!options) {
    tree.set("checkpoint", word("none"));
    return;
  }
  tree.set("checkpoint", ConfigNode::make_map({}, {}));
  tree.set("checkpoint.interval", options->interval_epochs ? with_unit(*options->interval_epochs, "epochs")
                                                           : with_unit(options->interval_s.value(), "s"));
  tree.set("checkpoint.overhead", ConfigNode::make_number(options->most_overhead));
}

}  // namespace

void read_engine_sections(const ConfigNode& root, RunConfig& config) {
  if (const ConfigNode* section = root.find("final")) {
    section->allow_only({"epochs"});
    config.engine.final_epochs = read_epochs(section->at("epochs"));
  }
  if (const ConfigNode* section = root.find("checkpoint")) {
    config.engine.checkpoints = read_checkpoints(*section);
  }
  if (const ConfigNode* section = root.find("run")) read_run(*section, config);
}

void write_engine_sections(const RunConfig& config, ConfigNode& tree) {
  const engine::EngineOptions& options = config.engine;
  if (options.final_epochs) tree.set("final.epochs", ConfigNode::make_number(*options.final_epochs));
  tree.set("run.seed", ConfigNode::make_integer(static_cast<std::int64_t>(options.seed)));
  tree.set("run.window", options.window ? ConfigNode::make_integer(static_cast<std::int64_t>(*options.window))
                                        : word("generation"));
  tree.set("run.keep_weights", word(to_text(options.keep_weights)));
  if (config.time_limit_s) tree.set("run.time_limit", with_unit(*config.time_limit_s, "s"));
  tree.set("run.storage_patience", with_unit(config.storage_patience_s, "s"));
  tree.set("run.events", word(config.events ? "true" : "false"));
  write_checkpoints(options.checkpoints, tree);
}

}  // namespace skyline::app
