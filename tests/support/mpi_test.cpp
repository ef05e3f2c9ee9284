#include "support/mpi_test.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace skyline::testing {
namespace {

std::unique_ptr<comm::Environment> the_environment;

/// Ranks other than 0 print their failures and nothing else.
class FailurePrinter final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::cerr << "[rank " << environment().world().rank() << "] "
              << (result.file_name() == nullptr ? "" : result.file_name()) << ':' << result.line_number()
              << ' ' << result.message() << '\n';
  }
};

}  // namespace

comm::Environment& environment() {
  return *the_environment;
}

bool MpiTest::on_all_ranks(bool holds) {
  comm::Communicator& world = environment().world();
  const std::uint8_t mine = holds ? 1 : 0;
  std::vector<std::uint8_t> all(world.rank() == 0 ? static_cast<std::size_t>(world.size()) : 0);
  comm::wait(*world.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), 0));
  std::uint8_t everywhere = std::ranges::find(all, 0) == all.end() ? 1 : 0;
  comm::wait(*world.broadcast(std::as_writable_bytes(std::span(&everywhere, 1)), 0));
  return everywhere != 0;
}

void MpiTest::TearDown() {
  const bool failed = HasFailure();
  if (!on_all_ranks(!failed) && !failed) ADD_FAILURE() << "the test failed on another rank";
}

}  // namespace skyline::testing

int main(int argc, char** argv) {
  const bool list_only = [&] {
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--gtest_list_tests") return true;
    }
    return false;
  }();
  ::testing::InitGoogleTest(&argc, argv);
  if (list_only) return RUN_ALL_TESTS();  // needs no MPI
  // An exception that a test does not expect ends all ranks instead of leaving the others in a collective.
  ::testing::GTEST_FLAG(catch_exceptions) = false;

  using skyline::testing::the_environment;
  the_environment = skyline::comm::Environment::start();
  if (the_environment->world().rank() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new skyline::testing::FailurePrinter);
  }
  const int result = RUN_ALL_TESTS();
  the_environment.reset();
  return result;
}
