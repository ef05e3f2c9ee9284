#include "store/run_folder/running_trials.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::string_view kRunningStart = "running.";
constexpr std::string_view kRunningFormat = "skyline-running";
constexpr int kRunningVersion = 2;
constexpr std::string_view kOverdue = "+overdue";  // follows the state of a trial
constexpr std::size_t kRowBytes = 160;
constexpr std::size_t kCountBytes = 20;
constexpr std::size_t kNoSlot = static_cast<std::size_t>(-1);

thread_local std::size_t slot_of_thread = kNoSlot;

std::string padded_to(std::string text, std::size_t bytes) {
  text.resize(bytes, ' ');
  return text;
}

/// In version 1 of control groups a group does not count the kills in the groups below it.
constexpr std::string_view kOwnKillsAlone = "memory.oom_control";

std::optional<std::uint64_t> count_in(const std::filesystem::path& file) {
  std::string text;
  try {
    if (read_once(file, text)) return std::nullopt;
  } catch (const UserError&) {  // something else has the counter's name
    return std::nullopt;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t count = 0;
    if (words >> key >> count && key == "oom_kill") return count;
  }
  return std::nullopt;
}

/// Returns whether a name that another process wrote can be that of a counter. Nothing else is opened.
bool is_counter(const std::filesystem::path& file, const std::filesystem::path& root) {
  const std::filesystem::path plain = file.lexically_normal();
  return plain == root / "proc/vmstat" || plain.string().starts_with((root / "sys/fs/cgroup/").string());
}

/// Returns the kills in a group, with those in the groups below.
std::optional<std::uint64_t> count_oom_kills(const std::filesystem::path& file) {
  std::optional<std::uint64_t> count = count_in(file);
  if (!count || file.filename() != kOwnKillsAlone) return count;
  using Entries = std::filesystem::recursive_directory_iterator;
  std::error_code gone;  // a group may end meanwhile
  for (Entries entry(file.parent_path(), gone); !gone && entry != Entries(); entry.increment(gone)) {
    if (entry.depth() > 0 && entry->path().filename() == kOwnKillsAlone)
      *count += count_in(entry->path()).value_or(0);
  }
  return count;
}

constexpr std::string_view kSuspectEnd = ".suspect";

std::filesystem::path suspect_path(const RunPaths& paths, trial::TrialName trial) {
  return paths.checkpoints() / (to_text(trial) + std::string(kSuspectEnd));
}

std::vector<std::filesystem::path> running_paths(const RunPaths& paths) {
  std::vector<std::filesystem::path> found;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    if (is_running_table(path)) found.push_back(path);
  }
  return found;
}

int rank_of(const std::filesystem::path& path) {
  const auto number = parse_integer(path.filename().string().substr(kRunningStart.size()));
  if (!number) throw UserError("expected the number of a rank at the end of its name");
  return static_cast<int>(*number);
}

std::string word_after(std::istream& line, std::string_view key) {
  std::string word;
  if (!(line >> word) || word != key) throw UserError("expected a line `" + std::string(key) + "`");
  std::getline(line >> std::ws, word);
  return word;
}

LeftTrials parse_running(std::istream& text) {
  LeftTrials left;
  std::string format;
  int version = 0;
  if (!(text >> format >> version >> left.job) || format != kRunningFormat || version != kRunningVersion) {
    throw UserError("expected " + std::string(kRunningFormat) + " " + std::to_string(kRunningVersion));
  }
  left.oom.place = word_after(text, "place");
  std::istringstream counts(word_after(text, "oom_kills"));
  std::uint64_t later = 0;
  if (!(counts >> left.oom.kills >> later)) throw UserError("expected two numbers of `oom_kills`");
  std::getline(counts >> std::ws, left.oom.file);
  left.saw_oom_kill = later > left.oom.kills;
  std::size_t slot = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    LeftTrials::Row row{.slot = slot++, .trial = {}};
    std::string state;
    std::string name;
    if (!(words >> row.signal >> state >> name >> row.begun)) continue;  // the slot is idle
    const std::optional<trial::TrialName> trial = parse_trial_name(name);
    if (!trial) throw UserError("expected the name of a trial, got " + name);
    row.trial = *trial;
    row.advanced = state.starts_with("advanced");
    row.overdue = state.ends_with(kOverdue);
    std::getline(words >> std::ws, row.text);
    row.text.erase(row.text.find_last_not_of(' ') + 1);
    left.rows.push_back(std::move(row));
  }
  return left;
}

}  // namespace

bool is_running_table(const std::filesystem::path& path) {
  return path.filename().string().starts_with(kRunningStart);
}

bool OomCount::has_risen(const std::filesystem::path& root) const {
  return place == process_place() && is_counter(file, root) && count_oom_kills(file).value_or(0) > kills;
}

RunningTrials::RunningTrials(const RunPaths& paths, int rank, std::size_t slots, const std::string& job,
                             const std::filesystem::path& oom_kills)
    : pinned_(paths.own_folders()),
      path_(paths.checkpoints() / (std::string(kRunningStart) + std::to_string(rank))),
      rows_(slots) {
  const std::optional<std::uint64_t> kills = count_oom_kills(oom_kills);
  oom_ = {process_place(), kills ? oom_kills.string() : "", kills.value_or(0)};
  const std::string count = padded_to(std::to_string(oom_.kills), kCountBytes);
  std::string text = std::string(kRunningFormat) + " " + std::to_string(kRunningVersion) + " " + job +
                     "\nplace " + oom_.place + "\noom_kills " + count + " ";
  oom_place_ = text.size();
  text += count + " " + oom_.file + "\n";
  rows_place_ = text.size();
  const IoOperation operation("write", path_);
  file_ = open_own_file(path_, O_WRONLY | O_CREAT, 0666);
  if (file_ && ::ftruncate(file_.get(), 0) != 0) file_.reset();
  if (!file_) return;
  write_at(file_, std::as_bytes(std::span(text)), 0);
  for (std::size_t slot = 0; slot < slots; ++slot) write(slot);
  open_ = true;
}

void RunningTrials::write(std::size_t slot) const {
  const Row& row = rows_[slot];
  std::string state = "idle";
  if (row.trial) {
    state = std::string(row.advanced ? "advanced" : "running") + std::string(row.overdue ? kOverdue : "") +
            " " + to_text(*row.trial) + " " + std::to_string(std::llround(row.begun)) + " " +
            (row.reported.empty() ? "" : row.reported + ", ") + row.text;
  }
  const std::string text = padded_to("00 " + state, kRowBytes - 1) + "\n";
  const IoOperation operation("write", path_);
  if (file_) write_at(file_, std::as_bytes(std::span(text)), rows_place_ + slot * kRowBytes);
}

void RunningTrials::begins(std::size_t slot, trial::TrialName trial, const std::string& text) {
  slot_of_thread = slot;
  if (stopping_) return;
  const std::lock_guard lock(mutex_);
  rows_.at(slot) = {.trial = trial, .begun = unix_now_s(), .text = printable(text)};
  write(slot);
  count_again();
}

void RunningTrials::reports(std::size_t slot, const std::string& text) {
  if (stopping_) return;
  const std::lock_guard lock(mutex_);
  rows_.at(slot).reported = printable(text);
  write(slot);
}

void RunningTrials::count_again() {
  const std::optional<std::uint64_t> kills = count_oom_kills(oom_.file);
  if (!kills || *kills == oom_.kills) return;
  oom_.kills = *kills;
  const std::string text = padded_to(std::to_string(oom_.kills), kCountBytes);
  const IoOperation operation("write", path_);
  if (file_) write_at(file_, std::as_bytes(std::span(text)), oom_place_ - kCountBytes - 1);
}

void RunningTrials::ends(std::size_t slot) {
  if (stopping_) return;
  const std::lock_guard lock(mutex_);
  rows_.at(slot) = {};
  write(slot);
}

bool RunningTrials::advances(trial::TrialName trial) {
  bool first = false;
  const std::lock_guard lock(mutex_);
  for (std::size_t slot = 0; slot < rows_.size(); ++slot) {
    if (rows_[slot].trial != trial || rows_[slot].advanced) continue;
    rows_[slot].advanced = first = true;
    write(slot);
  }
  return first;
}

void RunningTrials::is_overdue(std::size_t slot, trial::TrialName trial) {
  if (stopping_) return;
  const std::lock_guard lock(mutex_);
  Row& row = rows_.at(slot);
  if (row.trial != trial) return;
  row.overdue = true;
  write(slot);
}

void RunningTrials::count_last() {
  const std::string text = std::to_string(count_oom_kills(oom_.file).value_or(0));
  const IoOperation operation("write", path_);
  if (file_) write_at(file_, std::as_bytes(std::span(text)), oom_place_);
}

void RunningTrials::crashed(int signal) const noexcept {
  if (!open_ || ::syscall(SYS_gettid) == ::getpid()) return;
  const std::array<char, 2> digits{static_cast<char>('0' + signal / 10),
                                   static_cast<char>('0' + signal % 10)};
  const bool is_slot = slot_of_thread != kNoSlot;
  const std::size_t begin = is_slot ? slot_of_thread : 0;
  const std::size_t end = is_slot ? begin + 1 : rows_.size();
  for (std::size_t slot = begin; slot < end; ++slot) {
    const auto place = static_cast<off_t>(rows_place_ + slot * kRowBytes);
    if (::pwrite(file_.get(), digits.data(), digits.size(), place) < 0) return;
  }
}

void RunningTrials::remove() {
  close();
  const IoOperation operation("remove", path_);
  ::unlink(path_.c_str());
}

std::vector<LeftTrials> read_running_trials(const RunPaths& paths) {
  std::vector<LeftTrials> all;
  for (const std::filesystem::path& path : running_paths(paths)) {
    try {
      std::istringstream text(read_file(path));
      all.push_back(parse_running(text));
      all.back().rank = rank_of(path);
    } catch (const Problem& problem) {
      log::warning(path.string() + ": " + problem.what() +
                   "; whether a trial ended the last job is not known");
    }
  }
  std::ranges::sort(all, {}, &LeftTrials::rank);
  return all;
}

void remove_running_trials(const RunPaths& paths) {
  for (const std::filesystem::path& path : running_paths(paths)) remove_file(path);
}

Suspects read_suspects(const RunPaths& paths) {
  Suspects suspects;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    if (path.extension() != kSuspectEnd) continue;
    const std::optional<trial::TrialName> trial = parse_trial_name(path.stem().string());
    if (!trial) continue;
    Suspect& suspect = suspects[*trial];
    std::istringstream words(read_file(path));
    for (Suspect::Death death; words >> death.job >> death.cause;) suspect.deaths.push_back(death);
  }
  return suspects;
}

void write_suspect(const RunPaths& paths, trial::TrialName trial, const Suspect& suspect) {
  std::string text;
  for (const Suspect::Death& death : suspect.deaths) text += death.job + " " + death.cause + "\n";
  publish_file(suspect_path(paths, trial), text);
}

void remove_suspect(const RunPaths& paths, trial::TrialName trial) {
  remove_file(suspect_path(paths, trial));
}

std::optional<trial::TrialName> parse_trial_name(std::string_view text) {
  trial::TrialName name;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, name.number);
  if (error != std::errc()) return std::nullopt;
  constexpr std::string_view kFinal = ".final";
  const std::string_view kind(rest, end);
  const bool is_refit = kind == ".refit";
  name.is_final = is_refit || kind.starts_with(kFinal);
  if (is_refit) name.repeat = trial::kRefit;
  if (!is_refit && name.is_final && end - rest > std::ssize(kFinal) + 1)
    std::from_chars(rest + kFinal.size() + 1, end, name.repeat);
  if (to_text(name) != text) return std::nullopt;
  return name;
}

}  // namespace skyline::store
