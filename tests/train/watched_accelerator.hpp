#pragma once

#include "skyline/core/error.hpp"

#include "train/device/host_accelerator.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::train::test {

/// The requests to a WatchedAccelerator.
struct AcceleratorCounts {
  std::atomic<int> streams = 0;
  std::atomic<int> captures = 0;
  std::atomic<int> replays = 0;
  std::atomic<int> gathers = 0;
};

/// The CPU behind the seam of accelerators; counts, and refuses to record on request.
class WatchedAccelerator final : public Accelerator {
 public:
  explicit WatchedAccelerator(bool refuses_capture = false) : refuses_capture_(refuses_capture) {}

  AcceleratorCounts counts;
  std::function<void()> before_gather;      // called by all threads; empty: nothing to do
  std::function<void()> before_run;         // the same, of any stream
  std::function<void(int)> before_capture;  // the same; is given the number of the capture, from 1 on
  std::function<void()> before_stream;      // the same, before one is made

  const std::vector<AcceleratorDevice>& devices() const override { return host_->devices(); }
  AcceleratorMemory memory(int device) const override { return host_->memory(device); }
  void release_cached_memory(int device) override { host_->release_cached_memory(device); }
  std::unique_ptr<AcceleratorStream> make_stream(int device) override {
    if (before_stream) {
      before_stream();
    }
    ++counts.streams;
    return std::make_unique<Stream>(*this, host_->make_stream(device));
  }
  void gather(const kernels::GatherPlan& plan) override {
    ++counts.gathers;
    if (before_gather) {
      before_gather();
    }
    host_->gather(plan);
  }
  void dropout(const kernels::DropoutPlan& plan) override { host_->dropout(plan); }
  std::unique_ptr<DeviceReducer> make_reducer(trial::TrialGroup& group, int device) override {
    return host_->make_reducer(group, device);
  }

 private:
  class Graph final : public AcceleratorGraph {
   public:
    Graph(WatchedAccelerator& owner, std::unique_ptr<AcceleratorGraph> graph)
        : owner_(owner), graph_(std::move(graph)) {}
    void replay() override {
      ++owner_.counts.replays;
      graph_->replay();
    }

   private:
    WatchedAccelerator& owner_;
    std::unique_ptr<AcceleratorGraph> graph_;
  };

  class Stream final : public AcceleratorStream {
   public:
    Stream(WatchedAccelerator& owner, std::unique_ptr<AcceleratorStream> stream)
        : owner_(owner), stream_(std::move(stream)) {}
    void run(const std::function<void()>& work) override {
      if (owner_.before_run) {
        owner_.before_run();
      }
      stream_->run(work);
    }
    std::unique_ptr<AcceleratorGraph> capture(const std::function<void()>& work) override {
      const int number = ++owner_.counts.captures;
      if (owner_.before_capture) {
        owner_.before_capture(number);
      }
      if (owner_.refuses_capture_) {
        throw UserError("the device records nothing today");
      }
      return std::make_unique<Graph>(owner_, stream_->capture(work));
    }
    void wait() override { stream_->wait(); }

   private:
    WatchedAccelerator& owner_;
    std::unique_ptr<AcceleratorStream> stream_;
  };

  bool refuses_capture_;
  std::unique_ptr<Accelerator> host_ = make_host_accelerator();
};

}  // namespace skyline::train::test
