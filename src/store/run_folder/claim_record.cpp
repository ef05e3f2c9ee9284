#include "store/run_folder/claim_record.hpp"

#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr double kStaleAge_s = 60;

ClaimRecord parse_record(std::string_view text) {
  ClaimRecord record;
  const auto json = nlohmann::ordered_json::parse(shallow_json(text), nullptr, false);
  try {
    record.token = json.at("token").get<std::string>();
    record.host = json.at("host").get<std::string>();
    record.place = json.at("place").get<std::string>();
    record.process = json.at("pid").get<pid_t>();
    record.started_ticks = json.at("started_ticks").get<std::uint64_t>();
    record.folder = json.value("folder", "");
    record.inode = json.value("inode", std::uint64_t{0});
  } catch (const nlohmann::ordered_json::exception&) {
    return {};
  }
  return record;
}

/// Returns 0 if it is unknown.
std::uint64_t inode_of(const std::filesystem::path& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

double ClaimRecord::age_s(const timespec& now) const {
  const double seconds = static_cast<double>(now.tv_sec - heartbeat.tv_sec) +
                         1e-9 * static_cast<double>(now.tv_nsec - heartbeat.tv_nsec);
  return std::max(seconds, 0.0);
}

bool ClaimRecord::is_stale(const timespec& now) const {
  const bool is_observable = process != 0 && place == process_place();
  if (!is_observable) return has_old_heartbeat(now);
  const std::uint64_t ticks = process_start_ticks(process);
  if (ticks != 0) return ticks != started_ticks;
  // A process that /proc hides may be that of the claim, or a later one with its number.
  return !process_exists(process) || has_old_heartbeat(now);
}

bool ClaimRecord::has_old_heartbeat(const timespec& now) const {
  return age_s(now) > kStaleAge_s;
}

ClaimRecord make_claim_record(const std::filesystem::path& folder) {
  ClaimRecord record;
  // A claim without a path is taken for one of the folder where it is found.
  std::error_code unknown;
  record.folder = std::filesystem::canonical(folder, unknown).string();
  record.inode = inode_of(folder);
  record.token = to_hex(random_token());
  record.host = host_name();
  record.place = process_place();
  record.process = ::getpid();
  record.started_ticks = process_start_ticks(record.process);
  return record;
}

std::string to_json(const ClaimRecord& record) {
  nlohmann::ordered_json json;
  json["host"] = record.host;
  json["pid"] = record.process;
  json["started_ticks"] = record.started_ticks;
  json["place"] = record.place;
  json["token"] = record.token;
  json["folder"] = record.folder;
  json["inode"] = record.inode;
  constexpr auto kOtherBytes = nlohmann::ordered_json::error_handler_t::replace;
  return json.dump(2, ' ', false, kOtherBytes) + "\n";
}

Fault find_claim(const std::filesystem::path& path, std::optional<ClaimRecord>& found) {
  found.reset();
  // Opening the file, not just asking for its status, makes an NFS client ask the server for its times.
  struct stat status {};
  const FileDescriptor file = open_regular_file(path, status);
  if (!file) return {"", errno == ENOENT ? 0 : errno};
  std::array<char, 4096> text{};
  const ssize_t length = ::pread(file.get(), text.data(), text.size(), 0);
  if (length < 0) return {"", errno};
  found = parse_record({text.data(), static_cast<std::size_t>(length)});
  found->heartbeat = status.st_mtim;
  return {};
}

std::optional<ClaimRecord> read_claim_record(const std::filesystem::path& path) {
  std::optional<ClaimRecord> found;
  patiently("read", path, [&] { return find_claim(path, found); });
  return found;
}

std::optional<ClaimRecord> find_original_claim(const ClaimRecord& record,
                                               const std::filesystem::path& folder) {
  if (record.inode == 0 || record.process == 0) return std::nullopt;
  const IoOperation operation("look at", record.folder);
  if (inode_of(folder) == record.inode || inode_of(record.folder) != record.inode) return std::nullopt;
  std::optional<ClaimRecord> there = read_claim_record(RunPaths{record.folder}.owner());
  if (there && there->token != record.token) there.reset();
  return there;
}

}  // namespace skyline::store
