#include "skyline/core/random.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace skyline {

std::uint64_t RandomStream::next() {
  return engine_.next();
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  require(bound > 0, "RandomStream::below needs a positive bound");
  return engine_.below(bound);
}

double RandomStream::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::size_t RandomStream::weighted(std::span<const double> weights) {
  const bool valid = std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; });
  require(valid, "RandomStream::weighted got a negative weight");
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  require(total > 0, "RandomStream::weighted needs a positive weight");
  double left = uniform() * total;
  std::size_t last_positive = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    if (left < weights[i]) return i;
    left -= weights[i];
    last_positive = i;
  }
  return last_positive;  // rounding errors can leave a rest
}

std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose,
                          std::initializer_list<std::uint64_t> numbers) {
  std::string text;
  constexpr std::size_t kDigitsAndSpace = 17;
  text.reserve(purpose.size() + kDigitsAndSpace * (1 + numbers.size()));
  append_hex(text, seed);
  text += ' ';
  text += purpose;
  for (const std::uint64_t number : numbers) {
    text += ' ';
    append_hex(text, number);
  }
  return stable_hash64(text);
}

}  // namespace skyline
