// The networks of the shipped spaces have the shapes and parameters that the space says, by their
// definitions.
#include "skyline/core/random.hpp"
#include "skyline/space/search_space.hpp"

#include "support/yaml_config.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/graph/layer_graph.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

const std::filesystem::path kConfigs = std::filesystem::path(SKYLINE_SOURCE_DIR) / "configs";

/// Genotypes of each space; more of them by hand.
int genotype_count() {
  const char* wanted = std::getenv("SKYLINE_GENOTYPES");
  return wanted == nullptr ? 5 : std::stoi(wanted);
}

space::SearchSpace space_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const ConfigNode root = skyline::testing::config_from_yaml(text, file.filename().string());
  return space::SearchSpace::parse(root.at("space"), {{1, 8, 8}, 10});
}

/// Runs the definitions of the layers, one after the other.
void expect_shapes_and_parameters(const space::Network& network) {
  const auto accelerator = make_host_accelerator(Kernels::kOwn);
  DevicePlace place{.accelerator = accelerator.get()};
  ParameterStore store(network, 1);
  std::vector<at::Tensor> outputs;
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const space::Layer& layer = network.layers[i];
    const auto op = make_graph_op(layer, store.layer(i), place).op;
    for (const StoredTensor& tensor : store.layer(i).tensors()) {
      if (tensor.trainable) parameters += tensor.value.numel();
    }
    Activations inputs;
    for (const std::size_t source : layer.inputs) inputs.push_back(outputs[source]);
    if (inputs.empty()) {
      inputs.push_back(at::zeros({2, network.input.channels, network.input.height, network.input.width}));
    }
    outputs.push_back(op->reference(inputs, false));
    const std::vector<std::int64_t> wanted{2, layer.output.channels, layer.output.height, layer.output.width};
    EXPECT_EQ(outputs.back().sizes().vec(), wanted) << layer.name;
  }
  EXPECT_EQ(parameters, network.cost.parameters);
}

TEST(WorkedSpaces, HaveTheShapesAndParametersOfTheirDefinitions) {
  at::set_num_threads(1);
  RandomStream random(21);
  for (const char* name : {"digits", "resnet", "mobilenet", "nasbench201", "darts", "vit", "mlp", "cnn1d"}) {
    const space::SearchSpace space = space_of(kConfigs / (std::string(name) + ".yaml"));
    for (int i = 0; i < genotype_count(); ++i) {
      const space::Genotype genotype = space.sample(random);
      SCOPED_TRACE(std::string(name) + ": " + space.describe(genotype));
      expect_shapes_and_parameters(space.build(genotype).network());
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace skyline::train
