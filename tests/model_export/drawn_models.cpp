// Exports networks with random weights, each with samples and the outputs that Skyline computes for them.
// usage: drawn_models FOLDER DATA.h5 NETWORKS SAMPLES CONFIG.yaml...
// Writes NAME.onnx, NAME.py, NAME.safetensors, NAME.inputs and NAME.outputs (float32), and int8 files, for
// single layers of every kind, and for NETWORKS networks of the space of each configuration, on SAMPLES
// samples of the data set's test part.
#include "skyline/space/layer_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"

#include "drawn_int8.hpp"
#include "drawn_wiring.hpp"
#include "model_export/model/exported_model.hpp"
#include "store/publish/publish.hpp"
#include "support/graph_builder.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/layer_oracles.hpp"
#include "train/graph/layer_graph.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <stdexcept>

#include <ATen/Parallel.h>
#include <ATen/ops/tensor.h>
#include <yaml-cpp/yaml.h>

namespace skyline::model_export {
namespace {

using space::Network;
using space::Shape;
using testing::AttributeValues;
using testing::GraphBuilder;

/// Stored values of samples, and how they are scaled.
struct Inputs {
  std::vector<float> values;  // [samples, channels, height, width]
  std::vector<float> offset;
  std::vector<float> factor;
};

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string bytes_of(const at::Tensor& values) {
  const at::Tensor dense = values.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()};
}

/// Changes the parameters as training would: no scale is 1, no shift and no statistic is 0.
void disturb(train::ParameterStore& parameters, RandomStream& random) {
  for (train::StoredLayer& layer : parameters.layers()) {
    for (train::StoredTensor& tensor : layer.tensors()) {
      if (tensor.value.dim() != 1) continue;
      std::vector<float> changes(static_cast<std::size_t>(tensor.value.numel()));
      for (float& change : changes) change = static_cast<float>(random.uniform() - 0.5);
      const at::Tensor change = at::tensor(changes);
      tensor.value.add_(tensor.name == "running_var" ? change.abs() : change);
    }
  }
}

/// Returns the samples as the first layers read them.
at::Tensor images_of(const Network& network, const Inputs& inputs) {
  const Shape& shape = network.input;
  const at::Tensor values = at::tensor(inputs.values).view({-1, shape.channels, shape.height, shape.width});
  return values.sub(at::tensor(inputs.offset).view({1, -1, 1, 1}))
      .mul(at::tensor(inputs.factor).view({1, -1, 1, 1}))
      .contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor outputs_of(const Network& network, train::ParameterStore& parameters, const at::Tensor& images) {
  const auto accelerator = train::make_host_accelerator(train::Kernels::kOwn);
  train::DevicePlace place{.accelerator = accelerator.get()};
  train::LayerGraph graph(network, parameters, place);
  return graph.infer(images).flatten(1);
}

/// Writes a network's files.
/// @param change        changes the parameters further
/// @param float_output  whether the output of the int8 network stays float32, as numbers do
void write(const std::filesystem::path& folder, const std::string& name, const Network& network,
           const Inputs& inputs, RandomStream& random,
           const std::function<void(train::ParameterStore&)>& change = nullptr, bool float_output = false) {
  const train::WithoutAutograd no_autograd;
  train::ParameterStore parameters(network, random.below(1'000'000));
  disturb(parameters, random);
  if (change) change(parameters);
  store::WeightsFile weights;
  weights.tensors = parameters.export_tensors();
  constexpr float kFactor = 3;
  constexpr float kOffset = -0.5F;
  const auto outputs = static_cast<std::size_t>(network.layers.back().output.elements());
  const ExportedModel model{network,
                            weights,
                            inputs.offset,
                            inputs.factor,
                            {{"skyline_version", "test"}, {"genotype", "a \"quoted\"\ntext"}},
                            std::vector<float>(outputs, kFactor),
                            std::vector<float>(outputs, kOffset)};
  check_weights(model, name);
  const auto publish = [&](const std::string& ending, const std::string& bytes) {
    store::publish_file(folder / (name + ending), bytes);
  };
  publish(".onnx", onnx_bytes(model));
  publish(".safetensors", safetensors_bytes(model));
  publish(".py", pytorch_source(model, name + ".safetensors"));
  publish("_untrained.py", pytorch_source({network, weights, {}, {}, model.metadata}, ""));
  publish(".inputs", bytes_of(inputs.values));
  const at::Tensor images = images_of(network, inputs);
  publish(".outputs", bytes_of(outputs_of(network, parameters, images).mul(kFactor).add(kOffset)));
  test::write_int8(folder, name, model, images, float_output);
}

Inputs drawn_inputs(const Shape& shape, std::size_t samples, RandomStream& random) {
  Inputs inputs;
  inputs.values.resize(samples * static_cast<std::size_t>(shape.elements()));
  for (float& value : inputs.values) value = static_cast<float>(4 * random.uniform() - 2);
  inputs.offset.assign(static_cast<std::size_t>(shape.channels), 0.0F);
  inputs.factor.assign(static_cast<std::size_t>(shape.channels), 1.0F);
  return inputs;
}

/// Layers of every kind with one input, with the attributes that the trainer's tests draw.
void write_kinds(const std::filesystem::path& folder, RandomStream& random, std::set<std::string>& written) {
  constexpr int kDraws = 3;
  for (const train::test::LayerOracle& oracle : train::test::oracles()) {
    for (int i = 0; i < kDraws; ++i) {
      const train::test::DrawnLayer drawn = oracle.draw(random);
      GraphBuilder graph(drawn.inputs.front());
      graph.add(oracle.kind, {}, drawn.attributes);
      write(folder, "kind_" + oracle.kind + "_" + std::to_string(i), graph.build(),
            drawn_inputs(drawn.inputs.front(), 3, random), random);
    }
    written.insert(oracle.kind);
  }
}

/// The other kinds, between layers that give them something to do.
void write_graphs(const std::filesystem::path& folder, RandomStream& random, std::set<std::string>& written) {
  const Shape shape{3, 6, 5};
  const auto write_graph = [&](const std::string& kind, const GraphBuilder& graph) {
    write(folder, "graph_" + kind, graph.build(), drawn_inputs(shape, 3, random), random);
    written.insert(kind);
  };
  for (const std::string kind : {"add", "concat", "multiply"}) {
    GraphBuilder graph(shape);
    const auto left = graph.add("conv2d", {}, {{"channels", std::int64_t{4}}, {"kernel", std::int64_t{3}}});
    const auto right = graph.add("tanh", {left});
    const auto last = graph.add("sigmoid", {right});
    const auto merged = graph.add(kind, {left, right, last});
    const auto means = graph.add("global_average_pool", {merged});
    const auto features = graph.add("linear", {means}, {{"features", graph.shape_of(merged).channels}});
    // An image and a matrix, of one shape or with one value per channel; then two matrices.
    const auto mixed = graph.add(kind, {kind == "multiply" ? merged : means, features});
    const auto pooled = graph.add("global_max_pool", {mixed});
    graph.add(kind, {graph.add("flatten", {pooled}), graph.add("flatten", {pooled})});
    write_graph(kind, graph);
  }
  for (const std::string kind :
       {"dropout", "stochastic_depth", "identity", "zero", "flatten", "batch_norm"}) {
    if (written.contains(kind)) continue;
    GraphBuilder graph(shape);
    const auto image = graph.add("conv2d", {}, {{"channels", std::int64_t{4}}, {"kernel", std::int64_t{3}}});
    const auto passed = graph.add(kind, {image});
    const auto flat = graph.add("flatten", {graph.add("relu", {passed})});
    graph.add(kind, {graph.add("linear", {flat}, {{"features", std::int64_t{7}}})});
    write_graph(kind, graph);
  }
}

/// What int8 files are most easily wrong in: even sizes and stride 2, borders that TFLite pads on the other
/// side, channels in units of 1e-2 and 1e5, an output channel without weights, one whose bias has 1e9 times
/// their size.
void write_edges(const std::filesystem::path& folder, RandomStream& random) {
  constexpr std::int64_t kSize = 3;
  constexpr std::int64_t kStride = 2;
  constexpr std::size_t kSamples = 100;
  const AttributeValues strided{
      {"channels", std::int64_t{8}}, {"kernel", kSize}, {"stride", kStride}, {"padding", std::int64_t{1}}};
  for (const Shape& shape : {Shape{2, 12, 10}, Shape{2, 11, 13}, Shape{2, 1, 40}}) {
    const bool is_image = shape.height > 1;
    GraphBuilder graph(shape);
    auto last = graph.add(is_image ? "conv2d" : "conv1d", {}, strided);
    last = graph.add("relu", {graph.add("batch_norm", {last})});
    const auto pooled =
        graph.add("max_pool", {last}, {{"kernel", kSize}, {"stride", kStride}, {"padding", std::int64_t{1}}});
    const auto gated = graph.add("squeeze_excitation", {pooled}, {{"hard", true}});
    last = graph.add("add", {pooled, graph.add("relu6", {gated})});
    last = graph.add("linear", {graph.add("flatten", {last})}, {{"features", std::int64_t{9}}});
    last = graph.add("linear", {graph.add("hard_swish", {last})}, {{"features", std::int64_t{5}}});
    Inputs inputs = drawn_inputs(shape, kSamples, random);
    inputs.offset = {0.003F, 101'325};
    inputs.factor = {100, 1e-5F};
    for (std::size_t i = 0; i < inputs.values.size(); ++i) {
      const bool is_first = i / static_cast<std::size_t>(shape.height * shape.width) % 2 == 0;
      inputs.values[i] = is_first ? 1e-2F * inputs.values[i] : 101'325 + 1e5F * inputs.values[i];
    }
    write(folder, "edge_" + space::to_text(shape), graph.build(), inputs, random,
          [](train::ParameterStore& parameters) {
            std::vector<train::StoredTensor>& tensors = parameters.layers().front().tensors();
            tensors.at(0).value.select(0, 0).zero_();
            tensors.at(0).value.select(0, 1).mul_(1e-9);
          });
  }
}

/// Layers in odd places, each network on a few samples, for classes and for numbers.
void write_wiring(const std::filesystem::path& folder, RandomStream& random) {
  constexpr std::size_t kSamples = 50;
  for (const test::WiredNetwork& wired : test::wired_networks()) {
    const Inputs inputs = drawn_inputs(wired.network.input, kSamples, random);
    write(folder, "wiring_" + wired.name, wired.network, inputs, random);
    write(folder, "numbers_" + wired.name, wired.network, inputs, random, nullptr, true);
  }
}

Inputs test_inputs(const store::Dataset& dataset, std::size_t samples) {
  Inputs inputs;
  const std::size_t count = std::min(samples, dataset.test().count);
  const auto pixels =
      dataset.test().pixels().first(count * static_cast<std::size_t>(dataset.shape().elements()));
  inputs.values.assign(pixels.begin(), pixels.end());
  for (std::size_t c = 0; c < dataset.mean().size(); ++c) {
    inputs.offset.push_back(static_cast<float>(dataset.mean()[c] * dataset.value_scale()));
    inputs.factor.push_back(static_cast<float>(1 / (dataset.deviation()[c] * dataset.value_scale())));
  }
  return inputs;
}

void write_space(const std::filesystem::path& folder, const std::filesystem::path& config, int networks,
                 const store::Dataset& dataset, const Inputs& inputs, RandomStream& random) {
  const space::DataShape shape{dataset.shape(), static_cast<std::int64_t>(dataset.class_names().size())};
  const auto space = space::SearchSpace::parse(store::load_yaml_file(config).at("space"), shape);
  for (int i = 0; i < networks;) {
    try {
      const space::Architecture drawn = space.build(space.sample(random));
      write(folder, config.stem().string() + "_" + std::to_string(i), drawn.network(), inputs, random);
      ++i;
    } catch (const UserError&) {  // shapes that do not fit
    }
  }
}

void run(const std::vector<std::string>& arguments) {
  at::set_num_threads(1);
  const std::filesystem::path folder = arguments.at(0);
  const auto dataset = store::Dataset::open(arguments.at(1), false);
  RandomStream random(7);
  std::set<std::string> written;
  write_kinds(folder, random, written);
  write_graphs(folder, random, written);
  write_edges(folder, random);
  write_wiring(folder, random);
  for (const std::string& kind : space::layer_kind_names()) {
    if (!written.contains(kind)) throw std::runtime_error("no model has a layer of kind " + kind);
  }
  const Inputs inputs = test_inputs(*dataset, std::stoul(arguments.at(3)));
  for (std::size_t i = 4; i < arguments.size(); ++i) {
    write_space(folder, arguments[i], std::stoi(arguments.at(2)), *dataset, inputs, random);
  }
}

}  // namespace
}  // namespace skyline::model_export

int main(int argc, char** argv) {
  try {
    skyline::model_export::run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
