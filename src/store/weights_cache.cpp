#include "skyline/store/weights_cache.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/hash.hpp"
#include "skyline/core/log.hpp"
#include "skyline/store/publish.hpp"

#include "store/file_descriptor.hpp"
#include "store/patience.hpp"
#include "store/publication.hpp"
#include "store/sealed_file.hpp"
#include "store/weights_bytes.hpp"

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

/// A file server's clients see a new name after up to 60 s by their usual settings.
constexpr double kVisibleAfter = 1.5;  // times the patience, 60 s by default

/// The start of a file, which holds its seal; nothing if the name does not show (yet). @throws UserError
std::optional<std::string> read_seal_block(const std::filesystem::path& path) {
  const FileDescriptor file = open_file(path, O_RDONLY);
  if (!file && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
  if (!file) fail_system("read", path, "", errno);
  std::string block(kSealBytes, '\0');
  const ssize_t count = ::pread(file.get(), block.data(), block.size(), 0);
  if (count < 0 && errno == ESTALE) return std::nullopt;
  if (count < 0) fail_system("read", path, "", errno);
  block.resize(static_cast<std::size_t>(count));
  return block;
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

  std::optional<WeightsFile> read_shared(const std::filesystem::path& path);
  std::optional<WeightsFile> read_copy(const std::string& seal_block);
  void keep_copy(std::string_view file);
  void make_room(std::uint64_t bytes) const;
  void give_up(const std::string& reason);
  /// A copy is named after the seal of the original, and so after its content.
  std::filesystem::path copy_path(std::string_view seal_block) const {
    return folder / (sha256_hex(seal_block).substr(0, 32) + ".h5");
  }
};

/// From a copy if there is one, else from the shared folder; nothing if the name does not show (yet).
std::optional<WeightsFile> WeightsCache::State::read_shared(const std::filesystem::path& path) {
  const std::optional<std::string> seal_block = read_seal_block(path);
  if (!seal_block) return std::nullopt;
  if (std::optional<WeightsFile> copy = read_copy(*seal_block)) return copy;
  const std::string file = read_file(path);
  WeightsFile weights = decode_weights(file, path);
  keep_copy(file);
  return weights;
}

std::optional<WeightsFile> WeightsCache::State::read_copy(const std::string& seal_block) {
  if (folder.empty()) return std::nullopt;
  const std::filesystem::path path = copy_path(seal_block);
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  try {
    const std::string file = read_file(path);
    if (!file.starts_with(seal_block)) throw UserError(path.string() + ": damaged: not what its name says");
    WeightsFile weights = decode_weights(file, path);
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used just now; only the order of removal hangs on it
    return weights;
  } catch (const UserError& error) {
    if (::access(path.c_str(), F_OK) != 0) return std::nullopt;  // another rank has just made room
    log::warning(std::string(error.what()) + "; reading the original of this copy");
    ::unlink(path.c_str());
    return std::nullopt;
  }
}

void WeightsCache::State::keep_copy(std::string_view file) {
  if (folder.empty() || file.size() > most_bytes) return;
  try {
    make_room(file.size());
    const Fault fault = publish_once(copy_path(file.substr(0, kSealBytes)), [file](TemporaryFile& copy) {
      return copy.write({std::as_bytes(std::span(file))}, 0);
    });
    if (fault) give_up(folder.string() + ": " + system_error_text(fault.error));
  } catch (const UserError& error) {
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
    remove_file(copy.path);
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
  std::error_code error;
  std::filesystem::create_directories(state_->folder, error);
  if (error) {
    state_->give_up(state_->folder.string() + ": " + error.message());
  } else {
    remove_temporaries(state_->folder);
  }
}

WeightsCache::~WeightsCache() = default;

std::shared_ptr<const WeightsFile> WeightsCache::read(const std::filesystem::path& path,
                                                      objective::TrialNumber trial) {
  GrowingPause pause;
  for (;;) {
    std::optional<WeightsFile> weights = state_->read_shared(path);
    if (weights && weights->trial == trial) return std::make_shared<const WeightsFile>(*std::move(weights));
    const double bound_s = kVisibleAfter * patience_s();
    if (pause.sleep(bound_s)) continue;
    const std::string waited = " after " + std::to_string(static_cast<int>(bound_s)) + " s of waiting";
    if (!weights) throw UserError("cannot read " + path.string() + ": there is no such file" + waited);
    throw UserError(path.string() + ": expected the weights of trial " + std::to_string(trial) +
                    ", got those of trial " + std::to_string(weights->trial) + waited);
  }
}

}  // namespace skyline::store
