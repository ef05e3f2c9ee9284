#include "evaluate/process/host_address.hpp"

#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

constexpr Ipv4 kDocker = 0xAC110001;   // 172.17.0.1
constexpr Ipv4 kOffice = 0xC0A80105;   // 192.168.1.5
constexpr Ipv4 kCluster = 0x0A010203;  // 10.1.2.3

class HostAddress : public ::testing::Test {
 protected:
  std::optional<Ipv4> chosen(const std::string& include, const std::string& exclude = "") const {
    return chosen_address(up, include, exclude);
  }
  std::vector<HostInterface> up{
      {"lo", kLoopback}, {"docker0", kDocker}, {"eth0", kOffice}, {"ib0", kCluster}};
};

TEST_F(HostAddress, IsThatOfTheFirstInterfaceThatLeadsToOtherHosts) {
  EXPECT_EQ(chosen(""), kOffice);
}

TEST_F(HostAddress, IsThatOfAnInterfaceThatMpiWasToldToUse) {
  EXPECT_EQ(chosen("ib0"), kCluster);
  EXPECT_EQ(chosen("ib1,ib0,eth0"), kCluster);
  EXPECT_EQ(chosen("10.1.0.0/16"), kCluster);
  EXPECT_EQ(chosen("10.2.0.0/16,192.168.1.0/24"), kOffice);
  EXPECT_EQ(chosen("192.168.1.5/32"), kOffice);
  EXPECT_EQ(chosen("docker0"), kDocker);
  EXPECT_EQ(chosen("0.0.0.0/0"), kLoopback) << "the first of all";
}

TEST_F(HostAddress, IsNotThatOfAnInterfaceThatMpiWasToldToLeaveOut) {
  EXPECT_EQ(chosen("", "eth0"), kCluster);
  EXPECT_EQ(chosen("", "lo,192.168.0.0/16"), kCluster);
  EXPECT_EQ(chosen("", "eth0,ib0"), kDocker);
  EXPECT_EQ(chosen("eth0", "eth0"), kOffice);
}

TEST_F(HostAddress, EntriesThatMeanNothingAreIgnored) {
  EXPECT_EQ(chosen("10.1.0.0/33,10.1/16,,x/8"), kOffice);
}

TEST_F(HostAddress, OfABridgeToContainersIsTheLastResortAndThatOfTheLoopbackNone) {
  up.resize(2);
  EXPECT_EQ(chosen(""), kDocker);
  up.resize(1);
  EXPECT_EQ(chosen(""), std::nullopt);
}

TEST(HostAddressTest, IsWrittenWithDots) {
  EXPECT_EQ(dotted(kCluster), "10.1.2.3");
}

}  // namespace
}  // namespace skyline::evaluate
