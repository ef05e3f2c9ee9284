#pragma once

#include "skyline/space/search_space.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace skyline::search {

/// A program of the user that counts costs of architectures before any training (section `costs`). Its
/// answers are exact, and none is asked for twice, also after a resume.
class CostCounter {
 public:
  /// Most architectures of a request.
  static constexpr std::size_t kMostAsked = 64;

  /// Thrown by count() after stop().
  struct Stopped {};

  virtual ~CostCounter() = default;
  /// Returns the values of the space's counted metrics for each architecture, in their order. It waits for
  /// the program, so one thread calls it that may wait.
  /// @throws UserError for an answer that is wrong, FaultError if the program has ended or hangs
  virtual std::vector<std::vector<double>> count(
      std::span<const std::shared_ptr<const space::Architecture>> architectures) = 0;
  /// Ends a count that waits, and all later ones. Any thread may call it.
  virtual void stop() = 0;
};

}  // namespace skyline::search
