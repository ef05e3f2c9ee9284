#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "space/expressions/expression.hpp"
#include "space/expressions/expression_text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace skyline::space {
namespace {

/// Returns a value as an expression has it: a word in quotes where it could not be read without them.
std::string spelling(const Value& value) {
  const std::string text = to_text(value);
  const bool is_plain = !std::holds_alternative<std::string>(value) ||
                        (is_parameter_name(text) && !parse_bool(text) && text != "null" && text != "and" &&
                         text != "or" && text != "not" && text != "in");
  if (is_plain) return text;
  const char quote = text.find('\'') == std::string::npos ? '\'' : '"';
  return quote + text + quote;
}

/// Recursive descent over one scalar.
///   either  := both ('or' both)*
///   both    := negated ('and' negated)*
///   negated := 'not' negated | sum (('==' | '!=' | '<' | '<=' | '>' | '>=') sum)* ('not'? 'in' list)?
///   list    := '[' sum (',' sum)* ']'
///   sum     := product (('+' | '-') product)*
///   product := factor (('*' | '/' | '//' | '%') factor)*
///   factor  := '-' factor | operand ('**' factor)?
///   operand := '(' either ')' | '[' number ',' number ']' | number | '$' name | word | quoted
///            | ('min' | 'max' | 'abs' | 'if') '(' either (',' either)* ')'
/// `a < b < c` is `a < b and b < c`.
class ExpressionParser {
 public:
  ExpressionParser(const ConfigNode& scalar, Names& names) : text_(scalar), names_(names) {}

  ExpressionPart parse() {
    ExpressionPart root = either();
    if (!text_.at_end()) fail("expected an operator, got " + text_.rest());
    return root;
  }

 private:
  using Parts = std::vector<ExpressionPart>;

  ExpressionPart either() {
    ExpressionPart left = both();
    while (text_.accept_name("or")) left = make(Operation::kOr, {left, both()});
    return left;
  }

  ExpressionPart both() {
    ExpressionPart left = negated();
    while (text_.accept_name("and")) left = make(Operation::kAnd, {left, negated()});
    return left;
  }

  ExpressionPart negated() {
    const Depth depth(*this);
    if (text_.accept_name("not")) return make(Operation::kNot, {negated()});
    return comparison();
  }

  ExpressionPart comparison() {
    static constexpr std::array kSigns{
        std::pair{"==", Operation::kEqual},  std::pair{"!=", Operation::kUnequal},
        std::pair{"<=", Operation::kAtMost}, std::pair{">=", Operation::kAtLeast},
        std::pair{"<", Operation::kLess},    std::pair{">", Operation::kGreater}};
    ExpressionPart left = sum();
    ExpressionPart chain;
    const auto add = [&](const ExpressionPart& link) {
      chain = chain == nullptr ? link : make(Operation::kAnd, {chain, link});
    };
    const auto accept_sign = [&] {
      return std::ranges::find_if(kSigns, [&](auto& sign) { return text_.accept(sign.first); });
    };
    for (auto sign = accept_sign(); sign != kSigns.end(); sign = accept_sign()) {
      const ExpressionPart right = sum();
      add(compared(sign->second, left, right));
      left = right;
    }
    if (text_.accept("=")) fail("expected `==`, got `=`");
    if (text_.accept_name("in")) {
      add(in_list(left));
    } else if (text_.accept_not_in()) {
      add(make(Operation::kNot, {in_list(left)}));
    }
    return chain == nullptr ? left : chain;
  }

  ExpressionPart compared(Operation operation, const ExpressionPart& left, const ExpressionPart& right) {
    check_reads_a_name(*left, *right);
    if (operation == Operation::kEqual || operation == Operation::kUnequal) {
      check_can_be(*left, *right);
      check_can_be(*right, *left);
    } else {
      check_numbers({left, right});
    }
    return make(operation, {left, right});
  }

  ExpressionPart in_list(const ExpressionPart& value) {
    Parts operands{value};
    text_.expect("[");
    do {
      operands.push_back(sum());
      check_reads_a_name(*value, *operands.back());
      check_can_be(*value, *operands.back());
    } while (text_.accept(","));
    text_.expect("]");
    return make(Operation::kIn, std::move(operands));
  }

  ExpressionPart sum() {
    ExpressionPart left = product();
    for (;;) {
      if (text_.accept("+")) {
        left = numeric(Operation::kAdd, left, product());
      } else if (text_.accept("-")) {
        left = numeric(Operation::kSubtract, left, product());
      } else {
        return left;
      }
    }
  }

  ExpressionPart product() {
    ExpressionPart left = factor();
    for (;;) {
      if (text_.accept("*")) {
        left = numeric(Operation::kMultiply, left, factor());
      } else if (text_.accept("//")) {
        left = numeric(Operation::kDivideWhole, left, factor());
      } else if (text_.accept("/")) {
        left = numeric(Operation::kDivide, left, factor());
      } else if (text_.accept("%")) {
        left = numeric(Operation::kRemainder, left, factor());
      } else {
        return left;
      }
    }
  }

  ExpressionPart factor() {
    const Depth depth(*this);
    if (text_.accept("-")) {
      const ExpressionPart negative = factor();
      check_numbers({negative});
      return make(Operation::kNegate, {negative});
    }
    const ExpressionPart base = operand();
    return text_.accept("**") ? numeric(Operation::kPower, base, factor()) : base;
  }

  ExpressionPart operand() {
    if (text_.accept("(")) {
      ExpressionPart inner = either();
      text_.expect(")");
      return inner;
    }
    if (text_.accept("[")) return sides();
    if (text_.accept("$")) return name();
    if (text_.at_number()) return number();
    for (const std::string_view quote : {"'", "\""}) {
      if (text_.accept(quote)) return constant_part(text_.consume_quoted(quote.front()));
    }
    return word();
  }

  ExpressionPart name() {
    std::string word = text_.consume_word();
    if (names_.have_places()) word += text_.consume_place();
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
    fail("unknown parameter " + in_quotes('$' + word) + ", " + suggestion('$' + word, known, NamesOf::kUser));
  }

  ExpressionPart number() {
    const std::string digits = text_.consume_number();
    if (const auto integer = parse_integer(digits)) return constant_part(*integer);
    const auto fraction = parse_number(digits);
    if (!fraction) fail(in_quotes(digits) + " is not a number" + word_that_begins(digits));
    return constant_part(*fraction);
  }

  ExpressionPart sides() {
    Sides sides{};
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (i > 0) text_.expect(",");
      const std::string digits = text_.at_number() ? text_.consume_number() : "";
      const auto side = parse_integer(digits);
      if (!side)
        fail("expected whole numbers [height, width], got " +
             (digits.empty() ? text_.rest() : in_quotes(digits)));
      sides[i] = *side;
    }
    text_.expect("]");
    return constant_part(sides);
  }

  /// Reads a function, true, false, null, or a word to compare with.
  ExpressionPart word() {
    const std::string word = text_.consume_word();
    if (word.empty()) fail("expected a number, a `$name` or `(`, got " + text_.rest());
    if (text_.accept("(")) return function(word);
    if (const auto flag = parse_bool(word)) return constant_part(*flag);
    if (word == "null") return constant_part(Null{});
    return constant_part(word);
  }

  ExpressionPart function(const std::string& word) {
    const std::vector<std::string> known{"min", "max", "abs", "if"};
    if (std::ranges::find(known, word) == known.end()) {
      fail("unknown function " + in_quotes(word) + ", " + suggestion(word, known));
    }
    Parts arguments{either()};
    while (text_.accept(",")) arguments.push_back(either());
    text_.expect(")");
    if (word == "if") {
      if (arguments.size() != 3) fail("expected if(condition, value, other value)");
      return make(Operation::kIf, std::move(arguments));
    }
    if (word == "abs") {
      if (arguments.size() != 1) fail("abs takes one value");
      check_numbers(arguments);
      return make(Operation::kAbs, std::move(arguments));
    }
    if (arguments.size() < 2) fail(word + " takes two values or more");
    ExpressionPart result = arguments.front();
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      result = numeric(word == "min" ? Operation::kMin : Operation::kMax, result, arguments[i]);
    }
    return result;
  }

  /// Returns the end of an error: a value of a parameter that begins so, and stands in quotes in expressions.
  std::string word_that_begins(const std::string& start) {
    for (const Parameter& parameter : names_.parameters()) {
      names_.count_steps(parameter.values.size());
      for (const Value& value : parameter.values) {
        const auto* word = std::get_if<std::string>(&value);
        const bool is_meant = word != nullptr && word->starts_with(start) && spelling(value) != *word;
        if (is_meant) return ", did you mean " + in_quotes(spelling(value)) + "?";
      }
    }
    return "";
  }

  ExpressionPart numeric(Operation operation, const ExpressionPart& left, const ExpressionPart& right) {
    check_numbers({left, right});
    return make(operation, {left, right});
  }

  void check_numbers(const Parts& operands) {
    for (const ExpressionPart& operand : operands) {
      if (operand->operation == Operation::kConstant && !is_number(operand->constant)) {
        const std::string text = to_text(operand->constant);
        fail("cannot calculate with " + shortened(text) + word_that_begins(text));
      }
      if (operand->operation != Operation::kParameter) continue;
      const Parameter& parameter = names_.parameters()[operand->parameter];
      names_.count_steps(parameter.values.size());
      for (const Value& value : parameter.values) {
        if (is_number(value) || std::holds_alternative<Null>(value)) continue;
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
    for (const Value& value : parameter.values) words.push_back(spelling(value));
    const auto same = std::ranges::find(parameter.values, to_text(right.constant),
                                        [](const Value& value) { return to_text(value); });
    const std::string word = spelling(right.constant);
    const std::string meant = same == parameter.values.end()
                                  ? suggestion(word, words, NamesOf::kUser)
                                  : "did you mean " + in_quotes(spelling(*same)) + "?";
    fail(in_quotes('$' + parameter.name) + " is never " + shortened(word) + ", " + meant);
  }

  [[noreturn]] void fail(const std::string& problem) const { text_.fail(problem); }

  ExpressionPart make(Operation operation, Parts operands) {
    auto node = std::make_shared<ExpressionNode>();
    node->operation = operation;
    for (const ExpressionPart& operand : operands) node->size += operand->size;
    if (node->size > kLargest) fail("the expression is too long");
    node->operands = std::move(operands);
    return node;
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
  ExpressionText text_;
  Names& names_;
  int depth_ = 0;
  std::set<const ExpressionNode*> given_;
};

/// Returns a scalar as it would be written in one line, for messages of one line.
ConfigNode on_one_line(const ConfigNode& scalar) {
  std::string text = scalar.as_text();
  while (!text.empty() && is_blank(text.back())) text.pop_back();
  std::ranges::replace_if(text, is_blank, ' ');
  if (text == scalar.as_text()) return scalar;
  ConfigNode line = ConfigNode::make_scalar(std::move(text), scalar.position(), scalar.quoted());
  line.assign_paths(scalar.path());
  return line;
}

bool is_arithmetic(const ConfigNode& scalar) {
  const std::string& text = scalar.as_text();
  if (text.find('$') != std::string::npos) return true;
  if (scalar.quoted() || text.empty()) return false;
  return std::string_view("0123456789(-").find(text.front()) != std::string_view::npos ||
         text.starts_with("min(") || text.starts_with("max(") || text.starts_with("if(");
}

/// Parses a height and a width.
Expression parse_list(const ConfigNode& list, Names& names) {
  if (list.items().size() != 2) list.fail_expected("a single value or [height, width]");
  auto sides = std::make_shared<ExpressionNode>();
  sides->operation = Operation::kSides;
  bool is_constant = true;
  std::string text;
  for (const ConfigNode& item : list.items()) {
    const Expression side = Expression::parse(item, names);
    const ExpressionNode& part = *side.root();
    const bool is_value = part.operation == Operation::kConstant;
    if (is_value && !std::holds_alternative<std::int64_t>(part.constant))
      item.fail_expected("a whole number");
    is_constant = is_constant && is_value;
    sides->operands.push_back(side.root());
    sides->size += part.size;
    text += (text.empty() ? "[" : ", ") + item.as_text();
  }
  ConfigNode line = ConfigNode::make_scalar(text + ']', list.position());
  line.assign_paths(list.path());
  return is_constant ? Expression(constant_part(read_value(list)), line) : Expression(sides, line);
}

}  // namespace

Expression Expression::parse(const ConfigNode& node, Names& names) {
  constexpr std::size_t kLongest = 10'000;
  if (node.is_list()) return parse_list(node, names);
  if (node.is_map() && (node.find("choice") != nullptr || node.find("range") != nullptr)) {
    node.fail("a choice belongs under `parameters`, with a name; write $NAME here");
  }
  Value value = read_value(node);
  if (std::holds_alternative<std::string>(value) && is_arithmetic(node)) {
    if (node.as_text().size() > kLongest) {
      node.fail("the expression has more than " + std::to_string(kLongest) + " characters");
    }
    const ConfigNode line = on_one_line(node);
    return {ExpressionParser(line, names).parse(), line};
  }
  return {constant_part(std::move(value)), node};
}

}  // namespace skyline::space
