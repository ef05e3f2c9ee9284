#include "core/system/program_files.hpp"

#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <dlfcn.h>

namespace skyline {
namespace {

/// Returns the folders in which the loader looks for the program's libraries.
std::vector<std::filesystem::path> loader_folders() {
  Dl_serinfo count{};
  void* const program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr || dlinfo(program, RTLD_DI_SERINFOSIZE, &count) != 0) return {};
  std::vector<std::max_align_t> memory(count.dls_size / sizeof(std::max_align_t) + 1);
  auto* const found = reinterpret_cast<Dl_serinfo*>(memory.data());
  found->dls_size = count.dls_size;
  found->dls_cnt = count.dls_cnt;
  if (dlinfo(program, RTLD_DI_SERINFO, found) != 0) return {};
  std::vector<std::filesystem::path> folders;
  for (unsigned i = 0; i < found->dls_cnt; ++i) folders.emplace_back(found->dls_serpath[i].dls_name);
  return folders;
}

}  // namespace

std::optional<std::filesystem::path> find_program_file(const char* name, const char* variable,
                                                       std::string& reason) {
  std::error_code ignored;
  if (const char* file = std::getenv(variable)) {
    if (std::filesystem::exists(file, ignored)) return file;
    reason = std::string(variable) + ": " + file + " is not there";
    return std::nullopt;
  }
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::filesystem::path> folders = loader_folders();
  folders.insert(folders.begin(), {folder, folder.parent_path() / "lib"});
  for (const auto& place : folders) {
    if (std::filesystem::exists(place / name, ignored)) return place / name;
  }
  reason = std::string("there is no ") + name + " beside the program, in ../lib or where the loader looks";
  return std::nullopt;
}

std::filesystem::path shipped_file(std::string_view name) {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  return program.parent_path().parent_path() / "share/skyline" / name;
}

}  // namespace skyline
