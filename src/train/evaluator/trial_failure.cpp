#include "train/evaluator/trial_failure.hpp"

#include "skyline/trial/trial_group.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>

#include <c10/util/Exception.h>

namespace skyline::train {
namespace {

using trial::Failure;
using trial::FailureKind;

/// Returns the first line of an error's text, because LibTorch's texts continue with a stack.
std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  return line.empty() ? "an error without a text" : line;
}

/// Returns whether an error is about memory. LibTorch's CPU allocator says so only in words, cuBLAS, cuDNN
/// and cuSPARSE by the name of a status.
bool speaks_of_memory(const std::string& text) {
  constexpr std::array kPhrases = {"not enough memory", "can't allocate memory", "out of memory",
                                   "ALLOC_FAILED", "ALLOCATION_FAILED"};
  return std::ranges::any_of(kPhrases,
                             [&](const char* phrase) { return text.find(phrase) != std::string::npos; });
}

Failure failure_of(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  const bool memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || speaks_of_memory(text);
  return {memory ? FailureKind::kOutOfMemory : FailureKind::kException, first_line(text)};
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const trial::GroupAborted& aborted) {
    return aborted.failure();
  } catch (const std::bad_alloc&) {
    return {FailureKind::kOutOfMemory, "not enough memory for the network"};
  } catch (const c10::Error& error) {
    return failure_of(error);
  } catch (const std::exception& error) {
    const std::string reason = first_line(error.what());
    return {speaks_of_memory(reason) ? FailureKind::kOutOfMemory : FailureKind::kException, reason};
  }
}

}  // namespace skyline::train
