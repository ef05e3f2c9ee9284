#pragma once

#include "skyline/core/error.hpp"

#include "core/config/config_errors.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skyline::space {

/// A space that grows beyond its bounds while it is read: reading ends at once.
class SpaceTooLarge : public UserError {
 public:
  using UserError::UserError;
};

/// The mistakes of a space, collected so that all are reported at once.
class Problems {
 public:
  /// Notes a UserError of the action, and goes on. @throws SpaceTooLarge after a thousand mistakes
  template <typename Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const SpaceTooLarge&) {
      throw;
    } catch (const UserError& problem) {
      add(problem.what());
      if (texts_.size() >= kMostNoted) throw SpaceTooLarge("the space has too many mistakes to read on");
    }
  }
  /// One mistake may show in many places; it is noted once.
  void add(const std::string& text) {
    if (known_.insert(text).second) texts_.push_back(text);
  }
  bool empty() const { return texts_.empty(); }
  /// @throws UserError with one line for each mistake
  void throw_if_any() const {
    constexpr std::size_t kMost = 20;  // lines
    if (texts_.empty()) return;
    if (texts_.size() == 1) throw UserError(texts_.front());
    std::vector<std::string> lines = texts_;
    if (lines.size() > kMost) {
      lines.resize(kMost);
      lines.push_back("and " + std::to_string(texts_.size() - kMost) + " more mistakes in the space");
    }
    throw ConfigErrors(std::move(lines));
  }

 private:
  static constexpr std::size_t kMostNoted = 1'000;
  std::vector<std::string> texts_;
  std::set<std::string> known_;
};

}  // namespace skyline::space
