#include "evaluate/command/command_options.hpp"

#include "core/config/config_text.hpp"
#include "support/user_error_of.hpp"

#include <string>

#include <gmock/gmock.h>

namespace skyline::evaluate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::user_error_of;

constexpr const char* kRun = "run: [train, -v], metrics: {accuracy: {better: higher, range: [0, 100]}}";

CommandOptions read(const std::string& keys) {
  ConfigNode root = load_yaml_text("command: {" + keys + "}", "a.yaml");
  root.assign_paths();
  return CommandOptions::table().parse(root.at("command"));
}

std::string refusal(const std::string& keys) {
  return user_error_of([&] { (void)read(keys); });
}

TEST(CommandOptions, NeedAProgramAndMetrics) {
  const CommandOptions options = read(kRun);
  EXPECT_THAT(options.run, ElementsAre("train", "-v"));
  EXPECT_EQ(options.epochs, 1);
  EXPECT_FALSE(options.forms_groups());
  EXPECT_EQ(options.retries, 0);
  EXPECT_THAT(refusal("run: [train]"), HasSubstr("missing key `metrics`"));
  EXPECT_THAT(refusal("metrics: {a: {better: higher}}"),
              HasSubstr("missing key `run`, the trainer, or `python`"));
}

TEST(CommandOptions, TakeAFunctionInPlaceOfAProgram) {
  const std::string metrics = "metrics: {a: {better: higher}, m: {better: lower, run: [measure]}}, ";
  const CommandOptions options = read(metrics + "python: \"my/{x}.py:train\", interpreter: /opt/python3");
  EXPECT_THAT(options.trainer(), ElementsAre("/opt/python3", "-m", "skyline.run_trial", "my/{{x}.py:train",
                                             "{parameters}", "a"));
  EXPECT_TRUE(options.forks());
  EXPECT_FALSE(read(metrics + "python: \"m:f\", start: fresh").forks());
  EXPECT_EQ(read(metrics + "python: \"m:f\", trials_per_server: 5").trials_per_server, 5U);
  for (const char* wrong : {"train", "m:", ":f"}) {
    EXPECT_THAT(refusal(metrics + "python: \"" + wrong + "\""), HasSubstr("package.module:function"));
  }
  EXPECT_THAT(refusal(metrics + "python: \"m:f\", run: [train]"),
              HasSubstr("expected either `run` or `python`, got both"));
  EXPECT_THAT(refusal(metrics + "python: \"m:f\", processes: 2, launch: node"),
              HasSubstr("command.launch: does not start functions: write `run` with python3 -m "
                        "skyline.run_trial m:f {parameters}"));
  EXPECT_THAT(refusal(std::string(kRun) + ", start: fresh"), HasSubstr("command.start: needs `python`"));
}

TEST(CommandOptions, KeepArgumentsAsTextsWhateverTheyLookLike) {
  const CommandOptions options =
      read("run: [train, 3, 1.0e-4, true, \"\", \"null\", \"a: $b\\n\"], metrics: {a: {better: lower}}");
  EXPECT_THAT(options.run, ElementsAre("train", "3", "1.0e-4", "true", "", "null", "a: $b\n"));
  const ConfigNode written = CommandOptions::table().to_config(options);
  const ConfigNode again = load_yaml_text(to_yaml(written), "again.yaml");
  EXPECT_EQ(CommandOptions::table().parse(again).run, options.run);
}

TEST(CommandOptions, DescribeTheMetricsInTheirOrder) {
  const CommandOptions options = read(
      "run: [t], metrics: {size: {better: lower, unit: MB}, acc: {better: higher, range: [0, 100]}, "
      "test: {better: higher, when: full}}");
  const std::vector<trial::Metric> metrics = metrics_of(options);
  EXPECT_THAT(trial::names_of(metrics), ElementsAre("size", "acc", "test"));
  EXPECT_EQ(metrics[0].better, trial::Better::kLower);
  EXPECT_EQ(metrics[1].range, (trial::MetricRange{0, 100}));
  EXPECT_EQ(metrics[2].when, trial::Metric::When::kFullTraining);
  EXPECT_THAT(trial::course_metrics(metrics), ElementsAre("size", "acc"));
}

TEST(CommandOptions, PutMetricsWithProgramsOfTheirOwnBehindThoseOfTheTrainer) {
  const CommandOptions options = read(
      "run: [t], metrics: {phone: {run: [m, 1], better: lower, timeout: 3 s, at_once: 1, repeats: 5}, a: "
      "{better: lower}}");
  EXPECT_THAT(trial::names_of(metrics_of(options)), ElementsAre("a", "phone"));
  EXPECT_THAT(trial::names_of(descriptions_of(options.metrics, MetricSource::kTrainer)), ElementsAre("a"));
  EXPECT_THAT(trial::course_metrics(metrics_of(options)), ElementsAre("a"));
  EXPECT_THAT(options.metrics[0].run, ElementsAre("m", "1"));
  EXPECT_EQ(options.metrics[0].timeout_s, 3);
  EXPECT_EQ(options.metrics[0].at_once, 1U);
  EXPECT_EQ(options.metrics[0].measurements, 5U);
}

TEST(CommandOptions, KeepMetricsThatExpressionsGiveAsTheyAreWritten) {
  const CommandOptions options = read(
      "run: [t], metrics: {size: {is: \"$a * 2\", unit: MB}, acc: {better: higher}, rest: {is: 12, range: [0, 20]}}");
  EXPECT_THAT(trial::names_of(metrics_of(options)), ElementsAre("acc")) << "the others are not measured";
  EXPECT_THAT(trial::names_of(descriptions_of(options.metrics, MetricSource::kExpression)),
              ElementsAre("size", "rest"));
  const ConfigNode written = CommandOptions::table().to_config(options);
  EXPECT_EQ(to_yaml(written.at("metrics").at("size")), "is: \"$a * 2\"\nunit: MB\n");
  const CommandOptions again = CommandOptions::table().parse(load_yaml_text(to_yaml(written), "again.yaml"));
  EXPECT_EQ(again.metrics[0].given.at("is").as_text(), "$a * 2");
  EXPECT_EQ(to_yaml(CommandOptions::table().identity(written).at("metrics").at("rest")),
            to_yaml(written.at("metrics").at("rest")));
}

TEST(CommandOptions, AskProgramsBeforeTheTrainingIfTheirMetricSaysSo) {
  const CommandOptions options = read(
      "run: [t], metrics: {a: {better: lower}, b: {better: lower, run: [m], when: before, exact: true}}");
  EXPECT_TRUE(options.metrics[1].is_before);
  EXPECT_TRUE(options.metrics[1].is_exact);
  EXPECT_EQ(options.metrics[1].when, trial::Metric::When::kEveryTrial);
  const ConfigNode written = CommandOptions::table().to_config(options);
  EXPECT_EQ(written.at("metrics").at("b").at("when").as_text(), "before");
  EXPECT_EQ(written.at("metrics").at("a").find("exact"), nullptr) << "older runs lack it";
}

TEST(CommandOptions, RefuseMeasurementsThatCannotBe) {
  EXPECT_THAT(refusal("run: [t], metrics: {a: {better: lower, at_once: 1}}"),
              HasSubstr("command.metrics.a.at_once: needs `run`, the program that measures the metric"));
  EXPECT_THAT(refusal("run: [t], metrics: {a: {better: lower, repeats: 5}}"),
              HasSubstr("command.metrics.a.repeats: needs `run`, the program that measures the metric"));
  EXPECT_THAT(refusal("run: [t], metrics: {a: {better: lower, run: [m]}}"),
              HasSubstr("command.metrics: expected a metric that the trainer reports, which has no `run`"));
  EXPECT_THAT(refusal("run: [t], metrics: {b: {better: lower}, a: {better: lower, run: [m], at_once: 0}}"),
              HasSubstr("at_once: expected a whole number from 1"));
  EXPECT_THAT(refusal("run: [t], metrics: {b: {better: lower}, a: {better: lower, run: [m], timeout: none, "
                      "when: final}}"),
              HasSubstr("when: expected `every`, `full` or `before`, got final"));
}

TEST(CommandOptions, RefuseWhatIsNoListOfArguments) {
  const std::string metrics = ", metrics: {a: {better: lower}}";
  EXPECT_EQ(
      refusal("run: python3 train.py" + metrics),
      "a.yaml:1:16: command.run: expected a list of arguments, e.g. [python3, train.py]; no shell is used, "
      "got python3 train.py");
  EXPECT_THAT(refusal("run: []" + metrics),
              HasSubstr("command.run: expected a program and its arguments, got an empty list"));
  EXPECT_THAT(refusal("run: [\"\", a]" + metrics), HasSubstr("command.run[0]: expected a program"));
  EXPECT_THAT(
      refusal("run: [a, {b: c}]" + metrics),
      HasSubstr(
          "command.run[1]: expected an argument; a placeholder needs quotes, e.g. \"{lr}\", got a map"));
}

TEST(CommandOptions, RefuseMetricsThatCannotBe) {
  EXPECT_THAT(refusal("run: [t], metrics: {}"), HasSubstr("command.metrics: expected metrics by name"));
  EXPECT_THAT(refusal("run: [t], metrics: [a]"), HasSubstr("command.metrics: expected metrics by name"));
  EXPECT_THAT(refusal("run: [t], metrics: {\"\": {better: lower}}"), HasSubstr("expected a name"));
  EXPECT_THAT(refusal("run: [t], metrics: {step: {better: lower}}"),
              HasSubstr("command.metrics: `step` has a meaning of its own in reports"));
  EXPECT_THAT(refusal("run: [t], metrics: {a: {range: [0, 1]}}"),
              HasSubstr("command.metrics.a: missing key `better`"));
  EXPECT_THAT(refusal("run: [t], metrics: {a: {better: lower, range: [100, 0]}}"),
              HasSubstr("command.metrics.a.range: expected [low, high] with low below high, got [100, 0]"));
}

TEST(CommandOptions, RefusePortsThatNobodyMayUse) {
  const std::string run = kRun;
  EXPECT_THAT(refusal(run + ", ports: [80, 2000]"),
              HasSubstr("command.ports[0]: expected a whole number from 1024"));
  EXPECT_THAT(refusal(run + ", ports: [3000, 2000]"), HasSubstr("expected the lower port first"));
  EXPECT_THAT(refusal(run + ", ports: 3000"), HasSubstr("command.ports: expected [first, last]"));
}

TEST(CommandOptions, RefuseALaunchThatDoesNotSuitTheFramework) {
  const std::string run = kRun;
  EXPECT_THAT(refusal(run + ", launch: node, framework: tensorflow"),
              HasSubstr("command.framework: `launch: node` needs `framework: torch`"));
  EXPECT_THAT(refusal(run + ", launch: mpirun, framework: torch"), HasSubstr("needs `framework: mpi`"));
  EXPECT_THAT(refusal(run + ", framework: mpi"), HasSubstr("which needs `launch: mpirun`"));
  EXPECT_THAT(refusal(run + ", framework: keras"), HasSubstr("command.framework: expected"));
  EXPECT_THAT(refusal(run + ", parameter_servers: 1"), HasSubstr("needs `framework: tensorflow`"));
  EXPECT_THAT(refusal(run + ", processes: 2, framework: tensorflow, parameter_servers: 2"),
              HasSubstr("command.parameter_servers: expected fewer than `processes`"));
  EXPECT_THAT(refusal(run + ", processes: 0"),
              HasSubstr("command.processes: expected a whole number from 1"));
}

TEST(CommandOptions, RefuseAGraceThatOutlastsAJob) {
  EXPECT_THAT(refusal(std::string(kRun) + ", grace: 60 s"),
              HasSubstr("command.grace: expected a duration below 60 s, e.g. "));
  EXPECT_EQ(read(std::string(kRun) + ", grace: 59 s").grace_s, 59);
}

TEST(CommandOptions, RefuseVariablesThatAreNotTheUsers) {
  const std::string run = kRun;
  EXPECT_THAT(refusal(run + ", env: {A-B: x}"),
              HasSubstr("command.env.A-B: expected the name of a variable"));
  EXPECT_THAT(refusal(run + ", env: {SKYLINE_REPORT_FD: x}"), HasSubstr("Skyline sets this variable itself"));
  EXPECT_THAT(refusal(run + ", processes: 2, env: {RANK: 3}"),
              HasSubstr("Skyline sets this variable itself"));
  EXPECT_NO_THROW(read(run + ", env: {RANK: 3}"));
  EXPECT_THAT(refusal(run + ", env: {TOKEN: x}, pass: [TOKEN]"),
              HasSubstr("command.pass[0]: `TOKEN` is also set in `env`"));
  EXPECT_THAT(refusal(run + ", pass: [PMIX_RANK]"), HasSubstr("belongs to the launcher of the search"));
  EXPECT_THAT(refusal(run + ", pass: [TMPDIR]"), HasSubstr("Skyline sets `TMPDIR` itself"));
  EXPECT_THAT(refusal(run + ", pass: [A, A]"), HasSubstr("`A` is listed twice"));
}

}  // namespace
}  // namespace skyline::evaluate
