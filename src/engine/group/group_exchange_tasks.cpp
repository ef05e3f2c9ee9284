// The tasks of GroupExchange, which send, add and copy pieces.

#include "skyline/core/error.hpp"

#include "engine/group/group_exchange.hpp"
#include "engine/group/group_hub.hpp"

#include <exception>

namespace skyline::engine {
namespace {

constexpr int kTasksAtOnce = 8;                       // small, so that a test stays short
constexpr std::size_t kMostUnsentPieces = 4U << 20U;  // bytes; keeps data in the cache

template <typename T>
void add_typed(const std::vector<const std::byte*>& terms, std::size_t bytes,
               const std::vector<std::byte*>& results) {
  std::vector<const T*> from(terms.size());
  std::vector<T*> to(results.size());
  std::ranges::transform(terms, from.begin(), [](auto* term) { return reinterpret_cast<const T*>(term); });
  std::ranges::transform(results, to.begin(), [](auto* result) { return reinterpret_cast<T*>(result); });
  add_along_tree(std::span<const T* const>(from), bytes / sizeof(T), std::span<T* const>(to));
}

void add(GroupCall call, const std::vector<const std::byte*>& terms, std::size_t bytes,
         const std::vector<std::byte*>& results) {
  if (call == GroupCall::kSum) {
    add_typed<double>(terms, bytes, results);
  } else {
    add_typed<float>(terms, bytes, results);
  }
}

std::string text_of(GroupCall call, std::size_t bytes) {
  return std::string(name_of(call)) + " of " + std::to_string(bytes) + " bytes";
}

}  // namespace

GroupExchange::Operation& GroupExchange::operation_of(std::uint64_t number, GroupCall call,
                                                      std::size_t bytes) {
  const auto [found, is_new] = operations_.try_emplace(number);
  Operation& operation = found->second;
  if (is_new) {
    operation.call = call;
    operation.bytes = bytes;
    operation.pieces = cut_into_pieces(call, bytes, place_);
    operation.states.resize(operation.pieces.size());
    for (PieceState& state : operation.states) state.terms.resize(joined_.size());
    operation.values.resize(members_);
    operation.has.resize(members_);
  } else if (operation.call != call || operation.bytes != bytes) {
    throw InternalError("operation " + std::to_string(number) + " of a group is " + text_of(call, bytes) +
                        " for one member, " + text_of(operation.call, operation.bytes) + " for another");
  }
  return operation;
}

bool GroupExchange::owns(const GroupPiece& piece) const {
  return piece.owner == rank_index_ || piece.owner == GroupPiece::kEveryone;
}

bool GroupExchange::must_contribute(GroupCall call, const GroupPiece& piece) const {
  return adds(call) && place_.ranks.size() > 1 && piece.owner != rank_index_;
}

void GroupExchange::start(std::uint64_t number, Operation& operation) {
  if (operation.call != GroupCall::kBroadcast) joined_[rank_index_] = true;
  for (std::size_t piece = 0; piece < operation.pieces.size(); ++piece) {
    if (must_contribute(operation.call, operation.pieces[piece])) {
      contributions_.push_back({number, &operation, piece, true});
    }
    schedule_if_ready(number, operation, piece);
  }
  changed_.notify_all();
  erase_if_done(number, operation);
}

bool GroupExchange::is_ready(const Operation& operation, std::size_t piece) const {
  const PieceState& state = operation.states[piece];
  const GroupPiece& range = operation.pieces[piece];
  if (!owns(range)) return state.result != nullptr;
  if (!adds(operation.call)) return true;
  const std::size_t own = range.owner == GroupPiece::kEveryone ? 0 : 1;
  return state.arrived + own == joined_.size();
}

void GroupExchange::schedule_if_ready(std::uint64_t number, Operation& operation, std::size_t piece) {
  PieceState& state = operation.states[piece];
  if (failure_ || state.scheduled || operation.posted < members_ || !is_ready(operation, piece)) return;
  state.scheduled = true;
  last_tasks_.push_back({number, &operation, piece, false});
  changed_.notify_all();
}

void GroupExchange::erase_if_done(std::uint64_t number, const Operation& operation) {
  if (operation.posted < members_ || operation.at_work > 0) return;
  if (operation.pieces_done < operation.pieces.size()) return;
  operations_.erase(number);
  changed_.notify_all();
}

void GroupExchange::deliver(const comm::Message& message) {
  const GroupHeader header = header_of(*message.buffer);
  if (header.step == GroupStep::kAborted) {
    const auto text = payload_of(*message.buffer);
    const trial::Failure failure{header.failure,
                                 std::string(reinterpret_cast<const char*>(text.data()), text.size())};
    set_aborted(failure, header.fault);  // the sender informs all ranks
    return;
  }
  try {
    const std::lock_guard lock(mutex_);
    require(header.from < joined_.size(), "a message of a group comes from outside of it");
    silences_[header.from].hear(Clock::now());
    if (!failure_ && header.step != GroupStep::kAlive) receive(message, header);
  } catch (const std::exception& error) {
    abort({trial::FailureKind::kException, error.what()}, true);
  }
}

void GroupExchange::receive(const comm::Message& message, const GroupHeader& header) {
  if (header.call != GroupCall::kBroadcast) joined_[header.from] = true;
  Operation& operation = operation_of(header.number, header.call, header.bytes);
  require(header.piece < operation.pieces.size(), "a message of a group names a piece that is not there");
  const GroupPiece& range = operation.pieces[header.piece];
  require(payload_of(*message.buffer).size() == range.end - range.begin,
          "a message of a group has a wrong size");
  PieceState& state = operation.states[header.piece];
  if (header.step == GroupStep::kResult) {
    state.result = message.buffer;
  } else {
    state.terms[header.from] = message.buffer;
    ++state.arrived;
  }
  schedule_if_ready(header.number, operation, header.piece);
}

bool GroupExchange::progress(std::uint64_t number) {
  bool has_worked = false;
  for (int done = 0; done < kTasksAtOnce; ++done) {
    if (const std::optional<Task> task = pop_task()) {
      perform(*task);
    } else {
      {
        const std::lock_guard lock(mutex_);
        if (is_complete(number)) return true;
      }
      // It polls only when there is nothing else to do, because on a busy machine polling may give the
      // processor away.
      if (!poll()) break;
    }
    has_worked = true;
  }
  return has_worked;
}

bool GroupExchange::poll() {
  try {
    return hub_.poll();
  } catch (const std::exception& error) {
    abort({trial::FailureKind::kException, error.what()}, true);
    return false;
  }
}

bool GroupExchange::has_task() const {
  if (one_has_left()) return false;
  if (!last_tasks_.empty()) return true;
  if (contributions_.empty()) return false;
  // Contributions wait while too much is unsent, except to an operation that is older than the newest result:
  // members may read that result only after they have finished the older operation.
  return contributions_.front().number < newest_result_ ||
         hub_.unsent_bytes() <= unsent_before_ + kMostUnsentPieces;
}

std::optional<GroupExchange::Task> GroupExchange::pop_task() {
  const std::lock_guard lock(mutex_);
  if (!has_task()) return std::nullopt;
  auto& tasks = last_tasks_.empty() ? contributions_ : last_tasks_;
  const Task task = tasks.front();
  tasks.pop_front();
  if (!task.contribute) newest_result_ = std::max(newest_result_, task.number);
  ++task.operation->at_work;
  ++at_work_;
  return task;
}

void GroupExchange::perform(const Task& task) {
  std::optional<std::string> problem;
  try {
    const GroupPiece& piece = task.operation->pieces[task.piece];
    if (task.contribute) {
      contribute(task);
    } else if (!owns(piece)) {
      accept_result(task);
    } else if (adds(task.operation->call)) {
      add_up(task);
    } else {
      copy_from_member(task);
    }
  } catch (const std::exception& error) {
    problem = error.what();
  }
  finish_task(task);
  if (problem) abort({trial::FailureKind::kException, *problem}, true);
}

void GroupExchange::finish_task(const Task& task) {
  const std::lock_guard lock(mutex_);
  Operation& operation = *task.operation;
  --at_work_;
  --operation.at_work;
  if (failure_ || one_has_left()) changed_.notify_all();  // some threads wait until no value is in use
  if (failure_) return;
  if (!task.contribute) {
    PieceState& state = operation.states[task.piece];
    state.terms.assign(state.terms.size(), nullptr);  // frees them for the next operation
    state.result.reset();
  }
  // No result is returned for a sum for one member of another rank.
  if (!task.contribute || operation.call == GroupCall::kReduceScatter) ++operation.pieces_done;
  erase_if_done(task.number, operation);
}

void GroupExchange::contribute(const Task& task) {
  const auto message = message_for(task, GroupStep::kContribution);
  add_members(task, payload_of(*message).data());
  const std::size_t owner = task.operation->pieces[task.piece].owner;
  if (owner != GroupPiece::kEveryone) {
    hub_.send(place_.ranks[owner], message);
    return;
  }
  send_to_others(message);
  const std::lock_guard lock(mutex_);
  PieceState& state = task.operation->states[task.piece];
  state.terms[rank_index_] = message;
  ++state.arrived;
  schedule_if_ready(task.number, *task.operation, task.piece);
}

void GroupExchange::add_members(const Task& task, std::byte* sum) {
  const GroupPiece& piece = task.operation->pieces[task.piece];
  add(task.operation->call, terms_of_members(task), piece.end - piece.begin, {sum});
}

std::vector<const std::byte*> GroupExchange::terms_of_members(const Task& task) {
  const GroupPiece& piece = task.operation->pieces[task.piece];
  std::vector<const std::byte*> terms;
  for (const auto& member : task.operation->values) terms.push_back(member.data() + piece.begin);
  return terms;
}

void GroupExchange::add_up(const Task& task) {
  const Operation& operation = *task.operation;
  const GroupPiece& piece = operation.pieces[task.piece];
  const std::size_t bytes = piece.end - piece.begin;

  std::vector<std::byte*> results;
  for (std::size_t local = 0; local < members_; ++local) {
    const bool gets = operation.call != GroupCall::kReduceScatter ||
                      piece.member == place_.first_member(rank_index_) + local;
    if (gets) results.push_back(operation.values[local].data() + piece.begin);
  }
  std::shared_ptr<comm::Buffer> message;  // result that the other ranks get
  if (place_.ranks.size() > 1 && piece.owner == rank_index_ && operation.call != GroupCall::kReduceScatter) {
    message = message_for(task, GroupStep::kResult);
    results.push_back(payload_of(*message).data());
  }
  std::vector<const std::byte*> terms = terms_of_members(task);
  std::shared_ptr<comm::Buffer> own;
  if (place_.ranks.size() > 1) {
    if (members_ > 1 && piece.owner == rank_index_) {
      own = pool_.acquire(bytes);
      add_members(task, own->bytes().data());
      terms = {own->bytes().data()};
    }
    terms = terms_of_ranks(task, terms.front());
  }
  add(operation.call, terms, bytes, results);
  if (message) send_to_others(message);
}

std::vector<const std::byte*> GroupExchange::terms_of_ranks(const Task& task, const std::byte* own) {
  std::vector<const std::byte*> terms;
  for (const auto& term : task.operation->states[task.piece].terms) {
    terms.push_back(term ? payload_of(*term).data() : own);
  }
  return terms;
}

void GroupExchange::copy_from_member(const Task& task) {
  const Operation& operation = *task.operation;
  const GroupPiece& piece = operation.pieces[task.piece];
  const std::size_t source = piece.member - place_.first_member(rank_index_);
  const auto range = [&](std::size_t local) {
    return operation.values[local].subspan(piece.begin, piece.end - piece.begin);
  };
  if (place_.ranks.size() > 1) {
    const auto message = message_for(task, GroupStep::kResult);
    std::ranges::copy(range(source), payload_of(*message).begin());
    send_to_others(message);
  }
  for (std::size_t local = 0; local < members_; ++local) {
    if (local != source) std::ranges::copy(range(source), range(local).begin());
  }
}

void GroupExchange::accept_result(const Task& task) {
  const GroupPiece& piece = task.operation->pieces[task.piece];
  const auto result = payload_of(*task.operation->states[task.piece].result);
  for (const auto& member : task.operation->values) {
    std::ranges::copy(result, member.subspan(piece.begin).begin());
  }
}

std::shared_ptr<comm::Buffer> GroupExchange::message_for(const Task& task, GroupStep step) {
  const GroupPiece& piece = task.operation->pieces[task.piece];
  return make_message({.number = task.number,
                       .bytes = task.operation->bytes,
                       .piece = static_cast<std::uint32_t>(task.piece),
                       .call = task.operation->call,
                       .step = step},
                      piece.end - piece.begin);
}

std::shared_ptr<comm::Buffer> GroupExchange::make_message(const GroupHeader& content, std::size_t payload) {
  GroupHeader header = content;
  header.sequence = place_.sequence;
  header.from = static_cast<std::uint32_t>(rank_index_);
  auto message = hub_.acquire(sizeof(GroupHeader) + payload);
  write_header(header, *message);
  return message;
}

void GroupExchange::send_to_others(const std::shared_ptr<const comm::Buffer>& message) {
  const std::size_t ranks = place_.ranks.size();
  for (std::size_t step = 1; step < ranks; ++step)
    hub_.send(place_.ranks[(rank_index_ + step) % ranks], message);
}

}  // namespace skyline::engine
