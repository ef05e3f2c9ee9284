#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace skyline::evaluate {

/// The processors of a rank, of which each process of a trial gets some of its own as long as there are
/// enough. Any thread may use it.
class ProcessorShares {
 public:
  /// Some processors until the object's end.
  class Share {
   public:
    Share(ProcessorShares& owner, std::vector<int> processors)
        : owner_(owner), processors_(std::move(processors)) {}
    ~Share() { owner_.give_back(processors_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    const std::vector<int>& processors() const { return processors_; }

   private:
    ProcessorShares& owner_;
    std::vector<int> processors_;  // ascending
  };

  explicit ProcessorShares(std::vector<int> processors);
  /// Takes the `count` processors that the fewest others use; all if there are not so many.
  Share acquire(std::size_t count);

 private:
  struct Processor {
    int number = 0;
    int users = 0;
  };
  void give_back(const std::vector<int>& processors);

  std::mutex mutex_;
  std::vector<Processor> processors_;  // guarded by the mutex
};

}  // namespace skyline::evaluate
