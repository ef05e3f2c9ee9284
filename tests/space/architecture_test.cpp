#include "skyline/core/error.hpp"

#include "space_from_yaml.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

Architecture built() {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  return space.build(space.genotype_at(150));
}

TEST(Architecture, BuildsItsNetworkAgainWhenItIsAskedFor) {
  const Architecture whole = built();
  const Architecture light = whole.unbuilt();
  EXPECT_EQ(light.id, whole.id);
  EXPECT_EQ(light.genotype, whole.genotype);
  EXPECT_EQ(light.used, whole.used);
  EXPECT_EQ(light.cost.flops, whole.network().cost.flops);
  EXPECT_EQ(light.network().canonical_text(), whole.network().canonical_text());
  EXPECT_EQ(&light.network(), &light.network()) << "it stays";
}

TEST(Architecture, LeavesItsNetworkToACopyOfATemporary) {
  std::size_t layers = 0;
  for (const Layer& layer : built().network().layers) layers += layer.name.empty() ? 0U : 1U;
  EXPECT_EQ(layers, built().network().layers.size());
}

TEST(Architecture, IsBuiltOnceForAllThreads) {
  const Architecture light = built().unbuilt();
  std::vector<const Network*> seen(8);
  std::vector<std::thread> threads;
  for (const Network*& place : seen) threads.emplace_back([&light, &place] { place = &light.network(); });
  for (std::thread& thread : threads) thread.join();
  for (const Network* network : seen) EXPECT_EQ(network, seen.front());
}

TEST(Architecture, OfNoSpaceHasNoNetwork) {
  const Architecture nothing;
  EXPECT_THROW((void)nothing.network(), InternalError);
  EXPECT_THROW((void)nothing.unbuilt().network(), InternalError);
}

}  // namespace
}  // namespace skyline::space
