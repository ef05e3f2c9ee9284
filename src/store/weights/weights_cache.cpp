#include "store/weights/weights_cache.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/hash.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/folder_check.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/sealed_file.hpp"
#include "store/weights/weights.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

/// The start of a file, which holds its seal.
Fault read_seal_block(const std::filesystem::path& path, std::string& block) {
  struct stat status {};
  const FileDescriptor file = open_regular_file(path, status);
  if (!file) return {"open", errno};
  block.assign(kSealBytes, '\0');
  const ssize_t count = ::pread(file.get(), block.data(), block.size(), 0);
  if (count < 0) return {"read", errno};
  block.resize(static_cast<std::size_t>(count));
  return {};
}

/// A name of the shared folder may not show yet.
WeightsReading not_readable(const std::filesystem::path& path, const Fault& fault) {
  const bool missing = fault.error == ENOENT;
  const std::string what = missing ? "there is no such file" : system_error_text(fault.error);
  return {nullptr, path.string() + ": " + what, missing || may_pass(fault.error)};
}

struct Copy {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  timespec used{};
};

/// The copies in the folder, the least recently used first.
std::vector<Copy> list_copies(const std::filesystem::path& folder) {
  std::vector<Copy> copies;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    struct stat status {};
    if (entry->path().extension() != ".h5" || ::stat(entry->path().c_str(), &status) != 0) continue;
    copies.push_back({entry->path(), static_cast<std::uint64_t>(status.st_size), status.st_mtim});
  }
  std::sort(copies.begin(), copies.end(), [](const Copy& left, const Copy& right) {
    return std::pair(left.used.tv_sec, left.used.tv_nsec) < std::pair(right.used.tv_sec, right.used.tv_nsec);
  });
  return copies;
}

}  // namespace

struct WeightsCache::State {
  std::filesystem::path folder;  // empty: no copies
  std::uint64_t most_bytes = 0;

  WeightsReading read(const std::filesystem::path& path);
  std::shared_ptr<const WeightsFile> read_copy(const std::string& seal_block);
  void keep_copy(std::string_view file);
  void make_room(std::uint64_t bytes) const;
  void give_up(const std::string& reason);
  /// A copy is named after the seal of the original, and so after its content.
  std::filesystem::path copy_path(std::string_view seal_block) const {
    return folder / (checksum(seal_block) + ".h5");
  }
};

/// From a copy if there is one, else from the shared folder.
WeightsReading WeightsCache::State::read(const std::filesystem::path& path) {
  std::string seal_block;
  if (const Fault fault = read_seal_block(path, seal_block)) return not_readable(path, fault);
  if (auto copy = read_copy(seal_block)) return {std::move(copy), "", false};
  std::string file;
  if (const Fault fault = read_once(path, file)) return not_readable(path, fault);
  WeightsReading reading;
  try {
    reading.weights = std::make_shared<const WeightsFile>(decode_weights(file, path));
  } catch (const UserError& error) {
    return {nullptr, error.what(), false};
  }
  keep_copy(file);
  return reading;
}

std::shared_ptr<const WeightsFile> WeightsCache::State::read_copy(const std::string& seal_block) {
  if (folder.empty()) return nullptr;
  const std::filesystem::path path = copy_path(seal_block);
  std::string file;
  if (read_once(path, file)) return nullptr;
  try {
    if (!file.starts_with(seal_block)) throw UserError(path.string() + ": damaged: not what its name says");
    auto weights = std::make_shared<const WeightsFile>(decode_weights(file, path));
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used just now; only the order of removal hangs on it
    return weights;
  } catch (const UserError& error) {
    log::warning(std::string(error.what()) + "; reading the original of this copy");
    ::unlink(path.c_str());
    return nullptr;
  }
}

/// With one attempt: a full disk of the node shall not hold the run's files up.
void WeightsCache::State::keep_copy(std::string_view file) {
  if (folder.empty() || file.size() > most_bytes) return;
  make_room(file.size());
  const auto fill = [file](TemporaryFile& copy) { return copy.write({std::as_bytes(std::span(file))}, 0); };
  try {
    publish(copy_path(file.substr(0, kSealBytes)), fill, Effort::kOnce);
  } catch (const Problem& error) {
    give_up(error.what());
  }
}

/// Removes the least recently used copies until `bytes` more fit. Another rank of the node may do the same at
/// the same time: then a copy too many goes.
void WeightsCache::State::make_room(std::uint64_t bytes) const {
  const std::vector<Copy> copies = list_copies(folder);
  std::uint64_t total = bytes;
  for (const Copy& copy : copies) total += copy.bytes;
  for (const Copy& copy : copies) {
    if (total <= most_bytes) return;
    ::unlink(copy.path.c_str());
    total -= copy.bytes;
  }
}

void WeightsCache::State::give_up(const std::string& reason) {
  log::warning("no node-local copies of weights: " + reason);
  folder.clear();
}

WeightsCache::WeightsCache(std::filesystem::path folder, std::size_t most_bytes)
    : state_(std::make_unique<State>()) {
  state_->folder = std::move(folder);
  state_->most_bytes = most_bytes;
  if (state_->folder.empty()) return;
  if (const auto objection = make_private_folder(state_->folder)) {
    state_->give_up(state_->folder.string() + ": " + *objection);
  } else {
    remove_temporaries(state_->folder);
  }
}

WeightsCache::~WeightsCache() = default;

WeightsReading WeightsCache::read(const std::filesystem::path& path, trial::TrialNumber trial) {
  WeightsReading reading = state_->read(path);
  if (!reading.weights || reading.weights->trial == trial) return reading;
  return {nullptr,
          path.string() + ": expected the weights of trial " + std::to_string(trial) +
              ", got those of trial " + std::to_string(reading.weights->trial),
          true};
}

void WeightsCache::remove(const std::filesystem::path& folder) {
  std::error_code ignored;  // what stays costs room on the node, and nothing else
  if (!folder.empty() && !find_objection(folder)) std::filesystem::remove_all(folder, ignored);
}

}  // namespace skyline::store
