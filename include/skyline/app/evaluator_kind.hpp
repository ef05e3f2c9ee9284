#pragma once

#include "skyline/core/option_table.hpp"
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
  /// One sentence, for docs/configuration.md.
  virtual std::string_view meaning() const = 0;
  /// The keys of the section; outlive the kind.
  virtual const KeyTable& keys() const = 0;
  /// Local; called on every rank.
  /// @param section  with all defaults: keys().complete(...)
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
