#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// What a run gives an evaluator besides its own section of the configuration.
struct EvaluatorInputs {
  std::shared_ptr<const store::Dataset> dataset;  // nullptr: the configuration gives a shape alone
  store::SplitIndices split;                      // of its training set; empty without one
};

/// An evaluator that a configuration names by a section of its own, in place of `training`. Stateless. A new
/// one is one class and one registration (`register_evaluator`).
class EvaluatorKind {
 public:
  virtual ~EvaluatorKind() = default;
  /// Of the section, e.g. "synthetic".
  virtual std::string_view name() const = 0;
  /// What objectives and constraints may name: trial::Evaluator::metrics() of what `make` returns.
  virtual std::vector<std::string> metrics() const = 0;
  /// Checks the section, which may be empty, and returns it with all defaults: the run folder keeps that, and
  /// a run is resumed with equal ones only. complete(complete(section)) equals complete(section).
  /// @throws UserError with file, line and key
  virtual ConfigNode complete(const ConfigNode& section) const = 0;
  /// Local; called on every rank.
  /// @param section  as `complete` returned it
  virtual std::unique_ptr<trial::Evaluator> make(const ConfigNode& section,
                                                 const EvaluatorInputs& inputs) const = 0;
};

/// Adds a kind, before run_program; a second one of the same name, or one of the name of another section, is
/// an InternalError.
void register_evaluator(std::unique_ptr<EvaluatorKind> kind);
/// nullptr if unknown.
const EvaluatorKind* find_evaluator(std::string_view name);
std::vector<std::string> evaluator_names();

}  // namespace skyline::app
