#include "store/run_folder/process_identity.hpp"

#include <array>
#include <cctype>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace skyline::store {

std::string host_name() {
  std::array<char, 256> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0 || buffer[0] == '\0') return "unknown";
  std::string name(buffer.data());
  for (char& letter : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '.';
    if (!plain) letter = '_';
  }
  return name;
}

std::string process_place() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::array<char, 64> space{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
  return host_name() + " " + boot + " " + (length > 0 ? space.data() : "");
}

std::uint64_t process_start_ticks(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // The program's name, in parentheses, may hold spaces and parentheses of its own.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return 0;
  constexpr int kFieldsToStartTime = 18;  // fields 4 to 21; the start time is field 22
  std::string skipped;
  for (int i = 0; i < kFieldsToStartTime; ++i) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

}  // namespace skyline::store
