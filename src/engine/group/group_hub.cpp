#include "engine/group/group_hub.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"

#include <algorithm>
#include <exception>
#include <thread>

namespace skyline::engine {
namespace {

using namespace std::chrono_literals;
using trial::Failure;

constexpr auto kSilence = 300s;
constexpr auto kPatienceForMessages = 1s;
constexpr std::chrono::milliseconds kSignOfLife = 1s;

const Failure kLostRank{trial::FailureKind::kException, "a rank of the group is lost"};

}  // namespace

/// A member's view of the active group.
class GroupHub::View final : public trial::TrialGroup {
 public:
  View(GroupHub& hub, std::shared_ptr<GroupExchange> exchange, std::size_t local, std::size_t member)
      : hub_(hub), exchange_(std::move(exchange)), local_(local), member_(member) {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() override {
    exchange_.reset();  // its messages must be freed before the hub closes
    hub_.leave();
  }

  std::size_t members() const override { return exchange_->place().members; }
  std::size_t member() const override { return member_; }
  trial::Place place_of(std::size_t member) const override {
    const GroupPlace& group = exchange_->place();
    const std::size_t index = group.rank_of(member);
    return place_of_thread(hub_.places_.at(static_cast<std::size_t>(group.ranks[index])), hub_.binds_,
                           member - group.first_member(index));
  }

  std::unique_ptr<Operation> all_reduce(std::span<float> values) override {
    return post(GroupCall::kAllReduce, std::as_writable_bytes(values));
  }
  std::unique_ptr<Operation> reduce_scatter(std::span<float> values) override {
    return post(GroupCall::kReduceScatter, std::as_writable_bytes(values));
  }
  std::unique_ptr<Operation> all_gather(std::span<float> values) override {
    return post(GroupCall::kAllGather, std::as_writable_bytes(values));
  }
  void sum(std::span<double> values) override {
    post(GroupCall::kSum, std::as_writable_bytes(values))->wait();
  }
  void broadcast(std::span<std::byte> bytes) override { post(GroupCall::kBroadcast, bytes)->wait(); }
  void check() override { exchange_->check(); }
  void abort(const Failure& failure, bool fault) noexcept override { exchange_->abort(failure, fault); }

 private:
  class Posted final : public Operation {
   public:
    Posted(std::shared_ptr<GroupExchange> exchange, std::size_t local, std::uint64_t number)
        : exchange_(std::move(exchange)), local_(local), number_(number) {}
    Posted(const Posted&) = delete;
    Posted& operator=(const Posted&) = delete;
    ~Posted() override { exchange_->leave(local_, number_, std::uncaught_exceptions() > exceptions_); }
    bool test() override { return exchange_->test(number_); }
    void wait() override { exchange_->wait(number_); }

   private:
    std::shared_ptr<GroupExchange> exchange_;
    std::size_t local_;
    std::uint64_t number_;
    int exceptions_ = std::uncaught_exceptions();
  };

  std::unique_ptr<Operation> post(GroupCall call, std::span<std::byte> values) {
    return std::make_unique<Posted>(exchange_, local_, exchange_->post(local_, call, values));
  }

  GroupHub& hub_;
  std::shared_ptr<GroupExchange> exchange_;
  std::size_t local_;
  std::size_t member_;
};

trial::Place place_of_thread(trial::Place rank, bool binds, std::size_t thread) {
  if (binds && !rank.processors.empty()) rank.processors = {rank.processors[thread % rank.processors.size()]};
  return rank;
}

GroupHub::GroupHub(std::unique_ptr<comm::Mailbox> mailbox, std::vector<trial::Place> places, bool binds,
                   std::chrono::milliseconds silence)
    : mailbox_(std::move(mailbox)), places_(std::move(places)), binds_(binds), silence_(silence) {}

GroupHub::~GroupHub() = default;

std::unique_ptr<GroupHub> GroupHub::make(comm::Environment& environment, bool forms_groups,
                                         const trial::Place& place, bool binds) {
  comm::Communicator& world = environment.world();
  std::unique_ptr<comm::Mailbox> mailbox;
  std::vector<trial::Place> places;
  if (forms_groups) {
    mailbox = environment.make_mailbox();
    places = comm::share(world, comm::gather(world, place));
  }
  return std::make_unique<GroupHub>(std::move(mailbox), std::move(places), binds, kSilence);
}

std::vector<std::unique_ptr<trial::TrialGroup>> GroupHub::join(const GroupPlace& place) {
  if (place.ranks.size() > 1 && !spans_ranks()) {
    throw UserError("a group of " + std::to_string(place.ranks.size()) +
                    " ranks needs an MPI library that lets all threads communicate (MPI_THREAD_MULTIPLE); "
                    "this one does not: keep groups on one rank");
  }
  const auto own = mailbox_ ? std::ranges::find(place.ranks, mailbox_->rank()) : place.ranks.begin();
  require(own != place.ranks.end(), "this rank is not of the group that it joins");
  const auto rank_index = static_cast<std::size_t>(own - place.ranks.begin());
  require(place.rank_of(place.members - 1) + 1 == place.ranks.size(),
          "the members of a group are not spread over its ranks in blocks of a power of two");

  std::vector<comm::Message> early;
  std::shared_ptr<GroupExchange> exchange;
  {
    const std::lock_guard lock(mutex_);
    require(!active_, "a rank has members in one group at a time");
    require(!last_sequence_ || *last_sequence_ < place.sequence, "groups are joined in their order");
    exchange = std::make_shared<GroupExchange>(place, rank_index, *this, silence_);
    active_ = exchange;
    views_ = place.members_of(rank_index);
    last_sequence_ = place.sequence;
    const auto [first, end] = early_.equal_range(place.sequence);
    for (auto message = first; message != end; ++message) early.push_back(std::move(message->second));
    early_.erase(early_.begin(), end);  // including messages of groups that never begin
  }
  for (const comm::Message& message : early) exchange->deliver(message);
  if (gave_up(place.sequence)) exchange->give_up(kLostRank);

  std::vector<std::unique_ptr<trial::TrialGroup>> views;
  for (std::size_t local = 0; local < place.members_of(rank_index); ++local) {
    views.push_back(std::make_unique<View>(*this, exchange, local, place.first_member(rank_index) + local));
  }
  return views;
}

void GroupHub::send_heartbeat() {
  const auto now = std::chrono::steady_clock::now();
  if (!mailbox_ || now - shown_ < std::min(kSignOfLife, silence_ / 4)) return;
  shown_ = now;
  std::shared_ptr<GroupExchange> exchange;
  {
    const std::lock_guard lock(mutex_);
    exchange = active_;
  }
  if (exchange) exchange->send_heartbeat();
}

void GroupHub::give_up(std::uint64_t sequence) {
  std::shared_ptr<GroupExchange> exchange;
  {
    const std::lock_guard lock(mutex_);
    given_up_.insert(sequence);
    if (active_ && last_sequence_ == sequence) exchange = active_;
  }
  if (exchange) exchange->give_up(kLostRank);
}

bool GroupHub::gave_up(std::uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  return given_up_.contains(sequence);
}

void GroupHub::leave() {
  std::shared_ptr<GroupExchange> last;
  {
    const std::lock_guard lock(mutex_);
    if (--views_ > 0) return;
    last = active_;
  }
  try {
    // Others may need the rest of a message to get as far as this rank.
    const auto deadline = std::chrono::steady_clock::now() + kPatienceForMessages;
    while (!last->has_sent_all() && std::chrono::steady_clock::now() < deadline) {
      if (!poll()) std::this_thread::sleep_for(50us);
    }
  } catch (const std::exception&) {  // the others will notice that this rank is silent
  }
  {
    const std::lock_guard lock(mutex_);
    last.reset();
    active_.reset();
  }
  left_.notify_all();
}

std::optional<std::string> GroupHub::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

void GroupHub::close() {
  {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return active_ == nullptr; });
    early_.clear();
  }
  if (mailbox_) mailbox_->close();
}

bool GroupHub::poll() {
  if (!mailbox_) return false;
  const std::unique_lock polling(polling_, std::try_to_lock);
  if (!polling) return false;
  auto message = mailbox_->receive();
  if (!message) return false;
  deliver(*std::move(message));
  return true;
}

void GroupHub::deliver(comm::Message message) {
  const GroupHeader header = header_of(*message.buffer);
  const std::uint64_t sequence = header.sequence;
  std::shared_ptr<GroupExchange> exchange;
  {
    const std::lock_guard lock(mutex_);
    if (!last_sequence_ || sequence > *last_sequence_) {
      if (header.step != GroupStep::kAlive) early_.emplace(sequence, std::move(message));
      return;
    }
    // Drops messages of a trial that was given up, for which nobody waits.
    if (!active_ || sequence < *last_sequence_) return;
    exchange = active_;
  }
  exchange->deliver(message);
}

std::string GroupHub::name_of(int rank) const {
  const int named = mailbox_ ? rank : 0;
  const auto index = static_cast<std::size_t>(named);
  return "rank " + std::to_string(named) + (index < places_.size() ? ", " + places_[index].host : "");
}

void GroupHub::report_fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (!fault_) fault_ = what;
}

}  // namespace skyline::engine
