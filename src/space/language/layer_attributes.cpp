#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include <utility>

namespace skyline::space {
namespace {

/// Notes what a kind asks for, and answers with the smallest value or the default.
class AttributeRecorder final : public AttributeReader {
 public:
  std::int64_t integer(std::string_view name, std::int64_t minimum) override {
    note(name, whole<std::int64_t>(at_least(static_cast<double>(minimum))), true);
    return minimum;
  }
  std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback) override {
    note(name, whole<std::int64_t>(at_least(static_cast<double>(minimum))), false);
    return fallback;
  }
  std::optional<std::int64_t> integer_or_word(std::string_view name, std::int64_t minimum,
                                              std::string_view word) override {
    const OptionKind<std::int64_t> number = whole<std::int64_t>(at_least(static_cast<double>(minimum)));
    note(name, or_word(std::string(word), number), false);
    return std::nullopt;
  }
  double number_or(std::string_view name, const Range& range, double fallback) override {
    note(name, number(range), false);
    return fallback;
  }
  bool flag_or(std::string_view name, bool fallback) override {
    note(name, flag(), false);
    return fallback;
  }
  [[noreturn]] void fail(std::string_view message) override {
    throw InternalError("a layer kind refuses the smallest values of its own attributes: " +
                        std::string(message));
  }
  [[noreturn]] void fail_at(std::string_view /*name*/, std::string_view message) override { fail(message); }

  std::vector<LayerAttribute> take() { return std::move(attributes_); }

 private:
  void note(std::string_view name, const ValueDescription& value, bool required) {
    attributes_.push_back({std::string(name), value.expected, value.schema, required});
  }

  std::vector<LayerAttribute> attributes_;
};

}  // namespace

std::vector<LayerAttribute> attributes_of(const LayerKind& kind) {
  Layer layer;
  layer.name = kind.name();
  AttributeRecorder recorder;
  kind.read_attributes(layer, recorder);
  return recorder.take();
}

}  // namespace skyline::space
