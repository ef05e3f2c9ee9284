// Measures for scripts/bench/inheritance how soon children reach an accuracy with and without their parents'
// weights. A pair is a random architecture of the configuration's space and a mutation of it, as in a search.
// The parent is trained with the configuration's budget; the child twice, from fresh values and from the
// parent's. One line a pair; then a summary.
#include "skyline/core/error.hpp"
#include "skyline/core/option_table.hpp"
#include "skyline/space/search_space.hpp"

#include "space/network/network_alignment.hpp"
#include "support/yaml_config.hpp"
#include "train/fixtures/gather_batch.hpp"
#include "train/fixtures/host_step.hpp"
#include "train/inherit/weight_transfer.hpp"
#include "train/loop/training_loop.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include <ATen/Parallel.h>

namespace skyline::train {
namespace {

constexpr std::size_t kMostValidation = 500;  // samples that an accuracy is measured on
constexpr std::int64_t kPoints = 40;          // points of a learning curve
constexpr std::uint64_t kSplitSeed = 1;

struct Bench {
  std::shared_ptr<const store::Dataset> data;
  store::SplitIndices split;
  TrainingOptions options;
  ValueScaling scaling;
  std::int64_t steps;  // the configuration's budget
};

/// Validation accuracy after steps[i] steps; steps[0] is 0.
struct Curve {
  std::vector<std::int64_t> steps;
  std::vector<double> accuracy;
  double last() const { return accuracy.back(); }
  std::optional<std::int64_t> steps_to(double wanted) const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (accuracy[i] >= wanted) return steps[i];
    }
    return std::nullopt;
  }
};

double accuracy(const Bench& bench, test::HostStep& network) {
  std::size_t correct = 0;
  const std::span<const std::int64_t> all = bench.split.validation;
  for (std::size_t first = 0; first < all.size(); first += 64) {
    const test::Batch batch = test::gather_batch(
        *bench.data, bench.scaling, all.subspan(first, std::min<std::size_t>(64, all.size() - first)));
    const at::Tensor logits = network.infer(batch.images);
    const float* row = logits.const_data_ptr<float>();
    for (const std::int32_t label : batch.labels) {
      if (std::max_element(row, row + logits.size(1)) - row == label) ++correct;
      row += logits.size(1);
    }
  }
  return static_cast<double>(correct) / static_cast<double>(all.size());
}

Curve train(const Bench& bench, test::HostStep& network, std::uint64_t seed) {
  const std::int64_t an_epoch = steps_per_epoch(bench.split.train.size(), bench.options.batch);
  const auto size = static_cast<std::size_t>(bench.options.batch);
  Curve curve{{0}, {accuracy(bench, network)}};
  std::vector<std::int64_t> order;
  for (std::int64_t step = 0; step < bench.steps;) {
    if (step % an_epoch == 0) {
      order = epoch_order(bench.split.train, seed, static_cast<std::uint64_t>(step / an_epoch));
    }
    const std::size_t first = static_cast<std::size_t>(step % an_epoch) * size;
    const test::Batch batch = test::gather_batch(
        *bench.data, bench.scaling, std::span(order).subspan(first, std::min(size, order.size() - first)));
    network.step(batch.images, batch.labels);
    ++step;
    if (step * kPoints / bench.steps != (step - 1) * kPoints / bench.steps) {
      curve.steps.push_back(step);
      curve.accuracy.push_back(accuracy(bench, network));
    }
  }
  return curve;
}

struct PairResult {
  double share;
  Curve parent;
  Curve fresh;
  Curve inherited;
};

PairResult measure(const Bench& bench, const space::Network& parent, const space::Network& child,
                   std::uint64_t seed) {
  const auto old = test::make_step(parent, bench.options.optimizer, seed);
  PairResult result;
  result.parent = train(bench, *old, seed);
  const auto fresh = test::make_step(child, bench.options.optimizer, seed + 1);
  const auto heir = test::make_step(child, bench.options.optimizer, seed + 1);
  heir->parameters().import_tensors(
      inherit_weights(parent, old->export_tensors(), child, fresh->export_tensors()));
  result.share = space::inherited_share(parent, child, space::align(parent, child));
  result.fresh = train(bench, *fresh, seed + 1);
  result.inherited = train(bench, *heir, seed + 1);
  return result;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Steps that both need to the accuracy that the fresh child ends with.
class Summary {
 public:
  void add(const PairResult& pair, std::int64_t budget) {
    const auto fresh = static_cast<double>(pair.fresh.steps_to(pair.fresh.last()).value());
    const auto reached = pair.inherited.steps_to(pair.fresh.last());
    fresh_.push_back(fresh);
    inherited_.push_back(static_cast<double>(reached.value_or(budget)));
    ratios_.push_back(inherited_.back() / fresh);
    gains_.push_back(pair.inherited.last() - pair.fresh.last());
    if (!reached) ++missed_;
    if (pair.inherited.last() < pair.fresh.last()) ++worse_;
  }

  void print(std::int64_t budget) const {
    double fresh = 0;
    double inherited = 0;
    double gain = 0;
    for (std::size_t i = 0; i < fresh_.size(); ++i) {
      fresh += fresh_[i];
      inherited += inherited_[i];
      gain += gains_[i];
    }
    const auto pairs = static_cast<double>(fresh_.size());
    std::printf("%zu pairs, budget %lld steps\n", fresh_.size(), static_cast<long long>(budget));
    std::printf(
        "steps to the fresh child's last accuracy: fresh median %.0f mean %.1f, inherited median %.0f "
        "mean %.1f (%zu never: counted as the budget)\n",
        median(fresh_), fresh / pairs, median(inherited_), inherited / pairs, missed_);
    std::printf("inherited / fresh steps: of the means %.3f, median of the pairs %.3f\n", inherited / fresh,
                median(ratios_));
    std::printf("accuracy after the budget, inherited - fresh: median %+.4f mean %+.4f, lower in %zu pairs\n",
                median(gains_), gain / pairs, worse_);
  }

 private:
  std::vector<double> fresh_;
  std::vector<double> inherited_;
  std::vector<double> ratios_;
  std::vector<double> gains_;
  std::size_t missed_ = 0;
  std::size_t worse_ = 0;
};

bool fits(const space::Network& network, double most_flops) {
  return network.cost.parameters <= 100'000 && static_cast<double>(network.cost.flops) <= most_flops;
}

void measure_pairs(const Bench& bench, const space::SearchSpace& space, int pairs, double most_flops) {
  RandomStream random(2026);
  Summary summary;
  for (int done = 0; done < pairs;) {
    const space::Genotype genotype = space.sample(random);
    const auto mutant = space.mutate(genotype, 0.3, random);
    if (!mutant) throw UserError("the space has no two architectures");
    const space::Network parent = space.build(genotype).network();
    const space::Network child = space.build(*mutant).network();
    if (!fits(parent, most_flops) || !fits(child, most_flops)) continue;
    const PairResult pair = measure(bench, parent, child, 1000 + 2 * static_cast<std::uint64_t>(done));
    const auto reached = pair.inherited.steps_to(pair.fresh.last());
    std::printf(
        "%s -> %s: share %.2f, parent %.4f, child at step 0 %.4f, ends %.4f inherited %.4f fresh, "
        "steps %s of %lld\n",
        space.describe(genotype).c_str(), space.describe(*mutant).c_str(), pair.share, pair.parent.last(),
        pair.inherited.accuracy.front(), pair.inherited.last(), pair.fresh.last(),
        reached ? std::to_string(*reached).c_str() : "never",
        static_cast<long long>(*pair.fresh.steps_to(pair.fresh.last())));
    std::fflush(stdout);
    summary.add(pair, bench.steps);
    ++done;
  }
  summary.print(bench.steps);
}

int run(int argc, char** argv) {
  if (argc < 4) throw UserError("usage: inheritance_bench CONFIG DATA PAIRS [MOST_FLOPS]");
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  const ConfigNode config = testing::config_from_yaml(text.str(), argv[1]);
  const auto data = store::Dataset::open(argv[2], false);
  const auto classes = static_cast<std::int64_t>(data->class_names().size());
  const auto space = space::SearchSpace::parse(config.at("space"), {data->shape(), classes});
  const double share = config.at("data").at("validation").as_number();
  store::SplitIndices split = store::stratified_split(data->train().classes(), share, kSplitSeed);
  split.validation.resize(std::min(split.validation.size(), kMostValidation));
  const TrainingOptions options = TrainingOptions::table().parse(config.at("training"));
  const std::int64_t steps = steps_for(options.epochs, split.train.size(), options.batch);
  const ValueScaling scaling(*data, Normalization::kUnit);
  at::set_num_threads(1);
  measure_pairs({data, std::move(split), options, scaling, steps}, space, std::atoi(argv[3]),
                argc > 4 ? std::atof(argv[4]) : 1e12);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace skyline::train

int main(int argc, char** argv) {
  try {
    return skyline::train::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
