#pragma once

#include "skyline/space/network.hpp"
#include "skyline/train/accelerator.hpp"
#include "skyline/train/layer_op.hpp"

#include "train/parameter_store.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A network on a device: its layers' definitions (LayerOp::reference), differentiated by autograd.
/// Parameters that are trained are leaves that want a gradient. Used by one thread, with its stream current.
class DeviceNetwork {
 public:
  /// Draws the values that the CPU draws. `network` and `accelerator` outlive it.
  DeviceNetwork(const space::Network& network, std::uint64_t seed, Accelerator& accelerator,
                const c10::Device& device);

  /// Training mode. @param images  float32 [samples, channels, height, width], channels_last
  /// @param first_sample  place of the first one in the batch of all members of a group
  /// @param seeds  int64 [drawing_layers().size()], on the device: of this step's draws
  /// @return  logits [samples, classes]
  at::Tensor train(const at::Tensor& images, const at::Tensor& seeds, std::int64_t first_sample = 0);
  /// Evaluation mode: logits [samples, classes].
  at::Tensor infer(const at::Tensor& images);

  /// Names of the layers that draw on the device.
  const std::vector<std::string>& drawing_layers() const { return drawing_layers_; }
  /// Whether all layers can be recorded; if not, begin_step is to be called before every step.
  bool may_be_recorded() const { return may_be_recorded_; }
  void begin_step(std::uint64_t seed);

  ParameterStore& parameters() { return parameters_; }

 private:
  void add_layer(std::size_t index);
  void find_last_readers();
  void leave_out_removed_offset(std::size_t index);
  at::Tensor drop(const at::Tensor& input, const space::Layer& layer, const at::Tensor& seed,
                  std::int64_t first_sample);
  template <typename Run>
  at::Tensor run(const at::Tensor& images, const Run& run_layer);

  const space::Network& network_;
  Accelerator& accelerator_;
  ParameterStore parameters_;
  std::vector<std::unique_ptr<LayerOp>> ops_;  // nullptr: draws on the device
  std::vector<std::size_t> last_reader_;       // of each layer's output
  std::vector<std::size_t> readers_;
  std::vector<std::string> drawing_layers_;
  bool may_be_recorded_ = true;
};

}  // namespace skyline::train
