/* A FUSE file system that passes everything on to a folder, with faults.
   usage: FUSE_FAULTS=FILE fuse_faults FOLDER MOUNT [FUSE options]
   While FILE is there, it says what fails: "OP ERROR COUNT" (COUNT calls, then FILE is removed; 0: until it
   is), or "OP hang SECONDS" (calls wait, and then FILE is removed). OP: getattr open create read write
   truncate unlink rename mkdir link fsync flush utimens build: gcc -O2 -o fuse_faults fuse_faults.c
   $(pkg-config --cflags --libs fuse3) */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char base[PATH_MAX];
static const char* control;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int error_number(const char* name) {
  static const struct {
    const char* name;
    int number;
  } kErrors[] = {{"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EIO", EIO},      {"ESTALE", ESTALE},
                 {"EROFS", EROFS},   {"EACCES", EACCES}, {"ENOSYS", ENOSYS}};
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (strcmp(name, kErrors[i].name) == 0) return kErrors[i].number;
  }
  return EINVAL;
}

static void hang(long seconds) {
  for (long i = 0; i < seconds * 20 && access(control, F_OK) == 0; ++i) usleep(50000);
  unlink(control);
}

static void count_down(const char* op, const char* error, long count) {
  if (count == 1) unlink(control);
  if (count <= 1) return;
  FILE* file = fopen(control, "w");
  if (file == NULL) return;
  fprintf(file, "%s %s %ld\n", op, error, count - 1);
  fclose(file);
}

/* 0, or the negative error number that the call is to give. */
static int fault(const char* op) {
  pthread_mutex_lock(&mutex);
  char wanted[32] = "";
  char what[32] = "";
  long count = 0;
  FILE* file = fopen(control, "r");
  const bool found =
      file != NULL && fscanf(file, "%31s %31s %ld", wanted, what, &count) == 3 && strcmp(wanted, op) == 0;
  if (file != NULL) fclose(file);
  const bool hangs = found && strcmp(what, "hang") == 0;
  if (found && !hangs) count_down(op, what, count);
  pthread_mutex_unlock(&mutex);
  if (hangs) hang(count);
  return found && !hangs ? -error_number(what) : 0;
}

#define RETURN_FAULT(op)          \
  do {                            \
    const int error = fault(op);  \
    if (error != 0) return error; \
  } while (0)

static int result(int returned) {
  return returned < 0 ? -errno : returned;
}

static const char* place(const char* path, char* buffer) {
  snprintf(buffer, PATH_MAX, "%s%s", base, path);
  return buffer;
}

static int do_getattr(const char* path, struct stat* status, struct fuse_file_info* info) {
  (void)info;
  char buffer[PATH_MAX];
  RETURN_FAULT("getattr");
  return result(lstat(place(path, buffer), status));
}

static int do_readdir(const char* path, void* entries, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info* info, enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  char buffer[PATH_MAX];
  DIR* folder = opendir(place(path, buffer));
  if (folder == NULL) return -errno;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) fill(entries, entry->d_name, NULL, 0, 0);
  closedir(folder);
  return 0;
}

static int do_open(const char* path, struct fuse_file_info* info) {
  char buffer[PATH_MAX];
  RETURN_FAULT("open");
  const int descriptor = open(place(path, buffer), info->flags);
  if (descriptor < 0) return -errno;
  info->fh = (uint64_t)descriptor;
  return 0;
}

static int do_create(const char* path, mode_t mode, struct fuse_file_info* info) {
  char buffer[PATH_MAX];
  RETURN_FAULT("create");
  const int descriptor = open(place(path, buffer), info->flags, mode);
  if (descriptor < 0) return -errno;
  info->fh = (uint64_t)descriptor;
  return 0;
}

static int do_read(const char* path, char* bytes, size_t count, off_t offset, struct fuse_file_info* info) {
  (void)path;
  RETURN_FAULT("read");
  return result((int)pread((int)info->fh, bytes, count, offset));
}

static int do_write(const char* path, const char* bytes, size_t count, off_t offset,
                    struct fuse_file_info* info) {
  (void)path;
  RETURN_FAULT("write");
  return result((int)pwrite((int)info->fh, bytes, count, offset));
}

static int do_truncate(const char* path, off_t length, struct fuse_file_info* info) {
  (void)info;
  char buffer[PATH_MAX];
  RETURN_FAULT("truncate");
  return result(truncate(place(path, buffer), length));
}

static int do_unlink(const char* path) {
  char buffer[PATH_MAX];
  RETURN_FAULT("unlink");
  return result(unlink(place(path, buffer)));
}

static int do_rename(const char* from, const char* to, unsigned flags) {
  char source[PATH_MAX];
  char target[PATH_MAX];
  RETURN_FAULT("rename");
  return result(renameat2(AT_FDCWD, place(from, source), AT_FDCWD, place(to, target), flags));
}

static int do_link(const char* from, const char* to) {
  char source[PATH_MAX];
  char target[PATH_MAX];
  RETURN_FAULT("link");
  return result(link(place(from, source), place(to, target)));
}

static int do_mkdir(const char* path, mode_t mode) {
  char buffer[PATH_MAX];
  RETURN_FAULT("mkdir");
  return result(mkdir(place(path, buffer), mode));
}

static int do_rmdir(const char* path) {
  char buffer[PATH_MAX];
  return result(rmdir(place(path, buffer)));
}

static int do_fsync(const char* path, int data_only, struct fuse_file_info* info) {
  (void)path, (void)data_only;
  RETURN_FAULT("fsync");
  return result(fsync((int)info->fh));
}

static int do_flush(const char* path, struct fuse_file_info* info) {
  (void)path, (void)info;
  RETURN_FAULT("flush");
  return 0;
}

static int do_release(const char* path, struct fuse_file_info* info) {
  (void)path;
  close((int)info->fh);
  return 0;
}

static int do_utimens(const char* path, const struct timespec times[2], struct fuse_file_info* info) {
  (void)info;
  char buffer[PATH_MAX];
  RETURN_FAULT("utimens");
  return result(utimensat(AT_FDCWD, place(path, buffer), times, AT_SYMLINK_NOFOLLOW));
}

static int do_statfs(const char* path, struct statvfs* status) {
  (void)path;
  return result(statvfs(base, status));
}

static const struct fuse_operations kOperations = {.getattr = do_getattr,
                                                   .readdir = do_readdir,
                                                   .open = do_open,
                                                   .create = do_create,
                                                   .read = do_read,
                                                   .write = do_write,
                                                   .truncate = do_truncate,
                                                   .unlink = do_unlink,
                                                   .rename = do_rename,
                                                   .link = do_link,
                                                   .mkdir = do_mkdir,
                                                   .rmdir = do_rmdir,
                                                   .fsync = do_fsync,
                                                   .flush = do_flush,
                                                   .release = do_release,
                                                   .utimens = do_utimens,
                                                   .statfs = do_statfs};

int main(int count, char** words) {
  control = getenv("FUSE_FAULTS");
  if (count < 3 || control == NULL || realpath(words[1], base) == NULL) {
    fprintf(stderr, "usage: FUSE_FAULTS=FILE fuse_faults FOLDER MOUNT [FUSE options]\n");
    return 2;
  }
  words[1] = words[0];
  return fuse_main(count - 1, words + 1, &kOperations, NULL);
}
