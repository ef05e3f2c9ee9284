#include "support/mpi_test.hpp"

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

void MpiTest::TearDown() {
  const std::uint8_t failed = HasFailure() ? 1 : 0;
  std::vector<std::uint8_t> all(rank() == 0 ? static_cast<std::size_t>(size()) : 0);
  comm::wait(
      *world().gather(std::as_bytes(std::span(&failed, 1)), std::as_writable_bytes(std::span(all)), 0));
  std::uint8_t any = 0;
  for (const std::uint8_t flag : all) any |= flag;
  comm::wait(*world().broadcast(std::as_writable_bytes(std::span(&any, 1)), 0));
  if (any != 0 && failed == 0) ADD_FAILURE() << "the test failed on another rank";
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
