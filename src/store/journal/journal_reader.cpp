#include "skyline/core/error.hpp"

#include "store/journal/journal.hpp"
#include "store/journal/journal_header.hpp"
#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/block_reader.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

/// Runs `work` and adds file and line to its errors.
template <typename Work>
auto at_line(const std::filesystem::path& path, std::size_t number, Work work) {
  const std::string place = path.string() + ": line " + std::to_string(number) + ": ";
  try {
    return work();
  } catch (const UserError& error) {
    throw UserError(place + error.what());
  } catch (const Json::exception& error) {
    throw UserError(place + error.what());
  }
}

/// Reads the lines of a journal one by one and checks their sums; holds no more than a block of the file.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path) : path_(path), file_(path) {}

  /// Returns the next line; nullopt at the end and before a torn last line.
  std::optional<Json> next() {
    const std::size_t end = find_end();
    if (start_ == text_.size()) return std::nullopt;
    ++number_;
    std::optional<Json> line;
    if (end != std::string::npos) {
      const std::string_view text = std::string_view(text_).substr(start_, end - start_);
      if (text.ends_with('\r')) fail_line_ends();
      line = at_line(path_, number_, [&] { return parse_line(text); });
    }
    if (line) {
      valid_bytes_ += end + 1 - start_;
      start_ = end + 1;
      return line;
    }
    const bool last = end == std::string::npos || (end + 1 == text_.size() && !file_.read(text_));
    if (!last || number_ == 1) fail_damaged();
    torn_ = true;
    return std::nullopt;
  }

  std::size_t number() const { return number_; }  // number of the last line read, from 1
  std::uint64_t valid_bytes() const { return valid_bytes_; }
  bool torn() const { return torn_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  /// Returns the end of the next line in the text, or npos.
  std::size_t find_end() {
    std::size_t end = text_.find('\n', start_);
    if (end != std::string::npos) return end;
    text_.erase(0, std::exchange(start_, 0));
    for (std::size_t seen = text_.size(); end == std::string::npos && file_.read(text_);
         seen = text_.size()) {
      end = text_.find('\n', seen);
    }
    return end;
  }

  [[noreturn]] void fail_line_ends() const {
    throw UserError(path_.string() + ": line " + std::to_string(number_) +
                    ": its end is CR LF, as Windows writes it: change that back in the whole file, e.g. with "
                    "`sed -i 's/\\r$//'`, and nothing is lost");
  }

  [[noreturn]] void fail_damaged() const {
    throw UserError(
        path_.string() + ": line " + std::to_string(number_) +
        ": checksum does not match (the journal is damaged before its end: restore the file" +
        (number_ == 1 ? ")" : ", or cut it off before this line to lose this trial and all later ones)"));
  }

  std::filesystem::path path_;
  BlockReader file_;
  std::string text_;       // a part of the file
  std::size_t start_ = 0;  // start of the next line in it
  std::uint64_t valid_bytes_ = 0;
  std::size_t number_ = 0;
  bool torn_ = false;
};

/// Reads and checks the first line. @param text  receives the line, unless nullptr. @throws UserError
JournalHeader read_header(LineReader& lines, Json* text = nullptr) {
  const std::optional<Json> line = lines.next();
  if (!line) throw UserError(lines.path().string() + ": the file is empty, expected a journal");
  if (text != nullptr) *text = *line;
  return at_line(lines.path(), 1, [&] { return decode_header(*line); });
}

void check_position(const Json& line, std::size_t expected) {
  const auto found = line.find("position");
  if (found != line.end() && *found == expected) return;
  throw UserError("expected position " + std::to_string(expected) + ", got " +
                  (found != line.end() ? found->dump() : "none"));
}

/// A line with a trial. To build its network takes longer than all other work on the line.
struct TrialLine {
  Json json;
  std::size_t number = 0;
  std::shared_ptr<const space::Architecture> architecture;
  std::exception_ptr mistake;  // error in the architecture, thrown after those of earlier lines
};

/// Reads the next lines with trials; none at the end.
/// @param programs  follows lines about changed programs
std::vector<TrialLine> read_lines(LineReader& reader, Checksums& programs) {
  constexpr std::size_t kMost = 4096;  // some 30 MB
  std::vector<TrialLine> lines;
  while (lines.size() < kMost) {
    std::optional<Json> line = reader.next();
    if (!line) break;
    if (is_change(*line)) {
      at_line(reader.path(), reader.number(), [&] { read_checksums(*line, kChanged, programs); });
    } else if (!is_loss(*line)) {
      lines.push_back({*std::move(line), reader.number(), nullptr, nullptr});
    }
  }
  return lines;
}

/// Builds the architectures of the lines on all processors of this process.
void build_architectures(std::vector<TrialLine>& lines, const EntryDecoder& decoder) {
  constexpr std::size_t kLeastPerThread = 64;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < lines.size(); i = next++) {
      try {
        lines[i].architecture = decoder.architecture(lines[i].json);
      } catch (...) {
        lines[i].mistake = std::current_exception();
      }
    }
  };
  const std::size_t threads =
      std::min<std::size_t>(std::thread::hardware_concurrency(), lines.size() / kLeastPerThread);
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads for this user: those that there are do it
  }
  work();
}

}  // namespace

JournalContents read_journal(const std::filesystem::path& path, const space::SearchSpace& space) {
  LineReader lines(path);
  JournalContents contents;
  contents.header = read_header(lines);
  const EntryDecoder decoder(space, contents.header.metrics, contents.entries);
  const auto read_more = [&] { return read_lines(lines, contents.header.programs); };
  for (std::vector<TrialLine> some = read_more(); !some.empty(); some = read_more()) {
    build_architectures(some, decoder);
    for (const TrialLine& line : some) {
      at_line(path, line.number, [&] {
        check_position(line.json, contents.entries.size());
        if (line.mistake) std::rethrow_exception(line.mistake);
        const trial::CommittedTrial entry = decoder.decode(line.json, line.architecture);
        if (contents.entries.contains(entry.trial)) {
          throw UserError("trial " + to_text(entry.trial.name()) + " is there for the second time");
        }
        contents.entries.add(entry);
        contents.started_s.push_back(entry.timing.started_s);
      });
    }
  }
  contents.torn_tail = lines.torn();
  contents.valid_bytes = lines.valid_bytes();
  return contents;
}

JournalHeader read_journal_header(const std::filesystem::path& path) {
  LineReader lines(path);
  return read_header(lines);
}

std::size_t count_trials(const std::filesystem::path& path) {
  const std::string text = read_run_file(path);
  std::size_t trials = 0;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (std::string_view(text).substr(begin).starts_with(kEntryStart)) ++trials;
  }
  return trials;
}

JournalText check_journal(const std::filesystem::path& path) {
  LineReader lines(path);
  Json header;
  JournalText text;
  text.deterministic = read_header(lines, &header).deterministic;
  const auto append = [&text](Json& line) {
    line.erase("where");
    line.erase(kExpected);
    line.erase("sum");
    text.canonical += line.dump() + "\n";
  };
  append(header);
  while (std::optional<Json> line = lines.next()) {
    if (is_loss(*line)) continue;
    at_line(path, lines.number(), [&] {
      if (is_change(*line)) return;
      check_position(*line, text.started_s.size());
      text.started_s.push_back(decode_timing(member(*line, "where")).started_s);
    });
    append(*line);
  }
  text.torn_tail = lines.torn();
  text.valid_bytes = lines.valid_bytes();
  return text;
}

}  // namespace skyline::store
