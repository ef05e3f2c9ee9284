#include "additions.hpp"

#include <skyline/app/program.hpp>
#include <skyline/evaluate/evaluator_kind.hpp>
#include <skyline/model_export/layer_export.hpp>
#include <skyline/search/algorithm.hpp>
#include <skyline/space/layer_kind.hpp>
#include <skyline/train/layer_op.hpp>
#include <skyline/train/loss.hpp>
#include <skyline/train/metric.hpp>

int main(int argc, char** argv) {
  skyline::space::register_layer_kind(make_scaled_leaky_relu_kind());
  skyline::train::register_layer_op("scaled_leaky_relu", make_scaled_leaky_relu_op);
  skyline::model_export::register_layer_export("scaled_leaky_relu", scaled_leaky_relu_export());
  skyline::train::register_loss(focal_loss());
  skyline::train::register_metric(worst_recall());
  skyline::evaluate::register_evaluator(balance_kind());
  skyline::search::register_algorithm(hill_climb());
  return skyline::app::run_program(argc, argv);
}
