#include "skyline/core/error.hpp"
#include "skyline/store/journal.hpp"
#include "skyline/store/publish.hpp"

#include "store/file_descriptor.hpp"
#include "store/journal_line.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::string_view kTask = "write";

FileDescriptor open_journal(const std::filesystem::path& path) {
  FileDescriptor file = open_file(path, O_RDWR);
  if (!file) fail_system(kTask, path, "", errno);
  return file;
}

class OffsetWriter final : public JournalWriter {
 public:
  OffsetWriter(const std::filesystem::path& path, FileDescriptor file, std::uint64_t length,
               std::vector<std::string> metrics)
      : path_(path), file_(std::move(file)), length_(length), metrics_(std::move(metrics)) {}

  void append(const std::vector<objective::CommittedTrial>& committed,
              const space::SearchSpace& space) override {
    std::string lines;
    for (const objective::CommittedTrial& entry : committed) lines += entry_line(entry, metrics_, space);
    const char* call = "write";
    int error = write_at(file_, std::as_bytes(std::span(lines)), length_);
    if (error == 0) {
      call = "fsync";
      error = sync_file(file_);
    }
    if (error != 0) {
      // Best effort: a part that stays behind is a torn tail, which readers drop.
      if (::ftruncate(file_.get(), static_cast<off_t>(length_)) == 0) sync_file(file_);
      fail_system(kTask, path_, call, error);
    }
    length_ += lines.size();
  }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
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
  return std::make_unique<OffsetWriter>(path, open_journal(path), line.size(), header.metrics);
}

std::unique_ptr<JournalWriter> JournalWriter::resume(const std::filesystem::path& path,
                                                     const JournalContents& contents) {
  FileDescriptor file = open_journal(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_system(kTask, path, "fstat", errno);
  if (static_cast<std::uint64_t>(status.st_size) < contents.valid_bytes) {
    throw UserError(path.string() + ": shorter than when it was read: expected " +
                    std::to_string(contents.valid_bytes) + " bytes, got " + std::to_string(status.st_size));
  }
  if (::ftruncate(file.get(), static_cast<off_t>(contents.valid_bytes)) != 0) {
    fail_system(kTask, path, "truncate", errno);
  }
  if (const int error = sync_file(file)) fail_system(kTask, path, "fsync", error);
  return std::make_unique<OffsetWriter>(path, std::move(file), contents.valid_bytes, contents.header.metrics);
}

}  // namespace skyline::store
