#include "train/loading/load_training.hpp"

#include "support/user_error_of.hpp"

#include <cstdlib>

#include <gmock/gmock.h>

namespace skyline::train {
namespace {

std::string refusal_of(const char* file) {
  setenv("SKYLINE_TRAIN_LIBRARY", file, 1);
  std::string refusal = testing::user_error_of([] { load_training(); });
  unsetenv("SKYLINE_TRAIN_LIBRARY");
  return refusal;
}

TEST(LoadTraining, NamesWhatIsMissing) {
  EXPECT_THAT(refusal_of("/no/such/file.so"),
              ::testing::MatchesRegex("networks need LibTorch 2.1., which cannot be used here: "
                                      "SKYLINE_TRAIN_LIBRARY: /no/such/file.so is not there"));
  EXPECT_THAT(refusal_of(BROKEN_LIBRARY),
              ::testing::HasSubstr("the training module does not load: libskyline_absent.so: cannot open"));
}

TEST(LoadTraining, RefusesAModuleOfAnotherBuild) {
  EXPECT_THAT(refusal_of(OTHER_LIBRARY),
              ::testing::EndsWith("was built from other sources than this program: "
                                  "build both together"));
  EXPECT_EQ(torch_version(), "");
}

TEST(TrainingModule, TellsTheVersionOfItsLibTorch) {
  EXPECT_THAT(skyline_training_module()->torch_version(),
              ::testing::MatchesRegex("2\\.[0-9]+\\.[0-9]+[^ ]*"));
}

}  // namespace
}  // namespace skyline::train
