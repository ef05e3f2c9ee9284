#include "train/scoring/answers.hpp"

#include "skyline/core/random.hpp"

#include "core/config/config_text.hpp"
#include "store/arrays/preparation.hpp"
#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace skyline::train {
namespace {

using store::TargetKind;

/// Most samples of a set that is resampled; of more, chance decides little.
constexpr std::size_t kMostResampled = 200'000;

constexpr std::size_t kFewest = 200;
constexpr std::size_t kMost = 1000;
constexpr std::size_t kMostDraws = 10'000'000;  // in all, where kFewest need no more

/// Returns what metrics would be on resamples of a set, which draw as many samples with replacement.
/// Replicate i draws the same samples for every network, so that the replicates of two networks can be
/// compared in pairs. Deterministic.
/// @param samples  a set of at least one and at most kMostResampled samples
/// @param outputs  [samples, outputs] of the network
/// @param columns  as Scorer has them
/// @return         [metrics][200 to 1000 replicates, fewer of more samples]
/// @see            Efron and Tibshirani, An Introduction to the Bootstrap, 1993
std::vector<std::vector<double>> replicates_of(std::span<const LossOrMetric> metrics,
                                               const store::SampleView& samples,
                                               std::span<const float> outputs,
                                               std::span<const store::TargetColumn> columns) {
  const std::size_t each = outputs.size() / samples.count;
  const std::size_t count = std::clamp(kMostDraws / samples.count, kFewest, kMost);
  std::vector<std::vector<double>> replicates(metrics.size());
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream random(derive_seed(0, "bootstrap", {i}));
    Scorer scorer(metrics, samples, each, columns);
    for (std::size_t drawn = 0; drawn < samples.count; ++drawn) {
      const auto index = static_cast<std::int64_t>(random.below(samples.count));
      scorer.add({&index, 1}, 0, outputs.subspan(static_cast<std::size_t>(index) * each, each));
    }
    const std::vector<double> values = scorer.score().metrics;
    for (std::size_t metric = 0; metric < metrics.size(); ++metric)
      replicates[metric].push_back(values[metric]);
  }
  return replicates;
}

constexpr std::size_t kMostNamed = 1000;       // classes or labels
constexpr std::size_t kMostPairs = 1000;       // pairs of classes that are taken for each other
constexpr std::size_t kMostWorst = 6;          // samples
constexpr std::size_t kMostPoints = 1500;      // pairs of numbers
constexpr std::size_t kMostOutputs = 6;        // outputs whose numbers are shown
constexpr std::size_t kMostSide = 40;          // pixels of a picture
constexpr std::size_t kMostKept = 10'000'000;  // numbers that are kept to be resampled

ConfigNode integer(std::size_t value) {
  return ConfigNode::make_integer(static_cast<std::int64_t>(value));
}

ConfigNode text(const std::string& value) {
  return ConfigNode::make_scalar(value, {}, true);
}

template <typename Items, typename Make>
ConfigNode list_of(const Items& items, Make make) {
  std::vector<ConfigNode> list;
  for (const auto& item : items) list.push_back(make(item));
  return ConfigNode::make_list(std::move(list), {});
}

ConfigNode integers(const std::vector<std::int64_t>& values) {
  return list_of(values, &ConfigNode::make_integer);
}

/// Returns a size of at most kMostSide that keeps the ratio of the sides.
std::size_t side_of(std::size_t side, std::size_t longest) {
  return longest <= kMostSide ? side : std::max<std::size_t>(1, side * kMostSide / longest);
}

/// Returns whether the samples are pictures that people can see.
bool are_pictures(const store::Dataset& dataset, const store::SampleView& samples) {
  const space::Shape& shape = dataset.shape();
  return samples.has_pixels() && shape.height > 1 && shape.width > 1 &&
         (shape.channels == 1 || shape.channels == 3);
}

/// A picture with 8 bits per value.
struct Picture {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> pixels = {};  // [height, width, channels]
};

/// Returns a picture of fewer pixels, each the mean of those that it stands for.
Picture reduced(const Picture& picture, std::size_t height, std::size_t width) {
  Picture small{picture.channels, height, width};
  for (std::size_t y = 0; y < height; ++y) {
    const std::size_t top = y * picture.height / height;
    const std::size_t bottom = std::max(top + 1, (y + 1) * picture.height / height);
    for (std::size_t x = 0; x < width * picture.channels; ++x) {
      const std::size_t column = x / picture.channels;
      const std::size_t left = column * picture.width / width;
      const std::size_t right = std::max(left + 1, (column + 1) * picture.width / width);
      std::size_t sum = 0;
      for (std::size_t row = top; row < bottom; ++row) {
        for (std::size_t place = left; place < right; ++place) {
          sum += picture.pixels[(row * picture.width + place) * picture.channels + x % picture.channels];
        }
      }
      small.pixels.push_back(static_cast<std::uint8_t>(sum / ((bottom - top) * (right - left))));
    }
  }
  return small;
}

/// Returns a sample as a small picture.
Picture picture_of(const store::Dataset& dataset, const store::SampleView& samples, std::int64_t sample) {
  const space::Shape& shape = dataset.shape();
  Picture picture{static_cast<std::size_t>(shape.channels), static_cast<std::size_t>(shape.height),
                  static_cast<std::size_t>(shape.width)};
  const std::size_t places = picture.height * picture.width;
  const auto planes = samples.pixels().subspan(static_cast<std::size_t>(sample) * picture.channels * places,
                                               picture.channels * places);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const double value = planes[i % picture.channels * places + i / picture.channels];
    picture.pixels.push_back(
        static_cast<std::uint8_t>(std::min(255.0, std::round(value / dataset.value_scale() * 255))));
  }
  const std::size_t longest = std::max(picture.height, picture.width);
  if (longest <= kMostSide) return picture;
  return reduced(picture, side_of(picture.height, longest), side_of(picture.width, longest));
}

std::string hex_of(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

}  // namespace

Answers::Answers(const store::Dataset& dataset, const store::SampleView& samples,
                 std::span<const LossOrMetric> metrics)
    : dataset_(dataset), samples_(samples), outputs_(dataset.class_names().size()), metrics_(metrics) {
  if (samples.target_kind() == TargetKind::kLabels) labels_.resize(outputs_);
  const bool resamples = samples.target_kind() == TargetKind::kNumbers && !metrics.empty() &&
                         samples.count <= kMostResampled && samples.count * outputs_ <= kMostKept;
  if (resamples) numbers_.resize(samples.count * outputs_);
}

void Answers::add(std::span<const std::int64_t> indices, std::span<const float> outputs) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::span<const float> said = outputs.subspan(i * outputs_, outputs_);
    switch (samples_.target_kind()) {
      case TargetKind::kClasses:
        add_class(indices[i], said);
        break;
      case TargetKind::kLabels:
        add_labels(indices[i], said);
        break;
      case TargetKind::kNumbers:
        add_numbers(indices[i], said);
        break;
    }
  }
}

void Answers::add_class(std::int64_t sample, std::span<const float> outputs) {
  const Class wanted = samples_.classes()[static_cast<std::size_t>(sample)];
  const auto best = std::ranges::max_element(outputs);
  const auto answer = static_cast<Class>(best - outputs.begin());
  ++counts_[{wanted, answer}];
  double sum = 0;
  for (const float output : outputs) sum += std::exp(static_cast<double>(output) - *best);
  const double probability =
      std::exp(static_cast<double>(outputs[static_cast<std::size_t>(wanted)]) - *best) / sum;
  const auto place = std::ranges::upper_bound(worst_, probability, {}, &Doubt::probability);
  if (place == worst_.end() && worst_.size() == kMostWorst) return;
  worst_.insert(place, {probability, sample, answer});
  worst_.resize(std::min(worst_.size(), kMostWorst));
}

void Answers::add_labels(std::int64_t sample, std::span<const float> outputs) {
  const auto wanted = std::get<1>(samples_.targets).subspan(static_cast<std::size_t>(sample) * outputs_);
  for (std::size_t i = 0; i < outputs_; ++i) {
    const bool said = outputs[i] > 0;  // a probability above one half
    const bool right = wanted[i] > 0;
    labels_[i].said += said ? 1 : 0;
    labels_[i].right += right ? 1 : 0;
    labels_[i].both += said && right ? 1 : 0;
  }
}

/// Keeps samples at equal distances, so that there are at most kMostPoints numbers.
void Answers::add_numbers(std::int64_t sample, std::span<const float> outputs) {
  const auto index = static_cast<std::size_t>(sample);
  if (!numbers_.empty()) std::ranges::copy(outputs, numbers_.begin() + std::ssize(outputs) * sample);
  const std::size_t shown = shown_numbers();
  const std::size_t stride = (samples_.count * shown + kMostPoints - 1) / kMostPoints;
  if (index % stride != 0) return;
  const auto wanted = std::get<2>(samples_.targets).subspan(index * outputs_, outputs_);
  for (std::size_t i = 0; i < shown; ++i) points_.emplace_back(wanted[i], outputs[i]);
}

std::string Answers::json() const {
  const TargetKind kind = samples_.target_kind();
  if (samples_.count == 0 || (kind != TargetKind::kNumbers && outputs_ > kMostNamed)) return {};
  std::vector<std::string> names = dataset_.class_names();
  if (kind == TargetKind::kNumbers) names.resize(shown_numbers());
  Entries entries{{"version", integer(1), {}},
                  {"targets", text(std::string(store::to_text(kind))), {}},
                  {"samples", integer(samples_.count), {}},
                  {"names", list_of(names, text), {}}};
  switch (kind) {
    case TargetKind::kClasses:
      put_classes(entries);
      break;
    case TargetKind::kLabels:
      entries.push_back({"labels",
                         list_of(labels_,
                                 [](const LabelCounts& counts) {
                                   return integers({counts.said, counts.right, counts.both});
                                 }),
                         {}});
      break;
    case TargetKind::kNumbers:
      put_points(entries);
      if (!numbers_.empty()) put_replicates(entries);
      break;
  }
  return to_json(ConfigNode::make_map(std::move(entries), {}));
}

std::size_t Answers::shown_numbers() const {
  return std::min(outputs_, kMostOutputs);
}

void Answers::put_classes(Entries& entries) const {
  std::vector<std::int64_t> all(outputs_);
  std::vector<std::int64_t> right(outputs_);
  std::vector<std::vector<std::int64_t>> taken;  // class, answer, number of samples
  for (const auto& [classes, count] : counts_) {
    const auto& [wanted, answer] = classes;
    all[static_cast<std::size_t>(wanted)] += count;
    if (wanted == answer) right[static_cast<std::size_t>(wanted)] = count;
    if (wanted != answer) taken.push_back({wanted, answer, count});
  }
  std::ranges::stable_sort(taken, std::ranges::greater(), [](const auto& each) { return each[2]; });
  taken.resize(std::min(taken.size(), kMostPairs));
  entries.push_back({"all", integers(all), {}});
  entries.push_back({"right", integers(right), {}});
  entries.push_back({"taken", list_of(taken, integers), {}});
  entries.push_back({"worst", list_of(worst_, [this](const Doubt& doubt) { return doubt_node(doubt); }), {}});
}

/// Returns the facts about a sample, with its picture if it is one.
ConfigNode Answers::doubt_node(const Doubt& doubt) const {
  const Class wanted = samples_.classes()[static_cast<std::size_t>(doubt.sample)];
  Entries facts{{"sample", ConfigNode::make_integer(doubt.sample), {}},
                {"class", ConfigNode::make_integer(wanted), {}},
                {"answer", ConfigNode::make_integer(doubt.answer), {}},
                {"probability", ConfigNode::make_number(doubt.probability), {}}};
  if (are_pictures(dataset_, samples_)) {
    const Picture picture = picture_of(dataset_, samples_, doubt.sample);
    facts.push_back({"height", integer(picture.height), {}});
    facts.push_back({"width", integer(picture.width), {}});
    facts.push_back({"pixels", text(hex_of(picture.pixels)), {}});
  }
  return ConfigNode::make_map(std::move(facts), {});
}

void Answers::put_points(Entries& entries) const {
  std::vector<store::TargetColumn> scales = number_columns(dataset_);
  scales.resize(outputs_);
  std::vector<ConfigNode> points;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::size_t output = i % shown_numbers();
    const store::TargetColumn& scale = scales[output];
    const auto number = [&scale](double value) { return ConfigNode::make_number(scale.number(value)); };
    points.push_back(
        ConfigNode::make_list({integer(output), number(points_[i].first), number(points_[i].second)}, {}));
  }
  entries.push_back({"points", ConfigNode::make_list(std::move(points), {}), {}});
}

void Answers::put_replicates(Entries& entries) const {
  const std::vector<store::TargetColumn> columns = number_columns(dataset_);
  const auto replicates = replicates_of(metrics_, samples_, numbers_, columns);
  Entries of_metrics;
  const auto is_finite = [](double value) { return std::isfinite(value); };
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (!std::ranges::all_of(replicates[i], is_finite)) continue;  // some resamples do not define it
    of_metrics.push_back({"test_" + metrics_[i].name, list_of(replicates[i], &ConfigNode::make_number), {}});
  }
  entries.push_back({"replicates", ConfigNode::make_map(std::move(of_metrics), {}), {}});
}

std::vector<double> to_answers(std::span<const float> outputs, store::TargetKind targets) {
  std::vector<double> answers(outputs.begin(), outputs.end());
  if (targets == store::TargetKind::kLabels) {
    for (double& answer : answers) answer = 1 / (1 + std::exp(-answer));
  } else if (targets == store::TargetKind::kClasses) {
    const double largest = *std::ranges::max_element(answers);
    for (double& answer : answers) answer = std::exp(answer - largest);
    const double sum = std::accumulate(answers.begin(), answers.end(), 0.0);
    for (double& answer : answers) answer /= sum;
  }
  return answers;
}

}  // namespace skyline::train
