#include "support/thread_mailboxes.hpp"

#include <deque>
#include <mutex>
#include <utility>

namespace skyline::testing {
namespace {

/// The contents of the mailboxes of all ranks.
struct Office {
  struct Box {
    std::deque<comm::Message> messages;
    int looks = 0;
  };
  explicit Office(std::size_t ranks) : boxes(ranks), unsent(ranks) {}
  std::mutex mutex;
  std::vector<Box> boxes;
  std::vector<std::size_t> unsent;  // bytes, by sender
};

class ThreadMailbox final : public comm::Mailbox {
 public:
  ThreadMailbox(std::shared_ptr<Office> office, int rank) : office_(std::move(office)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(office_->boxes.size()); }
  std::shared_ptr<comm::Buffer> acquire(std::size_t size) override { return pool_.acquire(size); }
  void send(std::shared_ptr<const comm::Buffer> buffer, int to) override {
    const std::lock_guard lock(office_->mutex);
    office_->unsent[index(rank_)] += buffer->bytes().size();
    office_->boxes[index(to)].messages.push_back({rank_, std::move(buffer)});
  }
  std::optional<comm::Message> receive() override {
    const std::lock_guard lock(office_->mutex);
    Office::Box& box = office_->boxes[index(rank_)];
    if (box.messages.empty() || ++box.looks % 2 != 0) return std::nullopt;
    const comm::Message message = std::move(box.messages.front());
    box.messages.pop_front();
    return comm::Message{message.from, lent(message)};
  }
  std::size_t unsent_bytes() const override {
    const std::lock_guard lock(office_->mutex);
    return office_->unsent[index(rank_)];
  }
  void close() override {}

 private:
  std::shared_ptr<const comm::Buffer> lent(const comm::Message& message) const {
    const auto give_back = [office = office_, buffer = message.buffer, from = message.from](const auto*) {
      const std::lock_guard lock(office->mutex);
      office->unsent[index(from)] -= buffer->bytes().size();
    };
    return {message.buffer.get(), give_back};
  }
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  std::shared_ptr<Office> office_;
  int rank_;
  comm::BufferPool pool_;
};

}  // namespace

std::vector<std::unique_ptr<comm::Mailbox>> make_thread_mailboxes(int ranks) {
  const auto office = std::make_shared<Office>(static_cast<std::size_t>(ranks));
  std::vector<std::unique_ptr<comm::Mailbox>> boxes;
  for (int rank = 0; rank < ranks; ++rank) boxes.push_back(std::make_unique<ThreadMailbox>(office, rank));
  return boxes;
}

}  // namespace skyline::testing
