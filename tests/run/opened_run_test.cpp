#include "run/opened_run.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/space/layer_kind.hpp"

#include "core/config/config_text.hpp"
#include "store/publish/publish.hpp"
#include "support/sample_metrics.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::run {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;
using testing::user_error_of;

namespace fs = std::filesystem;

/// The configuration in a run folder, whose data set is not on this machine.
constexpr const char* kConfig =
    "data: {file: /nowhere/digits.h5, validation: 0.1, sha256: abc, shape: [1, 8, 8], classes: 10}\n"
    "space:\n"
    "  parameters: {width: {choice: [4, 8, 16, 32]}}\n"
    "  network: [flatten, linear: {features: $width}, linear: {features: $classes}]\n"
    "objectives: [maximize: validation_accuracy, minimize: flops]\n"
    "constraints: [parameters: [0, 100000]]\n"
    "run: {seed: 3}\n";

/// A layer that a program has added: its input, times a number.
class Scaled final : public space::LayerKind {
 public:
  std::string_view name() const override { return "scaled"; }
  void read_attributes(space::Layer& layer, space::AttributeReader& reader) const override {
    layer.attributes["by"] = reader.integer("by", 1, "Factor.");
  }
  void infer(space::Layer& layer, space::AttributeReader& /*reader*/) const override {
    layer.output = layer.input();
    layer.cost.flops = layer.input().elements();
  }
};

std::string replaced(std::string text, const std::string& word, const std::string& other) {
  return text.replace(text.find(word), word.size(), other);
}

class OpenedRunTest : public ::testing::Test {
 protected:
  void SetUp() override { begin(kConfig); }

  void begin(const std::string& config) {
    fs::remove_all(paths_.root);
    fs::create_directories(paths_.root);
    store::publish_file(paths_.config(), config);
    space_ = space::SearchSpace::parse(load_yaml_text(config, "c.yaml").at("space"), {{1, 8, 8}, 10});
    journal_ = store::JournalWriter::create(paths_.journal(), {.skyline_version = "0.1.0",
                                                               .config_hash = std::string(64, 'c'),
                                                               .metrics = {testing::validation_accuracy()}});
  }

  /// The search trial that has the given width; wider is better.
  void commit(std::int64_t width_index) {
    trial::CommittedTrial committed;
    committed.position = committed.trial.number = committed_++;
    committed.trial.proposal.architecture =
        std::make_shared<const space::Architecture>(space_.build(space_.genotype_at(width_index)));
    committed.outcome = trial::Measurements{{0.5 + 0.1 * static_cast<double>(width_index)}};
    journal_->append(std::vector{std::make_shared<const trial::CommittedTrial>(committed)}, space_);
  }

  ScratchFolder scratch_;
  store::RunPaths paths_{scratch_.path() / "run"};
  space::SearchSpace space_;
  std::unique_ptr<store::JournalWriter> journal_;
  trial::TrialNumber committed_ = 0;
};

TEST_F(OpenedRunTest, TellsConfigurationTrialsAndFrontWithoutTheDataSet) {
  for (const std::int64_t width : {1, 0, 2}) commit(width);
  const OpenedRun opened = OpenedRun::open(paths_.root);
  EXPECT_EQ(opened.config.at("run").at("seed").as_integer(), 3);
  EXPECT_EQ(opened.header.metrics, std::vector{testing::validation_accuracy()});
  ASSERT_EQ(opened.state.trials().size(), 3U);
  EXPECT_EQ(opened.state.trials()[2]->trial.architecture().id, space_.build(space_.genotype_at(2)).id);
  for (const trial::TrialNumber number : {0U, 1U, 2U}) EXPECT_TRUE(opened.state.on_front(number));
  EXPECT_GT(opened.state.volume().value(), 0);
  EXPECT_EQ(opened.state.objectives().objectives().size(), 2U);
}

TEST_F(OpenedRunTest, MayBeReadWhileItsJournalIsWritten) {
  commit(0);
  EXPECT_EQ(OpenedRun::open(paths_.root).state.trials().size(), 1U);
  commit(1);
  std::ofstream(paths_.journal(), std::ios::app) << R"({"number": 2, "torn)";
  EXPECT_EQ(OpenedRun::open(paths_.root).state.trials().size(), 2U);
}

TEST_F(OpenedRunTest, MayHaveNoTrialsYet) {
  const OpenedRun opened = OpenedRun::open(paths_.root);
  EXPECT_TRUE(opened.state.trials().empty());
  EXPECT_EQ(opened.space.genotype_count(), 4);
}

TEST_F(OpenedRunTest, MayBeMovedToAnotherFolder) {
  commit(3);
  journal_.reset();
  const fs::path elsewhere = scratch_.path() / "elsewhere";
  fs::rename(paths_.root, elsewhere);
  EXPECT_EQ(OpenedRun::open(elsewhere).state.trials().size(), 1U);
}

TEST_F(OpenedRunTest, ChangesNothing) {
  commit(0);
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(paths_.root)) names.push_back(entry.path());
    std::ranges::sort(names);
    return names;
  };
  const std::vector<std::string> before = files();
  const std::string journal = store::read_file(paths_.journal());
  OpenedRun::open(paths_.root);
  EXPECT_EQ(files(), before);
  EXPECT_EQ(store::read_file(paths_.journal()), journal);
}

TEST_F(OpenedRunTest, MayHaveLayersOfKindsThatThisProgramDoesNotHave) {
  static const bool added = [] {
    space::register_layer_kind(std::make_unique<Scaled>());
    return true;
  }();
  (void)added;
  const std::string config = replaced(kConfig, "[flatten,", "[flatten, scaled: {by: $width},");
  begin(config);
  for (const std::int64_t width : {1, 0, 2}) commit(width);
  const OpenedRun here = OpenedRun::open(paths_.root);
  EXPECT_FALSE(here.space.missing_kind());

  store::publish_file(paths_.config(), replaced(config, "scaled:", "unheard_of:"));
  const OpenedRun elsewhere = OpenedRun::open(paths_.root);
  EXPECT_EQ(elsewhere.space.missing_kind(), "unheard_of");
  ASSERT_EQ(elsewhere.state.trials().size(), 3U);
  for (trial::TrialNumber number = 0; number < 3; ++number) {
    const SharedTrial there = elsewhere.state.search_trial(number);
    const SharedTrial trained = here.state.search_trial(number);
    const space::Architecture& known = trained->trial.architecture();
    const space::Architecture& read = there->trial.architecture();
    EXPECT_EQ(read.id, known.id);
    EXPECT_EQ(read.genotype.choices, known.genotype.choices);
    EXPECT_EQ(read.used, known.used);
    for (const space::NamedCost& cost : space::kCosts) {
      EXPECT_EQ(read.cost.*cost.value, known.cost.*cost.value) << cost.name;
    }
  }
  EXPECT_EQ(elsewhere.state.front().keys(), here.state.front().keys());
}

TEST_F(OpenedRunTest, OfSuchLayersNeedsAJournalThatTellsTheirCosts) {
  commit(0);
  store::publish_file(paths_.config(), replaced(kConfig, "[flatten,", "[flatten, unheard_of,"));
  EXPECT_EQ(
      user_error_of([&] { OpenedRun::open(paths_.root); }),
      paths_.journal().string() +
          ": line 2: a layer is of the kind `unheard_of`, which this program does not have, and the line "
          "has no `facts`: use the program that the run is of");
}

TEST_F(OpenedRunTest, MustBeARunFolder) {
  EXPECT_EQ(user_error_of([&] { OpenedRun::open(scratch_.path()); }),
            scratch_.path().string() + ": not a run folder (no journal.jsonl)");
  store::publish_file(paths_.config(), "data: {file: digits.h5}\nspace: {network: [flatten]}\n");
  EXPECT_THAT(user_error_of([&] { OpenedRun::open(paths_.root); }),
              HasSubstr("config.yaml:1:7: data: missing key `shape`"));
}

}  // namespace
}  // namespace skyline::run
