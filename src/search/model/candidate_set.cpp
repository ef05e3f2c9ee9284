#include "search/model/candidate_set.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <unordered_map>
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
constexpr std::size_t kNear = 25;  // neighbours of each centre
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
  for (std::size_t i = 0; i < part(kRandom, share); ++i) {
    add(find(pool_.space().sample(random)), drawn);
  }
  for (std::size_t i = 0; i < part(kMutants, share) && !parents.empty(); ++i) {
    const space::Architecture& parent = *parents[i % parents.size()]->architecture;
    if (const auto mutant = changed(parent, kChanges[random.below(kChanges.size())], random)) {
      add(find(*mutant), drawn);
    }
  }
  for (std::size_t i = 0; i < part(kCrossovers, share) && parents.size() > 1; ++i) {
    const space::Architecture& first = *parents[random.below(parents.size())]->architecture;
    const space::Architecture& second = *parents[random.below(parents.size())]->architecture;
    if (const auto child = pool_.space().cross(first, second, random)) add(find(*child), drawn);
  }
  return drawn;
}

void CandidateSet::add_near(const CandidatePointer& centre, std::size_t number, RandomStream& random,
                            std::vector<CandidatePointer>& drawn) {
  if (are_all_) return;
  for (std::size_t i = 0; i < part(kNear, share_of(number)); ++i) {
    if (const auto near = changed(*centre->architecture, 1, random)) add(find(*near), drawn);
  }
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

/// Returns the candidate of a genotype; none if it is not valid or was proposed.
CandidateSet::Found CandidateSet::find(const space::Genotype& genotype) {
  if (const auto known = known_.find(genotype.choices); known != known_.end()) return known->second;
  const std::size_t numbers = pool_.space().parameters().size() * 2 + embedding_.features();
  if (known_.size() * (kCandidateBytes + numbers * sizeof(double)) >= kMostKnownBytes) known_.clear();
  Found& known = known_[genotype.choices];
  const ArchitecturePointer built = pool_.uncounted(genotype);
  if (built != nullptr && !pool_.is_proposed(built->id)) {
    known = {make_candidate(embedding_, *built, space::features(*built)), built->function_id()};
  }
  return known;
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

/// What was proposed does not count here: a resumed run enumerates later than the first job did.
void CandidateSet::enumerate() {
  std::vector<Found> all;
  std::unordered_map<space::ArchId, std::size_t> places;  // index in `all` by function
  std::vector<bool> reads;
  for (space::GenotypeWalk walk(pool_.space()); !walk.finished(); walk.advance(reads)) {
    const ArchitecturePointer built = pool_.uncounted(walk.current(), &reads);
    if (built == nullptr) continue;
    const space::ArchId function = built->function_id();
    const auto [place, is_new] = places.try_emplace(function, all.size());
    if (is_new) all.emplace_back();
    Found& kept = all[place->second];
    if (is_new || built->cost.flops < kept.candidate->architecture->cost.flops)
      kept = {make_candidate(embedding_, *built, space::features(*built)), function};
  }
  all_ = std::move(all);
}

}  // namespace skyline::search
