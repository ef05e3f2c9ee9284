#include "comm/communicator.hpp"

#include "core/backoff.hpp"

#include <algorithm>
#include <cstdint>

namespace skyline::comm {

void wait(Request& request) {
  Backoff backoff;
  while (!request.test()) backoff.pause();
}

std::string broadcast_text(Communicator& communicator, std::string text, int root) {
  std::uint64_t length = text.size();
  wait(*communicator.broadcast(std::as_writable_bytes(std::span(&length, 1)), root));
  text.resize(length);
  wait(*communicator.broadcast(std::as_writable_bytes(std::span(text)), root));
  return text;
}

std::vector<std::string> gather_texts(Communicator& communicator, const std::string& text, int root) {
  const bool is_root = communicator.rank() == root;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::uint64_t length = text.size();
  std::vector<std::uint64_t> lengths(is_root ? ranks : 0);
  wait(*communicator.gather(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)),
                            root));

  std::uint64_t longest = is_root ? *std::ranges::max_element(lengths) : 0;
  wait(*communicator.broadcast(std::as_writable_bytes(std::span(&longest, 1)), root));
  std::string padded = text;
  padded.resize(longest);
  std::string all(is_root ? ranks * longest : 0, '\0');
  wait(*communicator.gather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)), root));

  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    texts.push_back(all.substr(rank * longest, lengths[rank]));
  }
  return texts;
}

}  // namespace skyline::comm
