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
#include <utility>

namespace skyline::engine {

/// Bytes of all tensors of a file.
inline std::size_t tensor_bytes(const store::WeightsFile& file) {
  std::size_t bytes = 0;
  for (const trial::NamedTensor& tensor : file.tensors) bytes += tensor.values.size() * sizeof(float);
  return bytes;
}

/// The weights that this rank's trials left lately, for their children: one that comes back to the rank
/// starts from memory, with the values of the file and without reading it. Thread-safe.
class RecentWeights {
 public:
  using File = std::shared_ptr<const store::WeightsFile>;

  /// @param most_bytes  of tensors; of a file that is larger nothing is kept
  explicit RecentWeights(std::size_t most_bytes) : files_(most_bytes) {}

  /// Shares the file, which nobody changes any more.
  void keep(const File& file) { files_.keep(file->trial, file, tensor_bytes(*file)); }
  /// nullptr: it is not here.
  File find(trial::TrialNumber trial) { return files_.find(trial); }

 private:
  LruCache<trial::TrialNumber, store::WeightsFile> files_;
};

/// Parents' weights from the memory of the ranks that trained them, over MPI: so a child need not wait until
/// a file server shows the file. Weights that are not in memory any more, or come too late, are read from the
/// file, with the same values. A thread of its own answers the other ranks while the slots train.
class ParentExchange {
 public:
  using File = RecentWeights::File;

  /// @param recent  weights that this rank gives to others, and where it keeps those that it got
  /// @param patience  time to wait for an answer
  ParentExchange(std::unique_ptr<comm::Mailbox> mailbox, std::shared_ptr<RecentWeights> recent,
                 std::chrono::milliseconds patience);
  /// Collective: makes an exchange; nullptr with one rank, or if MPI does not let several threads
  /// communicate.
  static std::shared_ptr<ParentExchange> make(comm::Environment& environment,
                                              std::shared_ptr<RecentWeights> recent);

  /// Asks for a parent's weights and waits for the answer. Any slot's thread. The file has trial number and
  /// tensors only.
  /// @return  nullptr: the rank does not have them, is this one, or was of an earlier job; no answer in time,
  ///          after which that rank is not asked again; an error of the channel; or a request to stop
  File ask(const trial::Inherit& parent, const std::atomic<bool>& stop);

  /// Collective: call when no slot asks any more, unless the process ends by an error.
  void close();

 private:
  using Question = std::uint64_t;

  File fetch(int rank, Question question, trial::TrialNumber trial, const std::atomic<bool>& stop);
  std::shared_ptr<const comm::Buffer> await(int rank, Question question, const std::atomic<bool>& stop);
  void serve(const std::stop_token& end);
  void take_in(const comm::Message& message);
  void answer(int rank, Question question, trial::TrialNumber trial);
  bool is_waited_for();

  std::unique_ptr<comm::Mailbox> mailbox_;
  std::shared_ptr<RecentWeights> recent_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;                                                 // guards the members below
  std::condition_variable answered_;                                 // signals an answer or a broken channel
  std::map<Question, std::shared_ptr<const comm::Buffer>> answers_;  // nullptr: not arrived yet
  Question last_question_ = 0;
  std::set<int> silent_;  // ranks that did not answer in time
  bool broken_ = false;   // the channel has failed: read files
  std::jthread server_;   // ends before the members above are destroyed
};

}  // namespace skyline::engine
