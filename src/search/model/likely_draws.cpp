#include "search/model/likely_draws.hpp"

#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

namespace skyline::search {
namespace {

constexpr double kBest = 0.1;           // share of the results that are the best ones
constexpr std::size_t kMostBest = 25;   // and their largest number
constexpr int kTries = 24;              // values of which one is taken
constexpr std::size_t kMostBins = 256;  // most bins of a number
constexpr double kNarrowest = 0.01;     // least width of a bump, as a share of the range
constexpr double kFar = 5;              // widths beyond which a bump is 0

/// Returns the share of each word: a result gives 1 to its own and a little to all, and one result more gives
/// the same to all.
std::vector<double> shares_of_words(std::size_t count, const std::vector<std::uint32_t>& choices) {
  const auto words = static_cast<double>(count);
  const double parts = static_cast<double>(choices.size()) + 1;
  const double of_a_result = 1 + words / parts;
  const double of_all = (parts - 1) / parts / of_a_result + 1 / words;
  std::vector<double> shares(count, of_all / parts);
  for (const std::uint32_t choice : choices) shares[choice] += 1 / of_a_result / parts;
  return shares;
}

/// Adds a normal density that is cut off at the ends, as a share of all bins. Both numbers are in bins.
void add_bump(double centre, double width, double share, std::vector<double>& shares) {
  const double last = static_cast<double>(shares.size()) - 1;
  const auto begin = static_cast<std::size_t>(std::clamp(centre - kFar * width, 0.0, last));
  const auto end = static_cast<std::size_t>(std::clamp(centre + kFar * width, 0.0, last)) + 1;
  std::vector<double> bump;
  for (std::size_t bin = begin; bin < end; ++bin) {
    const double distance = (static_cast<double>(bin) - centre) / width;
    bump.push_back(exp_of(-0.5 * distance * distance));
  }
  const double sum = std::accumulate(bump.begin(), bump.end(), 0.0);
  for (std::size_t bin = begin; bin < end; ++bin) shares[bin] += share * bump[bin - begin] / sum;
}

/// Returns the share of each bin of a number: each result has a bump at its own, as wide as the larger gap to
/// its neighbours. One of these is the middle of the range, whose bump is as wide as the range.
std::vector<double> shares_of_numbers(std::size_t bins, std::vector<double> centres) {
  const auto range = static_cast<double>(bins);
  const std::size_t middle = centres.size();
  centres.push_back((range - 1) / 2);
  std::vector<std::size_t> rising(centres.size());
  std::iota(rising.begin(), rising.end(), std::size_t{0});
  std::ranges::stable_sort(rising, {}, [&](std::size_t i) { return centres[i]; });
  const auto parts = static_cast<double>(centres.size());
  const double narrowest = range * std::max(kNarrowest, 1 / (parts + 1));
  std::vector<double> shares(bins, 0.0);
  for (std::size_t i = 0; i < rising.size(); ++i) {
    const double centre = centres[rising[i]];
    const double before = i > 0 ? centre - centres[rising[i - 1]] : 0;
    const double after = i + 1 < rising.size() ? centres[rising[i + 1]] - centre : 0;
    const double width = std::clamp(std::max(before, after), narrowest, range);
    add_bump(centre, rising[i] == middle ? range : width, 1 / parts, shares);
  }
  return shares;
}

}  // namespace

LikelyDraws::LikelyDraws(const space::SearchSpace& space, const Embedding& embedding,
                         std::span<const CandidatePointer> ranked)
    : space_(space) {
  const auto tenth = static_cast<std::size_t>(std::ceil(kBest * static_cast<double>(ranked.size())));
  const std::size_t best = std::min(tenth, kMostBest);
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    const std::vector<double>& places = embedding.places(i);
    const std::size_t count = space.parameters()[i].values.size();
    const std::size_t bins = places.empty() ? count : std::min(count, kMostBins);
    const auto shares_of = [&](std::span<const CandidatePointer> results) {
      std::vector<std::uint32_t> choices;
      for (const CandidatePointer& result : results) {
        if (result->architecture->used[i]) choices.push_back(result->architecture->genotype.choices[i]);
      }
      if (places.empty()) return shares_of_words(count, choices);
      std::vector<double> centres;
      for (const std::uint32_t choice : choices)
        centres.push_back(places[choice] * static_cast<double>(bins - 1));
      return shares_of_numbers(bins, std::move(centres));
    };
    Parameter& parameter = parameters_.emplace_back();
    parameter.rising.resize(count);
    std::iota(parameter.rising.begin(), parameter.rising.end(), 0U);
    if (!places.empty())
      std::ranges::sort(parameter.rising, {}, [&](std::uint32_t choice) { return places[choice]; });
    parameter.best = shares_of(ranked.first(best));
    parameter.quotients = parameter.best;
    const std::vector<double> others = shares_of(ranked.subspan(best));
    for (std::size_t bin = 0; bin < bins; ++bin) parameter.quotients[bin] /= others[bin];
  }
}

space::Genotype LikelyDraws::draw(RandomStream& random) const {
  space::Genotype genotype = space_.sample(random);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::uint32_t choice = likely_choice(parameters_[i], random);
    if (auto changed = space_.with_choice(genotype, i, choice, random)) genotype = std::move(*changed);
  }
  return genotype;
}

std::uint32_t LikelyDraws::likely_choice(const Parameter& parameter, RandomStream& random) const {
  const std::size_t bins = parameter.best.size();
  std::size_t likely = random.weighted(parameter.best);
  for (int i = 1; i < kTries; ++i) {
    const std::size_t other = random.weighted(parameter.best);
    if (parameter.quotients[other] > parameter.quotients[likely]) likely = other;
  }
  const std::size_t count = parameter.rising.size();
  const std::size_t first = (likely * count + bins - 1) / bins;  // value of the bin
  const std::size_t next = ((likely + 1) * count + bins - 1) / bins;
  return parameter.rising[first + static_cast<std::size_t>(random.below(next - first))];
}

}  // namespace skyline::search
