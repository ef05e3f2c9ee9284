#pragma once

#include "skyline/trial/evaluator.hpp"

#include "comm/mailbox.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::engine {

enum class WeightsStep : std::uint32_t { kQuestion, kWeights, kRefusal };

/// The start of each letter about a trial's weights.
struct WeightsHeader {
  WeightsStep step = WeightsStep::kQuestion;
  std::uint32_t tensors = 0;   // number of tensors that follow
  std::uint64_t question = 0;  // number of the question on the asking rank
  std::uint64_t trial = 0;
};

/// Bytes of a letter with these tensors.
std::size_t letter_bytes(std::span<const trial::NamedTensor> tensors);
/// Writes a letter and sets header.tensors. @pre letter has letter_bytes(tensors)
void write_letter(WeightsHeader header, std::span<const trial::NamedTensor> tensors, comm::Parcel& letter);
/// Reads the header. @throws InternalError for a malformed letter
WeightsHeader weights_header_of(const comm::Parcel& letter);
std::vector<trial::NamedTensor> tensors_of(const comm::Parcel& letter);

}  // namespace skyline::engine
