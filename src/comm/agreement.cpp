#include "comm/agreement.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace skyline::comm {

std::string share(Communicator& world, std::string text) {
  return broadcast_text(world, std::move(text), 0);
}

bool any(Communicator& world, bool here) {
  const std::vector<std::uint8_t> all = gather(world, static_cast<std::uint8_t>(here));
  return share(world, std::ranges::count(all, 1) > 0);
}

std::string first_problem(Communicator& world, const std::string& here, const std::string& signature) {
  if (!any(world, !here.empty())) return {};  // the usual case, without a text from every rank
  const std::vector<std::string> problems = gather_texts(world, here, 0);
  const std::vector<std::string> signatures = gather_texts(world, signature, 0);
  const auto first = std::ranges::find_if(problems, [](const auto& text) { return !text.empty(); });
  std::string told;
  if (first != problems.end()) {
    const std::string& signed_by = signatures[static_cast<std::size_t>(first - problems.begin())];
    const bool everywhere = std::ranges::count(problems, *first) == std::ssize(problems);
    told = (everywhere || signed_by.empty() ? "" : signed_by + " ") + *first;
  }
  return share(world, std::move(told));
}

}  // namespace skyline::comm
