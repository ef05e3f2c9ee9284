#include "skyline/core/error.hpp"

#include "skyline/core/exit_code.hpp"

#include "core/system/control_groups.hpp"

#include <cerrno>
#include <initializer_list>
#include <new>
#include <optional>
#include <system_error>

#include <sys/resource.h>

namespace skyline {
namespace {

template <typename Error>
bool is_a(const std::exception& error) {
  return dynamic_cast<const Error*>(&error) != nullptr;
}

/// A limit of a process, as people set it.
struct Limit {
  decltype(RLIMIT_NOFILE) resource;
  const char* name;
};

/// Returns the limit as text; empty if there is none. A control group, as of a container, may have a lower
/// one of processes than the user.
std::string limit_text(const Limit& each) {
  struct rlimit limit {};
  if (::getrlimit(each.resource, &limit) != 0) return {};
  if (each.resource == RLIMIT_NPROC) {
    const std::optional<ProcessLimit> group = process_limit_of_groups("/");
    if (group && group->most <= limit.rlim_cur) {
      return std::to_string(group->most) + " threads and processes of its control group, " +
             std::to_string(group->used) + " in use, pids.max";
    }
  }
  return limit.rlim_cur == RLIM_INFINITY ? "" : std::to_string(limit.rlim_cur) + " " + each.name;
}

/// Names the limits of this process that may be the cause, e.g. " (limits of this process: 64 open files,
/// ulimit -n)"; empty if there are none.
std::string limits_text(std::initializer_list<Limit> limits) {
  std::string text;
  for (const Limit& each : limits) {
    const std::string limit = limit_text(each);
    if (!limit.empty()) text += (text.empty() ? "" : "; ") + limit;
  }
  return text.empty() ? text : " (limits of this process: " + text + ")";
}

constexpr Limit kAddresses{RLIMIT_AS, "bytes of addresses, ulimit -v or h_vmem"};
constexpr Limit kThreads{RLIMIT_NPROC, "threads and processes of its user, ulimit -u"};
constexpr Limit kFileSize{RLIMIT_FSIZE, "bytes of a file, ulimit -f"};
constexpr Limit kOpenFiles{RLIMIT_NOFILE, "open files, ulimit -n"};

}  // namespace

void require(bool condition, const char* message) {
  if (!condition) throw InternalError(message);
}

std::string system_error_text(int error_number) {
  const std::string text = std::generic_category().message(error_number);
  if (error_number == EFBIG) return text + limits_text({kFileSize});
  if (error_number == EMFILE) return text + limits_text({kOpenFiles});
  if (error_number == EAGAIN) return text + limits_text({kThreads});
  return text;
}

int exit_code_of(const std::exception& error) {
  if (is_a<UserError>(error)) return kExitUserError;
  if (is_a<FaultError>(error) || is_a<std::bad_alloc>(error) || is_a<std::system_error>(error))
    return kExitFault;
  return kExitBug;
}

std::string error_text(const std::exception& error) {
  if (is_a<std::bad_alloc>(error)) {
    return "the system has no more memory for this process" + limits_text({kAddresses});
  }
  const auto* refused = dynamic_cast<const std::system_error*>(&error);
  if (refused != nullptr && refused->code() == std::errc::resource_unavailable_try_again) {
    return "the system refused a thread" + limits_text({kThreads, kAddresses});
  }
  return exit_code_of(error) == kExitBug ? std::string("internal error: ") + error.what() : error.what();
}

}  // namespace skyline
