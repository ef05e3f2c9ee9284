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

std::string first_problem(Communicator& world, const std::string& here) {
  if (!any(world, !here.empty())) return {};  // the usual case, without a text from every rank
  std::string first;
  for (std::string& text : gather_texts(world, here, 0)) {
    if (first.empty()) first = std::move(text);
  }
  return share(world, std::move(first));
}

}  // namespace skyline::comm
