#include "drawn_wiring.hpp"

#include "support/graph_builder.hpp"

#include <cstdint>
#include <utility>

namespace skyline::model_export::test {
namespace {

using space::Shape;
using testing::AttributeValues;
using testing::GraphBuilder;

constexpr Shape kImage{3, 7, 6};

/// Integers as attributes.
AttributeValues integers(const std::vector<std::pair<std::string, std::int64_t>>& values) {
  AttributeValues attributes;
  for (const auto& [name, value] : values) attributes[name] = value;
  return attributes;
}

std::size_t convolve(GraphBuilder& graph) {
  return graph.add("conv2d", {}, integers({{"channels", 4}, {"kernel", 3}, {"padding", 1}}));
}

std::size_t follow(GraphBuilder& graph, const std::string& kind, AttributeValues attributes = {}) {
  return graph.add(kind, {graph.last()}, std::move(attributes));
}

void classify(GraphBuilder& graph) {
  follow(graph, "global_average_pool");
  follow(graph, "flatten");
  follow(graph, "linear", integers({{"features", 5}}));
}

class WiredList {
 public:
  template <typename Build>
  void add(const std::string& name, const Shape& input, Build build) {
    GraphBuilder graph(input);
    build(graph);
    networks_.push_back({name, graph.build()});
  }
  /// Adds layers before a classifier.
  template <typename Build>
  void add_classifier(const std::string& name, const Shape& input, Build build) {
    add(name, input, [&](GraphBuilder& graph) {
      build(graph);
      classify(graph);
    });
  }
  void add_window(const std::string& name, const Shape& input, const std::string& kind,
                  const AttributeValues& attributes) {
    add_classifier(name, input, [&](GraphBuilder& graph) {
      graph.add(kind, {}, attributes);
      follow(graph, "batch_norm");
      follow(graph, "relu");
    });
  }
  std::vector<WiredNetwork> take() { return std::move(networks_); }

 private:
  std::vector<WiredNetwork> networks_;
};

void add_norms_and_clamps(WiredList& list) {
  list.add_classifier("norm_after_add", kImage, [](GraphBuilder& graph) {
    const auto image = convolve(graph);
    graph.add("add", {image, graph.add("tanh", {image})});
    follow(graph, "batch_norm");
    follow(graph, "relu");
  });
  list.add_classifier("norms_first", kImage, [](GraphBuilder& graph) {
    graph.add("batch_norm", {});
    for (const char* const kind : {"relu6", "batch_norm", "batch_norm", "relu", "relu6"}) follow(graph, kind);
  });
  list.add("relu_after_pools", kImage, [](GraphBuilder& graph) {
    graph.add("max_pool", {}, integers({{"kernel", 2}, {"stride", 3}}));
    for (const char* const kind : {"relu", "global_average_pool", "relu6"}) follow(graph, kind);
    follow(graph, "linear", integers({{"features", 4}}));
    follow(graph, "relu6");
  });
  list.add("norm_after_flatten", kImage, [](GraphBuilder& graph) {
    convolve(graph);
    for (const char* const kind : {"flatten", "relu", "batch_norm"}) follow(graph, kind);
    follow(graph, "linear", integers({{"features", 5}}));
  });
}

void add_readers(WiredList& list) {
  list.add_classifier("four_readers", kImage, [](GraphBuilder& graph) {
    const auto image = convolve(graph);
    const auto norm = graph.add("batch_norm", {image});
    graph.add("concat", {graph.add("relu", {image}), norm, image, image});
  });
  list.add_classifier("input_read_thrice", kImage, [](GraphBuilder& graph) {
    const auto image = convolve(graph);
    const auto same = graph.add("identity", {});
    const auto pooled = graph.add("max_pool", {}, integers({{"kernel", 3}, {"stride", 1}, {"padding", 1}}));
    graph.add("concat", {image, same, pooled, pooled});
  });
  list.add_classifier("with_itself", kImage, [](GraphBuilder& graph) {
    const auto image = convolve(graph);
    const auto twice = graph.add("concat", {image, image});
    const auto sum = graph.add("add", {twice, twice});
    graph.add("multiply", {sum, sum});
    follow(graph, "relu");
  });
  list.add_classifier("zeros_joined", kImage, [](GraphBuilder& graph) {
    const auto image = convolve(graph);
    const auto zero = graph.add("zero", {image});
    graph.add("concat", {graph.add("relu", {graph.add("add", {zero, zero})}), image, zero});
  });
}

void add_short_ones(WiredList& list) {
  list.add("only_linear", kImage, [](GraphBuilder& graph) {
    graph.add("flatten", {});
    follow(graph, "linear", integers({{"features", 6}}));
    follow(graph, "dropout");
  });
  list.add("only_flatten", {1, 4, 4}, [](GraphBuilder& graph) { graph.add("flatten", {}); });
  list.add("only_dropout", kImage, [](GraphBuilder& graph) { graph.add("dropout", {}); });
  list.add("only_relu", kImage, [](GraphBuilder& graph) {
    graph.add("relu", {});
    follow(graph, "flatten");
  });
  list.add("flatten_last", kImage, [](GraphBuilder& graph) {
    convolve(graph);
    follow(graph, "flatten");
  });
  list.add("large_shares", kImage, [](GraphBuilder& graph) {
    convolve(graph);
    follow(graph, "global_max_pool");
    for (int i = 0; i < 3; ++i) graph.add("multiply", {graph.last(), graph.last()});
    follow(graph, "softmax");
  });
  list.add_classifier("only_zero", kImage, [](GraphBuilder& graph) { graph.add("zero", {}); });
  list.add_classifier("one_channel_gates", {1, 9, 8}, [](GraphBuilder& graph) {
    graph.add("conv2d", {}, integers({{"channels", 1}, {"kernel", 3}}));
    follow(graph, "hard_sigmoid");
    follow(graph, "squeeze_excitation", {{"hard", true}});
    follow(graph, "separable_conv2d", integers({{"channels", 3}, {"kernel", 3}}));
    follow(graph, "softmax");
    follow(graph, "silu");
  });
}

void add_windows(WiredList& list) {
  const auto image = [&](const std::string& name, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding, std::int64_t dilation = 1) {
    list.add_window(name, kImage, "conv2d",
                    integers({{"channels", 4},
                              {"kernel", kernel},
                              {"stride", stride},
                              {"padding", padding},
                              {"dilation", dilation}}));
  };
  image("stride_over_kernel", 2, 3, 0);
  image("pixels_with_stride", 1, 2, 0);
  image("pixels_with_border", 1, 2, 1);
  image("even_kernel", 4, 1, 2);
  image("even_kernel_with_stride", 2, 2, 1);
  image("dilated", 3, 1, 2, 2);
  image("dilated_with_stride", 3, 2, 2, 2);
  image("dilated_even_kernel", 2, 1, 1, 3);
  const Shape even{4, 7, 6};
  list.add_window("groups", even, "conv2d",
                  integers({{"channels", 6}, {"kernel", 3}, {"groups", 2}, {"padding", 1}}));
  list.add_window("groups_of_one", even, "conv2d",
                  integers({{"channels", 8}, {"kernel", 3}, {"groups", 4}, {"stride", 2}, {"padding", 1}}));
  list.add_window("one_channel", {1, 7, 6}, "depthwise_conv2d", integers({{"kernel", 3}, {"padding", 1}}));
  list.add_window("sequence", {3, 1, 20}, "conv1d",
                  integers({{"channels", 4}, {"kernel", 4}, {"stride", 3}, {"dilation", 2}, {"padding", 3}}));
  list.add_window("one_place", {3, 1, 1}, "conv1d", integers({{"channels", 4}, {"kernel", 1}}));
  for (const std::string kind : {"max_pool", "average_pool"}) {
    for (const std::int64_t padding : {0, 1}) {
      list.add_classifier(kind + "_" + std::to_string(padding), kImage, [&](GraphBuilder& graph) {
        graph.add(kind, {}, integers({{"kernel", 3}, {"stride", 2}, {"padding", padding}}));
        follow(graph, kind, integers({{"kernel", 2}, {"stride", 1}, {"padding", padding}}));
        follow(graph, "batch_norm");
      });
    }
  }
}

/// Windows that differ in height and width, in each of their attributes.
void add_two_sides(WiredList& list) {
  using space::Sides;
  const Shape tall{2, 20, 9};
  for (const std::string kind : {"conv2d", "depthwise_conv2d", "separable_conv2d"}) {
    list.add_window("sides_of_" + kind, tall, kind,
                    {{"channels", std::int64_t{4}},
                     {"kernel", Sides{10, 4}},
                     {"stride", Sides{2, 1}},
                     {"padding", Sides{5, 1}}});
    list.add_window("dilated_sides_of_" + kind, tall, kind,
                    {{"channels", std::int64_t{4}},
                     {"kernel", Sides{3, 1}},
                     {"stride", Sides{1, 3}},
                     {"padding", Sides{2, 0}},
                     {"dilation", Sides{2, 1}}});
  }
  for (const std::string kind : {"max_pool", "average_pool"}) {
    list.add_window("sides_of_" + kind, tall, kind,
                    {{"kernel", Sides{4, 1}}, {"stride", Sides{2, 1}}, {"padding", Sides{0, 0}}});
  }
  list.add_window("padded_sides", tall, "max_pool",
                  {{"kernel", Sides{2, 3}}, {"stride", Sides{2, 1}}, {"padding", Sides{1, 0}}});
}

}  // namespace

std::vector<WiredNetwork> wired_networks() {
  WiredList list;
  add_norms_and_clamps(list);
  add_readers(list);
  add_short_ones(list);
  add_windows(list);
  add_two_sides(list);
  return list.take();
}

}  // namespace skyline::model_export::test
