#include "report/text/run_origin.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <vector>

namespace skyline::report {
namespace {

/// Returns the texts that slots have, each once, in their order.
std::string each_once(const run::RunAccount& account, std::string store::SlotAccount::*text) {
  std::vector<std::string> texts;
  for (const run::SlotAccount& slot : account.slots) {
    const std::string& own = slot.*text;
    if (!own.empty() && std::ranges::find(texts, own) == texts.end()) texts.push_back(own);
  }
  return joined(texts, "; ");
}

/// Returns how many ranks the last job had.
int ranks_of(const run::RunAccount& account) {
  int last = 0;
  for (const run::SlotAccount& slot : account.slots) {
    if (slot.job == account.slots.back().job) last = std::max(last, slot.rank);
  }
  return last + 1;
}

/// Returns the command that trains the models of another run again, as far as this run took them from one.
std::string train_words(const ConfigNode& config) {
  const ConfigNode* const search = config.is_map() ? config.find("search") : nullptr;
  const ConfigNode* const from = search == nullptr ? nullptr : search->find("from");
  if (from == nullptr || from->as_text().empty()) return {};
  std::vector<std::string> numbers;
  for (const ConfigNode& number : search->at("numbers").items()) numbers.push_back(number.as_text());
  return "train " + in_shell(from->as_text()) + " --trial " + joined(numbers, ",") + " --epochs " +
         config.at("final").at("epochs").as_text() + " --seeds " + search->at("seeds").as_text() +
         " --seed " + config.at("run").at("seed").as_text();
}

}  // namespace

std::string programs_text(const run::OpenedRun& opened) {
  const std::string programs = each_once(opened.account, &store::SlotAccount::program);
  return programs.empty() ? opened.header.skyline_version : programs;
}

std::string processors_text(const run::RunAccount& account) {
  return each_once(account, &store::SlotAccount::processor);
}

std::string repeat_line(const run::OpenedRun& opened) {
  const int ranks = ranks_of(opened.account);
  std::string words = train_words(opened.config);
  if (words.empty()) words = "search " + in_shell(opened.paths.config().string());
  const std::filesystem::path root = (opened.paths.root / "").parent_path();
  return (ranks > 1 ? "mpirun -np " + std::to_string(ranks) + " " : "") + "skyline " + words + " --run " +
         in_shell(root.string() + "-again");
}

}  // namespace skyline::report
