#pragma once

#include "skyline/core/config_node.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace skyline::space {

bool is_blank(char letter);

/// The text of an expression, and how far it was read. What is accepted or consumed is passed, with the
/// blanks before it.
class ExpressionText {
 public:
  /// @param scalar  must outlive this object
  explicit ExpressionText(const ConfigNode& scalar);

  bool at_end();
  bool at_number();
  bool accept(std::string_view sign);
  /// Accepts a word if it is this one.
  bool accept_name(std::string_view name);
  bool accept_not_in();
  /// Consumes what may be the name of a parameter, or returns an empty text.
  std::string consume_word();
  /// Consumes the place in the name of a parameter, e.g. ".stage_0.2".
  std::string consume_place();
  /// Consumes letters and digits that begin with a digit or a point.
  std::string consume_number();
  /// Consumes the rest of a word in quotes, which may be any text. A quote that is written twice is one of
  /// the word. @throws UserError if it is not closed
  std::string consume_quoted(char quote);
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
