#include "cuda/nccl/nccl_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NcclLog, TellsInfiniBandWithItsPortsAndGpuDirect) {
  const NcclTransport transport = parse_nccl_log(
      "node07:4242:4290 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>\n"
      "node07:4242:4290 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_ib1:1/RoCE [RO]; OOB "
      "eth0:10.0.0.7<0>\n"
      "node07:4242:4290 [0] NCCL INFO Using network IB\n"
      "node07:4242:4301 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "node07:4242:4301 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA\n"
      "node07:4242:4301 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n");
  EXPECT_TRUE(transport.infiniband);
  EXPECT_TRUE(transport.gpu_direct);
  EXPECT_FALSE(transport.sockets);
  EXPECT_THAT(transport.ports, ElementsAre("mlx5_0:1", "mlx5_ib1:1"));
  EXPECT_EQ(transport.describe(), "InfiniBand (mlx5_0:1, mlx5_ib1:1; GPUDirect)");
}

TEST(NcclLog, TellsSocketsWhereThereIsNoAdapter) {
  const NcclTransport transport = parse_nccl_log(
      "node07:1:9 [0] NCCL INFO NET/IB : No device found.\n"
      "node07:1:9 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0>\n"
      "node07:1:9 [0] NCCL INFO Using network Socket\n"
      "node07:1:12 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n");
  EXPECT_THAT(transport.ports, IsEmpty());
  EXPECT_EQ(transport.describe(), "TCP");
}

TEST(NcclLog, TellsWhatMembersOfANodeUse) {
  const NcclTransport peer =
      parse_nccl_log("n:1:2 [3] NCCL INFO Channel 00/0 : 3[3] -> 2[2] via P2P/CUMEM/read");
  EXPECT_EQ(peer.describe(), "NVLink or PCIe");
  const NcclTransport shared =
      parse_nccl_log("n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct");
  EXPECT_EQ(shared.describe(), "memory of the host");
}

TEST(NcclLog, TellsAllWaysOfAGroupOverNodes) {
  const NcclTransport transport = parse_nccl_log(
      "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\r\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/3\r\n");
  EXPECT_FALSE(transport.gpu_direct);
  EXPECT_EQ(transport.describe(), "InfiniBand and NVLink or PCIe");
}

TEST(NcclLog, AddsWhatIsNewToWhatIsKnown) {
  const NcclTransport first = parse_nccl_log(
      "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.7<0>\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n");
  EXPECT_EQ(first.describe(), "NVLink or PCIe");
  const NcclTransport second =
      parse_nccl_log("n:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/3\n", first);
  EXPECT_EQ(second.describe(), "InfiniBand (mlx5_0:1) and NVLink or PCIe");
  EXPECT_EQ(parse_nccl_log("", second).describe(), second.describe());
}

TEST(NcclLog, KnowsNothingBeforeMembersAreConnected) {
  EXPECT_FALSE(parse_nccl_log("").is_known());
  EXPECT_FALSE(parse_nccl_log("epoch 3 via P2P training\nn:1:2 [0] NCCL INFO Using network IB\n").is_known());
  EXPECT_FALSE(parse_nccl_log("NET/IB : Using [0").is_known());
}

TEST(NcclLog, FindsTheFileOfTheProcess) {
  EXPECT_EQ(nccl_log_path("/tmp/nccl.%h.%p.log", "node07", 4242), "/tmp/nccl.node07.4242.log");
  EXPECT_EQ(nccl_log_path("plain", "node07", 1), "plain");
  EXPECT_EQ(nccl_log_path("a%%b%x%", "node07", 1), "a%b%x%");
}

}  // namespace
}  // namespace skyline::cuda
