#include "space/language/parsed_space.hpp"
#include "space/language/space_keys.hpp"

#include <utility>

namespace skyline::space {
namespace {

class SingleLayer final : public NetworkItem {
 public:
  explicit SingleLayer(LayerTemplate layer) : layer_(std::move(layer)) {}
  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    builder.add(layer_, bindings);
  }
  void collect_parameters(std::set<std::size_t>& indices) const override {
    for (const std::size_t index : layer_.parameter_indices()) indices.insert(index);
  }

 private:
  LayerTemplate layer_;
};

// Number of times that a repeat's body is built. @throws UserError unless it is a whole number, not negative
std::int64_t repeat_count(const Expression& expression, const Value& value) {
  const auto* count = std::get_if<std::int64_t>(&value);
  if (count != nullptr && *count >= 0) return *count;
  const std::string written = expression.source().describe();
  const std::string got = written == to_text(value) ? written : to_text(value) + " from `" + written + "`";
  expression.source().fail("expected a whole number of at least 0, got " + got);
}

class Repeat final : public NetworkItem {
 public:
  Repeat(Expression count, NetworkItems body) : count_(std::move(count)), body_(std::move(body)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    const std::int64_t count = repeat_count(count_, count_.evaluate(bindings));
    for (std::int64_t i = 0; i < count; ++i) {
      for (const auto& item : body_) item->build(builder, bindings);
    }
  }

  void collect_parameters(std::set<std::size_t>& indices) const override {
    for (const std::size_t index : count_.parameters()) indices.insert(index);
    for (const auto& item : body_) item->collect_parameters(indices);
  }

 private:
  Expression count_;
  NetworkItems body_;
};

// A count that names a single parameter must be valid for all of its values; a constant must be valid itself.
void check_count(const Expression& count, const std::vector<Parameter>& parameters, std::int64_t classes) {
  Genotype genotype;
  genotype.choices.assign(parameters.size(), 0);
  std::vector<bool> used(parameters.size());
  const Bindings bindings{parameters, genotype, classes, used};
  if (count.parameters().empty()) {
    repeat_count(count, count.evaluate(bindings));
  } else if (count.parameters().size() == 1) {
    std::uint32_t& choice = genotype.choices[count.parameters().front()];
    for (; choice < parameters[count.parameters().front()].values.size(); ++choice) {
      repeat_count(count, count.evaluate(bindings));
    }
  }
}

std::unique_ptr<const NetworkItem> parse_item(const ConfigNode& item,
                                              const std::vector<Parameter>& parameters,
                                              std::int64_t classes) {
  const bool repeats = item.is_map() && (item.find("repeat") != nullptr || item.find("body") != nullptr);
  if (!repeats) return std::make_unique<SingleLayer>(LayerTemplate::parse(item, parameters, classes));
  const RepeatForm form = repeat_keys().parse(item);
  Expression count = Expression::parse(form.repeat, parameters);
  check_count(count, parameters, classes);
  return std::make_unique<Repeat>(std::move(count), parse_network(form.body, parameters, classes));
}

}  // namespace

NetworkItems parse_network(const ConfigNode& list, const std::vector<Parameter>& parameters,
                           std::int64_t classes) {
  if (!list.is_list() || list.items().empty()) list.fail_expected("a list of layers");
  NetworkItems items;
  for (const ConfigNode& item : list.items()) items.push_back(parse_item(item, parameters, classes));
  return items;
}

}  // namespace skyline::space
