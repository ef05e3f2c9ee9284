#pragma once

#include "skyline/store/dataset.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace skyline::train {

/// A data set whose training set is a part of another one's and its stored validation set after it, as a
/// copy. All else is as it is there; the training set's mean and deviation, too.
class JoinedDataset final : public store::Dataset {
 public:
  /// @param train  indices of the training samples to take
  JoinedDataset(std::shared_ptr<const store::Dataset> dataset, std::span<const std::int64_t> train);

  const space::Shape& shape() const override { return dataset_->shape(); }
  const std::vector<std::string>& class_names() const override { return dataset_->class_names(); }
  const std::vector<double>& mean() const override { return dataset_->mean(); }
  const std::vector<double>& deviation() const override { return dataset_->deviation(); }
  double value_scale() const override { return dataset_->value_scale(); }
  const store::SampleView& train() const override { return view_; }
  const store::SampleView& validation() const override { return dataset_->validation(); }
  const store::SampleView& test() const override { return dataset_->test(); }
  const std::string& content_hash() const override { return dataset_->content_hash(); }
  std::string preparation() const override { return dataset_->preparation(); }
  void check_unchanged() const override { dataset_->check_unchanged(); }

 private:
  std::shared_ptr<const store::Dataset> dataset_;
  store::Samples samples_;
  store::SampleView view_;
};

}  // namespace skyline::train
