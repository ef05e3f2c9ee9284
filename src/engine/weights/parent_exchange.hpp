#pragma once

#include "skyline/trial/trial.hpp"

#include "comm/environment.hpp"
#include "comm/mailbox.hpp"
#include "engine/weights/recent_weights.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace skyline::engine {

/// Parents' weights from the memory of the ranks that trained them, over MPI: a child does not wait until a
/// file server shows the file. What is not there any more, or does not come in time, is read from the file,
/// with the same values. A thread of its own answers the other ranks while the slots train.
class ParentExchange {
 public:
  using File = RecentWeights::File;

  /// @param recent    what this rank gives to others, and where it keeps what it was given
  /// @param patience  for an answer
  ParentExchange(std::unique_ptr<comm::Mailbox> mailbox, std::shared_ptr<RecentWeights> recent,
                 std::chrono::milliseconds patience);
  /// Collective. nullptr: one rank, or an MPI library that does not let several threads communicate.
  static std::shared_ptr<ParentExchange> make(comm::Environment& environment,
                                              std::shared_ptr<RecentWeights> recent);

  /// Any slot's thread; waits for the answer. A file with trial number and tensors, nothing else.
  /// @return  nullptr: the rank does not have them, is this one, or was of an earlier job; no answer in time,
  ///          after which that rank is not asked again; an error of the channel; or a request to stop
  File ask(const trial::Inherit& parent, const std::atomic<bool>& stop);

  /// Collective: before the end, when no slot asks any more. Not if the process ends by an error.
  void close();

 private:
  using Question = std::uint64_t;

  File fetch(int rank, Question question, trial::TrialNumber trial, const std::atomic<bool>& stop);
  std::shared_ptr<const comm::Parcel> await(int rank, Question question, const std::atomic<bool>& stop);
  void serve(const std::stop_token& end);
  void take_in(const comm::Letter& letter);
  void answer(int rank, Question question, trial::TrialNumber trial);
  bool is_waited_for();

  std::unique_ptr<comm::Mailbox> mailbox_;
  std::shared_ptr<RecentWeights> recent_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;                                                 // of what follows
  std::condition_variable answered_;                                 // or broken
  std::map<Question, std::shared_ptr<const comm::Parcel>> answers_;  // nullptr: still to come
  Question last_question_ = 0;
  std::set<int> silent_;  // ranks that did not answer in time
  bool broken_ = false;   // the channel failed: files serve
  std::jthread server_;   // ends before the rest goes
};

}  // namespace skyline::engine
