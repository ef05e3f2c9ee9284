#include "train/batches/joined_dataset.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::train {
namespace {

/// Returns the chosen rows of an array of so many samples, and all of another one after them.
template <typename Variant>
auto joined(const Variant& values, std::size_t samples, std::span<const std::int64_t> chosen,
            const Variant& others) {
  return std::visit(
      [&](auto from) {
        const std::size_t each = from.size() / samples;
        std::vector<std::remove_const_t<typename decltype(from)::element_type>> rows;
        const auto after = std::get<decltype(from)>(others);
        rows.reserve(chosen.size() * each + after.size());
        for (const std::int64_t index : chosen) {
          const auto row = from.subspan(static_cast<std::size_t>(index) * each, each);
          rows.insert(rows.end(), row.begin(), row.end());
        }
        rows.insert(rows.end(), after.begin(), after.end());
        store::Samples made;
        if constexpr (std::is_same_v<Variant, decltype(store::SampleView::values)>) {
          made.values = std::move(rows);
        } else {
          made.targets = std::move(rows);
        }
        return made;
      },
      values);
}

}  // namespace

JoinedDataset::JoinedDataset(std::shared_ptr<const store::Dataset> dataset,
                             std::span<const std::int64_t> train)
    : dataset_(std::move(dataset)) {
  const store::SampleView& trained = dataset_->train();
  const store::SampleView& validation = dataset_->validation();
  samples_.values = joined(trained.values, trained.count, train, validation.values).values;
  samples_.targets = joined(trained.targets, trained.count, train, validation.targets).targets;
  view_ = samples_.view(class_names().size());
}

}  // namespace skyline::train
