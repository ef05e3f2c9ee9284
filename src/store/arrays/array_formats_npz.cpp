#include "skyline/core/error.hpp"

#include "store/arrays/array_formats.hpp"

#include <algorithm>
#include <array>

#include <minizip/unzip.h>

namespace skyline::store {
namespace {

constexpr std::size_t kMostEntries = 1000;

struct ZipEntry {
  std::string name;
  std::uint64_t bytes = 0;
};

/// An open zip file, at one of its entries.
class ZipFile {
 public:
  explicit ZipFile(const std::filesystem::path& path) : path_(path), file_(unzOpen64(path.c_str())) {
    if (file_ == nullptr) fail("damaged or truncated zip file");
  }
  ~ZipFile() { unzClose(file_); }
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;

  std::vector<ZipEntry> entries() const {
    std::vector<ZipEntry> entries;
    for (int status = unzGoToFirstFile(file_); status != UNZ_END_OF_LIST_OF_FILE;
         status = unzGoToNextFile(file_)) {
      if (status != UNZ_OK) fail("damaged zip file");
      if (entries.size() == kMostEntries) fail("more than " + std::to_string(kMostEntries) + " entries");
      entries.push_back(entry());
    }
    return entries;
  }
  /// Goes to the start of an entry. Returns its unpacked size in bytes.
  std::uint64_t go_to(const std::string& name) const {
    constexpr int kCaseMatters = 1;
    if (unzLocateFile(file_, name.c_str(), kCaseMatters) != UNZ_OK || unzOpenCurrentFile(file_) != UNZ_OK) {
      fail(name + ": damaged, or packed in a way that NumPy does not");
    }
    return entry().bytes;
  }
  /// Checks that an entry is stored as NumPy stores its own. @throws UserError
  void check_packing(const std::string& name) const {
    constexpr uLong kStored = 0;
    constexpr uLong kDeflated = 8;
    unz_file_info64 info{};
    if (unzLocateFile(file_, name.c_str(), 1) != UNZ_OK ||
        unzGetCurrentFileInfo64(file_, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
      fail("damaged zip file");
    if (info.compression_method == kStored || info.compression_method == kDeflated) return;
    const std::string method = info.compression_method == 12 ? "bzip2"
                               : info.compression_method == 14
                                   ? "lzma"
                                   : "method " + std::to_string(info.compression_method);
    throw UserError("packed by " + method + ": save it by numpy.savez or numpy.savez_compressed");
  }
  void read(std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const auto most = static_cast<unsigned>(std::min<std::size_t>(bytes.size(), 1 << 30));
      const int count = unzReadCurrentFile(file_, bytes.data(), most);
      if (count <= 0) fail("damaged or truncated zip file");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  /// Checks the entry's checksum; called after its last byte.
  void check_sum() const {
    if (unzCloseCurrentFile(file_) != UNZ_OK) fail("damaged: a checksum does not match");
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(path_.string() + ": " + message);
  }

 private:
  ZipEntry entry() const {
    std::array<char, 256> name{};
    unz_file_info64 info{};
    if (unzGetCurrentFileInfo64(file_, &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) !=
        UNZ_OK) {
      fail("damaged zip file");
    }
    return {name.data(), info.uncompressed_size};
  }

  std::filesystem::path path_;
  unzFile file_;
};

class ZipStream final : public ArrayStream {
 public:
  ZipStream(const std::filesystem::path& path, const std::string& entry)
      : file_(path), left_((file_.check_packing(entry), file_.go_to(entry))) {}
  void read(std::span<std::byte> bytes) override {
    if (bytes.size() > left_) file_.fail("truncated: an entry ends before its array does");
    file_.read(bytes);
    left_ -= bytes.size();
    if (left_ == 0 && !bytes.empty()) file_.check_sum();
  }
  std::uint64_t left() const { return left_; }

 private:
  ZipFile file_;
  std::uint64_t left_;  // bytes of the entry that are not read yet
};

SourceArray array_of(const std::filesystem::path& file, const std::string& entry) {
  SourceArray array{entry.substr(0, entry.size() - std::string_view(".npy").size()), file, {}, {1}, {}};
  array.open = [file, entry]() -> std::unique_ptr<ArrayStream> {
    auto stream = std::make_unique<ZipStream>(file, entry);
    read_npy_header(*stream);
    return stream;
  };
  try {
    ZipStream stream(file, entry);
    const ArrayHeader header = read_npy_header(stream);
    array.dims = header.dims;
    if (stream.left() != array.rows() * array.row_elements() * header.element_bytes())
      throw UserError("its size is not what its header says");
    take_header(array, header);
  } catch (const UserError& error) {
    array.problem = error.what();
  }
  return array;
}

}  // namespace

std::vector<SourceArray> list_npz(const std::filesystem::path& file) {
  std::vector<SourceArray> arrays;
  for (const ZipEntry& entry : ZipFile(file).entries()) {
    if (entry.name.ends_with(".npy")) arrays.push_back(array_of(file, entry.name));
  }
  return arrays;
}

}  // namespace skyline::store
