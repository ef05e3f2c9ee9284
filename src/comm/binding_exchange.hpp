#pragma once

#include "comm/communicator.hpp"
#include "machine/device_binding.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::comm {

/// Collective: every rank's view on rank 0, by world rank; empty elsewhere.
std::vector<machine::RankView> gather_views(Communicator& world, const machine::RankView& mine);

/// Collective: each rank gets its own binding from rank 0. @param bindings  [size] on rank 0
machine::RankBinding share_bindings(Communicator& world, const std::vector<machine::RankBinding>& bindings);

/// Writes a few values as a text that another rank reads back in the same order.
class RecordWriter {
 public:
  void text(std::string_view value);
  void number(int value);
  void count(std::size_t value) { number(static_cast<int>(value)); }
  void numbers(const std::vector<int>& values);
  const std::string& record() const { return record_; }

 private:
  std::string record_;
};

class RecordReader {
 public:
  explicit RecordReader(std::string record) : record_(std::move(record)) {}
  /// @throws InternalError where the record has another value, or ends
  std::string text();
  int number();
  std::size_t count();
  std::vector<int> numbers();

 private:
  std::string record_;
  std::size_t position_ = 0;
};

}  // namespace skyline::comm
