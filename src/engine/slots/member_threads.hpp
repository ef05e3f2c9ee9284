#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace skyline::engine {

/// Threads of a slot for the members of a group after the first. They are kept between trials, with their
/// caches. Used by the slot's thread.
class MemberThreads {
 public:
  /// @param processors  member i is bound to processors[i mod size]; empty for no binding
  explicit MemberThreads(std::vector<int> processors) : processors_(std::move(processors)) {}
  ~MemberThreads();
  MemberThreads(const MemberThreads&) = delete;
  MemberThreads& operator=(const MemberThreads&) = delete;

  /// Calls task(0) on this thread and task(1) to task(count - 1) on others; returns when all are done.
  /// @param task  must not throw
  /// @throws UserError if the system refuses a thread; then nothing was called
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  void start();
  void serve(std::size_t index, std::uint64_t seen);

  const std::vector<int> processors_;
  std::vector<std::thread> threads_;  // threads of tasks 1, 2, ...
  std::mutex mutex_;                  // guards the members below
  std::condition_variable work_came_;
  std::condition_variable all_done_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::size_t open_ = 0;  // number of unfinished tasks
  std::uint64_t runs_ = 0;
  bool ended_ = false;
};

}  // namespace skyline::engine
