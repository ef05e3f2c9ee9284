#include "core/registry.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace skyline {
namespace {

using Tools = Registry<std::unique_ptr<int>>;

TEST(Registry, FindsWhatIsBuiltInAndWhatIsAddedLaterByName) {
  Tools tools("tool", [](Tools& built_in) { built_in.add("hammer", std::make_unique<int>(1)); });
  const auto* hammer = tools.find("hammer");
  tools.add("axe", std::make_unique<int>(2));
  EXPECT_EQ(**hammer, 1) << "entries stay where they are";
  EXPECT_EQ(**tools.find("axe"), 2);
  EXPECT_EQ(tools.find("saw"), nullptr);
  EXPECT_EQ(tools.names(), (std::vector<std::string>{"axe", "hammer"}));
}

TEST(Registry, RefusesASecondEntryOfAName) {
  Tools tools("tool", [](Tools& built_in) { built_in.add("hammer", std::make_unique<int>(1)); });
  EXPECT_THROW(tools.add("hammer", std::make_unique<int>(2)), InternalError);
  EXPECT_EQ(**tools.find("hammer"), 1);
}

}  // namespace
}  // namespace skyline
