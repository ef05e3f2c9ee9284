#include "skyline/core/error.hpp"

#include "store/journal/journal.hpp"
#include "store/journal/journal_header.hpp"
#include "store/journal/journal_line.hpp"
#include "store/publish/block_reader.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string_view>
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

}  // namespace skyline::store
