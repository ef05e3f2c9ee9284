#include "train/layer_oracles.hpp"

#include <cmath>
#include <numbers>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace skyline::train::test {
namespace {

using space::Layer;
using space::Shape;
using Tensors = std::map<std::string, at::Tensor>;

std::int64_t from(RandomStream& random, std::int64_t first, std::int64_t last) {
  return first + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(last - first + 1)));
}
bool coin(RandomStream& random) {
  return random.below(2) == 0;
}
Shape image(RandomStream& random) {
  return {from(random, 1, 6), from(random, 6, 11), from(random, 6, 11)};
}
Shape sequence(RandomStream& random) {
  return {from(random, 1, 6), 1, from(random, 6, 14)};
}
Shape any_input(RandomStream& random) {
  return coin(random) ? image(random) : sequence(random);
}

std::optional<at::Tensor> optional(const Tensors& tensors, const std::string& name) {
  return tensors.contains(name) ? std::optional(tensors.at(name)) : std::nullopt;
}
std::int64_t number_of(const Layer& layer, const std::string& name, std::int64_t fallback) {
  return attribute_integer_or(layer, name, fallback);
}

/// An activation of each value, from its formula.
LayerOracle activation(const std::string& kind, std::function<at::Tensor(const at::Tensor& x)> formula) {
  return {kind,
          [](RandomStream& random) {
            return DrawnLayer{{}, {any_input(random)}};
          },
          [formula](const Layer& /*layer*/, const Tensors& tensors) { return formula(tensors.at("input")); }};
}

at::Tensor ramp(const at::Tensor& x) {  // hard_sigmoid
  return (x / 6 + 0.5).clamp(0, 1);
}

void add_activations(std::vector<LayerOracle>& all) {
  all.push_back(activation("relu", [](const at::Tensor& x) { return (x + x.abs()) / 2; }));
  all.push_back(activation("relu6", [](const at::Tensor& x) { return x.clamp(0, 6); }));
  all.push_back(
      activation("gelu", [](const at::Tensor& x) { return x * (1 + (x / std::numbers::sqrt2).erf()) / 2; }));
  all.push_back(activation("silu", [](const at::Tensor& x) { return x / (1 + (-x).exp()); }));
  all.push_back(activation("hard_swish", [](const at::Tensor& x) { return x * ramp(x); }));
  all.push_back(activation("hard_sigmoid", ramp));
  all.push_back(activation("sigmoid", [](const at::Tensor& x) { return 1 / (1 + (-x).exp()); }));
  all.push_back(activation("tanh", [](const at::Tensor& x) { return 1 - 2 / ((2 * x).exp() + 1); }));
  all.push_back(activation("softmax", [](const at::Tensor& x) { return x.exp() / x.exp().sum(1, true); }));
  all.push_back(activation("identity", [](const at::Tensor& x) { return x * 1; }));
  all.push_back(activation("flatten", [](const at::Tensor& x) {
    return x.reshape({x.size(0), x.size(1) * x.size(2) * x.size(3), 1, 1});
  }));
  all.push_back({"leaky_relu",
                 [](RandomStream& random) {
                   return DrawnLayer{{{"slope", random.uniform()}}, {any_input(random)}};
                 },
                 [](const Layer& layer, const Tensors& tensors) {
                   const at::Tensor& x = tensors.at("input");
                   return x.clamp_min(0) + attribute_number(layer, "slope") * x.clamp_max(0);
                 }});
  all.push_back({"elu",
                 [](RandomStream& random) {
                   return DrawnLayer{{{"alpha", 2 * random.uniform()}}, {any_input(random)}};
                 },
                 [](const Layer& layer, const Tensors& tensors) {
                   const at::Tensor& x = tensors.at("input");
                   return at::where(x.gt(0), x, attribute_number(layer, "alpha") * (x.exp() - 1));
                 }});
  all.push_back({"prelu",
                 [](RandomStream& random) {
                   return DrawnLayer{{{"per_channel", coin(random)}}, {any_input(random)}};
                 },
                 [](const Layer& /*layer*/, const Tensors& tensors) {
                   const at::Tensor& x = tensors.at("input");
                   return x.clamp_min(0) + tensors.at("slope").view({1, -1, 1, 1}) * x.clamp_max(0);
                 }});
}

DrawnLayer draw_convolution(RandomStream& random, const Shape& input, std::int64_t groups) {
  const std::int64_t kernel = from(random, 1, 4);
  const std::int64_t dilation = from(random, 1, kernel < 3 ? 3 : 1);
  return {{{"channels", groups * from(random, 1, 4)},
           {"kernel", kernel},
           {"stride", from(random, 1, 3)},
           {"padding", from(random, 0, 2)},
           {"dilation", dilation},
           {"groups", groups},
           {"bias", coin(random)}},
          {input}};
}

at::Tensor convolved(const Layer& layer, const at::Tensor& input, const at::Tensor& weight,
                     const std::optional<at::Tensor>& bias) {
  const bool flat = weight.dim() == 3;
  const std::int64_t stride = number_of(layer, "stride", 1);
  const std::int64_t padding = number_of(layer, "padding", 0);
  const std::int64_t dilation = number_of(layer, "dilation", 1);
  // Each group by itself.
  const std::int64_t groups = input.size(1) / weight.size(1);
  std::vector<at::Tensor> parts;
  for (std::int64_t g = 0; g < groups; ++g) {
    const at::Tensor filters =
        (flat ? weight.unsqueeze(2) : weight).chunk(groups, 0)[static_cast<std::size_t>(g)];
    parts.push_back(at::conv2d(input.chunk(groups, 1)[static_cast<std::size_t>(g)], filters, {},
                               {flat ? 1 : stride, stride}, {flat ? 0 : padding, padding},
                               {flat ? 1 : dilation, dilation}));
  }
  at::Tensor output = at::cat(parts, 1);
  if (bias) output = output + bias->view({1, -1, 1, 1});
  return output;
}

void add_convolutions(std::vector<LayerOracle>& all) {
  const auto plain = [](const Layer& layer, const Tensors& tensors) {
    return convolved(layer, tensors.at("input"), tensors.at("weight"), optional(tensors, "bias"));
  };
  for (const bool flat : {false, true}) {
    all.push_back({flat ? "conv1d" : "conv2d",
                   [flat](RandomStream& random) {
                     const std::int64_t groups = from(random, 1, 3);
                     Shape input = flat ? sequence(random) : image(random);
                     input.channels *= groups;
                     return draw_convolution(random, input, groups);
                   },
                   plain});
  }
  all.push_back({"depthwise_conv2d",
                 [](RandomStream& random) { return draw_convolution(random, image(random), 1); }, plain});
  all.push_back({"separable_conv2d",
                 [](RandomStream& random) { return draw_convolution(random, image(random), 1); },
                 [](const Layer& layer, const Tensors& tensors) {
                   const at::Tensor middle =
                       convolved(layer, tensors.at("input"), tensors.at("depthwise_weight"), std::nullopt);
                   return at::conv2d(middle, tensors.at("weight"), optional(tensors, "bias"));
                 }});
  all.push_back({"linear",
                 [](RandomStream& random) {
                   return DrawnLayer{{{"features", from(random, 1, 7)}, {"bias", coin(random)}},
                                     {{from(random, 1, 9), 1, 1}}};
                 },
                 [](const Layer& /*layer*/, const Tensors& tensors) {
                   const at::Tensor& weight = tensors.at("weight");
                   return at::conv2d(tensors.at("input"), weight.unsqueeze(2).unsqueeze(3),
                                     optional(tensors, "bias"));
                 }});
}

at::Tensor window_mean(const at::Tensor& x, at::IntArrayRef kernel, at::IntArrayRef stride,
                       at::IntArrayRef padding) {
  const at::Tensor ones = at::ones_like(x).detach();
  return at::avg_pool2d(x, kernel, stride, padding) / at::avg_pool2d(ones, kernel, stride, padding);
}

/// The parts of a length that PyTorch's adaptive pools average, one after the other.
at::Tensor adapted(const at::Tensor& x, std::int64_t dim, std::int64_t size, bool is_maximum) {
  std::vector<at::Tensor> parts;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t first = i * x.size(dim) / size;
    const std::int64_t end = ((i + 1) * x.size(dim) + size - 1) / size;
    const at::Tensor part = x.narrow(dim, first, end - first);
    parts.push_back(is_maximum ? part.amax(dim) : part.mean(dim));
  }
  return at::stack(parts, dim);
}

void add_pools(std::vector<LayerOracle>& all) {
  for (const bool is_maximum : {false, true}) {
    all.push_back(
        {is_maximum ? "max_pool" : "average_pool",
         [](RandomStream& random) {
           const std::int64_t kernel = from(random, 1, 4);
           return DrawnLayer{
               {{"kernel", kernel}, {"stride", from(random, 1, 3)}, {"padding", from(random, 0, kernel / 2)}},
               {any_input(random)}};
         },
         [is_maximum](const Layer& layer, const Tensors& tensors) {
           const bool flat = layer.input().height == 1;
           const std::int64_t k = number_of(layer, "kernel", 0);
           const std::int64_t s = number_of(layer, "stride", 0);
           const std::int64_t p = number_of(layer, "padding", 0);
           const std::vector<std::int64_t> kernel{flat ? 1 : k, k};
           const std::vector<std::int64_t> stride{flat ? 1 : s, s};
           const std::vector<std::int64_t> padding{flat ? 0 : p, p};
           return is_maximum ? at::max_pool2d(tensors.at("input"), kernel, stride, padding)
                             : window_mean(tensors.at("input"), kernel, stride, padding);
         }});
    all.push_back({is_maximum ? "global_max_pool" : "global_average_pool",
                   [](RandomStream& random) {
                     return DrawnLayer{{}, {any_input(random)}};
                   },
                   [is_maximum](const Layer& /*layer*/, const Tensors& tensors) {
                     const at::Tensor flat = tensors.at("input").flatten(2);
                     return (is_maximum ? flat.amax(2) : flat.sum(2) / static_cast<double>(flat.size(2)))
                         .unsqueeze(2)
                         .unsqueeze(3);
                   }});
    all.push_back({is_maximum ? "adaptive_max_pool" : "adaptive_average_pool",
                   [](RandomStream& random) {
                     return DrawnLayer{{{"size", from(random, 1, 6)}}, {any_input(random)}};
                   },
                   [is_maximum](const Layer& layer, const Tensors& tensors) {
                     // The mean of means of rows of one length.
                     const at::Tensor wide = adapted(tensors.at("input"), 3, layer.output.width, is_maximum);
                     return adapted(wide, 2, layer.output.height, is_maximum);
                   }});
  }
}

void add_norms(std::vector<LayerOracle>& all) {
  all.push_back({"layer_norm",
                 [](RandomStream& random) {
                   return DrawnLayer{{{"epsilon", 1e-3}}, {any_input(random)}};
                 },
                 [](const Layer& layer, const Tensors& tensors) {
                   const at::Tensor places = tensors.at("input").permute({0, 2, 3, 1});
                   return at::layer_norm(places, {places.size(3)}, tensors.at("weight"), tensors.at("bias"),
                                         attribute_number(layer, "epsilon"))
                       .permute({0, 3, 1, 2});
                 }});
  all.push_back({"group_norm",
                 [](RandomStream& random) {
                   Shape input = any_input(random);
                   const std::int64_t groups = from(random, 1, 3);
                   input.channels *= groups;
                   return DrawnLayer{{{"groups", groups}}, {input}};
                 },
                 [](const Layer& layer, const Tensors& tensors) {
                   return at::group_norm(tensors.at("input"), attribute_integer(layer, "groups"),
                                         tensors.at("weight"), tensors.at("bias"),
                                         attribute_number(layer, "epsilon"));
                 }});
  all.push_back({"instance_norm",
                 [](RandomStream& random) {
                   return DrawnLayer{{{"affine", coin(random)}}, {any_input(random)}};
                 },
                 [](const Layer& layer, const Tensors& tensors) {
                   return at::instance_norm(tensors.at("input"), optional(tensors, "weight"),
                                            optional(tensors, "bias"), {}, {}, true, 0.1,
                                            attribute_number(layer, "epsilon"), false);
                 }});
}

at::Tensor attention(const Layer& layer, const Tensors& tensors) {
  const std::int64_t heads = attribute_integer(layer, "heads");
  const at::Tensor x = tensors.at("input").squeeze(2);  // [samples, channels, tokens]
  const auto product = [&](const std::string& name, const at::Tensor& values) {
    const at::Tensor result = tensors.at(name + "weight").matmul(values);
    return tensors.contains(name + "bias") ? result + tensors.at(name + "bias").unsqueeze(1) : result;
  };
  std::vector<at::Tensor> mixed;
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto part = [&](const std::string& name) {
      return product(name, x).chunk(heads, 1)[static_cast<std::size_t>(head)].transpose(1, 2);
    };
    mixed.push_back(
        at::scaled_dot_product_attention(part("query_"), part("key_"), part("value_")).transpose(1, 2));
  }
  return product("", at::cat(mixed, 1)).unsqueeze(2);
}

void add_attention(std::vector<LayerOracle>& all) {
  all.push_back({"multi_head_self_attention",
                 [](RandomStream& random) {
                   Shape input = sequence(random);
                   const std::int64_t heads = from(random, 1, 3);
                   input.channels *= heads;
                   return DrawnLayer{{{"heads", heads}, {"bias", coin(random)}}, {input}};
                 },
                 attention});
  all.push_back({"patch_embedding",
                 [](RandomStream& random) {
                   const std::int64_t patch = from(random, 1, 3);
                   const std::int64_t rows = coin(random) ? 1 : patch * from(random, 2, 3);
                   return DrawnLayer{
                       {{"channels", from(random, 1, 7)}, {"patch", patch}, {"position", coin(random)}},
                       {{from(random, 1, 3), rows, patch * from(random, 1, 4)}}};
                 },
                 [](const Layer& /*layer*/, const Tensors& tensors) {
                   const at::Tensor& weight = tensors.at("weight");
                   const at::Tensor patches = tensors.at("input")
                                                  .unfold(2, weight.size(2), weight.size(2))
                                                  .unfold(3, weight.size(3), weight.size(3));
                   // [samples, channels, rows, columns, height, width] -> [samples, tokens, values]
                   const at::Tensor rows = patches.permute({0, 2, 3, 1, 4, 5}).flatten(3).flatten(1, 2);
                   at::Tensor tokens = rows.matmul(weight.flatten(1).t()) + tensors.at("bias");
                   if (tensors.contains("position")) tokens = tokens + tensors.at("position").t();
                   return tokens.transpose(1, 2).unsqueeze(2);
                 }});
  all.push_back(
      {"squeeze_excitation",
       [](RandomStream& random) {
         return DrawnLayer{{{"reduction", from(random, 1, 4)}, {"hard", coin(random)}}, {any_input(random)}};
       },
       [](const Layer& layer, const Tensors& tensors) {
         const at::Tensor& x = tensors.at("input");
         const at::Tensor means = x.flatten(2).mean(2);
         const at::Tensor hidden =
             (means.matmul(tensors.at("reduce_weight").t()) + tensors.at("reduce_bias")).clamp_min(0);
         const at::Tensor gates = hidden.matmul(tensors.at("expand_weight").t()) + tensors.at("expand_bias");
         return x * (attribute_flag(layer, "hard") ? ramp(gates) : gates.sigmoid()).unsqueeze(2).unsqueeze(3);
       }});
  all.push_back(
      {"zero",
       [](RandomStream& random) {
         return DrawnLayer{{{"stride", from(random, 1, 3)}}, {any_input(random)}};
       },
       [](const Layer& layer, const Tensors& tensors) {
         const std::int64_t stride = attribute_integer(layer, "stride");
         return tensors.at("input").slice(2, 0, std::nullopt, stride).slice(3, 0, std::nullopt, stride) * 0;
       }});
}

}  // namespace

const std::vector<LayerOracle>& oracles() {
  static const std::vector<LayerOracle> all = [] {
    std::vector<LayerOracle> made;
    add_activations(made);
    add_convolutions(made);
    add_pools(made);
    add_norms(made);
    add_attention(made);
    return made;
  }();
  return all;
}
}  // namespace skyline::train::test
