#pragma once

#include <memory>

#include <skyline/evaluate/evaluator_kind.hpp>
#include <skyline/model_export/layer_export.hpp>
#include <skyline/search/algorithm.hpp>
#include <skyline/space/layer_kind.hpp>
#include <skyline/train/layer_op.hpp>
#include <skyline/train/loss.hpp>
#include <skyline/train/metric.hpp>

/// `scaled_leaky_relu: {slope: 0.01}`: attributes, shapes, weights and costs.
std::unique_ptr<skyline::space::LayerKind> make_scaled_leaky_relu_kind();
/// The same layer in training.
std::unique_ptr<skyline::train::LayerOp> make_scaled_leaky_relu_op(const skyline::space::Layer& layer,
                                                                   skyline::train::LayerTensors& tensors);

/// The same layer in ONNX and PyTorch.
skyline::model_export::LayerExport scaled_leaky_relu_export();

/// `loss: {focal: {gamma: 2}}`: cross-entropy that cares less for what is right already.
skyline::train::LossKind focal_loss();
/// `metrics: [worst_recall]`: the share of right answers in the class where it is lowest.
skyline::train::MetricKind worst_recall();

/// `balance: {target: 20000}`: scores a network without training it, by how near it comes to a number of
/// parameters.
skyline::evaluate::EvaluatorKind balance_kind();

/// `search: {algorithm: hill_climb, trials: 20}`: one mutant of the front after the other.
skyline::search::Algorithm hill_climb();
