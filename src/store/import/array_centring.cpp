#include "store/import/array_centring.hpp"

#include "store/arrays/float_rounding.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::size_t kMostJudged = std::size_t{1} << 23;  // numbers by which columns are judged

/// Returns whether float32 may round the array's elements.
bool may_round(const ElementType& type) {
  return type.bytes > (type.kind == ElementType::Kind::kFloat ? 4U : 2U);
}

/// The rows of an array as float32, from which a number per column is subtracted in double.
class CentredStream final : public ArrayStream {
 public:
  CentredStream(const SourceArray& array, std::vector<double> offsets)
      : stream_(array.open()), type_(array.type), offsets_(std::move(offsets)) {}
  void read(std::span<std::byte> bytes) override {
    std::vector<std::byte> stored(bytes.size() / sizeof(float) * type_.bytes);
    stream_->read(stored);
    std::vector<double> values(bytes.size() / sizeof(float));
    to_doubles(type_, stored, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<float>(values[i] - offsets_[i % offsets_.size()]);
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  }

 private:
  std::unique_ptr<ArrayStream> stream_;
  ElementType type_;
  std::vector<double> offsets_;
};

/// Returns the number to subtract from each column.
std::vector<double> find_offsets(const SourceArray& x, std::vector<std::string>& notes) {
  const std::size_t columns = x.row_elements();
  const std::size_t rows = std::clamp<std::size_t>(kMostJudged / columns, 1, x.rows());
  std::vector<std::byte> bytes(rows * x.row_bytes());
  x.open()->read(bytes);
  std::vector<double> values(rows * columns);
  to_doubles(x.type, bytes, values);
  std::vector<double> offsets;
  for (std::size_t column = 0; column < columns; ++column) {
    std::vector<double> kept;
    for (std::size_t row = 0; row < rows; ++row) kept.push_back(values[row * columns + column]);
    offsets.push_back(
        find_centre(kept, x.label() + ": column " + std::to_string(column), "leave it out", notes));
  }
  return offsets;
}

}  // namespace

std::optional<Preparation> centre_columns(std::vector<PartArrays>& parts,
                                          const std::optional<Preparation>& known,
                                          std::vector<std::string>& notes) {
  const SourceArray& first = parts.front().x;
  if (first.table != nullptr || first.dims.size() > 2 || !may_round(first.type)) return std::nullopt;
  Preparation preparation;
  preparation.has_names = false;
  std::vector<double> offsets;
  if (known && known->features.size() == first.row_elements()) {
    for (const Feature& feature : known->features) offsets.push_back(feature.subtract);
  } else if (!known) {
    offsets = find_offsets(first, notes);
  }
  if (std::ranges::count(offsets, 0) == std::ssize(offsets)) return std::nullopt;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    preparation.features.push_back({.column = std::to_string(i + 1), .subtract = offsets[i]});
  for (PartArrays& part : parts) {
    const SourceArray stored = part.x;
    part.x.type = {ElementType::Kind::kFloat, sizeof(float)};
    part.x.open = [stored, offsets] { return std::make_unique<CentredStream>(stored, offsets); };
  }
  return preparation;
}

}  // namespace skyline::store
