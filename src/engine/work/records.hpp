#pragma once

#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include "engine/work/dispatcher.hpp"
#include "engine/work/placement.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace skyline::engine {

/// Longest reason of a failed trial; what is longer is cut when the failure is made, so that a journal does
/// not depend on the way that a result took.
constexpr std::size_t kReasonBytes = 240;

/// The first line of the text, cut to kReasonBytes between two UTF-8 characters.
std::string fit_reason(std::string_view text);

/// A name in 8 bytes.
std::uint64_t pack(trial::TrialName name);
trial::TrialName unpack_name(std::uint64_t packed);

/// A trial and its group as bytes of a size that the space fixes. Ranks of a job share one byte order.
class TrialRecord {
 public:
  explicit TrialRecord(const space::SearchSpace& space);
  std::size_t bytes() const;
  void write(const Assignment& assignment, std::span<std::byte> record) const;
  /// Rebuilds the architectures.
  /// @throws InternalError if this rank builds another architecture than the one that was sent
  Assignment read(std::span<const std::byte> record) const;

 private:
  std::size_t genotype_bytes() const;
  std::size_t genotype_offset() const;
  void write_genotype(const space::Architecture& architecture, std::span<std::byte> place) const;
  std::shared_ptr<const space::Architecture> build(std::span<const std::byte> place, std::uint64_t arch_id,
                                                   trial::TrialNumber number) const;

  const space::SearchSpace* space_;
};

/// A result as bytes of a size that the number of metrics fixes.
class ResultRecord {
 public:
  explicit ResultRecord(std::size_t metrics) : metrics_(metrics) {}
  std::size_t bytes() const;
  /// @pre a failure's reason fits kReasonBytes; measurements have the number of metrics
  void write(const Arrival& arrival, std::span<std::byte> record) const;
  Arrival read(std::span<const std::byte> record) const;

 private:
  std::size_t metrics_;
};

}  // namespace skyline::engine
