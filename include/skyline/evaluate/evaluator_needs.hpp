#pragma once

namespace skyline::evaluate {

/// kNone: uses no device. kAuto: a GPU where the rank has one that can be used, else the CPU.
enum class DeviceChoice { kNone, kAuto, kCpu, kCuda };

/// How inputs are scaled: kUnit: pixels / value_scale; kStandard: then minus mean, over deviation, per
/// channel.
enum class Normalization { kUnit, kStandard };

/// What an evaluator asks of a run.
struct EvaluatorNeeds {
  double epochs = 1;      // budget of a trial of the search
  int threads = 1;        // of a slot
  bool groups = false;    // a trial may have several members
  bool inherits = false;  // a child starts from the weights of its parent
  bool weights = false;   // a trial leaves weights
  bool data = false;      // a data set; else the shape of one is enough
  DeviceChoice device = DeviceChoice::kNone;
};

}  // namespace skyline::evaluate
