// Arrays that are read as a whole: those of words, and those that lie in another order.
#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "store/arrays/array_formats.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::size_t kMostBytesOfWords = std::size_t{1} << 28;  // of all words of an array
constexpr std::size_t kMostTurnedBytes = std::size_t{1} << 30;   // of an array in another order
constexpr std::size_t kReadAtOnceBytes = std::size_t{1} << 24;
constexpr std::size_t kMostDifferentWords = std::size_t{1} << 16;

/// Gives bytes of memory to a reader.
class BytesStream final : public ArrayStream {
 public:
  explicit BytesStream(std::shared_ptr<const std::vector<std::byte>> bytes) : bytes_(std::move(bytes)) {}
  void read(std::span<std::byte> bytes) override {
    require(place_ + bytes.size() <= bytes_->size(), "read beyond the end of an array");
    std::copy_n(bytes_->begin() + static_cast<std::ptrdiff_t>(place_), bytes.size(), bytes.begin());
    place_ += bytes.size();
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  std::size_t place_ = 0;
};

void append_utf8(std::string& text, std::uint32_t letter) {
  if (letter < 0x80) {
    text += static_cast<char>(letter);
    return;
  }
  const int more = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;  // bytes after the first
  constexpr std::array kFirst{0xc0, 0xe0, 0xf0};
  if (letter > 0x10ffff) throw UserError("a word with a letter that Unicode does not have");
  text += static_cast<char>(static_cast<std::uint32_t>(kFirst.at(static_cast<std::size_t>(more) - 1)) |
                            letter >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (letter >> (6 * i) & 0x3f));
}

std::string word_in(std::span<const std::byte> bytes, const WordType& type) {
  std::string word;
  for (std::size_t i = 0; i < type.letters; ++i) {
    std::uint32_t letter = 0;
    for (std::size_t byte = 0; byte < type.letter_bytes; ++byte) {
      const std::size_t from = type.big_endian ? byte : type.letter_bytes - 1 - byte;
      letter = letter << 8 | std::to_integer<std::uint32_t>(bytes[i * type.letter_bytes + from]);
    }
    if (type.letter_bytes == 1) {
      word += static_cast<char>(letter);
    } else {
      append_utf8(word, letter);
    }
  }
  return word.substr(0, word.find_last_not_of('\0') + 1);
}

}  // namespace

void take_header(SourceArray& array, const ArrayHeader& header) {
  array.type = header.type;
  array.dims = header.dims;
  if (header.words) {
    const std::size_t bytes = header.element_bytes();
    if (array.rows() > kMostBytesOfWords / bytes) throw UserError("more words than can be read");
    if (array.row_elements() != 1) throw UserError("words in several columns, expected one word per sample");
    std::vector<std::byte> stored(array.rows() * bytes);
    array.open()->read(stored);
    std::vector<std::string> words;
    for (std::size_t row = 0; row < array.rows(); ++row)
      words.push_back(word_in(std::span(stored).subspan(row * bytes, bytes), *header.words));
    take_words(array, words);
  } else if (header.by_columns && array.dims.size() > 1) {
    array.open = [open = array.open, laid_out = array] { return stream_by_rows(open(), laid_out); };
  }
}

void take_words(SourceArray& array, const std::vector<std::string>& words) {
  array.type = {ElementType::Kind::kUnsigned, sizeof(std::uint32_t)};
  std::vector<std::uint32_t> places;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (const std::string& word : words) {
    const auto [place, is_new] = known.try_emplace(word, static_cast<std::uint32_t>(array.words.size()));
    places.push_back(place->second);
    if (!is_new) continue;
    if (printable(word) != word)
      throw UserError("expected words in UTF-8 and without control characters, got `" +
                      printable(shortened(word)) + "`");
    if (array.words.size() == kMostDifferentWords) throw UserError("too many different words");
    array.words.push_back(word);
  }
  const auto bytes = std::as_bytes(std::span(places));
  const auto shared = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  array.open = [shared] { return std::make_unique<BytesStream>(shared); };
}

std::unique_ptr<ArrayStream> stream_by_rows(std::unique_ptr<ArrayStream> by_columns,
                                            const SourceArray& array) {
  const std::size_t rows = array.rows();
  const std::size_t element = array.type.bytes;
  if (array.row_bytes() > kMostTurnedBytes / rows)
    array.fail("too large to be turned from Fortran's order: save it as numpy.ascontiguousarray(...)");
  const std::size_t bytes = rows * array.row_bytes();
  const std::size_t slab =
      bytes / static_cast<std::size_t>(array.dims.back());  // what a stream reads as a row
  const std::size_t at_once = slab * std::max<std::size_t>(kReadAtOnceBytes / slab, 1);
  std::vector<std::byte> stored;  // grows with what is read, since a small file may claim any size
  while (stored.size() < bytes) {
    const std::size_t begin = stored.size();
    stored.resize(std::min(begin + at_once, bytes));
    by_columns->read(std::span(stored).subspan(begin));
  }
  std::vector<std::size_t> places{0};  // place in the file of each element of the first row, in rows
  std::size_t step = 1;
  for (std::size_t i = 1; i < array.dims.size(); ++i) {
    const auto size = static_cast<std::size_t>(array.dims[i]);
    std::vector<std::size_t> finer;
    for (const std::size_t place : places) {
      for (std::size_t j = 0; j < size; ++j) finer.push_back(place + j * step);
    }
    places = std::move(finer);
    step *= size;
  }
  const auto turned = std::make_shared<std::vector<std::byte>>(stored.size());
  auto to = turned->begin();
  for (std::size_t row = 0; row < rows; ++row) {
    for (const std::size_t place : places) {
      const auto from = stored.begin() + static_cast<std::ptrdiff_t>((place * rows + row) * element);
      to = std::copy_n(from, element, to);
    }
  }
  return std::make_unique<BytesStream>(turned);
}

}  // namespace skyline::store
