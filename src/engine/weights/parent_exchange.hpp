#pragma once

#include "skyline/trial/trial.hpp"

#include "comm/environment.hpp"
#include "comm/mailbox.hpp"
#include "core/lru_cache.hpp"
#include "store/weights/weights.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace skyline::engine {

inline std::size_t tensor_bytes(const store::WeightsFile& file) {
  std::size_t bytes = 0;
  for (const trial::NamedTensor& tensor : file.tensors) bytes += tensor.values.size() * sizeof(float);
  return bytes;
}

/// The weights that this rank's last trials left, for their children: a child that trains on the same rank
/// starts from memory, with the values of the file and without reading it. Thread-safe.
class RecentWeights {
 public:
  using File = std::shared_ptr<const store::WeightsFile>;

  /// @param most_bytes  limit for all tensors; a larger file is not kept
  explicit RecentWeights(std::size_t most_bytes) : files_(most_bytes) {}

  /// Shares the file, which must not change any more.
  void keep(const File& file) { files_.keep(file->trial, file, tensor_bytes(*file)); }
  /// Returns the file, or nullptr if it is not kept.
  File find(trial::TrialNumber trial) { return files_.find(trial); }

 private:
  LruCache<trial::TrialNumber, store::WeightsFile> files_;
};

/// Gets parents' weights over MPI from the memory of the ranks that trained them, so that a child need not
/// wait until a file server shows the file. Weights that are no longer in memory, or come too late, are read
/// from the file, with the same values. A thread of its own answers the other ranks while the slots train.
class ParentExchange {
 public:
  using File = RecentWeights::File;

  /// @param recent  weights that this rank gives to others, and in which it keeps the received ones
  /// @param patience  time to wait for an answer
  ParentExchange(std::unique_ptr<comm::Mailbox> mailbox, std::shared_ptr<RecentWeights> recent,
                 std::chrono::milliseconds patience);
  /// Makes an exchange. Returns nullptr with one rank, or if only one thread may communicate. Collective.
  static std::shared_ptr<ParentExchange> make(comm::Environment& environment,
                                              std::shared_ptr<RecentWeights> recent);

  /// Asks for a parent's weights and waits for the answer. Any slot's thread may call it. The file has trial
  /// number and tensors only.
  /// @return  nullptr if the rank does not have them, is this rank, or belonged to an earlier job; if no
  ///          answer comes in time, after which that rank is not asked again; after an error of the channel,
  ///          or a request to stop
  File ask(const trial::Inherit& parent, const std::atomic<bool>& stop);

  /// Closes the exchange. Call it when no slot asks, unless the process ends by an error. Collective.
  void close();

 private:
  using Question = std::uint64_t;

  File fetch(int rank, Question question, trial::TrialNumber trial, const std::atomic<bool>& stop);
  std::shared_ptr<const comm::Buffer> await(int rank, Question question, const std::atomic<bool>& stop);
  void serve(const std::stop_token& end);
  void receive(const comm::Message& message);
  void answer(int rank, Question question, trial::TrialNumber trial);
  bool is_waited_for();

  std::unique_ptr<comm::Mailbox> mailbox_;
  std::shared_ptr<RecentWeights> recent_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;                                                 // guards the members below
  std::condition_variable answered_;                                 // signals an answer or a broken channel
  std::map<Question, std::shared_ptr<const comm::Buffer>> answers_;  // nullptr until the answer arrives
  Question last_question_ = 0;
  std::set<int> silent_;  // ranks that did not answer in time
  bool broken_ = false;   // the channel has failed, so files are read
  std::jthread server_;   // the last member, because its thread uses the others
};

}  // namespace skyline::engine
