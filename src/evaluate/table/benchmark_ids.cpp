// Which rows of a table are one architecture.
#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "evaluate/table/benchmark_table.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

namespace skyline::evaluate {
namespace {

using Ids = std::vector<std::optional<space::ArchId>>;

constexpr std::size_t kRowsAtOnce = 64;
constexpr std::size_t kChecked = 32;  // ids of a cache that are built again
constexpr std::size_t kChecksumLetters = 32;
constexpr std::uint64_t kNoId = 0;

std::optional<space::ArchId> build_id(const BenchmarkRows& rows, std::size_t row, const std::string& file,
                                      const space::SearchSpace& space) {
  const space::BuildAttempt attempt = space.try_build(rows.genotype(row));
  if (!attempt.architecture) return std::nullopt;
  for (std::size_t p = 0; p < rows.parameters; ++p) {
    if (!rows.empty[row * rows.parameters + p] || !attempt.architecture->used[p]) continue;
    throw UserError(file + ":" + std::to_string(rows.lines[row]) + ": `" + space.parameters()[p].name +
                    "` has no value" + (space.has_network() ? ", but the network of this row uses it" : ""));
  }
  return attempt.architecture->id;
}

std::filesystem::path ids_folder() {
  if (const auto cache = process_variable("XDG_CACHE_HOME"); cache && !cache->empty())
    return std::filesystem::path(*cache) / "skyline";
  if (const auto home = process_variable("HOME"); home && !home->empty())
    return std::filesystem::path(*home) / ".cache" / "skyline";
  return {};
}

template <typename Element>
std::string_view bytes_of(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

std::filesystem::path cache_file(const BenchmarkRows& rows, const std::string& space_hash) {
  const std::filesystem::path folder = ids_folder();
  if (folder.empty() || space_hash.empty()) return {};
  std::string key = space_hash;
  key += bytes_of(rows.choices);
  for (const bool empty : rows.empty) key += empty ? '1' : '0';
  return folder / (checksum(key) + ".arch_ids");
}

/// Returns the ids of a cache, or nothing if it is missing, damaged or of other networks.
std::optional<Ids> read_cache(const std::filesystem::path& path, const BenchmarkRows& rows,
                              const std::string& file, const space::SearchSpace& space) {
  std::string text;
  if (path.empty() || store::read_once(path, text) ||
      text.size() != rows.size() * sizeof(std::uint64_t) + kChecksumLetters)
    return std::nullopt;
  const std::string_view packed = std::string_view(text).substr(kChecksumLetters);
  if (!text.starts_with(checksum(packed))) return std::nullopt;
  Ids ids;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::uint64_t id = kNoId;
    std::memcpy(&id, packed.data() + row * sizeof id, sizeof id);
    ids.push_back(id == kNoId ? std::nullopt : std::optional(space::ArchId{id}));
  }
  const std::size_t step = std::max<std::size_t>(rows.size() / kChecked, 1);
  for (std::size_t row = 0; row < rows.size(); row += step) {
    if (build_id(rows, row, file, space) != ids[row]) return std::nullopt;
  }
  return ids;
}

/// Does nothing where the cache cannot be written.
void write_cache(const std::filesystem::path& path, const Ids& ids) {
  if (path.empty()) return;
  std::vector<std::uint64_t> packed;
  for (const auto& id : ids) packed.push_back(id ? static_cast<std::uint64_t>(*id) : kNoId);
  const std::string_view bytes = bytes_of(packed);
  try {
    store::make_own_folder(path.parent_path());
    store::publish_file(path, checksum(bytes) + std::string(bytes), store::Effort::kOnce);
  } catch (const Problem&) {
  }
}

}  // namespace

Ids build_ids(const BenchmarkRows& rows, const std::string& file, const space::SearchSpace& space) {
  Ids ids(rows.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::size_t begin = 0; (begin = next.fetch_add(kRowsAtOnce)) < rows.size();) {
        const std::size_t end = std::min(begin + kRowsAtOnce, rows.size());
        for (std::size_t row = begin; row < end; ++row) ids[row] = build_id(rows, row, file, space);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = rows.size();
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t most = std::max<std::size_t>(1, allowed_processors().size());
    for (std::size_t i = 1; i < std::min(most, rows.size() / kRowsAtOnce); ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return ids;
}

Ids cached_ids(const BenchmarkRows& rows, const std::string& file, const space::SearchSpace& space,
               const std::string& space_hash) {
  const std::filesystem::path path = cache_file(rows, space_hash);
  if (auto ids = read_cache(path, rows, file, space)) return std::move(*ids);
  Ids ids = build_ids(rows, file, space);
  write_cache(path, ids);
  return ids;
}

}  // namespace skyline::evaluate
