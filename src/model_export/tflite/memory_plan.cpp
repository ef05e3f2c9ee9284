#include "model_export/tflite/memory_plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace skyline::model_export {
namespace {

constexpr int kTries = 200;

bool meet(const TensorLife& one, const TensorLife& other) {
  return one.first <= other.last && other.first <= one.last;
}

/// Places tensors one after the other, each into the lowest gap between those that exist at the same time.
MemoryPlan placed(const std::vector<TensorLife>& lives, const std::vector<std::size_t>& order) {
  MemoryPlan plan{std::vector<std::size_t>(lives.size()), 0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TensorLife& life = lives[order[i]];
    std::vector<std::pair<std::size_t, std::size_t>> taken;  // begin and end
    for (std::size_t other = 0; other < i; ++other) {
      const std::size_t tensor = order[other];
      if (meet(life, lives[tensor]))
        taken.emplace_back(plan.offsets[tensor], plan.offsets[tensor] + lives[tensor].bytes);
    }
    std::ranges::sort(taken);
    std::size_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= offset + life.bytes) break;
      offset = std::max(offset, end);
    }
    plan.offsets[order[i]] = offset;
    plan.bytes = std::max(plan.bytes, offset + life.bytes);
  }
  return plan;
}

/// Returns the largest sum of bytes that exist at once.
std::size_t most_at_once(const std::vector<TensorLife>& lives) {
  std::size_t most = 0;
  for (const TensorLife& begun : lives) {  // the sum grows only where a tensor begins
    std::size_t sum = 0;
    for (const TensorLife& life : lives) {
      if (life.first <= begun.first && begun.first <= life.last) sum += life.bytes;
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

MemoryPlan memory_plan(const std::vector<TensorLife>& lives) {
  std::vector<std::size_t> order(lives.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return lives[i].bytes; });
  const std::size_t least = most_at_once(lives);
  MemoryPlan plan = placed(lives, order);
  MemoryPlan best = plan;
  for (int tries = 1; best.bytes > least && tries < kTries; ++tries) {
    const auto highest = std::ranges::find_if(
        order, [&](std::size_t i) { return plan.offsets[i] + lives[i].bytes == plan.bytes; });
    std::rotate(order.begin(), highest, highest + 1);  // a tensor that did not fit below goes first
    plan = placed(lives, order);
    if (plan.bytes < best.bytes) best = plan;
  }
  return best;
}

}  // namespace skyline::model_export
