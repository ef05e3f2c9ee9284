// Items that say which layers are built, and in which order.
#include "space/language/network_item.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <utility>

namespace skyline::space {
namespace {

TensorIndex tensor_of(NetworkBuilder& builder, const TensorReference& reference) {
  return reference ? builder.named(*reference) : builder.current();
}

class SingleLayer final : public NetworkItem {
 public:
  SingleLayer(LayerTemplate layer, std::vector<TensorReference> reads)
      : layer_(std::move(layer)), reads_(std::move(reads)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    if (reads_.empty()) return builder.add(layer_, bindings);
    std::vector<TensorIndex> inputs;
    for (const TensorReference& reference : reads_) inputs.push_back(tensor_of(builder, reference));
    builder.add(layer_, bindings, inputs);
  }

 private:
  LayerTemplate layer_;
  std::vector<TensorReference> reads_;
};

class Sequence final : public NetworkItem {
 public:
  Sequence(ItemPointers items, std::size_t input, ConfigNode source)
      : items_(std::move(items)), input_(input), source_(std::move(source)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    builder.count_steps(1, source_);
    builder.named(input_) = builder.current();
    for (const ItemPointer& item : items_) item->build(builder, bindings);
  }

 private:
  ItemPointers items_;
  std::size_t input_;
  ConfigNode source_;
};

class Repeat final : public NetworkItem {
 public:
  Repeat(Expression count, ItemPointers bodies) : count_(std::move(count)), bodies_(std::move(bodies)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    const auto count = static_cast<std::size_t>(repetitions(count_, count_.evaluate(bindings)));
    for (std::size_t i = 0; i < count; ++i) {
      bodies_[std::min(i, bodies_.size() - 1)]->build(builder, bindings);
    }
  }

 private:
  Expression count_;
  ItemPointers bodies_;
};

class Choice final : public NetworkItem {
 public:
  Choice(Expression selector, std::vector<Alternative> alternatives)
      : selector_(std::move(selector)), alternatives_(std::move(alternatives)) {
    std::ranges::sort(alternatives_, {}, &Alternative::word);
  }

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    const std::string word = to_text(selector_.evaluate(bindings));
    const auto chosen = std::ranges::lower_bound(alternatives_, word, {}, &Alternative::word);
    if (chosen == alternatives_.end() || chosen->word != word) {
      selector_.source().fail("unknown operation " + in_quotes(word));
    }
    chosen->item->build(builder, bindings);
  }

 private:
  Expression selector_;
  std::vector<Alternative> alternatives_;
};

class Conditional final : public NetworkItem {
 public:
  Conditional(Expression condition, ItemPointer item)
      : condition_(std::move(condition)), item_(std::move(item)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    builder.count_steps(condition_.root()->size, condition_.source());
    if (condition_.holds(bindings)) item_->build(builder, bindings);
  }

 private:
  Expression condition_;
  ItemPointer item_;
};

class Reading final : public NetworkItem {
 public:
  Reading(TensorReference from, ItemPointer item) : from_(from), item_(std::move(item)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    builder.continue_from(tensor_of(builder, from_));
    item_->build(builder, bindings);
  }

 private:
  TensorReference from_;
  ItemPointer item_;
};

class Naming final : public NetworkItem {
 public:
  Naming(std::size_t number, ItemPointer item) : number_(number), item_(std::move(item)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    item_->build(builder, bindings);
    builder.named(number_) = builder.current();
  }

 private:
  std::size_t number_;
  ItemPointer item_;
};

}  // namespace

ItemPointer make_layer(LayerTemplate layer, std::vector<TensorReference> reads) {
  return std::make_unique<SingleLayer>(std::move(layer), std::move(reads));
}

ItemPointer make_sequence(ItemPointers items, std::size_t input, ConfigNode source) {
  return std::make_unique<Sequence>(std::move(items), input, std::move(source));
}

ItemPointer make_repeat(Expression count, ItemPointers bodies) {
  return std::make_unique<Repeat>(std::move(count), std::move(bodies));
}

ItemPointer make_choice(Expression selector, std::vector<Alternative> alternatives) {
  return std::make_unique<Choice>(std::move(selector), std::move(alternatives));
}

ItemPointer make_condition(Expression condition, ItemPointer item) {
  return std::make_unique<Conditional>(std::move(condition), std::move(item));
}

ItemPointer make_reading(TensorReference from, ItemPointer item) {
  return std::make_unique<Reading>(from, std::move(item));
}

ItemPointer make_naming(std::size_t number, ItemPointer item) {
  return std::make_unique<Naming>(number, std::move(item));
}

std::int64_t repetitions(const Expression& count, const Value& value) {
  constexpr std::int64_t kMost = 10'000;
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr || *number < 0) {
    count.source().fail("expected a whole number of at least 0, got " + count.describe(value));
  }
  if (*number > kMost) {
    count.source().fail("expected at most " + std::to_string(kMost) + " repetitions, got " +
                        count.describe(value));
  }
  return *number;
}

}  // namespace skyline::space
