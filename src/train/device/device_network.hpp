#pragma once

#include "skyline/space/network.hpp"
#include "skyline/train/layer_op.hpp"

#include "train/device/accelerator.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/group/backward_pieces.hpp"
#include "train/group/synchronized_norm.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A network on a device: its layers' definitions (LayerOp::reference), differentiated by autograd.
/// Parameters that are trained are leaves that want a gradient. Used by one thread, with its stream current.
class DeviceNetwork {
 public:
  /// Draws the same initial values as the CPU. `network` and `accelerator` outlive the object.
  DeviceNetwork(const space::Network& network, std::uint64_t seed, Accelerator& accelerator,
                const c10::Device& device);

  /// Lets backward stop when it is done with this layer and all later ones. Call before the first pass.
  void cut_backward(std::size_t layer) { pieces_.cut_before(layer); }
  /// Makes batch norms use the statistics of all members' parts. Call before the first pass. The reducer
  /// outlives the network's passes.
  void synchronize(const DeviceMembership& membership);

  /// The input of a training pass: a member's part of a batch, or all of it.
  struct Part {
    at::Tensor images;  // float32 [samples, channels, height, width], channels_last; undefined: none
    at::Tensor seeds;   // int64 [drawing_layers().size()], on the device: seeds of this step's draws
    std::int64_t first_sample = 0;  // place of the first sample in the batch
    std::int64_t batch = 0;         // samples of all members
  };
  /// Forward pass in training mode. Collective over the group if the network is synchronized.
  /// @return  logits [samples, classes]; undefined without samples
  at::Tensor train(const Part& part);
  /// Differentiates the last pass; collective in the same way. Leaves gradients at the parameters.
  /// @param loss        of the logits; undefined without samples
  /// @param layer_done  called where backward stops: it is done with this layer and all later ones
  void backward(const at::Tensor& loss, const std::function<void(std::size_t)>& layer_done);
  /// Forward pass in evaluation mode: logits [samples, classes].
  at::Tensor infer(const at::Tensor& images);

  /// Names of the layers that draw on the device.
  const std::vector<std::string>& drawing_layers() const { return drawing_layers_; }
  /// Whether all layers can be recorded; if not, begin_step is to be called before every step.
  bool may_be_recorded() const { return may_be_recorded_; }
  void begin_step(std::uint64_t seed);

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }

 private:
  void add_layer(std::size_t index);
  void find_last_readers();
  void leave_out_removed_offset(std::size_t index);
  at::Tensor drop(const at::Tensor& input, const space::Layer& layer, const at::Tensor& seed,
                  std::int64_t first_sample);
  template <typename Read, typename Run>
  at::Tensor run(const at::Tensor& images, const Read& read, const Run& run_layer);
  at::Tensor train_layer(std::size_t index, const Activations& inputs, const Part& part, std::int64_t& drawn);
  at::Tensor read_output(std::size_t reader, std::size_t source, const at::Tensor& output);

  const space::Network& network_;
  Accelerator& accelerator_;
  ParameterStore parameters_;
  std::vector<std::unique_ptr<LayerOp>> ops_;  // nullptr: a dropout that draws on the device
  std::vector<std::size_t> last_reader_;       // of each layer's output
  std::vector<std::size_t> readers_;
  std::vector<std::string> drawing_layers_;
  BackwardPieces pieces_;
  std::vector<std::unique_ptr<SynchronizedNorm>>
      norms_;  // of each layer; nullptr: differentiated by autograd
  bool may_be_recorded_ = true;
};

/// Makes the calling thread compute convolutions and products in bfloat16 during a scope, if `wanted`.
/// Nothing is cached: recorded work would keep using the parameters of the recorded step.
class AutocastScope {
 public:
  AutocastScope(at::DeviceType device, bool wanted);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool was_enabled_;
  bool was_cached_;
};

}  // namespace skyline::train
