#include "trial/packed_trial.hpp"

#include "skyline/core/error.hpp"

#include "trial/trial_fields.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace skyline::trial {
namespace {

constexpr unsigned kVarintBits = 7;
constexpr unsigned kVarintMore = 1U << kVarintBits;  // another byte follows

/// Of a start; neither: fresh.
constexpr std::uint8_t kInherits = 1;
constexpr std::uint8_t kContinues = 2;

/// Whole numbers, which are mostly small, take as many bytes as they need.
class Packer {
 public:
  explicit Packer(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  void whole(std::uint64_t value) {
    for (; value >= kVarintMore; value >>= kVarintBits) byte(static_cast<std::uint8_t>(value | kVarintMore));
    byte(static_cast<std::uint8_t>(value));
  }
  void byte(std::uint8_t value) { bytes_.push_back(std::byte{value}); }
  template <typename Number>
  void raw(const Number& value) {
    const auto place = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), place.begin(), place.end());
  }
  void flags(const std::vector<bool>& values) {
    whole(values.size());
    std::uint8_t eight = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i]) eight = static_cast<std::uint8_t>(eight | 1U << i % 8);
      if (i % 8 == 7 || i + 1 == values.size()) byte(std::exchange(eight, 0));
    }
  }
  void text(const std::string& value) {
    whole(value.size());
    for (const char character : value) byte(static_cast<std::uint8_t>(character));
  }

  void operator()(const char* /*name*/, Origin origin) { byte(static_cast<std::uint8_t>(origin)); }
  void operator()(const char* /*name*/, std::int32_t value) { whole(static_cast<std::uint32_t>(value)); }
  void operator()(const char* /*name*/, std::uint32_t value) { whole(value); }
  void operator()(const char* /*name*/, std::uint64_t value) { raw(value); }
  void operator()(const char* /*name*/, double value) { raw(value); }
  void operator()(const char* /*name*/, const std::vector<TrialNumber>& numbers) {
    whole(numbers.size());
    for (const TrialNumber number : numbers) whole(number);
  }
  void operator()(const char* /*name*/, const Start& start) {
    const auto* earlier = std::get_if<Continue>(&start);
    const Inherit* inherit = inherit_of(start);
    byte(static_cast<std::uint8_t>((earlier != nullptr ? kContinues : 0) |
                                   (inherit != nullptr ? kInherits : 0)));
    if (earlier != nullptr) {
      whole(earlier->from);
      raw(earlier->epochs);
      raw(earlier->holder);
    }
    if (inherit == nullptr) return;
    whole(inherit->from);
    raw(inherit->share);
    raw(inherit->holder);
  }

 private:
  std::vector<std::byte>& bytes_;
};

class Unpacker {
 public:
  Unpacker(std::span<const std::byte> bytes, const ArchitectureOf* parent) : bytes_(bytes), parent_(parent) {}

  std::uint64_t whole() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += kVarintBits) {
      const std::uint64_t next = byte();
      value |= (next & (kVarintMore - 1)) << shift;
      if (next < kVarintMore) return value;
    }
  }
  std::uint8_t byte() { return std::to_integer<std::uint8_t>(bytes_[place_++]); }
  template <typename Number>
  void raw(Number& value) {
    std::memcpy(&value, bytes_.subspan(place_, sizeof value).data(), sizeof value);
    place_ += sizeof value;
  }
  std::vector<bool> flags() {
    std::vector<bool> values(whole());
    std::uint8_t eight = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 8 == 0) eight = byte();
      values[i] = (eight >> i % 8 & 1U) != 0;
    }
    return values;
  }
  std::string text() {
    std::string value(whole(), '\0');
    for (char& character : value) character = static_cast<char>(byte());
    return value;
  }

  void operator()(const char* /*name*/, Origin& origin) { origin = static_cast<Origin>(byte()); }
  void operator()(const char* /*name*/, std::int32_t& value) { value = static_cast<std::int32_t>(whole()); }
  void operator()(const char* /*name*/, std::uint32_t& value) { value = static_cast<std::uint32_t>(whole()); }
  void operator()(const char* /*name*/, std::uint64_t& value) { raw(value); }
  void operator()(const char* /*name*/, double& value) { raw(value); }
  void operator()(const char* /*name*/, std::vector<TrialNumber>& numbers) {
    numbers.resize(whole());
    for (TrialNumber& number : numbers) number = whole();
  }
  void operator()(const char* /*name*/, Start& start) {
    const std::uint8_t kind = byte();
    Continue earlier;
    if ((kind & kContinues) != 0) {
      earlier.from = whole();
      raw(earlier.epochs);
      raw(earlier.holder);
    }
    std::optional<Inherit> inherit;
    if ((kind & kInherits) != 0) inherit = inherited();
    if ((kind & kContinues) != 0) {
      earlier.began = std::move(inherit);
      start = std::move(earlier);
    } else if (inherit) {
      start = *std::move(inherit);
    }
  }

 private:
  Inherit inherited() {
    Inherit inherit;
    inherit.from = whole();
    inherit.architecture = (*parent_)(inherit.from);
    raw(inherit.share);
    raw(inherit.holder);
    return inherit;
  }

  std::span<const std::byte> bytes_;
  std::size_t place_ = 0;
  const ArchitectureOf* parent_;
};

TrialName take_name(Unpacker& unpacker) {
  TrialName name{unpacker.whole()};
  name.is_final = unpacker.byte() != 0;
  return name;
}

void pack_architecture(const space::Architecture& architecture, Packer& packer) {
  packer.raw(architecture.id);
  packer.whole(architecture.genotype.choices.size());
  for (const std::uint32_t choice : architecture.genotype.choices) packer.whole(choice);
  packer.flags(architecture.used);
  for (const space::NamedCost& cost : space::kCosts)
    packer.whole(static_cast<std::uint64_t>(architecture.cost.*cost.value));
}

ArchitecturePointer take_architecture(Unpacker& unpacker, const ArchitectureMaker& make) {
  space::ArchId id{};
  unpacker.raw(id);
  space::Genotype genotype;
  genotype.choices.resize(unpacker.whole());
  for (std::uint32_t& choice : genotype.choices) choice = static_cast<std::uint32_t>(unpacker.whole());
  std::vector<bool> used = unpacker.flags();
  space::Cost cost;
  for (const space::NamedCost& each : space::kCosts)
    cost.*each.value = static_cast<std::int64_t>(unpacker.whole());
  return make(id, std::move(genotype), std::move(used), cost);
}

void pack_outcome(const Outcome& outcome, Packer& packer) {
  if (const auto* failure = std::get_if<Failure>(&outcome)) {
    packer.byte(1);
    packer.byte(static_cast<std::uint8_t>(failure->kind));
    packer.text(failure->reason);
    return;
  }
  packer.byte(0);
  const std::vector<double>& values = std::get<Measurements>(outcome).values;
  packer.whole(values.size());
  for (const double value : values) packer.raw(value);
}

Outcome take_outcome(Unpacker& unpacker) {
  if (unpacker.byte() != 0) {
    const auto kind = static_cast<FailureKind>(unpacker.byte());
    return Failure{kind, unpacker.text()};
  }
  Measurements measurements;
  measurements.values.resize(unpacker.whole());
  for (double& value : measurements.values) unpacker.raw(value);
  return measurements;
}

}  // namespace

void pack(const CommittedTrial& committed, std::vector<std::byte>& bytes) {
  const Trial& trial = committed.trial;
  Packer packer(bytes);
  packer.whole(trial.number);
  packer.byte(trial.is_final() ? 1 : 0);
  pack_architecture(trial.architecture(), packer);
  for_each_field(packer, trial);
  pack_outcome(committed.outcome, packer);
  for_each_timing(packer, committed.timing);
}

CommittedTrial unpack(std::span<const std::byte> bytes, const ArchitectureMaker& make,
                      const ArchitectureOf& parent) {
  CommittedTrial committed;
  Trial& trial = committed.trial;
  Unpacker unpacker(bytes, &parent);
  const TrialName name = take_name(unpacker);
  trial.number = name.number;
  if (name.is_final) trial.proposal.trains = name.number;
  trial.proposal.architecture = take_architecture(unpacker, make);
  for_each_field(unpacker, trial);
  committed.outcome = take_outcome(unpacker);
  for_each_timing(unpacker, committed.timing);
  return committed;
}

ArchitecturePointer unpack_architecture(std::span<const std::byte> bytes, const ArchitectureMaker& make) {
  Unpacker unpacker(bytes, nullptr);
  take_name(unpacker);
  return take_architecture(unpacker, make);
}

TrialName unpack_name(std::span<const std::byte> bytes) {
  Unpacker unpacker(bytes, nullptr);
  return take_name(unpacker);
}

}  // namespace skyline::trial
