#include "store/weights/weights_cache.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/hash.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/folder_check.hpp"
#include "store/publish/publish.hpp"
#include "store/weights/weights.hpp"

#include <algorithm>
#include <cerrno>
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

WeightsCache::WeightsCache(std::filesystem::path folder, std::size_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  if (folder_.empty()) return;
  if (const auto objection = make_private_folder(folder_)) {
    give_up(folder_.string() + ": " + *objection);
  } else {
    remove_temporaries(folder_);
  }
}

/// From a copy if there is one, else from the shared folder.
WeightsReading WeightsCache::read(const std::filesystem::path& path, trial::TrialNumber trial) {
  std::string seal_block;
  if (const Fault fault = read_seal_block(path, seal_block)) return not_readable(path, fault);
  WeightsReading reading{read_copy(seal_block), "", false};
  if (!reading.weights) {
    std::string file;
    if (const Fault fault = read_once(path, file)) return not_readable(path, fault);
    try {
      reading.weights = std::make_shared<const WeightsFile>(decode_weights(file, path));
    } catch (const UserError& error) {
      return {nullptr, error.what(), false};
    }
    keep_copy(file);
  }
  if (reading.weights->trial == trial) return reading;
  return {nullptr,
          path.string() + ": expected the weights of trial " + std::to_string(trial) +
              ", got those of trial " + std::to_string(reading.weights->trial),
          true};
}

std::filesystem::path WeightsCache::copy_path(std::string_view seal_block) const {
  return folder_ / (checksum(seal_block) + ".h5");
}

std::shared_ptr<const WeightsFile> WeightsCache::read_copy(const std::string& seal_block) {
  if (folder_.empty()) return nullptr;
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
void WeightsCache::keep_copy(std::string_view file) {
  if (folder_.empty() || file.size() > most_bytes_) return;
  make_room(file.size());
  try {
    publish_file(copy_path(file.substr(0, kSealBytes)), file, Effort::kOnce);
  } catch (const Problem& error) {
    give_up(error.what());
  }
}

/// Removes the least recently used copies until `bytes` more fit. Another rank of the node may do the same at
/// the same time: then a copy too many goes.
void WeightsCache::make_room(std::uint64_t bytes) const {
  const std::vector<Copy> copies = list_copies(folder_);
  std::uint64_t total = bytes;
  for (const Copy& copy : copies) total += copy.bytes;
  for (const Copy& copy : copies) {
    if (total <= most_bytes_) return;
    ::unlink(copy.path.c_str());
    total -= copy.bytes;
  }
}

void WeightsCache::give_up(const std::string& reason) {
  log::warning("no node-local copies of weights: " + reason);
  folder_.clear();
}

void WeightsCache::remove(const std::filesystem::path& folder) {
  std::error_code ignored;  // what stays costs room on the node, and nothing else
  if (!folder.empty() && !find_objection(folder)) std::filesystem::remove_all(folder, ignored);
}

}  // namespace skyline::store
