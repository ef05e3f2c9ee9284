#include "train/train_fixtures.hpp"

#include "skyline/space/layer_kind.hpp"

#include "support/map_reader.hpp"
#include "support/yaml_config.hpp"
#include "train/scoring/loss.hpp"

#include <numeric>
#include <utility>

namespace skyline::train::test {
namespace {

using space::Initializer;

std::int64_t slid(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return (input + 2 * padding - kernel) / stride + 1;
}

}  // namespace

NetworkBuilder::NetworkBuilder(space::Shape input) {
  network_.input = input;
}

space::Shape NetworkBuilder::input() const {
  if (!reading_.empty()) return shape_of(reading_.front());
  return network_.layers.empty() ? network_.input : network_.layers.back().output;
}

NetworkBuilder& NetworkBuilder::reading(std::vector<std::size_t> layers) {
  reading_ = std::move(layers);
  return *this;
}

NetworkBuilder& NetworkBuilder::merge(const std::string& kind, std::vector<std::size_t> layers) {
  space::Layer& layer = reading(std::move(layers)).add(kind, {});
  skyline::testing::MapReader reader;
  space::find_layer_kind(kind)->infer(layer, reader);
  network_.classes = layer.output.channels;
  return *this;
}

space::Layer& NetworkBuilder::add(const std::string& kind, space::Shape output) {
  space::Layer layer;
  layer.name = kind + "_" + std::to_string(network_.layers.size());
  layer.kind = kind;
  layer.input_shapes = {input()};
  if (!reading_.empty()) {
    layer.input_shapes.clear();
    for (const std::size_t source : reading_) layer.input_shapes.push_back(shape_of(source));
    layer.inputs = std::exchange(reading_, {});
  } else if (!network_.layers.empty()) {
    layer.inputs = {last()};
  }
  layer.output = output;
  network_.layers.push_back(layer);
  network_.classes = output.channels;
  network_.cost.flops += 2 * output.elements();
  return network_.layers.back();
}

NetworkBuilder& NetworkBuilder::conv2d(std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                                       bool bias) {
  const space::Shape before = input();
  const std::int64_t padding = (kernel - 1) / 2;
  space::Layer& layer = add("conv2d", {channels, slid(before.height, kernel, stride, padding),
                                       slid(before.width, kernel, stride, padding)});
  layer.attributes = {
      {"channels", channels}, {"kernel", kernel}, {"stride", stride}, {"padding", padding}, {"bias", bias}};
  const std::int64_t fan_in = before.channels * kernel * kernel;
  layer.tensors = {
      {"weight", {channels, before.channels, kernel, kernel}, Initializer::kKaimingUniform, fan_in, true}};
  if (bias) {
    layer.tensors.push_back({"bias", {channels}, Initializer::kKaimingUniform, fan_in, true});
  }
  return *this;
}

NetworkBuilder& NetworkBuilder::batch_norm() {
  const space::Shape shape = input();
  space::Layer& layer = add("batch_norm", shape);
  layer.attributes = {{"epsilon", 1e-5}, {"momentum", 0.1}};
  layer.tensors = {{"weight", {shape.channels}, Initializer::kOnes, 0, true},
                   {"bias", {shape.channels}, Initializer::kZeros, 0, true},
                   {"running_mean", {shape.channels}, Initializer::kZeros, 0, false},
                   {"running_var", {shape.channels}, Initializer::kOnes, 0, false}};
  return *this;
}

NetworkBuilder& NetworkBuilder::plain(const std::string& kind) {
  add(kind, input());
  return *this;
}

NetworkBuilder& NetworkBuilder::relu() {
  return plain("relu");
}

NetworkBuilder& NetworkBuilder::dropout(double probability) {
  plain("dropout");
  network_.layers.back().attributes = {{"probability", probability}};
  return *this;
}

NetworkBuilder& NetworkBuilder::max_pool(std::int64_t kernel) {
  const space::Shape before = input();
  add("max_pool",
      {before.channels, slid(before.height, kernel, kernel, 0), slid(before.width, kernel, kernel, 0)})
      .attributes = {{"kernel", kernel}, {"stride", kernel}};
  return *this;
}

NetworkBuilder& NetworkBuilder::global_average_pool() {
  add("global_average_pool", {input().channels, 1, 1});
  return *this;
}

NetworkBuilder& NetworkBuilder::flatten() {
  add("flatten", {input().elements(), 1, 1});
  return *this;
}

NetworkBuilder& NetworkBuilder::linear(std::int64_t features) {
  const std::int64_t inputs = input().elements();
  space::Layer& layer = add("linear", {features, 1, 1});
  layer.attributes = {{"features", features}, {"bias", true}};
  layer.tensors = {{"weight", {features, inputs}, Initializer::kKaimingUniform, inputs, true},
                   {"bias", {features}, Initializer::kKaimingUniform, inputs, true}};
  return *this;
}

space::Network conv_network(space::Shape input, int layers, std::int64_t kernel, std::int64_t width,
                            std::int64_t classes) {
  NetworkBuilder builder(input);
  for (int i = 0; i < layers; ++i) {
    builder.conv2d(width, kernel).batch_norm().relu();
  }
  return builder.global_average_pool().linear(classes).build();
}

BarImages::BarImages(space::Shape shape, int classes, std::size_t train_count, std::size_t test_count)
    : shape_(shape),
      mean_(static_cast<std::size_t>(shape.channels), 0.25),
      deviation_(static_cast<std::size_t>(shape.channels), 0.3) {
  for (int c = 0; c < classes; ++c) {
    names_.push_back("bar " + std::to_string(c));
  }
  RandomStream random(7);
  fill(train_, train_count, random);
  fill(test_, test_count, random);
  train_view_ = train_.view(names_.size());
  test_view_ = test_.view(names_.size());
}

void BarImages::fill(store::Samples& set, std::size_t count, RandomStream& random) const {
  const auto classes = static_cast<std::int64_t>(names_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int64_t>(i) % classes;
    set.classes().push_back(static_cast<std::int32_t>(label));
    for (std::int64_t p = 0; p < shape_.elements(); ++p) {
      const std::int64_t row = p / shape_.width % shape_.height;
      const std::int64_t column = p % shape_.width;
      // Even classes: a row; odd classes: a column.
      const bool bar = (label % 2 == 0 ? row : column) == (label / 2 * 2) % shape_.height;
      set.pixels().push_back(static_cast<std::uint8_t>(random.below(60) + (bar ? 190 : 0)));
    }
  }
}

Choice soft_cross_entropy() {
  const ConfigNode section = testing::config_from_yaml("{label_smoothing: 0.1, class_weights: balanced}");
  return {"cross_entropy", find_loss("cross_entropy")->keys->complete(section)};
}

trial::Trial make_trial(space::Network network, double epochs, std::uint64_t seed, trial::Phase phase) {
  const auto architecture =
      std::make_shared<const space::Architecture>(space::ArchId{}, space::Genotype{}, std::vector<bool>{},
                                                  space::Architecture::Parts{.network = std::move(network)});
  trial::Trial trial;
  trial.proposal.architecture = architecture;
  trial.proposal.budget.epochs = epochs;
  trial.seed = seed;
  if (phase == trial::Phase::kFinal) trial.proposal.trains = trial.number;
  return trial;
}

store::SplitIndices split_in_two(std::size_t train, std::size_t validation) {
  store::SplitIndices split;
  split.train.resize(train);
  split.validation.resize(validation);
  std::iota(split.train.begin(), split.train.end(), 0);
  std::iota(split.validation.begin(), split.validation.end(), static_cast<std::int64_t>(train));
  return split;
}

}  // namespace skyline::train::test
