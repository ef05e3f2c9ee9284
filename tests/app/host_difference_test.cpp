#include "app/job/host_difference.hpp"

#include "app/job/program_build.hpp"
#include "comm/environment.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::app {
namespace {

using Texts = std::vector<std::string>;

TEST(HostDifference, IsNoneWhereAllSayTheSame) {
  EXPECT_EQ(text_difference(Texts{"a", "a", "a"}, Texts{"h1", "h1", "h2"}), "");
  EXPECT_EQ(text_difference(Texts{"a", "", ""}, Texts{"h1", "h1", "h2"}), "")
      << "who says nothing does not count";
  EXPECT_EQ(text_difference(Texts{}, Texts{}), "");
}

TEST(HostDifference, NamesEachHostOnceInTheOrderOfRanks) {
  EXPECT_EQ(text_difference(Texts{"b", "b", "a", "", "a", "b"}, Texts{"h1", "h1", "h2", "h2", "h3", "h4"}),
            "b on h1, h4; a on h2, h3");
}

TEST(HostDifference, OfManyHostsIsStillOneLine) {
  Texts texts(64, "new");
  Texts hosts;
  for (int host = 0; host < 64; ++host) hosts.push_back("n" + std::to_string(host));
  texts[9] = "old";
  EXPECT_EQ(text_difference(texts, hosts), "new on n0, n1, n2 and 60 more; old on n9");
}

TEST(ProgramDifference, IsTheMostTellingPartAlone) {
  const Texts hosts{"h1", "h2"};
  const std::string one = "0.1.0\nLibTorch 2.11.0\nOpen MPI 4.1.4\nbuild 12";
  EXPECT_EQ(program_difference(Texts{one, one}, hosts), "");
  EXPECT_EQ(program_difference(Texts{one, "0.2.0\nLibTorch 2.10.0\nOpen MPI 4.1.4\nbuild 34"}, hosts),
            "0.1.0 on h1; 0.2.0 on h2");
  EXPECT_EQ(program_difference(Texts{one, "0.1.0\nLibTorch 2.10.0\nOpen MPI 4.1.4\nbuild 12"}, hosts),
            "LibTorch 2.11.0 on h1; LibTorch 2.10.0 on h2");
  EXPECT_EQ(program_difference(Texts{one, "0.1.0\nLibTorch 2.11.0\nOpen MPI 4.1.6\nbuild 12"}, hosts),
            "Open MPI 4.1.4 on h1; Open MPI 4.1.6 on h2");
  EXPECT_EQ(program_difference(Texts{one, "0.1.0\nLibTorch 2.11.0\nOpen MPI 4.1.4\nbuild 34"}, hosts),
            "build 12 on h1; build 34 on h2");
}

TEST(ProgramDifference, AReleaseThatSaysItsVersionAloneIsAnotherBuild) {
  EXPECT_EQ(program_difference(Texts{"0.1.0\nLibTorch 2.11.0", "0.1.0"}, Texts{"h1", "h2"}),
            "LibTorch 2.11.0 on h1; an unknown build on h2");
}

TEST(Libraries, TellTheirVersions) {
  EXPECT_THAT(comm::mpi_library_name(), testing::MatchesRegex("[A-Z].* [0-9]+\\.[0-9][^,]*"));
}

TEST(ProgramParts, NameVersionCommitLibrariesAndCompiler) {
  EXPECT_THAT(
      program_parts(),
      testing::ElementsAre(testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"),
                           testing::MatchesRegex("commit ([0-9a-f]{12,40}( \\(modified\\))?|unknown)"),
                           comm::mpi_library_name(), testing::MatchesRegex(".* [0-9]+\\.[0-9].*")));
}

TEST(BuildId, IsThatOfThisProgram) {
  EXPECT_THAT(build_id(), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(build_id(), build_id());
}

}  // namespace
}  // namespace skyline::app
