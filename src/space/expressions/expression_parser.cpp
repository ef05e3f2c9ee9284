#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "space/expressions/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

namespace skyline::space {
namespace {

bool starts_number(char letter) {
  return (letter >= '0' && letter <= '9') || letter == '.';
}

/// Recursive descent over one scalar.
///   either  := both ('or' both)*
///   both    := negated ('and' negated)*
///   negated := 'not' negated | sum (('==' | '!=' | '<' | '<=' | '>' | '>=') sum)?
///   sum     := product (('+' | '-') product)*
///   product := factor (('*' | '/' | '//' | '%') factor)*
///   factor  := '-' factor | operand ('**' factor)?
///   operand := '(' either ')' | number | '$' name | word | ('min' | 'max' | 'if') '(' either (',' either)*
///   ')'
class ExpressionParser {
 public:
  ExpressionParser(const ConfigNode& scalar, Names& names)
      : scalar_(scalar), names_(names), text_(scalar.as_text()) {}

  ExpressionPart parse() {
    ExpressionPart root = either();
    if (!at_end()) fail("expected an operator, got " + rest());
    return root;
  }

 private:
  using Parts = std::vector<ExpressionPart>;

  ExpressionPart either() {
    ExpressionPart left = both();
    while (take_name("or")) left = make(Operation::kOr, {left, both()});
    return left;
  }

  ExpressionPart both() {
    ExpressionPart left = negated();
    while (take_name("and")) left = make(Operation::kAnd, {left, negated()});
    return left;
  }

  ExpressionPart negated() {
    const Depth depth(*this);
    if (take_name("not")) return make(Operation::kNot, {negated()});
    return comparison();
  }

  ExpressionPart comparison() {
    static constexpr std::array kSigns{
        std::pair{"==", Operation::kEqual},  std::pair{"!=", Operation::kUnequal},
        std::pair{"<=", Operation::kAtMost}, std::pair{">=", Operation::kAtLeast},
        std::pair{"<", Operation::kLess},    std::pair{">", Operation::kGreater}};
    ExpressionPart left = sum();
    for (const auto& [sign, operation] : kSigns) {
      if (!take(sign)) continue;
      const ExpressionPart right = sum();
      check_reads_a_name(*left, *right);
      if (operation == Operation::kEqual || operation == Operation::kUnequal) {
        check_can_be(*left, *right);
        check_can_be(*right, *left);
      } else {
        check_numbers({left, right});
      }
      return make(operation, {left, right});
    }
    if (take("=")) fail("expected `==`, got `=`");
    return left;
  }

  ExpressionPart sum() {
    ExpressionPart left = product();
    for (;;) {
      if (take("+")) {
        left = numeric(Operation::kAdd, left, product());
      } else if (take("-")) {
        left = numeric(Operation::kSubtract, left, product());
      } else {
        return left;
      }
    }
  }

  ExpressionPart product() {
    ExpressionPart left = factor();
    for (;;) {
      if (take("*")) {
        left = numeric(Operation::kMultiply, left, factor());
      } else if (take("//")) {
        left = numeric(Operation::kDivideWhole, left, factor());
      } else if (take("/")) {
        left = numeric(Operation::kDivide, left, factor());
      } else if (take("%")) {
        left = numeric(Operation::kRemainder, left, factor());
      } else {
        return left;
      }
    }
  }

  ExpressionPart factor() {
    const Depth depth(*this);
    if (take("-")) {
      const ExpressionPart negative = factor();
      check_numbers({negative});
      return make(Operation::kNegate, {negative});
    }
    const ExpressionPart base = operand();
    return take("**") ? numeric(Operation::kPower, base, factor()) : base;
  }

  ExpressionPart operand() {
    if (take("(")) {
      ExpressionPart inner = either();
      expect(")");
      return inner;
    }
    if (take("$")) return name();
    if (!at_end() && starts_number(text_[at_])) return number();
    return word();
  }

  ExpressionPart name() {
    std::string word = take_word();
    if (names_.have_places()) word += take_place();
    if (word == "classes") return make(Operation::kClasses, {});
    const auto meaning = names_.find(word);
    if (!meaning) fail_unknown(word);
    if (meaning->given) given_.insert(meaning->part.get());
    return meaning->part;
  }

  [[noreturn]] void fail_unknown(const std::string& word) {
    std::vector<std::string> known{"$classes"};
    for (const std::string& name : names_.known()) known.push_back('$' + name);
    names_.count_steps(kStepsOfASuggestion * known.size());
    fail("unknown parameter " + in_quotes('$' + word) + ", " + suggestion('$' + word, known));
  }

  ExpressionPart number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_number_part(start)) ++at_;
    const std::string digits = text_.substr(start, at_ - start);
    if (const auto integer = integer_in(digits)) return constant_part(*integer);
    const auto fraction = number_in(digits);
    if (!fraction) fail(in_quotes(digits) + " is not a number");
    return constant_part(*fraction);
  }

  // Returns whether the character belongs to the number. A sign does only after the e of its exponent.
  bool is_number_part(std::size_t start) const {
    const char letter = text_[at_];
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_') return true;
    const bool after_exponent = at_ > start && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    return (letter == '+' || letter == '-') && after_exponent;
  }

  /// Reads a function, true, false, or a word to compare with.
  ExpressionPart word() {
    const std::string word = take_word();
    if (word.empty()) fail("expected a number, a `$name` or `(`, got " + rest());
    if (take("(")) return function(word);
    if (const auto flag = flag_in(word)) return constant_part(*flag);
    return constant_part(word);
  }

  ExpressionPart function(const std::string& word) {
    if (word != "min" && word != "max" && word != "if") {
      fail("unknown function " + in_quotes(word) + ", " + suggestion(word, {"min", "max", "if"}));
    }
    Parts arguments{either()};
    while (take(",")) arguments.push_back(either());
    expect(")");
    if (word == "if") {
      if (arguments.size() != 3) fail("expected if(condition, value, other value)");
      return make(Operation::kIf, std::move(arguments));
    }
    if (arguments.size() < 2) fail(word + " takes two values or more");
    ExpressionPart result = arguments.front();
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      result = numeric(word == "min" ? Operation::kMin : Operation::kMax, result, arguments[i]);
    }
    return result;
  }

  ExpressionPart numeric(Operation operation, const ExpressionPart& left, const ExpressionPart& right) {
    check_numbers({left, right});
    return make(operation, {left, right});
  }

  void check_numbers(const Parts& operands) {
    for (const ExpressionPart& operand : operands) {
      if (operand->operation == Operation::kConstant && !is_number(operand->constant)) {
        fail("cannot calculate with " + shortened(to_text(operand->constant)));
      }
      if (operand->operation != Operation::kParameter) continue;
      const Parameter& parameter = names_.parameters()[operand->parameter];
      names_.count_steps(parameter.values.size());
      for (const Value& value : parameter.values) {
        if (is_number(value)) continue;
        fail("cannot calculate with " + in_quotes('$' + parameter.name) + ", which may be " +
             shortened(to_text(value)));
      }
    }
  }

  /// Refuses a comparison of a word with another constant: one of them is a name without its `$`.
  void check_reads_a_name(const ExpressionNode& left, const ExpressionNode& right) {
    const auto is_written = [&](const ExpressionNode& part) {
      return part.operation == Operation::kConstant && !given_.contains(&part);
    };
    if (!is_written(left) || !is_written(right)) return;
    const std::vector<std::string> known = names_.known();
    std::string words;
    for (const ExpressionNode* part : {&left, &right}) {
      if (!std::holds_alternative<std::string>(part->constant)) continue;
      const std::string word = to_text(part->constant);
      if (std::ranges::find(known, word) != known.end()) {
        fail(in_quotes(word) + " is a word here, and also the name of a parameter: write " +
             in_quotes('$' + word));
      }
      words = word;
    }
    if (!words.empty())
      fail("expected a parameter beside " + in_quotes(words) + ", as in `$name == " + words + "`");
  }

  /// Refuses a comparison with a word that the parameter never has: it is misspelt.
  void check_can_be(const ExpressionNode& left, const ExpressionNode& right) {
    const bool comparable = left.operation == Operation::kParameter &&
                            right.operation == Operation::kConstant && !given_.contains(&left) &&
                            !given_.contains(&right);
    if (!comparable) return;
    const Parameter& parameter = names_.parameters()[left.parameter];
    names_.count_steps(parameter.values.size());
    const auto is_meant = [&](const Value& value) { return equal_values(value, right.constant); };
    if (std::ranges::any_of(parameter.values, is_meant)) return;
    names_.count_steps(kStepsOfASuggestion * parameter.values.size());
    std::vector<std::string> words;
    for (const Value& value : parameter.values) words.push_back(to_text(value));
    const std::string word = to_text(right.constant);
    fail(in_quotes('$' + parameter.name) + " is never " + shortened(word) + ", " + suggestion(word, words));
  }

  ExpressionPart make(Operation operation, Parts operands) {
    auto node = std::make_shared<ExpressionNode>();
    node->operation = operation;
    for (const ExpressionPart& operand : operands) node->size += operand->size;
    if (node->size > kLargest) fail("the expression is too long");
    node->operands = std::move(operands);
    return node;
  }

  bool at_end() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size();
  }
  bool take(std::string_view sign) {
    if (at_end() || text_.compare(at_, sign.size(), sign) != 0) return false;
    // Here `**` follows, which is not a product.
    if (sign == "*" && text_.compare(at_, 2, "**") == 0) return false;
    at_ += sign.size();
    return true;
  }
  bool take_name(std::string_view name) {
    if (at_end()) return false;
    const std::size_t start = at_;
    if (take_word() == name) return true;
    at_ = start;
    return false;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) fail("expected `" + std::string(sign) + "`, got " + rest());
  }
  std::string take_word() {
    const std::size_t length = parameter_name_length(std::string_view(text_).substr(at_));
    at_ += length;
    return text_.substr(at_ - length, length);
  }
  /// Takes the place in the name of a parameter, e.g. ".stage_0.2".
  std::string take_place() {
    const std::size_t start = at_;
    const auto is_letter = [&](std::size_t at) {
      return at < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at])) != 0 || text_[at] == '_');
    };
    while (at_ < text_.size() && text_[at_] == '.' && is_letter(at_ + 1)) {
      ++at_;
      while (is_letter(at_)) ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  std::string rest() { return at_end() ? "the end" : in_quotes(std::string_view(text_).substr(at_)); }
  [[noreturn]] void fail(const std::string& problem) const {
    scalar_.fail("in " + in_quotes(text_) + ": " + problem);
  }

  /// Bounds the recursion for any input.
  struct Depth {
    explicit Depth(ExpressionParser& owner) : parser(owner) {
      if (++parser.depth_ > kDeepest) parser.fail("nested too deeply");
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ExpressionParser& parser;
  };

  static constexpr int kDeepest = 200;
  static constexpr std::size_t kLargest = 1000;
  static constexpr std::size_t kStepsOfASuggestion = 100;  // steps for each candidate
  const ConfigNode& scalar_;
  Names& names_;
  const std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::set<const ExpressionNode*> given_;
};

bool is_arithmetic(const ConfigNode& scalar) {
  const std::string& text = scalar.as_text();
  if (text.find('$') != std::string::npos) return true;
  if (scalar.quoted() || text.empty()) return false;
  return std::string_view("0123456789(-").find(text.front()) != std::string_view::npos ||
         text.starts_with("min(") || text.starts_with("max(") || text.starts_with("if(");
}

}  // namespace

Expression Expression::parse(const ConfigNode& scalar, Names& names) {
  constexpr std::size_t kLongest = 10'000;
  if (scalar.is_map() && (scalar.find("choice") != nullptr || scalar.find("range") != nullptr)) {
    scalar.fail("a choice belongs under `parameters`, with a name; write $NAME here");
  }
  Value value = read_value(scalar);
  if (std::holds_alternative<std::string>(value) && is_arithmetic(scalar)) {
    if (scalar.as_text().size() > kLongest) {
      scalar.fail("the expression has more than " + std::to_string(kLongest) + " characters");
    }
    return {ExpressionParser(scalar, names).parse(), scalar};
  }
  return {constant_part(std::move(value)), scalar};
}

}  // namespace skyline::space
