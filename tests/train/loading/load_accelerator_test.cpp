#include "train/loading/load_accelerator.hpp"

#include "skyline/core/error.hpp"

#include <cstdlib>

#include <dlfcn.h>
#include <gmock/gmock.h>

namespace skyline::train {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(LoadAccelerator, names_the_library_that_the_cuda_module_lacks) {
  std::string reason;
  EXPECT_EQ(open_accelerator_library(BROKEN_LIBRARY, reason), nullptr);
  EXPECT_THAT(reason, StartsWith("the cuda module does not load: libskyline_absent.so: cannot open"));
}

TEST(LoadAccelerator, refuses_a_library_of_another_build) {
  std::string reason;
  EXPECT_EQ(open_accelerator_library(OTHER_LIBRARY, reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("was built from other sources than this program"));
}

TEST(LoadAccelerator, keeps_a_library_that_it_refuses) {
  std::string reason;
  open_accelerator_library(OTHER_LIBRARY, reason);
  EXPECT_NE(dlopen(OTHER_LIBRARY, RTLD_NOW | RTLD_NOLOAD), nullptr);  // its code can be called
}

TEST(LoadAccelerator, refuses_a_library_of_someone_else) {
  std::string reason;
  EXPECT_EQ(open_accelerator_library("libz.so.1", reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("libz.so.1 is not Skyline's cuda module"));
}

TEST(LoadAccelerator, takes_the_file_that_the_user_names) {
  std::string reason;
  setenv("SKYLINE_CUDA_LIBRARY", OTHER_LIBRARY, 1);
  EXPECT_EQ(find_accelerator_library(reason), OTHER_LIBRARY);
  setenv("SKYLINE_CUDA_LIBRARY", "/no/such/file.so", 1);
  EXPECT_THAT(find_accelerator_library(reason), IsEmpty());
  EXPECT_EQ(reason, "SKYLINE_CUDA_LIBRARY: /no/such/file.so is not there");
  unsetenv("SKYLINE_CUDA_LIBRARY");
}

TEST(LoadAccelerator, says_that_the_build_has_no_cuda_module) {
  std::string reason;
  EXPECT_THAT(find_accelerator_library(reason), IsEmpty());  // none beside the tests
  EXPECT_THAT(reason, HasSubstr("this build has no cuda module"));
}

TEST(LoadAccelerator, gives_devices_or_a_reason_of_one_line) {
  std::string reason;
  std::shared_ptr<Accelerator> accelerator;
  try {
    accelerator = load_accelerator(reason);
  } catch (const UserError& error) {  // on a machine with a GPU: there is no module beside the tests
    reason = error.what();
  }
  EXPECT_EQ(accelerator == nullptr, !reason.empty());
  EXPECT_THAT(reason, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace skyline::train
