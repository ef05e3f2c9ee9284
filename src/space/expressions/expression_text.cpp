#include "space/expressions/expression_text.hpp"

#include "core/text/foreign_text.hpp"
#include "space/expressions/expression.hpp"

#include <cctype>

namespace skyline::space {

bool is_blank(char letter) {
  return letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r';
}

ExpressionText::ExpressionText(const ConfigNode& scalar) : scalar_(scalar), text_(scalar.as_text()) {}

bool ExpressionText::at_end() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  return at_ == text_.size();
}

bool ExpressionText::at_number() {
  return !at_end() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.');
}

bool ExpressionText::accept(std::string_view sign) {
  if (at_end() || text_.compare(at_, sign.size(), sign) != 0) return false;
  // Here `**` follows, which is not a product.
  if (sign == "*" && text_.compare(at_, 2, "**") == 0) return false;
  at_ += sign.size();
  return true;
}

bool ExpressionText::accept_name(std::string_view name) {
  if (at_end()) return false;
  const std::size_t start = at_;
  if (consume_word() == name) return true;
  at_ = start;
  return false;
}

bool ExpressionText::accept_not_in() {
  const std::size_t start = at_;
  if (accept_name("not") && accept_name("in")) return true;
  at_ = start;
  return false;
}

std::string ExpressionText::consume_word() {
  const std::size_t length = parameter_name_length(std::string_view(text_).substr(at_));
  at_ += length;
  return text_.substr(at_ - length, length);
}

bool ExpressionText::is_letter(std::size_t at) const {
  return at < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at])) != 0 || text_[at] == '_');
}

std::string ExpressionText::consume_place() {
  const std::size_t start = at_;
  while (at_ < text_.size() && text_[at_] == '.' && is_letter(at_ + 1)) {
    ++at_;
    while (is_letter(at_)) ++at_;
  }
  return text_.substr(start, at_ - start);
}

/// Returns whether the next character belongs to a number. A sign does only after the e of its exponent.
bool ExpressionText::is_number_part(std::size_t start) const {
  const char letter = text_[at_];
  if (is_letter(at_) || letter == '.') return true;
  const bool after_exponent = at_ > start && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
  return (letter == '+' || letter == '-') && after_exponent;
}

std::string ExpressionText::consume_number() {
  const std::size_t start = at_;
  while (at_ < text_.size() && is_number_part(start)) ++at_;
  return text_.substr(start, at_ - start);
}

std::string ExpressionText::consume_quoted(char quote) {
  std::string word;
  for (;;) {
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string::npos) fail("a quote is not closed");
    word += text_.substr(at_, end - at_);
    at_ = end + 1;
    if (at_ == text_.size() || text_[at_] != quote) return word;
    word += quote;
    ++at_;
  }
}

void ExpressionText::expect(std::string_view sign) {
  if (!accept(sign)) fail("expected `" + std::string(sign) + "`, got " + rest());
}

std::string ExpressionText::rest() {
  return at_end() ? "the end" : in_quotes(std::string_view(text_).substr(at_));
}

void ExpressionText::fail(const std::string& problem) const {
  scalar_.fail("in " + in_quotes(text_) + ": " + problem);
}

}  // namespace skyline::space
