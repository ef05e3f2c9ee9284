/* Faults in the system calls that write below one folder, for tests: loaded into a program with LD_PRELOAD.

   SKYLINE_FAULT_ROOT   the folder, absolute, without symbolic links; calls elsewhere pass untouched
   SKYLINE_FAULT_MATCH  only paths that contain this text (optional)
   SKYLINE_FAULT_TEXT   only writes of bytes that contain this text, and no other calls (optional)
   SKYLINE_FAULT_LINES  only writes that bring a file above so many lines, and fsyncs of one with at least
                        so many (optional)
   SKYLINE_FAULT_RANK   only in this rank of an Open MPI job (optional)
   SKYLINE_FAULT        OP:ACTION:N[:COUNT]: what happens at the N-th such call, from 1, and at those after it
                        until there were COUNT (default 1; 0: for ever)
   SKYLINE_FAULT_HOLD   the file of the action hold
   SKYLINE_FAULT_SIGNAL a signal that the process gets before it runs code of its own libraries (optional)
   SKYLINE_FAULT_LOG    a file outside the folder that gets a line "<process> <number> <op> <path>" a call,
   and
                        "<process> <number> abort <exit code>" for MPI_Abort (optional)

   OP: open (for writing) read_open read write fsync syncfs close rename link unlink truncate mkdir touch, or any:
   one that changes something (all but read_open and read). ACTION: an error's name (ENOSPC); kill (SIGKILL
   before the call), kill-after, tear (half of a write, then SIGKILL); crash, abort (after the call, by a bad
   address or abort()); stall=SECONDS; hold (makes a file, and waits as long as it is there); signal=NUMBER
   (sent to the process before the call).

   The calls are made as bare system calls, so nothing of the C library needs to be looked up. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum action { NONE, FAIL, KILL, KILL_AFTER, TEAR, CRASH, ABORT, STALL, HOLD, SIGNAL };

static const struct {
  const char* name;
  int number;
} kErrors[] = {{"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EIO", EIO},       {"ESTALE", ESTALE},
               {"EROFS", EROFS},   {"EACCES", EACCES}, {"ENOENT", ENOENT}, {"ETIMEDOUT", ETIMEDOUT}};

static struct {
  bool active;
  char root[PATH_MAX];
  const char* match;
  const char* text;
  const char* hold;
  long lines;
  int signal;
  int log;
  char op[16];
  enum action action;
  int error;
  double stall_s;
  long first;
  long count;
} plan = {.log = -1};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long calls;    /* that were looked at, for the log */
static long matching; /* of the plan's operation */
static int* volatile nowhere;

static void refuse(const char* what) {
  fprintf(stderr, "storage_faults: %s\n", what);
  _exit(99);
}

static void parse_action(const char* text) {
  if (strcmp(text, "kill") == 0) {
    plan.action = KILL;
  } else if (strcmp(text, "kill-after") == 0) {
    plan.action = KILL_AFTER;
  } else if (strcmp(text, "tear") == 0) {
    plan.action = TEAR;
  } else if (strcmp(text, "crash") == 0) {
    plan.action = CRASH;
  } else if (strcmp(text, "abort") == 0) {
    plan.action = ABORT;
  } else if (sscanf(text, "stall=%lf", &plan.stall_s) == 1) {
    plan.action = STALL;
  } else if (strcmp(text, "hold") == 0) {
    plan.action = HOLD;
  } else if (sscanf(text, "signal=%d", &plan.signal) == 1) {
    plan.action = SIGNAL;
  }
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (strcmp(text, kErrors[i].name) != 0) continue;
    plan.action = FAIL;
    plan.error = kErrors[i].number;
  }
  if (plan.action == HOLD && plan.hold == NULL) refuse("SKYLINE_FAULT_HOLD is not set");
  if (plan.action == NONE) refuse("SKYLINE_FAULT has an unknown action");
}

static void parse_fault(const char* text) {
  char action[32];
  plan.count = 1;
  if (sscanf(text, "%15[^:]:%31[^:]:%ld:%ld", plan.op, action, &plan.first, &plan.count) < 3) {
    refuse("SKYLINE_FAULT is not OP:ACTION:N[:COUNT]");
  }
  parse_action(action);
}

__attribute__((constructor)) static void start(void) {
  const char* root = getenv("SKYLINE_FAULT_ROOT");
  const char* wanted_rank = getenv("SKYLINE_FAULT_RANK");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (root == NULL) return;
  if (wanted_rank != NULL && (rank == NULL || strcmp(rank, wanted_rank) != 0)) return;
  const char* early = getenv("SKYLINE_FAULT_SIGNAL");
  if (early != NULL) raise(atoi(early));
  if (root[0] != '/' || strlen(root) >= sizeof plan.root)
    refuse("SKYLINE_FAULT_ROOT is not an absolute path");
  strcpy(plan.root, root);
  plan.match = getenv("SKYLINE_FAULT_MATCH");
  plan.text = getenv("SKYLINE_FAULT_TEXT");
  plan.hold = getenv("SKYLINE_FAULT_HOLD");
  const char* lines = getenv("SKYLINE_FAULT_LINES");
  if (lines != NULL) plan.lines = atol(lines);
  const char* fault = getenv("SKYLINE_FAULT");
  if (fault != NULL) parse_fault(fault);
  const char* log = getenv("SKYLINE_FAULT_LOG");
  if (log != NULL) {
    plan.log = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (plan.log < 0) refuse("cannot open SKYLINE_FAULT_LOG");
  }
  plan.active = true;
}

/* ---- which calls count ---- */

static bool is_below_root(const char* path) {
  const size_t length = strlen(plan.root);
  return strncmp(path, plan.root, length) == 0 && (path[length] == '/' || path[length] == '\0') &&
         (plan.match == NULL || strstr(path, plan.match) != NULL);
}

/* Relative paths count from the working folder; other folders' descriptors are not followed. */
static bool absolute_path(const char* path, char* absolute) {
  if (path[0] == '/') return snprintf(absolute, PATH_MAX, "%s", path) < PATH_MAX;
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) == NULL) return false;
  return snprintf(absolute, PATH_MAX, "%s/%s", folder, path) < PATH_MAX;
}

static bool descriptor_path(int descriptor, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return true;
}

static void pause_for(double seconds) {
  struct timespec left = {.tv_sec = (time_t)seconds,
                          .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

static void hold(void) {
  syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, plan.hold, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  while (access(plan.hold, F_OK) == 0) pause_for(0.005);
}

static long lines_in(const char* bytes, size_t count) {
  long lines = 0;
  for (size_t i = 0; i < count; ++i) lines += bytes[i] == '\n';
  return lines;
}

static long lines_of(const char* path) {
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  long lines = 0;
  char piece[4096];
  for (long count; (count = syscall(SYS_read, file, piece, sizeof piece)) > 0;) {
    lines += lines_in(piece, (size_t)count);
  }
  syscall(SYS_close, file);
  return lines;
}

static void end_process(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static bool changes_something(const char* op) {
  return strcmp(op, "read") != 0 && strcmp(op, "read_open") != 0;
}

static void log_call(const char* op, const char* path) {
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "%d %ld %s %s\n", (int)getpid(), ++calls, op, path);
  if (plan.log >= 0) syscall(SYS_write, plan.log, line, (size_t)length);
}

/* Counts a call and says what is to happen at it; a kill before the call and a stall happen here. */
static enum action meet(const char* op, const char* path) {
  if (!is_below_root(path)) return NONE;
  pthread_mutex_lock(&mutex);
  const bool any = strcmp(plan.op, "any") == 0 && changes_something(op);
  const bool due = plan.action != NONE && (any || strcmp(plan.op, op) == 0) && ++matching >= plan.first &&
                   (plan.count == 0 || matching < plan.first + plan.count);
  if (changes_something(op)) log_call(op, path);
  pthread_mutex_unlock(&mutex);
  if (!due) return NONE;
  if (plan.action == KILL) end_process();
  if (plan.action == STALL) pause_for(plan.stall_s);
  if (plan.action == HOLD) hold();
  if (plan.action == SIGNAL) kill(getpid(), plan.signal);
  return plan.action;
}

static enum action meet_path(const char* op, const char* path) {
  char absolute[PATH_MAX];
  if (!plan.active || plan.text != NULL || plan.lines > 0 || path == NULL || !absolute_path(path, absolute))
    return NONE;
  return meet(op, absolute);
}

static enum action meet_bytes(const char* op, int descriptor, const void* bytes, size_t count) {
  char path[PATH_MAX];
  if (!plan.active || !descriptor_path(descriptor, path)) return NONE;
  if (plan.text != NULL && memmem(bytes, count, plan.text, strlen(plan.text)) == NULL) return NONE;
  if (plan.lines > 0) {
    const bool writes = strcmp(op, "write") == 0;
    if ((!writes && strcmp(op, "fsync") != 0) || !is_below_root(path)) return NONE;
    if (lines_of(path) + lines_in(bytes, count) < plan.lines + (writes ? 1 : 0)) return NONE;
  }
  return meet(op, path);
}

static enum action meet_descriptor(const char* op, int descriptor) {
  return meet_bytes(op, descriptor, "", 0);
}

static bool fails(enum action action) {
  if (action == FAIL) errno = plan.error;
  return action == FAIL;
}

static long done(enum action action, long result) {
  if (action == KILL_AFTER || action == TEAR) end_process();
  if (action == CRASH) *nowhere = 0;
  if (action == ABORT) abort();
  return result;
}

/* ---- the calls ---- */

static int open_at(int folder, const char* path, int flags, mode_t mode) {
  const bool writes = (flags & O_CREAT) != 0 || (flags & O_ACCMODE) != O_RDONLY;
  const enum action action = meet_path(writes ? "open" : "read_open", path);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_openat, folder, path, flags, mode));
}

#define OPTIONAL_MODE(flags, mode)                \
  mode_t mode = 0;                                \
  if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) { \
    va_list arguments;                            \
    va_start(arguments, flags);                   \
    mode = va_arg(arguments, mode_t);             \
    va_end(arguments);                            \
  }

int open(const char* path, int flags, ...) {
  OPTIONAL_MODE(flags, mode)
  return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  OPTIONAL_MODE(flags, mode)
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  OPTIONAL_MODE(flags, mode)
  return open_at(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  OPTIONAL_MODE(flags, mode)
  return open_at(folder, path, flags, mode);
}

ssize_t read(int descriptor, void* bytes, size_t count) {
  const enum action action = meet_descriptor("read", descriptor);
  if (fails(action)) return -1;
  return done(action, syscall(SYS_read, descriptor, bytes, count));
}

ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  const enum action action = meet_descriptor("read", descriptor);
  if (fails(action)) return -1;
  return done(action, syscall(SYS_pread64, descriptor, bytes, count, offset));
}

ssize_t pread64(int descriptor, void* bytes, size_t count, off_t offset) {
  return pread(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const enum action action = meet_bytes("write", descriptor, bytes, count);
  if (fails(action)) return -1;
  return done(action, syscall(SYS_write, descriptor, bytes, action == TEAR ? count / 2 : count));
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  const enum action action = meet_bytes("write", descriptor, bytes, count);
  if (fails(action)) return -1;
  return done(action, syscall(SYS_pwrite64, descriptor, bytes, action == TEAR ? count / 2 : count, offset));
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}

ssize_t writev(int descriptor, const struct iovec* pieces, int count) {
  const enum action action = meet_descriptor("write", descriptor);
  if (fails(action)) return -1;
  return done(action, syscall(SYS_writev, descriptor, pieces, action == TEAR ? count / 2 : count));
}

int fsync(int descriptor) {
  const enum action action = meet_descriptor("fsync", descriptor);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_fsync, descriptor));
}

int fdatasync(int descriptor) {
  const enum action action = meet_descriptor("fsync", descriptor);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_fdatasync, descriptor));
}

int syncfs(int descriptor) {
  const enum action action = meet_descriptor("syncfs", descriptor);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_syncfs, descriptor));
}

/* Only descriptors that could write: those alone can report a write that failed late. */
int close(int descriptor) {
  const int flags = plan.active ? fcntl(descriptor, F_GETFL) : O_RDONLY;
  const bool writes = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
  const enum action action = writes ? meet_descriptor("close", descriptor) : NONE;
  const long result = syscall(SYS_close, descriptor);
  if (fails(action)) return -1;
  return (int)done(action, result);
}

/* Of MPI's library, if the program has it. A communicator is a pointer in Open MPI. */
__attribute__((weak)) int PMPI_Abort(void* communicator, int code);
int MPI_Abort(void* communicator, int code);

int MPI_Abort(void* communicator, int code) {
  char text[16];
  snprintf(text, sizeof text, "%d", code);
  pthread_mutex_lock(&mutex);
  log_call("abort", text);
  pthread_mutex_unlock(&mutex);
  return PMPI_Abort(communicator, code);
}

static int rename_at(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const enum action action = meet_path("rename", to);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int rename(const char* from, const char* to) {
  return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return rename_at(from_folder, from, to_folder, to, 0);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return rename_at(from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) {
  const enum action action = meet_path("link", to);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

static int unlink_at(int folder, const char* path, int flags) {
  const enum action action = meet_path("unlink", path);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_unlinkat, folder, path, flags));
}

int unlink(const char* path) {
  return unlink_at(AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char* path, int flags) {
  return unlink_at(folder, path, flags);
}

int remove(const char* path) {
  const int result = unlink_at(AT_FDCWD, path, 0);
  return result != 0 && errno == EISDIR ? unlink_at(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

int ftruncate(int descriptor, off_t length) {
  const enum action action = meet_descriptor("truncate", descriptor);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_ftruncate, descriptor, length));
}

int ftruncate64(int descriptor, off_t length) {
  return ftruncate(descriptor, length);
}

int mkdir(const char* path, mode_t mode) {
  const enum action action = meet_path("mkdir", path);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int utimensat(int folder, const char* path, const struct timespec times[2], int flags) {
  const enum action action = meet_path("touch", path);
  if (fails(action)) return -1;
  return (int)done(action, syscall(SYS_utimensat, folder, path, times, flags));
}
