#include "skyline/search/algorithm.hpp"
#include "skyline/search/cost_counter.hpp"
#include "skyline/search/searcher.hpp"

#include "core/config/config_text.hpp"
#include "core/text/wording.hpp"
#include "search/repeating_searcher.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <future>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace skyline::search {
namespace {

/// Base of searchers that stand before another one and change a part of what it says: all that they do not
/// override is passed on.
class ForwardingSearcher : public Searcher {
 public:
  explicit ForwardingSearcher(std::unique_ptr<Searcher> next) : next_(std::move(next)) {}

  Answer ask(std::size_t room) override { return next_->ask(room); }
  bool accept(const trial::Proposal& recorded) override { return next_->accept(recorded); }
  void tell(const trial::CommittedTrial& committed) override { next_->tell(committed); }
  void tell_mean(const trial::CommittedTrial& mean, std::size_t count) override {
    next_->tell_mean(mean, count);
  }
  void allow_one_more() override { next_->allow_one_more(); }
  void think_on(ThreadCount threads) override { next_->think_on(std::move(threads)); }
  void stop() override { next_->stop(); }
  bool may_continue(trial::TrialNumber number) const override { return next_->may_continue(number); }
  bool needs_results() const override { return next_->needs_results(); }
  std::optional<std::size_t> generation() const override { return next_->generation(); }
  bool finished() const override { return next_->finished(); }
  std::string finish_reason() const override { return next_->finish_reason(); }
  bool gave_up() const override { return next_->gave_up(); }
  std::size_t expected_trials() const override { return next_->expected_trials(); }
  std::string progress_summary() const override { return next_->progress_summary(); }

 private:
  const std::unique_ptr<Searcher> next_;
};

/// Asks another searcher on a thread of its own, since its asks wait for a program that counts costs.
class BackgroundSearcher final : public ForwardingSearcher {
 public:
  BackgroundSearcher(std::unique_ptr<Searcher> next, std::shared_ptr<CostCounter> counter);
  BackgroundSearcher(const BackgroundSearcher&) = delete;
  BackgroundSearcher& operator=(const BackgroundSearcher&) = delete;
  /// Ends the thread.
  ~BackgroundSearcher() override;

  Answer ask(std::size_t room) override;
  bool accept(const trial::Proposal& recorded) override;
  void stop() override;
  bool finished() const override;

 private:
  bool is_busy() const { return thought_.valid() || !ready_.empty(); }

  std::shared_ptr<CostCounter> counter_;
  std::deque<trial::Proposal> ready_;  // proposed and not handed out
  std::future<Answer> thought_;        // destroyed first, which waits for the thread
};

BackgroundSearcher::BackgroundSearcher(std::unique_ptr<Searcher> next, std::shared_ptr<CostCounter> counter)
    : ForwardingSearcher(std::move(next)), counter_(std::move(counter)) {}

BackgroundSearcher::~BackgroundSearcher() {
  counter_->stop();
  if (thought_.valid()) thought_.wait();
}

Answer BackgroundSearcher::ask(std::size_t room) {
  Answer answer;
  if (ready_.empty()) {
    if (!thought_.valid()) {
      thought_ = std::async(std::launch::async, [this, room] {
        try {
          return ForwardingSearcher::ask(room);
        } catch (const CostCounter::Stopped&) {
          return Answer();
        }
      });
    }
    if (thought_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return {{}, Answer::State::kBusy};
    Answer thought = thought_.get();
    answer.state = thought.state;
    std::ranges::move(thought.proposals, std::back_inserter(ready_));
  }
  while (!ready_.empty() && answer.proposals.size() < room) {
    answer.proposals.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  if (!ready_.empty()) answer.state = Answer::State::kMore;
  return answer;
}

bool BackgroundSearcher::accept(const trial::Proposal& recorded) {
  return !is_busy() && ForwardingSearcher::accept(recorded);
}

void BackgroundSearcher::stop() {
  counter_->stop();
  if (!thought_.valid()) ForwardingSearcher::stop();
}

bool BackgroundSearcher::finished() const {
  return !is_busy() && ForwardingSearcher::finished();
}

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostGiven = 3;  // limit, as a multiple of the trials that the search may have

/// Gives another searcher one more trial for each that was not trained, because what was asked before breaks
/// a constraint. A search that finds only such trials gives up.
class OutsideSearcher final : public ForwardingSearcher {
 public:
  /// @param trials  how many trials the search may have; the largest number if there is no limit
  OutsideSearcher(std::unique_ptr<Searcher> next, std::size_t trials);

  void tell(const trial::CommittedTrial& committed) override;
  bool gave_up() const override;
  std::string finish_reason() const override;

 private:
  std::size_t most_;       // most trials that are given
  std::size_t count_ = 0;  // trials that were not trained
};

OutsideSearcher::OutsideSearcher(std::unique_ptr<Searcher> next, std::size_t trials)
    : ForwardingSearcher(std::move(next)),
      most_(trials > kUnlimited / (kMostGiven + 1) ? kUnlimited : kMostGiven * trials) {}

void OutsideSearcher::tell(const trial::CommittedTrial& committed) {
  ForwardingSearcher::tell(committed);
  if (trial::is_outside(committed.outcome) && count_++ < most_) allow_one_more();
}

bool OutsideSearcher::gave_up() const {
  return count_ > most_ || ForwardingSearcher::gave_up();
}

std::string OutsideSearcher::finish_reason() const {
  if (count_ > most_)
    return counted(count_, "trial") + " broke a constraint on what is asked before a training";
  const std::string reason = ForwardingSearcher::finish_reason();
  return count_ == 0 ? reason : reason + ", " + std::to_string(count_) + " of them outside of constraints";
}

/// Returns the most trials that a `search` section allows.
std::size_t most_trials(const ConfigNode& section, const Algorithm& algorithm) {
  const ConfigNode complete = algorithm.keys->complete(section);
  const ConfigNode* trials = complete.find("trials");
  const std::optional<double> number =
      trials != nullptr && trials->is_scalar() ? parse_number(trials->as_text()) : std::nullopt;
  return number && *number >= 1 ? static_cast<std::size_t>(*number) : std::numeric_limits<std::size_t>::max();
}

}  // namespace

void check_repeats(const ConfigNode& written, const Algorithm& algorithm) {
  if (!written.is_map() || repeats_of(written) == 1) return;
  const ConfigNode& repeats = written.at("repeats");
  if (!algorithm.can_repeat) repeats.fail("not with `algorithm: " + algorithm.name + "`: expected 1");
  const ConfigNode* const budgets = written.find("budgets");
  if (budgets != nullptr && budgets->is_list()) repeats.fail("not with `search.budgets`");
}

std::unique_ptr<Searcher> make_searcher(const ConfigNode& section, const space::SearchSpace& space,
                                        const objective::ObjectiveSet& objectives, std::uint64_t seed,
                                        const trial::Budget& budget,
                                        std::span<const trial::CommittedTrial> known,
                                        const SearchPrograms& programs) {
  const Algorithm& algorithm = algorithm_of(section);
  const std::uint32_t repeats = section.is_map() ? repeats_of(section) : 1;
  const std::optional<PruningOptions> pruning = pruning_of(section);
  algorithm.check(section, budget);
  std::unique_ptr<Searcher> searcher = algorithm.make(
      section, {space, objectives, seed, budget, known, pruning ? pruning->at : std::vector<std::int64_t>(),
                programs.start_tuner, programs.counter});
  if (programs.counter != nullptr)
    searcher = std::make_unique<BackgroundSearcher>(std::move(searcher), programs.counter);
  const std::size_t trials = most_trials(section, algorithm);
  if (repeats > 1)
    searcher = std::make_unique<RepeatingSearcher>(std::move(searcher), objectives, repeats, trials);
  return std::make_unique<OutsideSearcher>(std::move(searcher), trials);
}

}  // namespace skyline::search
