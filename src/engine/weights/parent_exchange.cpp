#include "engine/weights/parent_exchange.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/record.hpp"
#include "trial/trial_record.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace skyline::engine {
namespace {

using namespace std::chrono_literals;

/// The other rank's thread looks every 10 ms; after this time the file is read instead.
constexpr auto kPatience = 5s;
constexpr auto kLookForStop = 20ms;
/// Most bytes of unsent answers; ranks that ask for more must read the file.
constexpr std::size_t kMostUnsentWeights = std::size_t{256} << 20U;

enum class WeightsStep : std::uint8_t { kQuestion, kWeights, kRefusal };

/// The start of a message about a trial's weights; tensors follow.
struct WeightsHeader {
  WeightsStep step = WeightsStep::kQuestion;
  std::uint64_t question = 0;  // its number on the asking rank
  trial::TrialNumber trial = 0;
};

std::shared_ptr<comm::Buffer> make_message(comm::Mailbox& mailbox, const WeightsHeader& header,
                                           const std::vector<trial::NamedTensor>& tensors) {
  constexpr std::size_t kBesideValues = 128;  // bytes of the rest of the message, and of most tensors
  std::size_t bytes = kBesideValues;
  for (const trial::NamedTensor& each : tensors) bytes += kBesideValues + each.values.size() * sizeof(float);
  std::string record;
  record.reserve(bytes);  // it would be copied each time it grows
  RecordWriter write(record);
  write(header, tensors);
  std::shared_ptr<comm::Buffer> message = mailbox.acquire(record.size());
  std::ranges::copy(std::as_bytes(std::span(record)), message->bytes().begin());
  return message;
}

RecordReader reader_of(const comm::Buffer& message) {
  const std::span<const std::byte> bytes = message.bytes();
  return RecordReader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

WeightsHeader weights_header_of(const comm::Buffer& message) {
  WeightsHeader header;
  RecordReader read = reader_of(message);
  read(header);
  return header;
}

}  // namespace

ParentExchange::ParentExchange(std::unique_ptr<comm::Mailbox> mailbox, std::shared_ptr<RecentWeights> recent,
                               std::chrono::milliseconds patience)
    : mailbox_(std::move(mailbox)),
      recent_(std::move(recent)),
      patience_(patience),
      server_([this](const std::stop_token& end) { serve(end); }) {}

std::shared_ptr<ParentExchange> ParentExchange::make(comm::Environment& environment,
                                                     std::shared_ptr<RecentWeights> recent) {
  auto mailbox = environment.make_mailbox();
  if (mailbox == nullptr) return nullptr;
  return std::make_shared<ParentExchange>(std::move(mailbox), std::move(recent), kPatience);
}

/// Asks for a file. An error of the channel only means that the file is read instead.
ParentExchange::File ParentExchange::ask(const trial::Inherit& parent, const std::atomic<bool>& stop) {
  const int rank = parent.holder;
  if (rank < 0 || rank >= mailbox_->size() || rank == mailbox_->rank()) return nullptr;
  Question question = 0;
  {
    const std::lock_guard lock(mutex_);
    if (broken_ || silent_.contains(rank)) return nullptr;
    question = ++last_question_;
    answers_.emplace(question, nullptr);
  }
  File file;
  try {
    file = fetch(rank, question, parent.from, stop);
  } catch (const std::exception& error) {
    log::warning("the weights of trial " + std::to_string(parent.from) +
                 " are read from their file: " + error.what());
  }
  const std::lock_guard lock(mutex_);
  answers_.erase(question);
  return file;
}

ParentExchange::File ParentExchange::fetch(int rank, Question question, trial::TrialNumber trial,
                                           const std::atomic<bool>& stop) {
  mailbox_->send(make_message(*mailbox_, {WeightsStep::kQuestion, question, trial}, {}), rank);
  const auto answer = await(rank, question, stop);
  if (answer == nullptr || weights_header_of(*answer).step != WeightsStep::kWeights) return nullptr;
  auto file = std::make_shared<store::WeightsFile>();
  file->trial = trial;
  WeightsHeader header;
  RecordReader read = reader_of(*answer);
  read(header, file->tensors);
  recent_->keep(file);
  return file;
}

/// Waits for an answer. Returns nullptr if none came.
std::shared_ptr<const comm::Buffer> ParentExchange::await(int rank, Question question,
                                                          const std::atomic<bool>& stop) {
  const auto deadline = std::chrono::steady_clock::now() + patience_;
  std::unique_lock lock(mutex_);
  auto& answer = answers_.at(question);
  const auto is_over = [&] { return broken_ || answer != nullptr; };
  while (!is_over() && !stop) {
    if (std::chrono::steady_clock::now() >= deadline) {
      if (silent_.insert(rank).second) {
        log::warning("rank " + std::to_string(rank) +
                     " does not answer: weights of its trials are read from files from now on");
      }
      break;
    }
    answered_.wait_for(lock, kLookForStop, is_over);
  }
  return std::move(answer);
}

void ParentExchange::serve(const std::stop_token& end) {
  try {
    for (Backoff backoff; !end.stop_requested();) {
      if (const auto message = mailbox_->receive()) {
        receive(*message);
        backoff.reset();
      } else {
        if (is_waited_for()) backoff.reset();
        backoff.pause();
      }
    }
  } catch (const std::exception& error) {
    log::warning(std::string("parents' weights are read from files from now on: ") + error.what());
    const std::lock_guard lock(mutex_);
    broken_ = true;
    answered_.notify_all();
  }
}

bool ParentExchange::is_waited_for() {
  const std::lock_guard lock(mutex_);
  return !answers_.empty();
}

void ParentExchange::receive(const comm::Message& message) {
  const WeightsHeader header = weights_header_of(*message.buffer);
  if (header.step == WeightsStep::kQuestion) {
    answer(message.from, header.question, header.trial);
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto place = answers_.find(header.question);
  if (place == answers_.end()) return;  // the answer is too late
  place->second = message.buffer;
  answered_.notify_all();
}

void ParentExchange::answer(int rank, Question question, trial::TrialNumber trial) {
  File file = recent_->find(trial);
  if (file != nullptr && mailbox_->unsent_bytes() + tensor_bytes(*file) > kMostUnsentWeights) file = nullptr;
  const WeightsHeader header{file != nullptr ? WeightsStep::kWeights : WeightsStep::kRefusal, question,
                             trial};
  const std::vector<trial::NamedTensor> none;
  mailbox_->send(make_message(*mailbox_, header, file != nullptr ? file->tensors : none), rank);
}

void ParentExchange::close() {
  server_.request_stop();
  server_.join();
  mailbox_->close();
}

}  // namespace skyline::engine
