#pragma once

#include "support/graph_builder.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The cell of NAS-Bench-201 [Dong and Yang, ICLR 2020]: four nodes, and an operation on each of six edges.
namespace skyline::testing::nas_bench_201 {

enum class Operation : std::uint8_t { kNone, kSkip, kConvolution1, kConvolution3, kAveragePool };
using Genotype = std::array<Operation, 6>;  // operations of the edges 0-1, 0-2, 1-2, 0-3, 1-3, 2-3

constexpr std::size_t kGenotypes = 15'625;
inline Genotype genotype_at(std::size_t number) {
  Genotype genotype{};
  for (Operation& operation : genotype) {
    operation = static_cast<Operation>(number % 5);
    number /= 5;
  }
  return genotype;
}

/// @return  the layer at the end of the edge
inline std::size_t add_edge(GraphBuilder& builder, std::size_t from, Operation operation, bool has_norm) {
  switch (operation) {
    case Operation::kNone:
      return builder.add("zero", {from});
    case Operation::kSkip:
      return builder.add("identity", {from});
    case Operation::kAveragePool:
      return builder.add(
          "average_pool", {from},
          {{"kernel", std::int64_t{3}}, {"stride", std::int64_t{1}}, {"padding", std::int64_t{1}}});
    default:
      break;
  }
  const std::int64_t kernel = operation == Operation::kConvolution1 ? 1 : 3;
  std::size_t end = builder.add("relu", {from});
  end = builder.add("conv2d", {end},
                    {{"channels", builder.shape_of(end).channels},
                     {"kernel", kernel},
                     {"padding", (kernel - 1) / 2},
                     {"bias", false}});
  return has_norm ? builder.add("batch_norm", {end}) : end;
}

/// @param has_norm  whether a batch norm follows each convolution, as in the benchmark
/// @return  the output of the cell
inline std::size_t add_cell(GraphBuilder& builder, std::size_t input, const Genotype& genotype,
                            bool has_norm = true) {
  std::vector<std::size_t> nodes{input};
  for (std::size_t edge = 0; nodes.size() < 4;) {
    std::vector<std::size_t> ends;
    for (const std::size_t from : std::vector(nodes)) {
      ends.push_back(add_edge(builder, from, genotype[edge++], has_norm));
    }
    nodes.push_back(ends.size() == 1 ? ends.front() : builder.add("add", ends));
  }
  return nodes.back();
}

/// A stem, the cell, and a classifier.
inline space::Network small_network(const Genotype& genotype, bool has_norm = true) {
  GraphBuilder builder({2, 6, 6});
  const std::size_t stem =
      builder.add("conv2d", {},
                  {{"channels", std::int64_t{4}}, {"kernel", std::int64_t{3}}, {"padding", std::int64_t{1}}});
  const std::size_t cell = add_cell(builder, stem, genotype, has_norm);
  builder.add("linear", {builder.add("global_average_pool", {cell})}, {{"features", std::int64_t{3}}});
  return builder.build();
}

/// The benchmark's own text of a cell, which is equal for cells that it counts as one: zeros are passed on
/// through operations, and stay in sums as '#'.
/// @see CellStructure.to_unique_str(True) in the benchmark's code
inline std::string authors_text(const Genotype& genotype) {
  std::vector<std::string> nodes{"0"};
  for (std::size_t edge = 0; nodes.size() < 4;) {
    std::vector<std::string> ends;
    for (const std::string& from : nodes) {
      const Operation operation = genotype[edge++];
      if (operation == Operation::kNone || from == "#") {
        ends.emplace_back("#");
      } else if (operation == Operation::kSkip) {
        ends.push_back(from);
      } else {
        ends.push_back("(" + from + ")@" + std::to_string(static_cast<int>(operation)));
      }
    }
    std::ranges::sort(ends);
    std::string sum;
    for (const std::string& end : ends) sum += (sum.empty() ? "" : "+") + end;
    nodes.push_back(sum);
  }
  return nodes.back();
}

}  // namespace skyline::testing::nas_bench_201
