#include "app/job/host_difference.hpp"

#include "comm/agreement.hpp"
#include "core/text/hash.hpp"
#include "core/version.hpp"
#include "machine/node.hpp"
#include "train/loading/load_accelerator.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <elf.h>
#include <link.h>

namespace skyline::app {
namespace {

std::string describe_program() {
  return std::string(program_version()) + "\nLibTorch " + train::torch_version() + "\n" +
         comm::mpi_library_name() + "\nbuild " + build_id();
}

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

std::string text_difference(std::span<const std::string> texts, std::span<const std::string> hosts) {
  struct Group {
    std::string text;
    std::vector<std::string> hosts;
  };
  std::vector<Group> groups;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    auto group = std::ranges::find(groups, texts[rank], &Group::text);
    if (group == groups.end()) group = groups.insert(group, Group{texts[rank], {}});
    group->hosts.push_back(hosts[rank]);
  }
  if (groups.size() < 2) return {};
  std::string difference;
  for (const Group& group : groups) {
    difference += (difference.empty() ? "" : "; ") + group.text + " on " + machine::host_list(group.hosts);
  }
  return difference;
}

std::optional<std::string> host_difference(comm::Environment& environment, const std::string& text,
                                           const CompareTexts& compare) {
  comm::Communicator& world = environment.world();
  const std::vector<std::string> texts = comm::gather(world, text);
  std::string difference;
  if (world.rank() == comm::kCoordinator) difference = compare(texts, environment.hosts());
  difference = comm::share(world, std::move(difference));
  return difference.empty() ? std::nullopt : std::optional(difference);
}

std::optional<std::string> version_difference(comm::Environment& environment) {
  return host_difference(environment, describe_program(), program_difference);
}

std::string program_difference(std::span<const std::string> programs, std::span<const std::string> hosts) {
  std::vector<std::istringstream> lines(programs.begin(), programs.end());
  for (bool more = true; more;) {
    more = false;
    std::vector<std::string> parts;
    for (std::istringstream& program : lines) {
      std::string& part = parts.emplace_back();
      if (std::getline(program, part))
        more = true;
      else
        part = "an unknown build";  // the program has no more parts
    }
    if (std::string difference = text_difference(parts, hosts); !difference.empty()) return difference;
  }
  return {};
}

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(visit, &id);
  return id.empty() ? "unknown" : id;
}

}  // namespace skyline::app
