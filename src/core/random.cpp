#include "skyline/core/random.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/hash.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

namespace skyline {
namespace {

__extension__ using Wide = unsigned __int128;

// Steele, Lea and Flood, OOPSLA 2014.
std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

std::uint64_t RandomStream::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// Lemire, ACM TOMACS 29(1), 2019: a multiplication instead of a division, and a redraw of the few low
// products that would favour some results.
std::uint64_t RandomStream::below(std::uint64_t bound) {
  require(bound > 0, "RandomStream::below needs a positive bound");
  Wide product = Wide{next()} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = Wide{next()} * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
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
  return last_positive;  // rounding ate the rest
}

std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose,
                          std::initializer_list<std::uint64_t> numbers) {
  std::string text = to_hex(seed) + ' ' + std::string(purpose);
  for (const std::uint64_t number : numbers) text += ' ' + to_hex(number);
  return stable_hash64(text);
}

}  // namespace skyline
