#pragma once

#include "comm/environment.hpp"

#include <gtest/gtest.h>

namespace skyline::testing {

/// The environment of this test program; from the start of main() to its end.
comm::Environment& environment();

/// A test that runs on all ranks: after it all ranks agree on the outcome, so that a failure on one rank
/// fails it on every one. Use EXPECT until the last collective: an ASSERT on one rank leaves the others
/// waiting.
class MpiTest : public ::testing::Test {
 protected:
  void TearDown() override;
  /// Whether that holds on every rank. Collective.
  static bool on_all_ranks(bool holds);
  comm::Communicator& world() { return environment().world(); }
  int rank() { return world().rank(); }
  int size() { return world().size(); }
};

}  // namespace skyline::testing
