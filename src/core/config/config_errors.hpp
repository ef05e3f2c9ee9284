#pragma once

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

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

}  // namespace skyline
