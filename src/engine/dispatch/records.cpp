#include "engine/dispatch/records.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace skyline::engine {
namespace {

constexpr std::size_t kMostParents = 2;
enum class RecordKind : std::uint8_t { kEmpty = 0, kTrial, kMeasurements, kFailure, kHelper };

/// The part of a trial record that every space has.
struct TrialHead {
  trial::TrialNumber number = 0;
  double epochs = 0;
  std::uint64_t seed = 0;
  std::uint64_t arch_id = 0;
  std::array<trial::TrialNumber, kMostParents> parents{};
  std::uint32_t iteration = 0;
  RecordKind kind = RecordKind::kEmpty;
  std::uint8_t is_final = 0;
  trial::Origin origin = trial::Origin::kInitial;
  std::uint8_t parent_count = 0;
  std::uint8_t inherits = 0;
  trial::TrialNumber inherits_from = 0;
  std::uint64_t inherits_arch_id = 0;
  double inherits_share = 0;
  std::int32_t inherits_holder = -1;
  std::uint32_t members = 1;
  std::int32_t group_first_rank = 0;
  std::int32_t group_ranks = 0;  // 0: no group
  std::uint64_t group_sequence = 0;
};

/// The part of a result record that does not depend on the number of metrics.
struct ResultHead {
  std::uint64_t trial = 0;  // packed
  trial::TrialTiming timing;
  RecordKind kind = RecordKind::kEmpty;
  trial::FailureKind failure = trial::FailureKind::kException;
  std::uint8_t reason_bytes = 0;
  std::uint8_t unsaved = 0;
  std::array<char, kReasonBytes> reason{};
};

template <typename Head>
void put(const Head& head, std::span<std::byte> record) {
  static_assert(std::is_trivially_copyable_v<Head>);
  std::memcpy(record.data(), &head, sizeof head);
}

template <typename Head>
Head take(std::span<const std::byte> record) {
  static_assert(std::is_trivially_copyable_v<Head>);
  Head head;
  std::memcpy(&head, record.data(), sizeof head);
  return head;
}

}  // namespace

std::uint64_t pack(trial::TrialName name) {
  return name.number << 1U | (name.is_final ? 1U : 0U);
}

trial::TrialName unpack_name(std::uint64_t packed) {
  return {packed >> 1U, (packed & 1U) != 0};
}

std::string fit_reason(std::string_view text) {
  text = text.substr(0, text.find_first_of("\r\n"));
  if (text.size() <= kReasonBytes) return std::string(text);
  std::size_t end = kReasonBytes;
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && continues(end)) --end;
  return std::string(text.substr(0, end));
}

TrialRecord::TrialRecord(const space::SearchSpace& space) : space_(&space) {}

std::size_t TrialRecord::genotype_bytes() const {
  return space_->parameters().size() * sizeof(std::uint32_t);
}

/// The head, the genotype of the trial, and that of the trial it inherits from.
std::size_t TrialRecord::bytes() const {
  return sizeof(TrialHead) + 2 * genotype_bytes();
}

void TrialRecord::write(const Assignment& assignment, std::span<std::byte> record) const {
  const trial::Trial& trial = assignment.trial;
  const trial::Proposal& proposal = trial.proposal;
  require(record.size() == bytes(), "a trial record of the wrong size");
  require(proposal.parents.size() <= kMostParents, "a trial with more than two parents");
  TrialHead head{.number = trial.number,
                 .epochs = trial.budget().epochs,
                 .seed = trial.seed,
                 .arch_id = static_cast<std::uint64_t>(trial.architecture().id),
                 .iteration = proposal.iteration,
                 .kind = RecordKind::kTrial,
                 .is_final = trial.is_final() ? std::uint8_t{1} : std::uint8_t{0},
                 .origin = proposal.origin,
                 .parent_count = static_cast<std::uint8_t>(proposal.parents.size()),
                 .members = trial.members};
  std::ranges::copy(proposal.parents, head.parents.begin());
  write_genotype(trial.architecture(), record.subspan(sizeof head));
  if (const trial::Inherit* inherits = trial.inherits()) {
    head.inherits = 1;
    head.inherits_from = inherits->from;
    head.inherits_arch_id = static_cast<std::uint64_t>(inherits->architecture->id);
    head.inherits_share = inherits->share;
    head.inherits_holder = inherits->holder;
    write_genotype(*inherits->architecture, record.subspan(sizeof head + genotype_bytes()));
  }
  if (assignment.group) {
    head.group_first_rank = assignment.group->first_rank;
    head.group_ranks = assignment.group->ranks;
    head.group_sequence = assignment.group->sequence;
  }
  put(head, record);
}

void TrialRecord::write_genotype(const space::Architecture& architecture, std::span<std::byte> place) const {
  const std::vector<std::uint32_t>& choices = architecture.genotype.choices;
  require(choices.size() == space_->parameters().size(), "a genotype of another space");
  std::ranges::copy(std::as_bytes(std::span(choices)), place.begin());
}

std::shared_ptr<const space::Architecture> TrialRecord::build(std::span<const std::byte> place,
                                                              std::uint64_t arch_id,
                                                              trial::TrialNumber number) const {
  space::Genotype genotype;
  genotype.choices.resize(space_->parameters().size());
  std::memcpy(genotype.choices.data(), place.data(), genotype_bytes());
  auto architecture = std::make_shared<const space::Architecture>(space_->build(genotype));
  if (static_cast<std::uint64_t>(architecture->id) != arch_id) {
    throw InternalError("trial " + std::to_string(number) + ": this rank builds " +
                        to_text(architecture->id) + ", rank 0 sent " + to_text(space::ArchId{arch_id}));
  }
  return architecture;
}

std::optional<Assignment> TrialRecord::read(std::span<const std::byte> record) const {
  require(record.size() == bytes(), "a trial record of the wrong size");
  const auto head = take<TrialHead>(record);
  if (head.kind == RecordKind::kEmpty) return std::nullopt;
  require(head.kind == RecordKind::kTrial && head.parent_count <= kMostParents, "a damaged trial record");

  Assignment assignment;
  trial::Trial& trial = assignment.trial;
  trial.number = head.number;
  trial.seed = head.seed;
  trial.members = head.members;
  trial.proposal = {build(record.subspan(sizeof head), head.arch_id, head.number),
                    head.origin,
                    {head.parents.begin(), head.parents.begin() + head.parent_count},
                    head.iteration,
                    {head.epochs}};
  if (head.is_final != 0) trial.proposal.trains = head.number;
  if (head.inherits != 0) {
    trial::Inherit inherits{head.inherits_from, nullptr, head.inherits_share, head.inherits_holder};
    inherits.architecture =
        build(record.subspan(sizeof head + genotype_bytes()), head.inherits_arch_id, head.inherits_from);
    trial.proposal.start = std::move(inherits);
  }
  if (head.group_ranks > 0) {
    assignment.group = {head.group_sequence, head.members, head.group_first_rank, head.group_ranks};
  }
  return assignment;
}

std::size_t ResultRecord::bytes() const {
  return sizeof(ResultHead) + metrics_ * sizeof(double);
}

void ResultRecord::write(const Arrival& arrival, std::span<std::byte> record) const {
  require(record.size() == bytes(), "a result record of the wrong size");
  ResultHead head{.trial = pack(arrival.trial), .timing = arrival.timing};
  head.unsaved = arrival.unsaved ? 1 : 0;
  if (arrival.helper) {
    head.kind = RecordKind::kHelper;
  } else if (const auto* failure = std::get_if<trial::Failure>(&arrival.outcome)) {
    require(failure->reason.size() <= kReasonBytes, "the reason of a failure is too long for its record");
    head.kind = RecordKind::kFailure;
    head.failure = failure->kind;
    head.reason_bytes = static_cast<std::uint8_t>(failure->reason.size());
    std::ranges::copy(failure->reason, head.reason.begin());
  } else {
    const std::vector<double>& values = std::get<trial::Measurements>(arrival.outcome).values;
    require(values.size() == metrics_, "a result with the wrong number of metrics");
    head.kind = RecordKind::kMeasurements;
    std::ranges::copy(std::as_bytes(std::span(values)), record.subspan(sizeof head).begin());
  }
  put(head, record);
}

std::optional<Arrival> ResultRecord::read(std::span<const std::byte> record) const {
  require(record.size() == bytes(), "a result record of the wrong size");
  const auto head = take<ResultHead>(record);
  if (head.kind == RecordKind::kEmpty) return std::nullopt;
  Arrival arrival{unpack_name(head.trial), trial::Measurements{}, head.timing, head.unsaved != 0};
  if (head.kind == RecordKind::kHelper) {
    arrival.helper = true;
  } else if (head.kind == RecordKind::kFailure) {
    arrival.outcome = trial::Failure{head.failure, std::string(head.reason.data(), head.reason_bytes)};
  } else {
    require(head.kind == RecordKind::kMeasurements, "a damaged result record");
    std::vector<double>& values = std::get<trial::Measurements>(arrival.outcome).values;
    values.resize(metrics_);
    std::memcpy(values.data(), record.data() + sizeof head, metrics_ * sizeof(double));
  }
  return arrival;
}

}  // namespace skyline::engine
