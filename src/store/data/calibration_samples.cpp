#include "store/data/calibration_samples.hpp"

namespace skyline::store {

std::vector<std::int64_t> calibration_samples(const Dataset& dataset, const SplitIndices& split,
                                              std::size_t count, std::uint64_t seed) {
  const SampleView& train = dataset.train();
  std::vector<std::int32_t> classes(train.count);
  if (train.target_kind() == TargetKind::kClasses)
    classes.assign(train.classes().begin(), train.classes().end());
  return stratified_part(classes, split.train, count, seed);
}

}  // namespace skyline::store
