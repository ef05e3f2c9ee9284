#include "store/journal/journal.hpp"

#include "skyline/core/error.hpp"

#include "core/system/parts.hpp"
#include "store/journal/journal_header.hpp"
#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::string_view kJournalTask = "write";

/// The file to which a name leads at some moment.
struct OpenedFile {
  FileDescriptor file;
  ino_t number = 0;
  std::uint64_t length = 0;
};

/// Opens the file, because that makes an NFS client ask the server.
Fault open_journal(const std::filesystem::path& path, OpenedFile& place) {
  place.file = open_file(path, O_RDWR | O_NOFOLLOW);
  if (!place.file) return {"", errno};
  struct stat status {};
  if (::fstat(place.file.get(), &status) != 0) return {"fstat", errno};
  place.number = status.st_ino;
  place.length = static_cast<std::uint64_t>(status.st_size);
  return {};
}

[[noreturn]] void fail_shorter(const std::filesystem::path& path, std::uint64_t expected,
                               std::uint64_t found) {
  throw FaultError(path.string() + ": shorter than when it was read: expected " + std::to_string(expected) +
                   " bytes, got " + std::to_string(found));
}

[[noreturn]] void fail_taken_over(const std::filesystem::path& path) {
  throw UserError(path.string() +
                  ": another job has taken this run over, this one ends (the journal is left to that job)");
}

void publish_new_journal(const std::filesystem::path& path, const std::string& text) {
  if (publish_new_file(path, text)) return;
  throw UserError(path.string() +
                  ": there is a journal already (resume with --resume, or choose another --run folder)");
}

/// Checks before and after each write whether the journal is still this job's. If the process was suspended,
/// e.g. while its file server was unreachable, another job may have replaced the journal by its own file.
class OffsetWriter final : public JournalWriter {
 public:
  OffsetWriter(const std::filesystem::path& path, std::uint64_t length, std::vector<trial::Metric> metrics)
      : path_(path), length_(length), reached_(length), metrics_(std::move(metrics)) {
    patiently(kJournalTask, path_, [this] { return open_journal(path_, opened_); });
    check_length(opened_.length);
  }

  void append(std::span<const trial::SharedTrial> committed, const space::SearchSpace& space) override {
    std::string lines;
    for (const trial::SharedTrial& entry : committed) {
      const auto noted = failed_tries_.extract(entry->trial.name());
      lines += entry_line(*entry, metrics_, space, noted ? noted.mapped() : std::vector<FailedTry>());
    }
    append(lines);
  }
  void append(const RankLoss& loss) override { append(loss_line(loss)); }
  void note(trial::TrialName trial, const FailedTry& failed) override {
    failed_tries_[trial].push_back(failed);
  }
  void append_change(const Checksums& programs) override { append(change_line(programs)); }

 private:
  void append(const std::string& lines) {
    try {
      patiently(kJournalTask, path_, [&] { return write(lines); });
    } catch (const Problem&) {
      cut_back();
      throw;
    }
    length_ = reached_;
  }

  /// Writes all of it; after a fault at the same place again, because a system that could not make bytes
  /// durable may have dropped them.
  Fault write(const std::string& lines) {
    if (const Fault fault = check_ours()) return fault;
    reached_ = length_ + lines.size();
    Fault fault{"write", write_at(opened_.file, std::as_bytes(std::span(lines)), length_)};
    if (!fault) fault = {"fsync", sync_file(opened_.file)};
    if (fault.error == ESTALE) opened_.file.reset();
    return fault ? fault : check_ours();
  }

  /// Checks that the name leads to this job's file. @throws UserError otherwise
  Fault check_ours() {
    OpenedFile found;
    if (const Fault fault = open_journal(path_, found)) return fault;
    if (found.number != opened_.number) fail_taken_over(path_);
    check_length(found.length);
    if (!opened_.file) opened_.file = std::move(found.file);
    return {};
  }

  void check_length(std::uint64_t found) const {
    if (found < length_) fail_shorter(path_, length_, found);
    if (found > reached_) fail_taken_over(path_);
  }

  /// Removes an incomplete part, if possible; if it stays, readers drop it as a torn tail.
  void cut_back() noexcept {
    try {
      if (check_ours() || ::ftruncate(opened_.file.get(), static_cast<off_t>(length_)) != 0) return;
    } catch (const Problem&) {
      return;  // the file is not ours
    }
    if (sync_file(opened_.file) == 0) reached_ = length_;
  }

  std::filesystem::path path_;
  OpenedFile opened_;      // the file is null after the file server has forgotten it
  std::uint64_t length_;   // length of the part that is known to be good
  std::uint64_t reached_;  // end of everything that this job has written, or tried to write
  std::vector<trial::Metric> metrics_;
  std::map<trial::TrialName, std::vector<FailedTry>> failed_tries_;  // tries of trials without a line yet
};

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
  constexpr std::size_t kTogether = 64;
  in_parts(lines.size(), kTogether, std::thread::hardware_concurrency(),
           [&](std::size_t begin, std::size_t end) {
             for (std::size_t i = begin; i < end; ++i) {
               try {
                 lines[i].architecture = decoder.architecture(lines[i].json);
               } catch (...) {
                 lines[i].mistake = std::current_exception();
               }
             }
           });
}

}  // namespace

void publish_journal(const std::filesystem::path& path, const JournalHeader& header,
                     const std::vector<trial::CommittedTrial>& first, const space::SearchSpace& space) {
  std::string text = header_line(header);
  for (const trial::CommittedTrial& entry : first) text += entry_line(entry, header.metrics, space);
  publish_new_journal(path, text);
}

std::unique_ptr<JournalWriter> JournalWriter::create(const std::filesystem::path& path,
                                                     const JournalHeader& header) {
  const std::string line = header_line(header);
  if (store::exists(path) && count_trials(path) == 0) {
    publish_file(path, line);
  } else {
    publish_new_journal(path, line);
  }
  return std::make_unique<OffsetWriter>(path, line.size(), header.metrics);
}

void republish_journal(const std::filesystem::path& path, const JournalContents& contents) {
  publish(path, [&](TemporaryFile& file) -> Fault {
    BlockReader from(path);
    std::string block;
    for (std::uint64_t place = 0; place < contents.valid_bytes; place += block.size()) {
      block.clear();
      if (!from.read(block)) fail_shorter(path, contents.valid_bytes, place);
      block.resize(std::min<std::uint64_t>(block.size(), contents.valid_bytes - place));
      if (const Fault fault = file.write({std::as_bytes(std::span(block))}, place)) return fault;
    }
    return {};
  });
}

std::unique_ptr<JournalWriter> JournalWriter::resume(const std::filesystem::path& path,
                                                     const JournalContents& contents) {
  return std::make_unique<OffsetWriter>(path, contents.valid_bytes, contents.header.metrics);
}

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
