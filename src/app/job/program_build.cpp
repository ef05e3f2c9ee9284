#include "app/job/program_build.hpp"

#include "comm/environment.hpp"
#include "core/text/hash.hpp"
#include "core/version.hpp"
#include "train/loading/load_training.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <elf.h>
#include <link.h>

namespace skyline::app {
namespace {

#if defined(__clang__)
constexpr std::string_view kCompiler = __VERSION__;
#else
constexpr std::string_view kCompiler = "GCC " __VERSION__;
#endif

constexpr std::size_t kMarkBytes = 8;

std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

/// Finds the build id among the notes of a segment; empty if it is missing.
std::string find_build_id(std::span<const std::byte> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto& header = *reinterpret_cast<const ElfW(Nhdr)*>(notes.data());
    const std::size_t name = sizeof(header);
    const std::size_t mark = name + padded(header.n_namesz);
    const std::size_t end = mark + padded(header.n_descsz);
    if (end > notes.size()) break;
    const std::string_view owner(reinterpret_cast<const char*>(notes.data()) + name, header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && owner.starts_with("GNU") && header.n_descsz >= kMarkBytes) {
      std::uint64_t value = 0;
      for (const std::byte byte : notes.subspan(mark, kMarkBytes))
        value = value << 8 | static_cast<std::uint64_t>(byte);
      return to_hex(value);
    }
    notes = notes.subspan(end);
  }
  return {};
}

int visit(dl_phdr_info* object, std::size_t, void* result) {
  auto& id = *static_cast<std::string*>(result);
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE || !id.empty()) continue;
    id = find_build_id(
        {reinterpret_cast<const std::byte*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz});
  }
  return 1;  // stops, because the program itself comes first, before its libraries
}

}  // namespace

std::vector<std::string> program_parts() {
  std::vector<std::string> parts{program_version(), std::string("commit ") + kCommit};
  if (const std::string torch = train::torch_version(); !torch.empty()) parts.push_back("LibTorch " + torch);
  parts.insert(parts.end(), {comm::mpi_library_name(), std::string(kCompiler)});
  return parts;
}

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(visit, &id);
  return id.empty() ? "unknown" : id;
}

}  // namespace skyline::app
