// Searches of spaces with conditional parameters: on random small spaces against an enumeration that knows
// nothing of genotypes.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "search/search_run.hpp"
#include "search/surrogate/embedding.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using skyline::testing::config_from_yaml;
using skyline::testing::objective_set;
using skyline::testing::run_search;
using trial::CommittedTrial;

using Values = std::map<std::string, int>;  // keys: the parameters that a trial uses

/// A condition, by itself and as it is written.
struct RandomCondition {
  std::string text;
  std::vector<RandomCondition> parts;
  std::string left;
  std::string right;  // empty if it is compared with `number`
  int number = 0;
  bool is_or = false;

  /// Returns nullopt where a parameter is read that is not used.
  std::optional<bool> holds(const Values& values) const {
    if (!left.empty()) {
      const auto first = values.find(left);
      if (first == values.end()) return std::nullopt;
      if (right.empty()) return first->second == number;
      const auto second = values.find(right);
      if (second == values.end()) return std::nullopt;
      return first->second < second->second;
    }
    const std::optional<bool> first = parts[0].holds(values);
    if (!first || parts.size() == 1) return first ? std::optional(!*first) : first;
    return *first == is_or ? first : parts[1].holds(values);
  }
};

std::string conditional_name(std::size_t parameter) {
  return "p" + std::to_string(parameter);
}

/// A parameter that a condition may name, and the number of its values.
struct KnownParameter {
  std::string name;
  int values = 0;
};

RandomCondition random_condition(const std::vector<KnownParameter>& known, RandomStream& random, int depth) {
  const auto any = [&]() -> const KnownParameter& { return known[random.below(known.size())]; };
  switch (depth == 0 ? random.below(2) : random.below(5)) {
    case 0: {
      const KnownParameter& left = any();
      const int number = static_cast<int>(random.below(static_cast<std::uint64_t>(left.values)));
      return {"$" + left.name + " == " + std::to_string(number), {}, left.name, "", number};
    }
    case 1: {
      const std::string left = any().name;
      const std::string right = any().name;
      return {"$" + left + " < $" + right, {}, left, right};
    }
    case 2: {
      const RandomCondition inner = random_condition(known, random, depth - 1);
      return {"not (" + inner.text + ")", {inner}, "", ""};
    }
    default: {
      const RandomCondition first = random_condition(known, random, depth - 1);
      const RandomCondition second = random_condition(known, random, depth - 1);
      const bool is_or = random.below(2) == 1;
      const std::string text = "(" + first.text + (is_or ? ") or (" : ") and (") + second.text + ")";
      return {text, {first, second}, "", "", 0, is_or};
    }
  }
}

/// A space with its own account of what its trials are.
struct RandomSpace {
  std::vector<int> counts;         // numbers of values
  std::vector<std::size_t> order;  // a condition names parameters that come earlier here
  std::vector<std::optional<RandomCondition>> when;

  explicit RandomSpace(RandomStream& random) : when(2 + random.below(4)) {
    for (std::size_t p = 0; p < when.size(); ++p) {
      counts.push_back(1 + static_cast<int>(random.below(3)));
      order.push_back(p);
    }
    random.shuffle(std::span(order));
    for (std::size_t place = 1; place < order.size(); ++place) {
      std::vector<KnownParameter> known;
      for (std::size_t earlier = 0; earlier < place; ++earlier)
        known.push_back({conditional_name(order[earlier]), counts[order[earlier]]});
      if (random.below(4) > 0) when[order[place]] = random_condition(known, random, 2);
    }
  }

  std::string text() const {
    std::string text = "parameters:\n";
    for (std::size_t p = 0; p < counts.size(); ++p) {
      text += "  " + conditional_name(p) + ": {range: [0, " + std::to_string(counts[p] - 1) + "]";
      text += when[p] ? ", when: '" + when[p]->text + "'}\n" : "}\n";
    }
    return text;
  }

  /// Adds all trials that begin with these values, in the order in which it is known what is used.
  void add_trials(std::size_t place, const Values& values, std::set<Values>& trials) const {
    if (place == order.size()) {
      trials.insert(values);
      return;
    }
    const std::size_t parameter = order[place];
    if (when[parameter] && !when[parameter]->holds(values).value_or(false))
      return add_trials(place + 1, values, trials);
    for (int value = 0; value < counts[parameter]; ++value) {
      Values more = values;
      more[conditional_name(parameter)] = value;
      add_trials(place + 1, more, trials);
    }
  }

  /// Returns the parameters that some trial uses.
  static std::set<std::string> used_in(const std::set<Values>& trials) {
    std::set<std::string> names;
    for (const Values& values : trials) {
      for (const auto& [name, value] : values) names.insert(name);
    }
    return names;
  }
};

std::multiset<Values> trials_of(const std::vector<CommittedTrial>& committed,
                                const space::SearchSpace& space) {
  std::multiset<Values> trials;
  for (const CommittedTrial& one : committed) {
    const space::Architecture& architecture = one.trial.architecture();
    Values values;
    for (std::size_t p = 0; p < architecture.used.size(); ++p) {
      const std::uint32_t choice = architecture.genotype.choices[p];
      if (architecture.used[p]) values[space.parameters()[p].name] = static_cast<int>(choice);
      EXPECT_TRUE(architecture.used[p] || choice == 0) << "an unused value";
    }
    trials.insert(values);
  }
  return trials;
}

trial::Outcome by_values(const trial::Trial& trial) {
  double sum = 0;
  const space::Architecture& architecture = trial.architecture();
  for (std::size_t p = 0; p < architecture.used.size(); ++p)
    sum += architecture.used[p] ? (p % 2 == 0 ? 1.0 : -0.5) * architecture.genotype.choices[p] + 0.25 : 0;
  return trial::Measurements{{sum, 1}};
}

std::multiset<Values> conditionally_searched(const std::string& search, const space::SearchSpace& space) {
  const auto searcher = make_searcher(config_from_yaml(search, "run.yaml", "search"), space,
                                      objective_set("[{maximize: accuracy}]"), 1);
  return trials_of(run_search(*searcher, by_values), space);
}

TEST(ConditionalSearch, TriesExactlyTheTrialsOfAPlainEnumeration) {
  RandomStream random(63);
  int spaces = 0;
  int refused = 0;
  while (spaces < 150) {
    const RandomSpace made(random);
    std::set<Values> wanted;
    made.add_trials(0, {}, wanted);
    const ConfigNode section = config_from_yaml(made.text(), "a.yaml", "space");
    if (RandomSpace::used_in(wanted).size() < made.counts.size()) {
      EXPECT_THROW((void)space::SearchSpace::parse(section, {}), UserError) << made.text();
      ++refused;
      continue;
    }
    const space::SearchSpace space = space::SearchSpace::parse(section, {});
    const std::multiset<Values> all(wanted.begin(), wanted.end());
    EXPECT_EQ(conditionally_searched("{algorithm: exhaustive}", space), all) << made.text();
    if (++spaces % 10 != 0) continue;
    for (const char* const algorithm : {"random", "local_search", "regularized_evolution", "skyline"})
      EXPECT_EQ(conditionally_searched("{algorithm: " + std::string(algorithm) + ", trials: 300}", space),
                all)
          << algorithm << ": " << made.text();
  }
  EXPECT_GT(refused, 10) << "conditions that never hold";
}

TEST(ConditionalSearch, PutsAParameterThatOnePointUsesOneApart) {
  const space::SearchSpace space = space::SearchSpace::parse(
      config_from_yaml("parameters: {a: {choice: [x, y]}, b: {range: [0, 4], when: $a == y}}", "a.yaml",
                       "space"),
      {});
  RandomStream random(1);
  const std::vector<Sampled> sample = random_sample(space, random);
  EXPECT_EQ(sample.size(), 6U);
  const Embedding embedding(space, sample, 0);
  const auto point = [&](std::vector<std::uint32_t> choices) {
    return embedding.point(space.build(space::Genotype{std::move(choices)}), {});
  };
  const double least = embedding.distance(point({1, 0}), point({1, 1}));  // a quarter of a parameter
  EXPECT_GT(least, 0);
  EXPECT_NEAR(embedding.distance(point({0, 0}), point({1, 3})), 8 * least, 1e-12)
      << "another word, and unused";
  EXPECT_EQ(embedding.distance(point({0, 0}), point({0, 4})), 0);
}

}  // namespace
}  // namespace skyline::search
