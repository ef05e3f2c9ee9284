#include "comm/record_text.hpp"

#include "skyline/core/error.hpp"

#include <charconv>
#include <system_error>

namespace skyline::comm {

void RecordWriter::text(std::string_view value) {
  count(value.size());
  record_ += value;
}

void RecordWriter::number(int value) {
  record_ += std::to_string(value) + ' ';
}

void RecordWriter::numbers(const std::vector<int>& values) {
  count(values.size());
  for (const int value : values) number(value);
}

std::string RecordReader::text() {
  const std::size_t length = count();
  require(record_.size() - position_ >= length, "a rank's record ends inside a text");
  position_ += length;
  return record_.substr(position_ - length, length);
}

int RecordReader::number() {
  int value = 0;
  const char* const end = record_.data() + record_.size();
  const auto [after, error] = std::from_chars(record_.data() + position_, end, value);
  require(error == std::errc() && after != end && *after == ' ', "a rank's record has no number here");
  position_ = static_cast<std::size_t>(after - record_.data()) + 1;
  return value;
}

std::size_t RecordReader::count() {
  const int value = number();
  require(value >= 0 && static_cast<std::size_t>(value) <= record_.size(),
          "a rank's record has no count here");
  return static_cast<std::size_t>(value);
}

std::vector<int> RecordReader::numbers() {
  std::vector<int> values(count());
  for (int& value : values) value = number();
  return values;
}

}  // namespace skyline::comm
