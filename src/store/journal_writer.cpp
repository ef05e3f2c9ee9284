#include "skyline/core/error.hpp"
#include "skyline/store/journal.hpp"
#include "skyline/store/publish.hpp"

#include "store/file_descriptor.hpp"
#include "store/journal_line.hpp"
#include "store/patience.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::string_view kTask = "write";

Fault open_journal(const std::filesystem::path& path, FileDescriptor& file) {
  file = open_file(path, O_RDWR);
  return {"", file ? 0 : errno};
}

struct Place {
  ino_t file = 0;
  std::uint64_t length = 0;
};

Fault look_at(const FileDescriptor& file, Place& place) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return {"fstat", errno};
  place = {status.st_ino, static_cast<std::uint64_t>(status.st_size)};
  return {};
}

/// Cuts off what stands behind the first `length` bytes.
Fault cut(const FileDescriptor& file, std::uint64_t length) {
  if (::ftruncate(file.get(), static_cast<off_t>(length)) != 0) return {"truncate", errno};
  return {"fsync", sync_file(file)};
}

class OffsetWriter final : public JournalWriter {
 public:
  /// @param length  of the part that is good; what stands behind it is cut off
  OffsetWriter(const std::filesystem::path& path, std::uint64_t length, std::vector<std::string> metrics)
      : path_(path), length_(length), metrics_(std::move(metrics)) {
    patiently(kTask, path_, [this]() -> Fault {
      if (const Fault fault = open_journal(path_, file_)) return fault;
      if (const Fault fault = look_at(file_, place_)) return fault;
      check_length(place_);
      return place_.length == length_ ? Fault{} : cut(file_, length_);
    });
  }

  void append(const std::vector<objective::CommittedTrial>& committed,
              const space::SearchSpace& space) override {
    std::string lines;
    for (const objective::CommittedTrial& entry : committed) lines += entry_line(entry, metrics_, space);
    try {
      patiently(kTask, path_, [&] { return write(lines); });
    } catch (const UserError&) {
      // Best effort: a part that stays behind is a torn tail, which readers drop.
      if (file_) cut(file_, length_);
      throw;
    }
    length_ += lines.size();
  }

 private:
  /// All of it, at the same place again after a fault: a system that could not make bytes durable may have
  /// dropped them.
  Fault write(const std::string& lines) {
    if (!file_) {
      if (const Fault fault = reopen()) return fault;
    }
    Fault fault{"write", write_at(file_, std::as_bytes(std::span(lines)), length_)};
    if (!fault) fault = {"fsync", sync_file(file_)};
    if (fault.error == ESTALE) file_.reset();
    return fault;
  }

  Fault reopen() {
    FileDescriptor file;
    if (const Fault fault = open_journal(path_, file)) return fault;
    Place found;
    if (const Fault fault = look_at(file, found)) return fault;
    if (found.file != place_.file) throw UserError(path_.string() + ": another file was put in its place");
    check_length(found);
    file_ = std::move(file);
    return {};
  }

  void check_length(const Place& found) const {
    if (found.length >= length_) return;
    throw UserError(path_.string() + ": shorter than when it was read: expected " + std::to_string(length_) +
                    " bytes, got " + std::to_string(found.length));
  }

  std::filesystem::path path_;
  FileDescriptor file_;   // null after the file server has forgotten it
  Place place_;           // when it was opened
  std::uint64_t length_;  // of the part that is known to be good
  std::vector<std::string> metrics_;
};

}  // namespace

std::unique_ptr<JournalWriter> JournalWriter::create(const std::filesystem::path& path,
                                                     const JournalHeader& header) {
  const std::string line = header_line(header);
  if (!publish_new_file(path, line)) {
    throw UserError(path.string() +
                    ": there is a journal already (go on with --resume, or choose another --run "
                    "folder)");
  }
  return std::make_unique<OffsetWriter>(path, line.size(), header.metrics);
}

std::unique_ptr<JournalWriter> JournalWriter::resume(const std::filesystem::path& path,
                                                     const JournalContents& contents) {
  return std::make_unique<OffsetWriter>(path, contents.valid_bytes, contents.header.metrics);
}

}  // namespace skyline::store
