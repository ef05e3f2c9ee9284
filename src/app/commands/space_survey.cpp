#include "app/commands/space_survey.hpp"

#include "skyline/core/random.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <time.h>
#include <unistd.h>

namespace skyline::app {
namespace {

constexpr double kSilent_s = 2;
constexpr double kDrawEvery_s = 0.5;
constexpr double kLogEvery_s = 10;
constexpr const char* kEraseLine = "\r\x1b[K";

constexpr double kLongest_s = 0.3;  // CPU time, so that a busy machine shows as much
constexpr std::int64_t kMostRandom = 10'000;
constexpr std::int64_t kTimed = 50;  // the time of so many genotypes predicts that of the others
constexpr std::size_t kMostReasons = 5;
constexpr std::int64_t kTooMany = std::numeric_limits<std::int64_t>::max();  // so many genotypes or more

double cpu_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns "a.yaml:12:5: space.network[3]" for a message that begins so.
std::string place_of(const std::string& message) {
  const std::size_t first = message.find(": ");
  const std::size_t second = first == std::string::npos ? first : message.find(": ", first + 2);
  return message.substr(0, second);
}

class Surveyor {
 public:
  Surveyor(const space::SearchSpace& space, const objective::ObjectiveSet& objectives)
      : space_(space), objectives_(objectives), parameters_(space.parameters()) {
    survey_.genotypes = space.genotype_count();
    survey_.kept = space.count_kept();
    for (const space::Parameter& parameter : parameters_) {
      survey_.log10_genotypes += std::log10(static_cast<double>(parameter.values.size()));
    }
  }

  SpaceSurvey run(bool count) {
    const double start_s = cpu_s();
    const auto is_over = [&] { return cpu_s() - start_s > kLongest_s; };
    RandomStream random(derive_seed(0, "app.space_survey"));
    GenotypeTally& tally = survey_.tally;
    const auto add_random = [&] { tally.add(tally_of(space_.sample_evenly(random)), 1); };
    while (tally.seen == 0 || (tally.seen < kTimed && !is_over())) add_random();
    const auto each_s = (cpu_s() - start_s) / static_cast<double>(tally.seen);
    const auto genotypes =
        static_cast<double>(survey_.kept.value_or(static_cast<long double>(survey_.genotypes)));
    const double networks = static_cast<double>(tally.networks) / static_cast<double>(tally.seen) * genotypes;
    const bool is_short = each_s * networks < kLongest_s;
    if (survey_.genotypes < kTooMany && (is_short || count)) {
      if (!is_short) {
        say("counting takes about " + report::duration_text(each_s * networks));
      }
      count_all();
    }
    while (!survey_.all && tally.seen < kMostRandom && !is_over()) add_random();
    return std::move(survey_);
  }

 private:
  GenotypeTally tally_of(const space::Genotype& genotype);
  std::vector<bool> inspect(const space::Genotype& genotype, GenotypeTally& tally);
  void note_valid(const space::Architecture& architecture);
  void count_all() {
    survey_.all = true;
    survey_.architectures.clear();
    survey_.costs.clear();
    genotype_.choices.assign(parameters_.size(), 0);
    touched_.assign(parameters_.size(), false);
    progress_.emplace(report::system_console(isatty(STDERR_FILENO) == 1));
    survey_.tally = tally_below(0);
    progress_.reset();
  }
  GenotypeTally tally_below(std::size_t parameter);
  double share_counted() const;

  const space::SearchSpace& space_;
  const objective::ObjectiveSet& objectives_;
  const std::vector<space::Parameter>& parameters_;
  SpaceSurvey survey_;
  // The members below are used by count_all.
  space::Genotype genotype_;
  std::vector<bool> touched_;  // [parameters], whether a network used the present value
  std::optional<CountProgress> progress_;
};

void Surveyor::note_valid(const space::Architecture& architecture) {
  survey_.architectures.insert(architecture.id);
  for (const trial::Metric& metric : objectives_.computed()) {
    const auto value = objective::find_computed(architecture, metric.name);
    if (!value) continue;  // a program counts it, and is not started here
    const auto [range, first] =
        survey_.costs.try_emplace(metric.name, SpaceSurvey::CostRange{*value, *value});
    range->second.least = std::min(range->second.least, *value);
    range->second.most = std::max(range->second.most, *value);
  }
}

/// Inspects one genotype. Returns the parameters on which the result depends.
std::vector<bool> Surveyor::inspect(const space::Genotype& genotype, GenotypeTally& tally) {
  tally.seen = 1;
  tally.networks = 1;
  const space::BuildAttempt attempt = space_.try_build(genotype);
  if (!attempt.architecture) {  // not the user's mistake
    tally.unbuildable[place_of(attempt.problem)] = {1, attempt.problem};
    return attempt.reads;
  }
  const space::Architecture& architecture = *attempt.architecture;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!attempt.reads[i]) tally.networks /= static_cast<long double>(parameters_[i].values.size());
  }
  for (const objective::Constraint& constraint : objectives_.constraints()) {
    if (!constraint.computed) continue;
    const auto value = objective::find_computed(architecture, constraint.metric);
    if (value && (*value < constraint.low || *value > constraint.high)) tally.broken[to_text(constraint)] = 1;
  }
  if (tally.broken.empty()) {
    tally.valid = 1;
    tally.valid_networks = tally.networks;
    note_valid(architecture);
  }
  return attempt.reads;
}

GenotypeTally Surveyor::tally_of(const space::Genotype& genotype) {
  GenotypeTally tally;
  (void)inspect(genotype, tally);
  return tally;
}

/// Counts all values of this parameter and of those after it. If no network used the parameter, its first
/// value represents all its values.
GenotypeTally Surveyor::tally_below(std::size_t parameter) {
  GenotypeTally tally;
  if (parameter == parameters_.size()) {
    const std::vector<bool> used = inspect(genotype_, tally);
    for (std::size_t i = 0; i < used.size(); ++i) touched_[i] = touched_[i] || used[i];
    if (progress_->is_due()) progress_->show(share_counted());
    return tally;
  }
  touched_[parameter] = false;
  const std::size_t values = parameters_[parameter].values.size();
  for (std::size_t value = 0; value < values; ++value) {
    genotype_.choices[parameter] = static_cast<std::uint32_t>(value);
    const GenotypeTally below = tally_below(parameter + 1);
    tally.add(below, touched_[parameter] ? 1 : static_cast<std::int64_t>(values));
    if (!touched_[parameter]) break;
  }
  genotype_.choices[parameter] = 0;
  return tally;
}

/// Returns the share of genotypes up to the present one, in the order of the count.
double Surveyor::share_counted() const {
  double share = 0;
  double step = 1;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    step /= static_cast<double>(parameters_[i].values.size());
    share += step * genotype_.choices[i];
  }
  return share + step;
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (part == 0 || part == whole) return std::to_string(part);
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return std::to_string(part) + " (" + report::significant_text(percent, 2) + " %)";
}

/// @param log10  logarithm of the number
std::string about_text(double log10) {
  if (log10 >= 15) return "10^" + std::to_string(std::llround(log10));
  return report::significant_text(std::pow(10, log10), 2);
}

/// Returns whether `where` leaves some genotypes out, of which it is known how many.
bool keeps_few(const SpaceSurvey& survey) {
  return survey.kept && *survey.kept < static_cast<long double>(survey.genotypes);
}

std::string size_text(const SpaceSurvey& survey) {
  const GenotypeTally& tally = survey.tally;
  std::string text = survey.log10_genotypes < 15
                         ? counted(survey.genotypes, "genotype")
                         : "about " + about_text(survey.log10_genotypes) + " genotypes";
  const std::string valid = share_text(tally.valid, tally.seen);
  if (survey.all) {
    return text + ", " + valid + " valid, " + counted(survey.architectures.size(), "different architecture");
  }
  const bool is_conditioned = keeps_few(survey);
  text += ", too many to count in a second; an estimate: of " + std::to_string(tally.seen) + " random ones " +
          (is_conditioned ? "that keep `where` " : "") + valid + " are valid";
  if (tally.valid == 0) return text;
  const long double share = tally.valid_networks / static_cast<long double>(tally.seen);
  return text + ", at most about " +
         about_text(
             (is_conditioned ? static_cast<double>(std::log10(*survey.kept)) : survey.log10_genotypes) +
             static_cast<double>(std::log10(share))) +
         " different architectures";
}

}  // namespace

CountProgress::CountProgress(report::ProgressConsole console)
    : console_(std::move(console)), start_s_(console_.now_s()) {
  next_s_ = start_s_ + (console_.write ? kSilent_s : kLogEvery_s);
}

CountProgress::~CountProgress() {
  if (drawn_) console_.write(kEraseLine);
}

void CountProgress::show(double share) {
  const double now_s = console_.now_s();
  const double left_s = (now_s - start_s_) * (1 - share) / share;
  const std::string text = "counting: " + report::significant_text(100 * share, 2) + " %, " +
                           report::duration_text(left_s) + " left";
  if (console_.write) {
    console_.write(kEraseLine + text);
    drawn_ = true;
  } else {
    log::info(text);
  }
  next_s_ = now_s + (console_.write ? kDrawEvery_s : kLogEvery_s);
}

void GenotypeTally::add(const GenotypeTally& other, std::int64_t times) {
  seen += times * other.seen;
  valid += times * other.valid;
  networks += static_cast<long double>(times) * other.networks;
  valid_networks += static_cast<long double>(times) * other.valid_networks;
  for (const auto& [constraint, count] : other.broken) broken[constraint] += times * count;
  for (const auto& [place, reason] : other.unbuildable) {
    Unbuildable& same = unbuildable.try_emplace(place, Unbuildable{0, reason.example}).first->second;
    same.count += times * reason.count;
  }
}

SpaceSurvey survey(const space::SearchSpace& space, const objective::ObjectiveSet& objectives, bool count) {
  return Surveyor(space, objectives).run(count);
}

std::string to_text(const SpaceSurvey& survey) {
  const std::string front = "# space: ";
  const GenotypeTally& tally = survey.tally;
  std::string text = front + size_text(survey) + "\n";
  if (keeps_few(survey)) {
    constexpr long double kMostExact = 1e6L;
    text +=
        front +
        (*survey.kept < kMostExact ? std::to_string(std::llround(*survey.kept))
                                   : "about " + about_text(static_cast<double>(std::log10(*survey.kept)))) +
        " keep `where`\n";
  }
  for (const auto& [constraint, count] : tally.broken) {
    text += front + share_text(count, tally.seen) + " break the constraint `" + constraint + "`\n";
  }
  std::vector<GenotypeTally::Unbuildable> reasons;
  for (const auto& [place, reason] : tally.unbuildable) reasons.push_back(reason);
  std::ranges::sort(reasons, std::greater(), &GenotypeTally::Unbuildable::count);
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    const bool is_excluded = reasons[i].example.find("` does not hold") != std::string::npos ||
                             reasons[i].example.find("` cannot be calculated") != std::string::npos;
    const bool is_unknown = reasons[i].example.find("` has no value") != std::string::npos;
    text += front + share_text(reasons[i].count, tally.seen) +
            (is_excluded  ? " do not keep `where`, e.g. "
             : is_unknown ? " lack a metric, e.g. "
                          : " cannot be built, e.g. ") +
            reasons[i].example + "\n";
  }
  std::vector<std::string> costs;
  for (const auto& [metric, range] : survey.costs) {
    costs.push_back(metric + " " + report::si_text(range.least) + " to " + report::si_text(range.most));
  }
  if (!costs.empty()) text += front + (survey.all ? "" : "found: ") + joined(costs) + "\n";
  return text;
}

}  // namespace skyline::app
