#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include <cstddef>
#include <utility>

namespace skyline::space {
namespace {

/// Notes what a kind asks for, and answers with the default, or else with the smallest value and `more`.
class AttributeRecorder final : public AttributeReader {
 public:
  explicit AttributeRecorder(std::int64_t more) : more_(more) {}

  std::int64_t integer(std::string_view name, std::int64_t minimum) override {
    note(name, whole<std::int64_t>(at_least(static_cast<double>(minimum))), {});
    return minimum + more_;
  }
  std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback) override {
    const OptionKind<std::int64_t> kind = whole<std::int64_t>(at_least(static_cast<double>(minimum)));
    note(name, kind, kind.write(fallback));
    return fallback;
  }
  std::optional<std::int64_t> integer_or_word(std::string_view name, std::int64_t minimum,
                                              std::string_view word) override {
    const auto kind = or_word(std::string(word), whole<std::int64_t>(at_least(static_cast<double>(minimum))));
    note(name, kind, kind.write(std::nullopt));
    return std::nullopt;
  }
  double number_or(std::string_view name, const Range& range, double fallback) override {
    note(name, number(range), number(range).write(fallback));
    return fallback;
  }
  bool flag_or(std::string_view name, bool fallback) override {
    note(name, flag(), flag().write(fallback));
    return fallback;
  }
  [[noreturn]] void fail(std::string_view message) override {
    throw InternalError("a layer kind refuses small values of its own attributes: " + std::string(message));
  }
  [[noreturn]] void fail_at(std::string_view /*name*/, std::string_view message) override { fail(message); }

  std::vector<LayerAttribute> take() { return std::move(attributes_); }

 private:
  /// @param fallback  null: the attribute is required
  void note(std::string_view name, const ValueDescription& value, const ConfigNode& fallback) {
    attributes_.push_back({std::string(name), value.expected, value.schema, fallback.is_null(), fallback});
  }

  const std::int64_t more_;
  std::vector<LayerAttribute> attributes_;
};

std::vector<LayerAttribute> record(const LayerKind& kind, std::int64_t more) {
  Layer layer;
  layer.name = kind.name();
  AttributeRecorder recorder(more);
  kind.read_attributes(layer, recorder);
  return recorder.take();
}

}  // namespace

std::vector<LayerAttribute> attributes_of(const LayerKind& kind) {
  std::vector<LayerAttribute> attributes = record(kind, 0);
  const std::vector<LayerAttribute> with_others = record(kind, 2);  // two more: an odd kernel stays odd
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    ConfigNode& fallback = attributes[i].fallback;
    if (fallback.is_null()) continue;
    if (fallback.as_text() != with_others[i].fallback.as_text()) fallback = ConfigNode();
  }
  return attributes;
}

}  // namespace skyline::space
