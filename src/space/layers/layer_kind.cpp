#include "skyline/space/layer_kind.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/registry.hpp"
#include "space/layers/layers.hpp"

#include <algorithm>
#include <utility>

namespace skyline::space {
namespace {

using Kinds = Registry<std::unique_ptr<LayerKind>>;

KindList built_in_kinds() {
  KindList kinds;
  for (const auto add : {add_activations, add_attention, add_convolutions, add_drops, add_linear, add_merges,
                         add_norms, add_pools, add_wiring}) {
    add(kinds);
  }
  return kinds;
}

Kinds& registry() {
  static Kinds registered("layer kind", [](Kinds& built_in) {
    for (std::unique_ptr<LayerKind>& kind : built_in_kinds()) {
      const std::string name(kind->name());
      built_in.add(name, std::move(kind));
    }
  });
  return registered;
}

/// Guesses traits from shapes, for kinds that don't state them. It assumes that each layer draws, to be safe.
Traits traits_by_shape(const Layer& layer) {
  const bool keeps =
      layer.input_shapes.size() == 1 && layer.input() == layer.output &&
      std::ranges::all_of(layer.tensors, [](const TensorSpec& tensor) { return tensor.dims.size() == 1; });
  return {.features = keeps ? Features::kKept : Features::kNew, .draws = true};
}

/// Describes two integers, or one that stands for both.
OptionKind<Sides> sides_of_at_least(std::int64_t minimum) {
  OptionKind<Sides> kind{integer<std::int64_t>(at_least(static_cast<double>(minimum)))};
  ConfigNode both =
      load_yaml_text("{type: array, items: {type: [integer, string]}, minItems: 2, maxItems: 2}", "schema");
  both.set("items.minimum", ConfigNode::make_integer(minimum));
  kind.schema = ConfigNode::make_map({{"anyOf", ConfigNode::make_list({kind.schema, both}, {}), {}}}, {});
  kind.expected += ", or [height, width]";
  kind.write = [](const Sides& sides) { return ConfigNode::make_scalar(to_text(as_value(sides)), {}); };
  return kind;
}

/// Notes the attributes that a kind asks for, and answers with the default, or the smallest value plus
/// `more`.
class AttributeRecorder final : public AttributeReader {
 public:
  explicit AttributeRecorder(std::int64_t more) : more_(more) {}

  std::int64_t integer(std::string_view name, std::int64_t minimum, std::string_view meaning) override {
    note(name, meaning, skyline::integer<std::int64_t>(at_least(static_cast<double>(minimum))), {});
    return minimum + more_;
  }
  std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback,
                          std::string_view meaning) override {
    const OptionKind<std::int64_t> kind =
        skyline::integer<std::int64_t>(at_least(static_cast<double>(minimum)));
    note(name, meaning, kind, kind.write(fallback));
    return fallback;
  }
  std::optional<std::int64_t> integer_or_word(std::string_view name, std::int64_t minimum,
                                              std::string_view word, std::string_view meaning) override {
    const auto kind =
        or_keyword(std::string(word), skyline::integer<std::int64_t>(at_least(static_cast<double>(minimum))));
    note(name, meaning, kind, kind.write(std::nullopt));
    return std::nullopt;
  }
  Sides sides(std::string_view name, std::int64_t minimum, std::string_view meaning) override {
    note(name, meaning, sides_of_at_least(minimum), {});
    return {minimum + more_, minimum + more_};
  }
  Sides sides_or(std::string_view name, std::int64_t minimum, const Sides& fallback,
                 std::string_view meaning) override {
    const OptionKind<Sides> kind = sides_of_at_least(minimum);
    note(name, meaning, kind, kind.write(fallback));
    return fallback;
  }
  std::optional<Sides> sides_or_word(std::string_view name, std::int64_t minimum, std::string_view word,
                                     std::string_view meaning) override {
    const auto kind = or_keyword(std::string(word), sides_of_at_least(minimum));
    note(name, meaning, kind, kind.write(std::nullopt));
    return std::nullopt;
  }
  double number_or(std::string_view name, const Range& range, double fallback,
                   std::string_view meaning) override {
    note(name, meaning, number(range), number(range).write(fallback));
    return fallback;
  }
  bool flag_or(std::string_view name, bool fallback, std::string_view meaning) override {
    note(name, meaning, flag(), flag().write(fallback));
    return fallback;
  }
  [[noreturn]] void fail(std::string_view message) override {
    throw InternalError("a layer kind refuses small values of its own attributes: " + std::string(message));
  }
  [[noreturn]] void fail_at(std::string_view /*name*/, std::string_view message) override { fail(message); }

  std::vector<LayerAttribute> take_attributes() { return std::move(attributes_); }

 private:
  /// @param fallback  null if the attribute is required
  void note(std::string_view name, std::string_view meaning, const ValueDescription& value,
            const ConfigNode& fallback) {
    attributes_.push_back({std::string(name), std::string(meaning), value.expected, value.schema,
                           fallback.is_null(), fallback});
  }

  const std::int64_t more_;
  std::vector<LayerAttribute> attributes_;
};

std::vector<LayerAttribute> record(const LayerKind& kind, std::int64_t more) {
  Layer layer;
  layer.name = kind.name();
  AttributeRecorder recorder(more);
  kind.read_attributes(layer, recorder);
  return recorder.take_attributes();
}

}  // namespace

Traits LayerKind::traits(const Layer& layer) const {
  return traits_by_shape(layer);
}

Traits traits_of(const Layer& layer) {
  const LayerKind* kind = find_layer_kind(layer.kind);
  return kind == nullptr ? traits_by_shape(layer) : kind->traits(layer);
}

void register_layer_kind(std::unique_ptr<LayerKind> kind) {
  const std::string name(kind->name());
  registry().add(name, std::move(kind));
}

bool is_built_in(std::string_view kind) {
  static const KindList kinds = built_in_kinds();
  return std::ranges::any_of(kinds, [&](const auto& known) { return known->name() == kind; });
}

std::vector<LayerAttribute> attributes_of(const LayerKind& kind) {
  std::vector<LayerAttribute> attributes = record(kind, 0);
  const std::vector<LayerAttribute> with_others = record(kind, 2);  // adds 2, so that an odd kernel stays odd
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    ConfigNode& fallback = attributes[i].fallback;
    if (fallback.is_null()) continue;
    if (fallback.as_text() != with_others[i].fallback.as_text()) fallback = ConfigNode();
  }
  return attributes;
}

const LayerKind* find_layer_kind(std::string_view name) {
  const auto* kind = registry().find(name);
  return kind == nullptr ? nullptr : kind->get();
}

std::vector<std::string> layer_kind_names() {
  return registry().names();
}

void set_unless(Layer& layer, std::string_view name, const Value& value, std::int64_t neutral) {
  if (value != Value(neutral)) layer.attributes[name] = value;
}

Shape places_of(const Window& window, const Layer& layer, AttributeReader& reader) {
  const Shape& input = layer.input();
  Sides places{input.height, input.width};
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    const std::int64_t span = window.dilation[axis] * (window.kernel[axis] - 1) + 1;
    if (span > places[axis] + 2 * window.padding[axis]) {
      const auto written = [&](const char* before, const char* name) {
        const Value* const value = layer.attributes.find(name);
        const bool is_given = value != nullptr && *value != Value(std::int64_t{0});
        return is_given ? std::string(before) + name + ' ' + to_text(*value) : "";
      };
      reader.fail(written("", "kernel") + written(" with ", "dilation") + " is larger than its input " +
                  to_text(input) + written(" with ", "padding"));
    }
    places[axis] = sliding_output(places[axis], span, window.stride[axis], window.padding[axis]);
  }
  bounded_product(reader, {input.channels, places[0], places[1]});
  return {input.channels, places[0], places[1]};
}

void require_sequence(const Layer& layer, AttributeReader& reader) {
  if (layer.input().height == 1) return;
  reader.fail("expected a sequence C x 1 x L, got " + to_text(layer.input()) +
              "; patch_embedding makes one of an image");
}

std::int64_t sliding_output(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding) {
  return (input + 2 * padding - kernel) / stride + 1;
}

std::int64_t bounded_product(AttributeReader& reader, std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 44;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    const bool overflow = __builtin_mul_overflow(product, factor, &product);
    if (overflow || product > kLargest) reader.fail("the layer is too large");
  }
  return product;
}

}  // namespace skyline::space
