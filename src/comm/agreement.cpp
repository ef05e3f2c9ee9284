#include "comm/agreement.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <cstdint>

namespace skyline::comm {
namespace {

/// The reason why a rank cannot continue, with the signature of the rank.
struct SignedProblem {
  std::string text;
  std::string signature;
};

template <typename Visitor>
void for_each_field(SignedProblem& problem, Visitor& visit) {
  visit(problem.text, problem.signature);
}

void check_length(std::uint64_t bytes, std::size_t most) {
  if (bytes <= most) return;
  throw InternalError("a rank's record has " + std::to_string(bytes) + " bytes, at most " +
                      std::to_string(most) + " are expected");
}

}  // namespace

std::string share_record(Communicator& world, std::string record) {
  if (world.rank() == 0) check_length(record.size(), kMostSharedBytes);
  const std::uint64_t length = share(world, std::uint64_t{record.size()});
  check_length(length, kMostSharedBytes);
  record.resize(length);
  wait(*world.broadcast(std::as_writable_bytes(std::span(record)), 0));
  return record;
}

std::vector<std::string> gather_records(Communicator& world, std::string record) {
  check_length(record.size(), kMostGatheredBytes);
  const std::vector<std::uint64_t> lengths = gather(world, std::uint64_t{record.size()});
  const std::uint64_t longest = share(world, lengths.empty() ? 0 : *std::ranges::max_element(lengths));
  check_length(longest, kMostGatheredBytes);
  record.resize(longest);
  std::string all(lengths.size() * longest, '\0');
  wait(*world.gather(std::as_bytes(std::span(record)), std::as_writable_bytes(std::span(all)), 0));

  std::vector<std::string> records;
  for (const std::uint64_t length : lengths) records.push_back(all.substr(records.size() * longest, length));
  return records;
}

bool any(Communicator& world, bool here) {
  const std::vector<std::uint8_t> all = gather(world, static_cast<std::uint8_t>(here));
  return share(world, std::ranges::count(all, 1) > 0);
}

bool same_everywhere(Communicator& world, std::string_view text) {
  const std::uint64_t mine = stable_hash64(text);
  return !any(world, share(world, mine) != mine);
}

std::string first_problem(Communicator& world, const std::string& here, const std::string& signature) {
  if (!any(world, !here.empty())) return {};  // In the usual case no rank sends a text.
  const std::vector<SignedProblem> problems = gather(world, SignedProblem{here, signature});
  const auto first =
      std::ranges::find_if(problems, [](const auto& problem) { return !problem.text.empty(); });
  std::string told;
  if (first != problems.end()) {
    const bool everywhere =
        std::ranges::count(problems, first->text, &SignedProblem::text) == std::ssize(problems);
    told = (everywhere || first->signature.empty() ? "" : first->signature + " ") + first->text;
  }
  return share(world, std::move(told));
}

}  // namespace skyline::comm
