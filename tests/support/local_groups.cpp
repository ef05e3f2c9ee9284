#include "support/local_groups.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace skyline::testing {
namespace {

using trial::Failure;
using trial::GroupAborted;
using trial::shard_of;

enum class Kind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kSum, kBroadcast };

/// The values that the members gave to one operation.
struct Entry {
  std::vector<std::span<std::byte>> values;  // [members]
  std::vector<Kind> kinds;
  std::size_t posted = 0;
};

template <typename T>
T* typed(std::span<std::byte> bytes) {
  return reinterpret_cast<T*>(bytes.data());
}

/// At distance 1, 2, 4, ...: value(i) + value(i + distance). The sum of everything is then value(0).
template <typename T>
T tree_sum(const Entry& entry, std::size_t position) {
  std::vector<T> sums;
  for (const auto& member : entry.values) sums.push_back(typed<T>(member)[position]);
  for (std::size_t distance = 1; distance < sums.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < sums.size(); i += 2 * distance) sums[i] += sums[i + distance];
  }
  return sums[0];
}

template <typename T>
void add_up(const Entry& entry, bool parts_only) {
  const std::size_t count = entry.values[0].size() / sizeof(T);
  const std::size_t members = entry.values.size();
  for (std::size_t position = 0; position < count; ++position) {
    const T sum = tree_sum<T>(entry, position);
    for (std::size_t m = 0; m < members; ++m) {
      const auto part = shard_of(count, members, m);
      if (!parts_only || (position >= part.begin && position < part.end)) {
        typed<T>(entry.values[m])[position] = sum;
      }
    }
  }
}

void gather_parts(const Entry& entry) {
  const std::size_t count = entry.values[0].size() / sizeof(float);
  for (std::size_t from = 0; from < entry.values.size(); ++from) {
    const auto part = shard_of(count, entry.values.size(), from);
    for (const auto& to : entry.values) {
      if (to.data() == entry.values[from].data()) continue;
      std::copy(typed<float>(entry.values[from]) + part.begin, typed<float>(entry.values[from]) + part.end,
                typed<float>(to) + part.begin);
    }
  }
}

/// State that the members share.
class Board {
 public:
  Board(std::size_t members, std::chrono::milliseconds silence) : members_(members), silence_(silence) {}

  std::size_t members() const { return members_; }

  void post(std::size_t member, std::uint64_t number, Kind kind, std::span<std::byte> values) {
    const std::lock_guard lock(mutex_);
    throw_if_aborted();
    Entry& entry = entries_[number];
    entry.values.resize(members_);
    entry.values[member] = values;
    entry.kinds.push_back(kind);
    require(entry.kinds.front() == kind, "members of a group called different operations");
    if (++entry.posted < members_) return;
    for (const auto& other : entry.values) {
      require(other.size() == values.size(), "members of a group gave values of different sizes");
    }
    complete(entry, kind);
    entries_.erase(number);
    ++completed_;
    changed_.notify_all();
  }

  bool is_complete(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (number < completed_) return true;
    throw_if_aborted();
    return false;
  }

  void wait(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    const bool ended =
        changed_.wait_for(lock, silence_, [&] { return number < completed_ || failure_.has_value(); });
    if (number < completed_) return;
    if (!ended) {
      failure_ = Failure{trial::FailureKind::kException,
                         "a member has been silent in operation " + std::to_string(number)};
      changed_.notify_all();
    }
    throw_if_aborted();
  }

  void check() {
    const std::lock_guard lock(mutex_);
    throw_if_aborted();
  }

  void abort(const Failure& failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
    changed_.notify_all();
  }

 private:
  void throw_if_aborted() const {
    if (failure_) throw GroupAborted(*failure_);
  }
  static void complete(const Entry& entry, Kind kind) {
    switch (kind) {
      case Kind::kAllReduce:
      case Kind::kReduceScatter:
        add_up<float>(entry, kind == Kind::kReduceScatter);
        break;
      case Kind::kSum:
        add_up<double>(entry, false);
        break;
      case Kind::kAllGather:
        gather_parts(entry);
        break;
      case Kind::kBroadcast:
        for (std::size_t m = 1; m < entry.values.size(); ++m) {
          std::ranges::copy(entry.values[0], entry.values[m].begin());
        }
        break;
    }
  }

  std::size_t members_;
  std::chrono::milliseconds silence_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Entry> entries_;  // entries by number of operation
  std::uint64_t completed_ = 0;             // all before it; every member posts them in order
  std::optional<Failure> failure_;
};

class LocalGroup final : public trial::TrialGroup {
 public:
  LocalGroup(std::shared_ptr<Board> board, std::size_t member) : board_(std::move(board)), member_(member) {}

  std::size_t members() const override { return board_->members(); }
  std::size_t member() const override { return member_; }
  /// Each member counts as a process, and so a device, of its own.
  trial::Place place_of(std::size_t member) const override { return {.node_rank = static_cast<int>(member)}; }

  std::unique_ptr<Operation> all_reduce(std::span<float> values) override {
    return post(Kind::kAllReduce, std::as_writable_bytes(values));
  }
  std::unique_ptr<Operation> reduce_scatter(std::span<float> values) override {
    return post(Kind::kReduceScatter, std::as_writable_bytes(values));
  }
  std::unique_ptr<Operation> all_gather(std::span<float> values) override {
    return post(Kind::kAllGather, std::as_writable_bytes(values));
  }
  void sum(std::span<double> values) override { post(Kind::kSum, std::as_writable_bytes(values))->wait(); }
  void broadcast(std::span<std::byte> bytes) override { post(Kind::kBroadcast, bytes)->wait(); }
  void check() override { board_->check(); }
  void abort(const Failure& failure, bool) noexcept override { board_->abort(failure); }

 private:
  class Posted final : public Operation {
   public:
    Posted(std::shared_ptr<Board> board, std::uint64_t number) : board_(std::move(board)), number_(number) {}
    bool test() override { return board_->is_complete(number_); }
    void wait() override { board_->wait(number_); }

   private:
    std::shared_ptr<Board> board_;
    std::uint64_t number_;
  };

  std::unique_ptr<Operation> post(Kind kind, std::span<std::byte> values) {
    const std::uint64_t number = next_++;
    board_->post(member_, number, kind, values);
    return std::make_unique<Posted>(board_, number);
  }

  std::shared_ptr<Board> board_;
  std::size_t member_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<trial::TrialGroup>> make_local_groups(std::size_t members,
                                                                  std::chrono::milliseconds silence) {
  const auto board = std::make_shared<Board>(members, silence);
  std::vector<std::unique_ptr<trial::TrialGroup>> views;
  for (std::size_t member = 0; member < members; ++member) {
    views.push_back(std::make_unique<LocalGroup>(board, member));
  }
  return views;
}

}  // namespace skyline::testing
