#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "search/surrogate/embedding.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace skyline::search {

/// An architecture, without its network, and its place in a model.
struct Candidate {
  ArchitecturePointer architecture;
  ModelPoint point;
  std::uint64_t key = 0;  // the same for equal points of one architecture
};
using CandidatePointer = std::shared_ptr<const Candidate>;
/// Makes the candidate of an architecture; its network is not kept.
/// @param features  those of its network
CandidatePointer make_candidate(const Embedding& embedding, const space::Architecture& architecture,
                                const std::vector<space::Feature>& features);
/// Returns the place of a candidate with a part of the whole budget.
/// @param budget  as in ModelPoint
CandidatePointer with_budget(const Candidate& whole, double budget);

/// Returns the points of candidates as a process takes them.
Points points_of(std::span<const CandidatePointer> candidates, const PointSpace& space);
/// Returns the candidates with the costs that a program counts. @pre the pool has a counter
std::vector<CandidatePointer> with_costs(const CandidatePool& pool,
                                         const std::vector<CandidatePointer>& candidates);

/// The architectures among which a model chooses: all of a small space, as long as there are few trials, else
/// mutants and crossovers of the best trials, and random ones. Building their networks is what a choice
/// costs, so later choices, when more is known, get fewer, and what is known of a genotype is kept, in
/// bounded memory. What it draws depends only on the arguments and on what was proposed. Not
/// thread-safe.
class CandidateSet {
 public:
  /// Spaces of up to this many genotypes are enumerated once.
  static constexpr std::int64_t kEnumeratedGenotypes = 20'000;
  /// Most numbers that a model keeps of all candidates, one for each trial.
  static constexpr std::size_t kMostNumbers = 6'000'000;

  /// The arguments must outlive this object.
  CandidateSet(CandidatePool& pool, const Embedding& embedding);

  /// Has so many threads build networks, from now on; candidates are the same.
  void use_threads(std::size_t threads) { threads_ = threads; }
  /// Returns candidates for a choice, none twice. If a program counts costs, they are without these.
  /// @param parents  the best trials, best first
  /// @param number   how many trials were chosen before
  std::vector<CandidatePointer> draw(const std::vector<CandidatePointer>& parents, std::size_t number,
                                     RandomStream& random);
  /// Returns the candidates of these genotypes that were not proposed, none twice.
  std::vector<CandidatePointer> of(const std::vector<space::Genotype>& genotypes);
  /// Adds to `drawn` some candidates that differ from the centre in one parameter. It does nothing if every
  /// candidate of the space was drawn.
  void add_near(const CandidatePointer& centre, std::size_t number, RandomStream& random,
                std::vector<CandidatePointer>& drawn);

 private:
  struct Found {
    CandidatePointer candidate;  // nullptr if the genotype is none
    space::ArchId function{};    // Architecture::function_id()
  };

  /// The cheapest candidate of each function, the first of equal ones, in the order of the first of each.
  struct Cheapest {
    Found* place_for(space::ArchId function, std::int64_t flops);
    std::vector<Found> all;

   private:
    std::unordered_map<space::ArchId, std::size_t> places_;  // index in `all` by function
  };

  std::vector<Found> all_beginning_with(const std::vector<std::uint32_t>& first) const;
  void enumerate();
  void keep_a_part(std::size_t most, std::vector<CandidatePointer>& drawn);
  Found make(const space::Genotype& genotype) const;
  void add(const std::vector<space::Genotype>& genotypes, std::vector<CandidatePointer>& drawn);
  void add(const Found& found, std::vector<CandidatePointer>& drawn);
  std::optional<space::Genotype> changed(const space::Architecture& parent, std::size_t changes,
                                         RandomStream& random) const;

  CandidatePool& pool_;
  const Embedding& embedding_;
  std::size_t threads_ = 1;
  std::optional<std::vector<Found>> all_;  // cheapest candidate of each function, if the space is small
  bool are_all_ = false;                   // whether the last draw took every candidate of `all_`
  std::map<std::vector<std::uint32_t>, Found> known_;  // candidates by their choices
  std::unordered_set<space::ArchId> drawn_ids_;        // architectures drawn for the present choice
};

}  // namespace skyline::search
