#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"

#include "trial/trial_fields.hpp"

#include <memory>

// The fields of trials and results in records (core/record.hpp), for messages between ranks and for the
// memory of rank 0.

namespace skyline::space {

/// An architecture that was read back has no space to build its network.
template <typename Visitor>
void for_each_field(Architecture& architecture, Visitor& visit) {
  visit(architecture.id, architecture.genotype.choices, architecture.used, architecture.counted);
  for (const NamedCost& each : kCosts) visit(architecture.cost.*each.value);  // small numbers
}

}  // namespace skyline::space

namespace skyline::trial {

template <typename Visitor>
void for_each_field(Inherit& inherit, Visitor& visit) {
  visit(inherit.from, inherit.architecture, inherit.share, inherit.holder);
}

template <typename Visitor>
void for_each_field(Continue& earlier, Visitor& visit) {
  visit(earlier.from, earlier.epochs, earlier.began, earlier.holder);
}

template <typename Visitor>
void for_each_field(Expected& expected, Visitor& visit) {
  visit(expected.low, expected.value, expected.high);
}

template <typename Visitor>
void for_each_field(Failure& failure, Visitor& visit) {
  visit(failure.kind, failure.reason);
}

template <typename Visitor>
void for_each_field(StepValues& step, Visitor& visit) {
  visit(step.step, step.values);
}

template <typename Visitor>
void for_each_field(Measurements& measurements, Visitor& visit) {
  visit(measurements.values, measurements.steps, measurements.extent, measurements.reason);
}

template <typename Visitor>
void for_each_field(PruningBar& bar, Visitor& visit) {
  visit(bar.step, bar.points);
}

template <typename Visitor>
void for_each_field(NamedTensor& tensor, Visitor& visit) {
  visit(tensor.name, tensor.dims, tensor.values);
}

/// Visits all fields except the bars, which only a trial in flight needs. The first fields must stay first:
/// CommitLog reads some records only up to them.
template <typename Visitor>
void for_each_field(Trial& trial, Visitor& visit) {
  visit(trial.number, trial.proposal.trains, trial.proposal.final_repeat, trial.proposal.architecture);
  for_each_field([&visit](const char* /*name*/, auto& field) { visit(field); }, trial);
}

/// Visits all fields except the position, which follows from the record's place.
template <typename Visitor>
void for_each_field(CommittedTrial& committed, Visitor& visit) {
  visit(committed.trial, committed.trial.proposal.expected, committed.outcome);
  for_each_timing([&visit](const char* /*name*/, auto& field) { visit(field); }, committed.timing);
}

/// Replaces the architectures of a trial and of the trial that it inherits from.
/// @param make  returns a new architecture for a given one
template <typename Make>
void replace_architectures(Trial& trial, const Make& make) {
  const auto replace = [&make](std::shared_ptr<const space::Architecture>& architecture) {
    if (architecture != nullptr)
      architecture = std::make_shared<const space::Architecture>(make(*architecture));
  };
  replace(trial.proposal.architecture);
  if (Inherit* inherit = inherit_of(trial.proposal.start)) replace(inherit->architecture);
}

}  // namespace skyline::trial
