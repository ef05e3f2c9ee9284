#pragma once

#include "store/publish/storage_thread.hpp"

#include <functional>
#include <future>
#include <memory>

namespace skyline::engine {

/// Has a rank's storage thread work something out and waits for it; for the rank's other threads.
/// @throws what `call` throws; if the storage thread has failed before, what it met
template <typename Result>
Result call_storage(store::StorageThread& storage, std::function<Result()> call) {
  auto task = std::make_shared<std::packaged_task<Result()>>(std::move(call));
  std::future<Result> result = task->get_future();
  storage.submit([task = std::move(task)] { (*task)(); });
  try {
    return result.get();
  } catch (const std::future_error&) {  // the job was dropped
    storage.rethrow_failure();
    throw;
  }
}

}  // namespace skyline::engine
