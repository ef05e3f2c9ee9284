#pragma once

#include "skyline/trial/evaluator.hpp"

#include "comm/mailbox.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::engine {

enum class WeightsStep : std::uint32_t { kQuestion, kWeights, kRefusal };

/// The start of each message about a trial's weights.
struct WeightsHeader {
  WeightsStep step = WeightsStep::kQuestion;
  std::uint32_t tensors = 0;   // number of tensors that follow
  std::uint64_t question = 0;  // number of the question on the asking rank
  std::uint64_t trial = 0;
};

/// Bytes of a message with these tensors.
std::size_t message_bytes(std::span<const trial::NamedTensor> tensors);
/// Writes a message and sets header.tensors. @pre message has message_bytes(tensors)
void write_message(WeightsHeader header, std::span<const trial::NamedTensor> tensors, comm::Buffer& message);
/// Reads the header. @throws InternalError for a malformed message
WeightsHeader weights_header_of(const comm::Buffer& message);
std::vector<trial::NamedTensor> tensors_of(const comm::Buffer& message);

}  // namespace skyline::engine
