#pragma once

#include "skyline/core/config_node.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace skyline::space {

bool is_blank(char letter);

/// The text of an expression, and how far it was read. What is taken is passed, with the blanks before it.
class ExpressionText {
 public:
  /// @param scalar  must outlive this object
  explicit ExpressionText(const ConfigNode& scalar);

  bool at_end();
  bool at_number();
  bool take(std::string_view sign);
  /// Takes a word if it is this one.
  bool take_name(std::string_view name);
  bool take_not_in();
  /// Takes what may be the name of a parameter, or returns an empty text.
  std::string take_word();
  /// Takes the place in the name of a parameter, e.g. ".stage_0.2".
  std::string take_place();
  /// Takes letters and digits that begin with a digit or a point.
  std::string take_number();
  /// Takes the rest of a word in quotes, which may be any text. A quote that is written twice is one of the
  /// word. @throws UserError if it is not closed
  std::string take_quoted(char quote);
  /// @throws UserError if the sign is not there
  void expect(std::string_view sign);
  /// Returns what was not read yet, for messages.
  std::string rest();
  /// @throws UserError with the text and the problem
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  bool is_letter(std::size_t at) const;
  bool is_number_part(std::size_t start) const;

  const ConfigNode& scalar_;
  const std::string text_;
  std::size_t at_ = 0;
};

}  // namespace skyline::space
