#pragma once

#include "model_export/tflite/tflite_graph.hpp"

#include <string>

namespace skyline::model_export {

/// Returns a program in C++ that runs a model by TFLite Micro, with the operators that the model has.
/// @param name      of the model's header
/// @param outputs   what the program writes, in the words of a comment
/// @param is_whole  false if the output is float32
std::string c_example(const std::string& name, const TfliteGraph& graph, const std::string& outputs,
                      bool is_whole);

}  // namespace skyline::model_export
