#include <string>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The stand-in's runtime refuses what CUDA refuses, and says so.

namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class StandInRules : public ::testing::Test {
 protected:
  void SetUp() override {
    for (cudaStream_t* stream : {&recorded_, &other_}) {
      ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    }
    for (cudaEvent_t* event : {&before_, &forked_, &joined_}) ASSERT_EQ(cudaEventCreate(event), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(before_, other_), cudaSuccess);
    CaptureStderr();
  }

  void begin() {
    ASSERT_EQ(cudaStreamBeginCapture(recorded_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(recorded_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    return error;
  }
  cudaError_t work(cudaStream_t stream) {
    static int value = 0;
    return cudaMemsetAsync(&value, 0, sizeof value, stream);
  }
  void fork() {
    ASSERT_EQ(cudaEventRecord(forked_, recorded_), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(other_, forked_, 0), cudaSuccess);
    ASSERT_EQ(work(other_), cudaSuccess);
  }
  void join() {
    ASSERT_EQ(cudaEventRecord(joined_, other_), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(recorded_, joined_, 0), cudaSuccess);
  }
  static void expect_violation(const std::string& text) {
    EXPECT_THAT(GetCapturedStderr(), HasSubstr("stand-in: violation: " + text));
  }

  cudaStream_t recorded_ = nullptr;
  cudaStream_t other_ = nullptr;
  cudaEvent_t before_ = nullptr;
  cudaEvent_t forked_ = nullptr;
  cudaEvent_t joined_ = nullptr;
};

TEST_F(StandInRules, AllowAForkThatIsJoined) {
  begin();
  fork();
  join();
  EXPECT_EQ(end(), cudaSuccess);
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST_F(StandInRules, RefuseAForkThatIsNotJoinedAfterItsLastWork) {
  begin();
  fork();
  join();
  EXPECT_EQ(work(other_), cudaSuccess);
  EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
  expect_violation("a forked stream is not joined");
}

TEST_F(StandInRules, BreakARecordingWhoseThreadAllocates) {
  begin();
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(work(recorded_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  expect_violation("cudaMalloc during a recording");
}

TEST_F(StandInRules, AllowAThreadInRelaxedModeToAllocate) {
  begin();
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST_F(StandInRules, RefuseAWaitForWorkOutsideOfTheRecording) {
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(recorded_, before_, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  expect_violation("a recorded stream waits for work outside");
}

TEST_F(StandInRules, RefuseToAskWhetherRecordedWorkIsDone) {
  begin();
  EXPECT_EQ(cudaEventRecord(forked_, recorded_), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(forked_), cudaErrorCapturedEvent);
  expect_violation("cudaEventQuery of an event of a recording");
}

TEST_F(StandInRules, RefuseWorkOnADestroyedStream) {
  EXPECT_EQ(cudaStreamDestroy(other_), cudaSuccess);
  EXPECT_EQ(work(other_), cudaErrorInvalidResourceHandle);
  expect_violation("memset on a destroyed stream");
}

}  // namespace
