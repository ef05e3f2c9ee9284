#include "engine/work/records.hpp"

#include "skyline/core/error.hpp"

#include "trial/trial_fields.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace skyline::engine {
namespace {

enum class RecordKind : std::uint8_t { kTrial = 1, kMeasurements, kFailure, kFollower };

/// The part of a trial record that every space has.
struct TrialHead {
  trial::TrialNumber number = 0;
  std::uint64_t arch_id = 0;
  std::uint64_t inherits_arch_id = 0;  // if the trial inherits
  RecordKind kind = RecordKind::kTrial;
  std::uint8_t is_final = 0;
  std::uint8_t last = 0;
  std::uint32_t attempt = 0;
  std::uint32_t group_members = 0;
  std::int32_t group_first_rank = 0;
  std::int32_t group_ranks = 0;  // 0: no group
  std::uint64_t group_sequence = 0;
};

/// The part of a result record that does not depend on the number of metrics.
struct ResultHead {
  std::uint64_t trial = 0;  // packed
  trial::TrialTiming timing;
  RecordKind kind = RecordKind::kMeasurements;
  trial::FailureKind failure = trial::FailureKind::kException;
  std::uint8_t reason_bytes = 0;
  std::uint8_t unsaved = 0;
  std::uint8_t again = 0;
  std::uint32_t attempt = 0;
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

/// The parents and the start of a trial in a record, where every field has a fixed size.
struct PackedParents {
  std::uint64_t count = 0;
  std::array<trial::TrialNumber, trial::kMostParents> numbers{};
};
struct PackedStart {
  std::uint64_t kind = 0;  // index of the alternative
  trial::TrialNumber from = 0;
  double share = 0;
  std::int64_t holder = -1;
  std::uint64_t inherits = 0;  // whether the three above are set
  trial::TrialNumber continues = 0;
  double continued_epochs = 0;
  std::int64_t continued_holder = -1;
};

template <typename Field>
Field pack_field(const Field& field) {
  return field;
}

PackedParents pack_field(const std::vector<trial::TrialNumber>& parents) {
  require(parents.size() <= trial::kMostParents, "a trial with too many parents");
  PackedParents packed{.count = parents.size()};
  std::ranges::copy(parents, packed.numbers.begin());
  return packed;
}

PackedStart pack_field(const trial::Start& start) {
  PackedStart packed{.kind = start.index()};
  if (const auto* earlier = std::get_if<trial::Continue>(&start)) {
    packed.continues = earlier->from;
    packed.continued_epochs = earlier->epochs;
    packed.continued_holder = earlier->holder;
  }
  if (const auto* inherit = trial::inherit_of(start)) {
    packed.inherits = 1;
    packed.from = inherit->from;
    packed.share = inherit->share;
    packed.holder = inherit->holder;
  }
  return packed;
}

template <typename Field>
void unpack_field(const Field& packed, Field& field) {
  field = packed;
}

void unpack_field(const PackedParents& packed, std::vector<trial::TrialNumber>& parents) {
  require(packed.count <= trial::kMostParents, "a damaged trial record");
  parents.assign(packed.numbers.begin(), packed.numbers.begin() + static_cast<std::ptrdiff_t>(packed.count));
}

/// The architecture of a parent follows later.
void unpack_field(const PackedStart& packed, trial::Start& start) {
  const trial::Inherit inherit{packed.from, nullptr, packed.share, static_cast<std::int32_t>(packed.holder)};
  if (packed.kind == trial::Start(trial::Inherit{}).index()) {
    start = inherit;
  } else if (packed.kind == trial::Start(trial::Continue{}).index()) {
    start = trial::Continue{packed.continues, packed.continued_epochs,
                            packed.inherits != 0 ? std::optional(inherit) : std::nullopt,
                            static_cast<std::int32_t>(packed.continued_holder)};
  }
}

/// Bytes that the fields of any trial take.
std::size_t field_bytes() {
  std::size_t bytes = 0;
  const trial::Trial any;
  trial::for_each_field([&](const char*, const auto& field) { bytes += sizeof(pack_field(field)); }, any);
  return bytes;
}

void put_fields(const trial::Trial& trial, std::span<std::byte> place) {
  const auto put_field = [&](const char*, const auto& field) {
    const auto packed = pack_field(field);
    put(packed, place);
    place = place.subspan(sizeof packed);
  };
  trial::for_each_field(put_field, trial);
}

void take_fields(std::span<const std::byte> place, trial::Trial& trial) {
  const auto take_field = [&](const char*, auto& field) {
    using Packed = decltype(pack_field(field));
    unpack_field(take<Packed>(place), field);
    place = place.subspan(sizeof(Packed));
  };
  trial::for_each_field(take_field, trial);
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

/// Where the genotypes begin: behind the head and the fields.
std::size_t TrialRecord::genotype_offset() const {
  return sizeof(TrialHead) + field_bytes();
}

/// The head, the fields, the genotype of the trial, and that of the trial it inherits from.
std::size_t TrialRecord::bytes() const {
  return genotype_offset() + 2 * genotype_bytes();
}

void TrialRecord::write(const Assignment& assignment, std::span<std::byte> record) const {
  const trial::Trial& trial = *assignment.trial;
  require(record.size() == bytes(), "a trial record of the wrong size");
  TrialHead head{.number = trial.number,
                 .arch_id = static_cast<std::uint64_t>(trial.architecture().id),
                 .is_final = trial.is_final() ? std::uint8_t{1} : std::uint8_t{0},
                 .last = assignment.last ? std::uint8_t{1} : std::uint8_t{0},
                 .attempt = assignment.attempt};
  put_fields(trial, record.subspan(sizeof head));
  write_genotype(trial.architecture(), record.subspan(genotype_offset()));
  if (const trial::Inherit* inherits = trial.inherits()) {
    head.inherits_arch_id = static_cast<std::uint64_t>(inherits->architecture->id);
    write_genotype(*inherits->architecture, record.subspan(genotype_offset() + genotype_bytes()));
  }
  if (assignment.group) {
    head.group_members = static_cast<std::uint32_t>(assignment.group->members);
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

Assignment TrialRecord::read(std::span<const std::byte> record) const {
  require(record.size() == bytes(), "a trial record of the wrong size");
  const auto head = take<TrialHead>(record);
  require(head.kind == RecordKind::kTrial, "a damaged trial record");

  const auto shared = std::make_shared<trial::Trial>();
  Assignment assignment{shared, std::nullopt, head.attempt, head.last != 0};
  trial::Trial& trial = *shared;
  trial.number = head.number;
  if (head.is_final != 0) trial.proposal.trains = head.number;
  take_fields(record.subspan(sizeof head), trial);
  trial.proposal.architecture = build(record.subspan(genotype_offset()), head.arch_id, head.number);
  if (auto* inherits = trial::inherit_of(trial.proposal.start)) {
    inherits->architecture =
        build(record.subspan(genotype_offset() + genotype_bytes()), head.inherits_arch_id, inherits->from);
  }
  if (head.group_ranks > 0) {
    assignment.group = {head.group_sequence, head.group_members, head.group_first_rank, head.group_ranks};
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
  head.attempt = arrival.attempt;
  head.again = arrival.again ? 1 : 0;
  if (arrival.follower) {
    head.kind = RecordKind::kFollower;
  } else if (const auto* failure = std::get_if<trial::Failure>(&arrival.outcome)) {
    require(failure->reason.size() <= kReasonBytes, "the reason of a failure is too long for its record");
    head.kind = RecordKind::kFailure;
    head.failure = failure->kind;
    head.reason_bytes = static_cast<std::uint8_t>(failure->reason.size());
    std::ranges::copy(failure->reason, head.reason.begin());
  } else {
    const std::vector<double>& values = std::get<trial::Measurements>(arrival.outcome).values;
    require(values.size() == metrics_, "a result with the wrong number of metrics");
    std::ranges::copy(std::as_bytes(std::span(values)), record.subspan(sizeof head).begin());
  }
  put(head, record);
}

Arrival ResultRecord::read(std::span<const std::byte> record) const {
  require(record.size() == bytes(), "a result record of the wrong size");
  const auto head = take<ResultHead>(record);
  Arrival arrival{unpack_name(head.trial), trial::Measurements{}, head.timing, head.unsaved != 0};
  arrival.attempt = head.attempt;
  arrival.again = head.again != 0;
  if (head.kind == RecordKind::kFollower) {
    arrival.follower = true;
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
