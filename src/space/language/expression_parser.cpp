#include "core/config/config_text.hpp"
#include "space/language/expression.hpp"

#include <algorithm>
#include <cctype>

namespace skyline::space {

/// Recursive descent over one scalar; emits the program in postfix order.
///   sum     := product (('+' | '-') product)*
///   product := factor (('*' | '/' | '%') factor)*
///   factor  := '-' factor | '(' sum ')' | number | '$' name | ('min' | 'max') '(' sum ',' sum ')'
class ExpressionParser {
 public:
  ExpressionParser(const ConfigNode& scalar, const std::vector<Parameter>& parameters)
      : parameters_(parameters), text_(scalar.as_text()) {
    result_.source_ = scalar;
  }

  Expression constant(Value value) {
    push(Expression::Operation::kConstant, std::move(value));
    return std::move(result_);
  }

  Expression parse() {
    sum();
    if (!at_end()) fail("expected an operator, got " + rest());
    std::vector<std::size_t>& names = result_.parameters_;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    // A single name may stand for any value; operands of a calculation must be numbers.
    if (result_.steps_.size() > 1) check_numbers();
    return std::move(result_);
  }

 private:
  using Operation = Expression::Operation;

  void sum() {
    product();
    for (;;) {
      if (take('+')) {
        binary(Operation::kAdd, [this] { product(); });
      } else if (take('-')) {
        binary(Operation::kSubtract, [this] { product(); });
      } else {
        return;
      }
    }
  }

  void product() {
    factor();
    for (;;) {
      if (take('*')) {
        binary(Operation::kMultiply, [this] { factor(); });
      } else if (take('/')) {
        binary(Operation::kDivide, [this] { factor(); });
      } else if (take('%')) {
        binary(Operation::kRemainder, [this] { factor(); });
      } else {
        return;
      }
    }
  }

  template <typename Operand>
  void binary(Operation operation, Operand&& right) {
    right();
    push(operation);
  }

  void factor() {
    // Bounds the recursion for any input.
    if (++depth_ > kDeepest) fail("nested too deeply");
    if (take('-')) {
      factor();
      push(Operation::kNegate);
    } else if (take('(')) {
      sum();
      expect(')');
    } else if (take('$')) {
      name();
    } else if (!at_end() && (is_digit(text_[at_]) || text_[at_] == '.')) {
      number();
    } else {
      function();
    }
    --depth_;
  }

  void name() {
    const std::string word = take_word();
    if (word == "classes") {
      push(Operation::kClasses);
      return;
    }
    const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const Parameter& parameter) { return parameter.name == word; });
    if (found == parameters_.end()) fail_unknown(word);
    const auto index = static_cast<std::size_t>(found - parameters_.begin());
    result_.parameters_.push_back(index);
    result_.steps_.push_back({Operation::kParameter, {}, index});
  }

  [[noreturn]] void fail_unknown(const std::string& word) {
    std::vector<std::string> known{"$classes"};
    for (const Parameter& parameter : parameters_) known.push_back(dollar(parameter.name));
    fail("unknown parameter " + quoted(dollar(word)) + ", " + suggestion(dollar(word), known));
  }

  void number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_number_part(start)) ++at_;
    const std::string digits = text_.substr(start, at_ - start);
    if (const auto integer = integer_in(digits)) {
      push(Operation::kConstant, *integer);
    } else if (const auto fraction = number_in(digits)) {
      push(Operation::kConstant, *fraction);
    } else {
      fail("`" + digits + "` is not a number");
    }
  }

  // A sign belongs to a number only after the e of its exponent.
  bool is_number_part(std::size_t start) const {
    const char letter = text_[at_];
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_') return true;
    const bool after_exponent = at_ > start && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    return (letter == '+' || letter == '-') && after_exponent;
  }

  void function() {
    const std::string word = take_word();
    if (word.empty()) fail("expected a number, a `$name` or `(`, got " + rest());
    if (word != "min" && word != "max") {
      fail("unknown function `" + word + "`, " + suggestion(word, {"min", "max"}));
    }
    expect('(');
    sum();
    expect(',');
    sum();
    expect(')');
    push(word == "min" ? Operation::kMin : Operation::kMax);
  }

  void check_numbers() {
    for (const std::size_t index : result_.parameters_) {
      for (const Value& value : parameters_[index].values) {
        if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value)) continue;
        fail("cannot calculate with `$" + parameters_[index].name + "`, which may be " + to_text(value));
      }
    }
  }

  void push(Operation operation, Value constant = {}) {
    result_.steps_.push_back({operation, std::move(constant), 0});
  }

  static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
  bool at_end() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size();
  }
  bool take(char letter) {
    if (at_end() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }
  void expect(char letter) {
    if (!take(letter)) fail(std::string("expected `") + letter + "`, got " + rest());
  }
  std::string take_word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_parameter_name(text_.substr(start, at_ + 1 - start))) ++at_;
    return text_.substr(start, at_ - start);
  }
  std::string rest() { return at_end() ? "the end" : quoted(text_.substr(at_)); }
  static std::string dollar(const std::string& name) { return '$' + name; }
  static std::string quoted(const std::string& text) { return '`' + text + '`'; }
  [[noreturn]] void fail(const std::string& problem) const {
    result_.source_.fail("in `" + text_ + "`: " + problem);
  }

  static constexpr int kDeepest = 100;
  const std::vector<Parameter>& parameters_;
  const std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression result_;
};

namespace {

bool is_arithmetic(const ConfigNode& scalar) {
  const std::string& text = scalar.as_text();
  if (text.find('$') != std::string::npos) return true;
  if (scalar.quoted() || text.empty()) return false;
  return std::string_view("0123456789(-").find(text.front()) != std::string_view::npos ||
         text.starts_with("min(") || text.starts_with("max(");
}

}  // namespace

Expression Expression::parse(const ConfigNode& scalar, const std::vector<Parameter>& parameters) {
  Value value = read_value(scalar);
  ExpressionParser parser(scalar, parameters);
  if (std::holds_alternative<std::string>(value) && is_arithmetic(scalar)) return parser.parse();
  return parser.constant(std::move(value));
}

}  // namespace skyline::space
