#pragma once

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace skyline {

/// Several mistakes of a configuration at once; what() has a line for each. Whoever prints errors prints
/// these one by one: a line break in any other message may be foreign text.
class ConfigErrors : public UserError {
 public:
  explicit ConfigErrors(std::vector<std::string> lines)
      : UserError(joined(lines, "\n")), lines_(std::move(lines)) {}
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// The mistakes of a configuration's parts, collected so that all are reported at once.
class Mistakes {
 public:
  /// Notes the UserError of the action, if it throws one.
  template <typename Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const ConfigErrors& several) {
      lines_.insert(lines_.end(), several.lines().begin(), several.lines().end());
    } catch (const UserError& mistake) {
      lines_.emplace_back(mistake.what());
    }
  }
  bool empty() const { return lines_.empty(); }
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
};

}  // namespace skyline
