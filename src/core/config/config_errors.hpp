#pragma once

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skyline {

/// Several mistakes of a configuration at once; what() has a line for each. Code that prints errors prints
/// these one by one, because a line break in any other message may be foreign text.
class ConfigErrors : public UserError {
 public:
  explicit ConfigErrors(std::vector<std::string> lines)
      : UserError(joined(lines, "\n")), lines_(std::move(lines)) {}
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// Collects the mistakes of a configuration's parts, so that all are reported at once. A mistake that is
/// found several times is noted once.
class Mistakes {
 public:
  /// Runs the action and notes its UserError, if it throws one.
  template <typename Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const ConfigErrors& several) {
      for (const std::string& line : several.lines()) add(line);
    } catch (const UserError& mistake) {
      add(mistake.what());
    }
  }
  void add(const std::string& line) {
    if (known_.insert(line).second) lines_.push_back(line);
  }
  std::size_t size() const { return lines_.size(); }
  bool empty() const { return lines_.empty(); }
  const std::vector<std::string>& lines() const { return lines_; }
  /// @throws UserError for one mistake, else ConfigErrors
  void throw_if_any() const {
    constexpr std::size_t kMost = 40;
    if (lines_.empty()) return;
    if (lines_.size() == 1) throw UserError(lines_.front());
    std::vector<std::string> shown = lines_;
    if (shown.size() > kMost) {
      shown.resize(kMost);
      shown.push_back("and " + std::to_string(lines_.size() - kMost) + " more mistakes");
    }
    throw ConfigErrors(std::move(shown));
  }

 private:
  std::vector<std::string> lines_;
  std::set<std::string> known_;
};

}  // namespace skyline
