#include "skyline/core/exit_code.hpp"

#include "skyline/core/error.hpp"

#include "support/process_limit.hpp"

#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(ExitCode, TellsWhetherTheUserOrWhatLiesOutsideOrWeAreAtFault) {
  EXPECT_EQ(exit_code_of(UserError("expected a number")), 2);
  EXPECT_EQ(exit_code_of(FaultError("fsync: Input/output error")), 76);
  EXPECT_EQ(exit_code_of(InternalError("the queue is closed")), 70);
  EXPECT_EQ(exit_code_of(std::runtime_error("of a library")), 70);
}

TEST(ExitCode, TakesNoMemoryAndRefusedSystemCallsForNoBugOfOurs) {
  EXPECT_EQ(exit_code_of(std::bad_alloc()), 76);
  EXPECT_EQ(exit_code_of(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
            76);
  EXPECT_EQ(
      exit_code_of(std::filesystem::filesystem_error("status", std::make_error_code(std::errc::io_error))),
      76);
  EXPECT_EQ(error_text(std::bad_alloc()), "the system has no more memory for this process");
}

TEST(ErrorText, NamesTheLimitsThatMemoryAndThreadsMet) {
  const testing::ProcessLimit addresses(RLIMIT_AS, rlim_t{1} << 46);  // more than a sanitizer takes
  const testing::ProcessLimit threads(RLIMIT_NPROC, 90);              // lower than that of a container
  const std::string limit = "70368744177664 bytes of addresses, ulimit -v or h_vmem)";
  EXPECT_EQ(error_text(std::bad_alloc()),
            "the system has no more memory for this process (limits of this process: " + limit);
  EXPECT_EQ(error_text(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
            "the system refused a thread (limits of this process: 90 threads and processes of its user, "
            "ulimit -u; " +
                limit);
}

TEST(ExitCode, OfASignalIsThatOfShells) {
  EXPECT_EQ(exit_code_of_signal(SIGINT), 130);
  EXPECT_EQ(exit_code_of_signal(SIGKILL), 137);
}

TEST(ErrorText, NamesOurOwnMistakesAsSuch) {
  EXPECT_EQ(error_text(InternalError("the queue is closed")), "internal error: the queue is closed");
  EXPECT_EQ(error_text(UserError("a.yaml:3:7: expected a number")), "a.yaml:3:7: expected a number");
  EXPECT_EQ(error_text(FaultError("MPI_Isend: no link")), "MPI_Isend: no link");
}

}  // namespace
}  // namespace skyline
