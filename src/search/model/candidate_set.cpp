#include "search/model/candidate_set.hpp"

#include "core/system/parts.hpp"
#include "core/text/hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <ranges>
#include <span>
#include <string>
#include <utility>

namespace skyline::search {
namespace {

constexpr std::size_t kCandidateBytes = 500;  // without its numbers, about
constexpr std::size_t kMostKnownBytes = 60'000'000;
/// Numbers of changed parameters of a mutant; one is drawn.
constexpr std::array<std::size_t, 7> kChanges{1, 1, 1, 2, 2, 3, 5};
// How many are tried for a choice, up to kFullChoices; then ever fewer, down to a fifth.
constexpr std::size_t kMutants = 240;
constexpr std::size_t kCrossovers = 60;
constexpr std::size_t kRandom = 60;
constexpr std::size_t kNear = 25;           // neighbours of each centre
constexpr std::size_t kBuiltOfAPart = 4;    // networks
constexpr std::size_t kPartsOfAThread = 4;  // parts of a space, which differ in size
constexpr double kFullChoices = 200;
constexpr double kLeastShare = 0.2;

double share_of(std::size_t number) {
  return std::clamp(kFullChoices / static_cast<double>(number + 1), kLeastShare, 1.0);
}

std::size_t part(std::size_t count, double share) {
  return static_cast<std::size_t>(static_cast<double>(count) * share);
}

}  // namespace

/// Two genotypes of one architecture may use different parameters. They are different points then, with
/// different keys.
CandidatePointer make_candidate(const Embedding& embedding, const space::Architecture& architecture,
                                const std::vector<space::Feature>& features) {
  std::string text = to_text(architecture.id);
  for (std::size_t i = 0; i < architecture.used.size(); ++i) {
    text += architecture.used[i] ? ' ' + std::to_string(architecture.genotype.choices[i]) : " -";
  }
  return std::make_shared<const Candidate>(
      Candidate{std::make_shared<const space::Architecture>(architecture.unbuilt()),
                embedding.point(architecture, features), stable_hash64(text)});
}

CandidatePointer with_budget(const Candidate& whole, double budget) {
  Candidate part = whole;
  part.point.budget = budget;
  part.key =
      stable_hash64(std::to_string(whole.key) + " " + std::to_string(std::bit_cast<std::uint64_t>(budget)));
  return std::make_shared<const Candidate>(std::move(part));
}

Points points_of(std::span<const CandidatePointer> candidates, const PointSpace& space) {
  const auto count = std::ssize(candidates);
  Points points{Eigen::MatrixXd(std::ssize(space.ordinal), count), Eigen::MatrixXd(space.features, count),
                Eigen::RowVectorXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    const ModelPoint& point = candidates[static_cast<std::size_t>(i)]->point;
    points.parameters.col(i) = point.parameters;
    points.features.col(i) = point.features;
    points.budgets[i] = point.budget;
  }
  return points;
}

std::vector<CandidatePointer> with_costs(const CandidatePool& pool,
                                         const std::vector<CandidatePointer>& candidates) {
  std::vector<ArchitecturePointer> architectures;
  for (const CandidatePointer& one : candidates) architectures.push_back(one->architecture);
  architectures = pool.count_costs(std::move(architectures));
  std::vector<CandidatePointer> counted;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    counted.push_back(std::make_shared<const Candidate>(
        Candidate{architectures[i], candidates[i]->point, candidates[i]->key}));
  }
  return counted;
}

CandidateSet::CandidateSet(CandidatePool& pool, const Embedding& embedding)
    : pool_(pool), embedding_(embedding) {}

std::vector<CandidatePointer> CandidateSet::draw(const std::vector<CandidatePointer>& parents,
                                                 std::size_t number, RandomStream& random) {
  drawn_ids_.clear();
  std::vector<CandidatePointer> drawn;
  if (pool_.space().genotype_count() <= kEnumeratedGenotypes) {
    if (!all_) enumerate();
    for (const Found& found : *all_) add(found, drawn);
    are_all_ = drawn.size() <= kMostNumbers / (number + 1);
    if (are_all_) return drawn;
    keep_a_part(kMostNumbers / (number + 1), drawn);
  }
  const double share = share_of(number);
  std::vector<space::Genotype> genotypes;
  for (std::size_t i = 0; i < part(kRandom, share); ++i) genotypes.push_back(pool_.space().sample(random));
  for (std::size_t i = 0; i < part(kMutants, share) && !parents.empty(); ++i) {
    const space::Architecture& parent = *parents[i % parents.size()]->architecture;
    if (auto mutant = changed(parent, kChanges[random.below(kChanges.size())], random))
      genotypes.push_back(std::move(*mutant));
  }
  for (std::size_t i = 0; i < part(kCrossovers, share) && parents.size() > 1; ++i) {
    const space::Architecture& first = *parents[random.below(parents.size())]->architecture;
    const space::Architecture& second = *parents[random.below(parents.size())]->architecture;
    if (auto child = pool_.space().cross(first, second, random)) genotypes.push_back(std::move(*child));
  }
  add(genotypes, drawn);
  return drawn;
}

std::vector<CandidatePointer> CandidateSet::of(const std::vector<space::Genotype>& genotypes) {
  drawn_ids_.clear();
  std::vector<CandidatePointer> drawn;
  add(genotypes, drawn);
  return drawn;
}

void CandidateSet::add_near(const CandidatePointer& centre, std::size_t number, RandomStream& random,
                            std::vector<CandidatePointer>& drawn) {
  if (are_all_) return;
  std::vector<space::Genotype> genotypes;
  for (std::size_t i = 0; i < part(kNear, share_of(number)); ++i) {
    if (auto near = changed(*centre->architecture, 1, random)) genotypes.push_back(std::move(*near));
  }
  add(genotypes, drawn);
}

/// Keeps so many of those that were drawn: by their keys, which are hashes, so that nearly all are kept from
/// one choice to the next, and what a model keeps of them is of use.
void CandidateSet::keep_a_part(std::size_t most, std::vector<CandidatePointer>& drawn) {
  std::ranges::stable_sort(drawn, {}, [](const CandidatePointer& one) { return one->key; });
  drawn.resize(most);
  drawn_ids_.clear();
  for (const CandidatePointer& one : drawn) drawn_ids_.insert(one->architecture->id);
}

/// Adds a candidate to those that were drawn, unless it, or the network that its function's id names, was
/// proposed, or it is among them.
void CandidateSet::add(const Found& found, std::vector<CandidatePointer>& drawn) {
  if (found.candidate == nullptr || pool_.is_proposed(found.candidate->architecture->id) ||
      pool_.is_proposed(found.function)) {
    return;
  }
  if (drawn_ids_.insert(found.candidate->architecture->id).second) drawn.push_back(found.candidate);
}

/// Adds the candidates of genotypes, those of valid ones that were not proposed.
void CandidateSet::add(const std::vector<space::Genotype>& genotypes, std::vector<CandidatePointer>& drawn) {
  const std::size_t numbers = pool_.space().parameters().size() * 2 + embedding_.features();
  if (known_.size() * (kCandidateBytes + numbers * sizeof(double)) >= kMostKnownBytes) known_.clear();
  std::vector<std::pair<const space::Genotype*, Found*>> unknown;
  std::vector<const Found*> all;
  for (const space::Genotype& genotype : genotypes) {
    const auto [known, is_new] = known_.try_emplace(genotype.choices);
    if (is_new) unknown.emplace_back(&genotype, &known->second);
    all.push_back(&known->second);
  }
  in_parts(unknown.size(), kBuiltOfAPart, threads_, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) *unknown[i].second = make(*unknown[i].first);
  });
  for (const Found* found : all) add(*found, drawn);
}

/// Returns the candidate of a genotype; none if it is not valid or was proposed. Threads may share it.
CandidateSet::Found CandidateSet::make(const space::Genotype& genotype) const {
  const ArchitecturePointer built = pool_.uncounted(genotype);
  if (built == nullptr || pool_.is_proposed(built->id)) return {};
  return {make_candidate(embedding_, *built, space::features(*built)), built->function_id()};
}

/// Returns the parent with other values of some of the parameters that it uses.
std::optional<space::Genotype> CandidateSet::changed(const space::Architecture& parent, std::size_t changes,
                                                     RandomStream& random) const {
  const std::vector<space::Parameter>& parameters = pool_.space().parameters();
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parent.used[i] && parameters[i].values.size() > 1) places.push_back(i);
  }
  random.shuffle(std::span(places));
  std::optional<space::Genotype> genotype(parent.genotype);
  for (std::size_t i = 0; i < std::min(changes, places.size()) && genotype; ++i) {
    const std::size_t place = places[i];
    auto choice = static_cast<std::uint32_t>(random.below(parameters[place].values.size() - 1));
    if (choice >= genotype->choices[place]) ++choice;
    genotype = pool_.space().with_choice(*genotype, place, choice, random);
  }
  return genotype;
}

/// Returns where the next candidate of a function goes; nullptr if there is one that costs no more.
CandidateSet::Found* CandidateSet::Cheapest::place_for(space::ArchId function, std::int64_t flops) {
  const auto [place, is_new] = places_.try_emplace(function, all.size());
  if (is_new) return &all.emplace_back();
  Found& kept = all[place->second];
  return flops < kept.candidate->architecture->cost.flops ? &kept : nullptr;
}

/// Returns the candidates whose genotypes begin with these choices, in the order of the walk. Threads may
/// share it.
std::vector<CandidateSet::Found> CandidateSet::all_beginning_with(
    const std::vector<std::uint32_t>& first) const {
  Cheapest cheapest;
  space::GenotypeWalk walk(pool_.space());
  std::vector<bool> reads;
  for (std::size_t parameter = 0; parameter < first.size(); ++parameter) {
    reads.assign(pool_.space().parameters().size(), false);
    reads[parameter] = true;
    for (std::uint32_t i = 0; i < first[parameter]; ++i) walk.advance(reads);
  }
  const auto begins_so = [&] {
    return !walk.finished() &&
           std::ranges::equal(first, std::span(walk.current().choices).first(first.size()));
  };
  for (; begins_so(); walk.advance(reads)) {
    const ArchitecturePointer built = pool_.uncounted(walk.current(), &reads);
    if (built == nullptr) continue;
    const space::ArchId function = built->function_id();
    if (Found* const place = cheapest.place_for(function, built->cost.flops))
      *place = {make_candidate(embedding_, *built, space::features(*built)), function};
  }
  return std::move(cheapest.all);
}

/// What was proposed does not count here: a resumed run enumerates later than the first job did. Each part of
/// the space has its first parameters in common.
void CandidateSet::enumerate() {
  std::vector<std::vector<std::uint32_t>> parts{{}};
  for (const space::Parameter& parameter : pool_.space().parameters()) {
    if (threads_ == 1 || parts.size() >= kPartsOfAThread * threads_) break;
    std::vector<std::vector<std::uint32_t>> finer;
    for (const std::vector<std::uint32_t>& part : parts) {
      for (std::uint32_t choice = 0; choice < parameter.values.size(); ++choice) {
        finer.push_back(part);
        finer.back().push_back(choice);
      }
    }
    parts = std::move(finer);
  }
  std::vector<std::vector<Found>> found(parts.size());
  in_parts(parts.size(), 1, threads_,
           [&](std::size_t part, std::size_t) { found[part] = all_beginning_with(parts[part]); });
  Cheapest cheapest;
  for (const Found& one : std::views::join(found)) {
    if (Found* const place = cheapest.place_for(one.function, one.candidate->architecture->cost.flops))
      *place = one;
  }
  all_ = std::move(cheapest.all);
}

}  // namespace skyline::search
