#pragma once

#include "skyline/space/network.hpp"

#include "model_export/tflite/tflite_graph.hpp"
#include "space/quantized/int8_network.hpp"

namespace skyline::model_export {

/// An int8 network as a graph of TFLite, channels last.
struct TfliteModel {
  TfliteGraph graph;
  TfliteGraph::Index input = 0;
  TfliteGraph::Index output = 0;
};

/// Returns the graph of an int8 network. Its input is int8, the normalized values on their grid; its output
/// is int8, or float32 if the network's is.
/// @throws UserError, naming the layer, if a step has no int8 kernel
TfliteModel tflite_model(const space::Network& network, const space::Int8Network& int8);

}  // namespace skyline::model_export
