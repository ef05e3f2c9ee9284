// Values of the evaluator's section that parameters of the space give.
#include "skyline/core/error.hpp"

#include "space/language/searched_section.hpp"
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kSpace = R"(space:
  parameters:
    lr: {choice: [0.1, 0.01]}
    batch: {choice: [16, 32]}
    width: {choice: [8, 16], each: true}
    dead: {choice: [1, 2]}
  network:
    - repeat: 0
      body: [{conv2d: {channels: $dead, kernel: 1}}]
    - conv2d: {channels: $width, kernel: 1}
    - global_average_pool
    - linear: {features: $classes}
)";

SearchedSection section_of(const std::string& training) {
  const ConfigNode root = skyline::testing::config_from_yaml(kSpace + "training: " + training, "a.yaml");
  return {
      root.at("training"), root.at("space"), {"batch", "optimizer"}, {"batch", "optimizer", "epochs"}, false};
}

SearchSpace space_with(const std::string& training) {
  const ConfigNode root = skyline::testing::config_from_yaml(kSpace, "a.yaml");
  return SearchSpace::parse(root.at("space"), kMnist, section_of(training).written());
}

std::string training_error(const std::string& training) {
  return user_error_of([&] { section_of(training).check([](const ConfigNode&) {}); });
}

const std::string kTraining = "{epochs: 3, batch: $batch, optimizer: {adam: {learning_rate: $lr * 2}}}";

TEST(TrainingValues, AreThoseOfTheGenotypeByTheirKeys) {
  const SearchSpace space = space_with(kTraining);
  const Architecture architecture = space.build(Genotype{{1, 1, 0, 0}});
  EXPECT_EQ(space.describe(architecture.genotype), "lr=0.01 batch=32 dead=1 width=8");
  ASSERT_EQ(architecture.training().size(), 2U);
  EXPECT_EQ(architecture.training()[0].key, "batch");
  EXPECT_EQ(architecture.training()[0].value, Value{std::int64_t{32}});
  EXPECT_EQ(architecture.training()[1].key, "optimizer.adam.learning_rate");
  EXPECT_EQ(architecture.training()[1].value, Value{0.02});
  EXPECT_THAT(architecture.used, ElementsAre(true, true, false, true));
}

TEST(TrainingValues, ArePartOfTheIdOfAnArchitecture) {
  const SearchSpace space = space_with(kTraining);
  std::set<ArchId> ids;
  std::set<std::string> networks;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) {
    const Architecture architecture = space.build(space.genotype_at(i));
    ids.insert(architecture.id);
    networks.insert(architecture.network().canonical_text());
  }
  EXPECT_EQ(space.genotype_count(), 16);
  EXPECT_EQ(ids.size(), 8U);  // eight ids, because `dead` makes none
  EXPECT_EQ(networks.size(), 2U);
}

const std::string kChosen = R"(space:
  parameters:
    opt: {choice: [adam, sgd]}
    small: {choice: [0.001, 0.01]}
    large: {choice: [0.1, 1, 2]}
  network:
    - global_average_pool
    - linear: {features: $classes}
)";

/// Builds all genotypes of a space with a searched optimizer. @param optimizer  e.g. `{$opt: {}}`
std::vector<Architecture> chosen_by(const std::string& optimizer) {
  const ConfigNode root =
      skyline::testing::config_from_yaml(kChosen + "training: {optimizer: " + optimizer + "}", "a.yaml");
  const SearchedSection section(root.at("training"), root.at("space"), {"optimizer"}, {"optimizer"}, false);
  section.check([](const ConfigNode& tried) { EXPECT_TRUE(tried.at("optimizer").is_map()); });
  const SearchSpace space = SearchSpace::parse(root.at("space"), kMnist, section.written());
  std::vector<Architecture> built;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i)
    built.push_back(space.build(space.genotype_at(i)));
  return built;
}

TEST(TrainingValues, MayChooseTheWordOfASectionAndGiveEachWordKeysOfItsOwn) {
  for (const char* optimizer : {"{$opt: {learning_rate: \"if($opt == adam, $small, $large)\"}}",
                                "{$opt: {adam: {learning_rate: $small}, sgd: {learning_rate: $large}}}"}) {
    const std::vector<Architecture> built = chosen_by(optimizer);
    ASSERT_EQ(built.size(), 12U);
    std::set<ArchId> ids;
    for (const Architecture& architecture : built) ids.insert(architecture.id);
    EXPECT_EQ(ids.size(), 2U + 3U) << "the rate of the other optimizer does not count: " << optimizer;
    EXPECT_THAT(built.front().used, ElementsAre(true, true, false));
    EXPECT_THAT(built.back().used, ElementsAre(true, false, true));
    ASSERT_EQ(built.back().training().size(), 1U);
    EXPECT_EQ(built.back().training()[0].key, "optimizer");
    const ConfigNode chosen = node_of(built.back().training()[0].value, {});
    EXPECT_EQ(chosen.at("sgd").at("learning_rate").as_number(), 2);
  }
}

TEST(TrainingValues, KeepOtherKeysOfASectionWhoseWordIsChosen) {
  const std::vector<Architecture> built = chosen_by(
      "{$opt: {adam: {learning_rate: $small, beta1: 0.8}, sgd: {learning_rate: $large, nesterov: true}}}");
  const auto text = [](const Architecture& architecture) {
    return to_text(architecture.training()[0].value);
  };
  EXPECT_EQ(text(built.front()), "{adam: {learning_rate: 0.001, beta1: 0.8}}");
  EXPECT_EQ(text(built.back()), "{sgd: {learning_rate: 2, nesterov: true}}");
}

TEST(TrainingValues, RefuseMistakesInASectionWhoseWordIsChosen) {
  const auto error_of = [](const std::string& optimizer) {
    return user_error_of([&] { chosen_by(optimizer); });
  };
  EXPECT_THAT(error_of("{$optt: {learning_rate: $small}}"), HasSubstr("unknown parameter `$optt`"));
  EXPECT_THAT(error_of("{$opt: {adam: {learning_rate: $small}, adamw: {learning_rate: $large}}}"),
              HasSubstr("`$opt` is never adamw"));
  EXPECT_THAT(error_of("{$opt: {learning_rate: [$small]}}"), HasSubstr("a value of a list"));
}

TEST(TrainingValues, ArePartOfTheIdInOneOrderHoweverTheyAreWritten) {
  const SearchSpace plain = space_with(kTraining);
  const SearchSpace other =
      space_with("{optimizer: {adam: {learning_rate: $lr * 2}}, batch: $batch, epochs: 3}");
  EXPECT_EQ(plain.build(Genotype{{1, 1, 0, 0}}).id, other.build(Genotype{{1, 1, 0, 0}}).id);
}

TEST(TrainingValues, AreFoundInAWholeConfigurationByTheParametersThatTheyName) {
  const ConfigNode root = skyline::testing::config_from_yaml(
      kSpace + "data: {file: $SCRATCH/a.h5, class_names: ['5 $', '$lr', $classes]}\ntraining: " + kTraining,
      "a.yaml");
  std::vector<std::string> paths;
  for (const ConfigNode& scalar : searched_scalars(root)) paths.push_back(scalar.path());
  EXPECT_THAT(paths, ElementsAre("training.batch", "training.optimizer.adam.learning_rate"));
}

TEST(TrainingValues, WithoutAnyTheIdIsThatOfTheNetwork) {
  const std::string network = "network: [global_average_pool, linear: {features: $classes}]";
  const Architecture plain = space_from_yaml(network).build(Genotype{});
  EXPECT_TRUE(plain.training().empty());
  const ConfigNode root = skyline::testing::config_from_yaml(
      "space:\n  parameters: {lr: {choice: [1, 2]}}\n  " + network + "\ntraining: {batch: $lr}", "a.yaml");
  const SearchedSection training(root.at("training"), root.at("space"), {"batch"}, {"batch"}, false);
  const SearchSpace space = SearchSpace::parse(root.at("space"), kMnist, training.written());
  EXPECT_EQ(space.build(Genotype{{0}}).network().canonical_text(), plain.network().canonical_text());
  EXPECT_NE(space.build(Genotype{{0}}).id, plain.id);
}

TEST(TrainingValues, AreChangedByMutationWhereTheNetworkStaysTheSame) {
  const SearchSpace space = space_with(kTraining);
  RandomStream random(1);
  const Genotype parent = space.genotype_at(0);
  int same_network = 0;
  for (int i = 0; i < 100; ++i) {
    const auto child = space.mutate(parent, 0.3, random);
    ASSERT_TRUE(child);
    EXPECT_NE(space.build(*child).id, space.build(parent).id);
    same_network +=
        space.build(*child).network().canonical_text() == space.build(parent).network().canonical_text() ? 1
                                                                                                         : 0;
  }
  EXPECT_GT(same_network, 20);
  EXPECT_LT(same_network, 80);
}

TEST(TrainingValues, StandInTheSectionWithTheValuesOfTheFirstGenotype) {
  const ConfigNode first = section_of(kTraining).with_first_values();
  EXPECT_EQ(first.at("batch").as_integer(), 16);
  EXPECT_EQ(first.at("optimizer").at("adam").at("learning_rate").as_number(), 0.2);
  EXPECT_EQ(first.at("optimizer").at("adam").at("learning_rate").path(),
            "training.optimizer.adam.learning_rate");
  EXPECT_EQ(first.at("epochs").as_integer(), 3);
}

TEST(TrainingValues, AreAllChecked) {
  const auto error = [](const std::string& training, auto&& refuses) {
    return user_error_of([&] {
      section_of(training).check([&](const ConfigNode& section) {
        if (refuses(section)) section.at("batch").fail_expected("another one");
      });
    });
  };
  const auto is_32 = [](const ConfigNode& section) { return section.at("batch").as_integer() == 32; };
  EXPECT_THAT(error(kTraining, is_32),
              HasSubstr("training.batch: expected another one, got 32, for batch=32"));
  const auto both = [&](const ConfigNode& section) {
    return is_32(section) && section.at("optimizer").at("adam").at("learning_rate").as_number() < 0.1;
  };
  EXPECT_THAT(error(kTraining, both), HasSubstr("got 32, for lr=0.01 batch=32"));
  const auto always = [](const ConfigNode&) { return true; };
  EXPECT_THAT(error("{batch: 8, optimizer: {sgd: {momentum: $lr}}}", always), ::testing::EndsWith("got 8"));
}

TEST(TrainingValues, OfNamesWithoutASingleValueAreRefused) {
  EXPECT_THAT(user_error_of([] { space_with("{}"); }),
              HasSubstr("space.parameters.lr: nothing uses this parameter"));
  EXPECT_THAT(training_error("{batch: $bach}"),
              HasSubstr("unknown parameter `$bach`, did you mean `$batch`?"));
  EXPECT_THAT(training_error("{batch: $width}"), HasSubstr("training.batch: `$width` has no single value"));
  EXPECT_THAT(training_error("{batch: 2 * $classes}"),
              HasSubstr("training.batch: `$classes` can be used in"));
  EXPECT_THAT(
      training_error("{epochs: $batch}"),
      HasSubstr("training.epochs: no parameter of the space can give this value, only those of batch, "
                "optimizer"));
  EXPECT_THAT(training_error("{batch: [8, $batch]}"),
              HasSubstr("training.batch[1]: no parameter of the space can give a value of a list"));
}

TEST(TrainingValues, AllMistakesAreNoted) {
  EXPECT_EQ(
      training_error("{epochs: $batch, batch: $bach, optimizer: $lr + $lrr}"),
      "a.yaml:13:20: training.epochs: no parameter of the space can give this value, only those of batch, "
      "optimizer\n"
      "a.yaml:13:35: training.batch: in `$bach`: unknown parameter `$bach`, did you mean `$batch`?\n"
      "a.yaml:13:53: training.optimizer: in `$lr + $lrr`: unknown parameter `$lrr`, did you mean `$lr`?");
}

TEST(TrainingValues, AnUnknownKeyIsLeftToWhoReadsTheSection) {
  EXPECT_EQ(training_error("{epoch: $batch}"), "(nothing was thrown)");
}

TEST(GivenToTrainer, IsWhatItsArgumentsStateWhereTheSpaceHasANetwork) {
  const auto ids = [](const std::string& argument) {
    const ConfigNode root = skyline::testing::config_from_yaml(
        "space: {parameters: {w: {choice: [1, 2]}, lr: {choice: [0.1, 0.2]}}, network: [conv2d: {channels: "
        "$w, "
        "kernel: 1}, global_average_pool, linear: {features: $classes}]}\ncommand: {run: [python3, \"" +
        argument + "\"]}\n");
    const SearchedSection section(root.at("command"), root.at("space"), {"cost"}, {"cost", "run"}, true);
    const auto space = SearchSpace::parse(root.at("space"), {{1, 8, 8}, 10}, section.counted());
    const auto read = SearchSpace::read(root.at("space"), {{1, 8, 8}, 10}, searched_scalars(root));
    std::set<ArchId> found;
    for (std::int64_t i = 0; i < space.genotype_count(); ++i) {
      found.insert(space.build(space.genotype_at(i)).id);
      EXPECT_EQ(space.build(space.genotype_at(i)).id, read.build(space.genotype_at(i)).id);
    }
    return found.size();
  };
  EXPECT_EQ(ids("--lr={lr}"), 4U);
  EXPECT_EQ(ids("{parameters}"), 4U);
  EXPECT_THAT(user_error_of([&] { (void)ids("{network}"); }), HasSubstr("lr: nothing uses this parameter"));
}

}  // namespace
}  // namespace skyline::space
