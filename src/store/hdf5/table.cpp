#include "store/hdf5/table.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cstring>

namespace skyline::store {
namespace {

Hdf5Type make_flag_type(const std::filesystem::path& path) {
  Hdf5Type type(check_hdf5(H5Tenum_create(H5T_NATIVE_INT8), "write", path));
  for (const std::int8_t value : {std::int8_t{0}, std::int8_t{1}}) {
    check_hdf5(H5Tenum_insert(type.get(), value == 0 ? "FALSE" : "TRUE", &value), "write", path);
  }
  return type;
}

template <typename Number>
Hdf5Type make_number_type(const std::filesystem::path& path) {
  return Hdf5Type(check_hdf5(H5Tcopy(native_type<Number>()), "write", path));
}

}  // namespace

void Table::write(Hdf5Image& image, const std::string& name, const Rows& columns, const Rows& rows) {
  Table table;
  columns(table);
  table.step_ = Step::kMeasure;
  table.num_rows_ = 0;
  rows(table);
  const Hdf5Type row = table.make_row_type(image.path());
  const hsize_t dims[] = {table.num_rows_};
  table.block_.resize(table.row_bytes_ * table.num_rows_);
  table.step_ = Step::kFill;
  table.num_rows_ = 0;
  rows(table);
  require(table.num_rows_ == dims[0], "a table has other rows the second time");
  image.write_array(name, row.get(), dims, std::move(table.block_));
}

std::vector<std::string> Table::names(const Rows& columns) {
  Table table;
  columns(table);
  std::vector<std::string> names;
  for (const Column& column : table.columns_) names.push_back(column.name);
  return names;
}

void Table::operator()(std::string_view name, const std::string& text) {
  Column& column = next_column(name, Kind::kText);
  if (step_ == Step::kMeasure) column.longest = std::max(column.longest, text.size());
  if (step_ == Step::kFill) put(column, text.data(), text.size());
}

void Table::end_row() {
  require(next_ == columns_.size(), "a row of a table lacks cells");
  next_ = 0;
  ++num_rows_;
}

Table::Column& Table::next_column(std::string_view name, Kind kind) {
  if (step_ == Step::kColumns) columns_.push_back({std::string(name), kind});
  require(next_ < columns_.size() && columns_[next_].kind == kind, "a row of a table has other cells");
  return columns_[next_++];
}

void Table::put(const Column& column, const void* bytes, std::size_t count) {
  const std::size_t place = num_rows_ * row_bytes_ + column.offset;
  require(place + count <= block_.size(), "a table has other rows the second time");
  std::memcpy(block_.data() + place, bytes, count);
}

Hdf5Type Table::make_row_type(const std::filesystem::path& path) {
  std::vector<Hdf5Type> types;
  for (Column& column : columns_) {
    types.push_back(column.kind == Kind::kFlag      ? make_flag_type(path)
                    : column.kind == Kind::kInteger ? make_number_type<std::int64_t>(path)
                    : column.kind == Kind::kNatural ? make_number_type<std::uint64_t>(path)
                    : column.kind == Kind::kNumber  ? make_number_type<double>(path)
                                                    : make_text_type(column.longest, path));
    column.offset = row_bytes_;
    row_bytes_ += H5Tget_size(types.back().get());
  }
  Hdf5Type row(check_hdf5(H5Tcreate(H5T_COMPOUND, row_bytes_), "write", path));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    check_hdf5(H5Tinsert(row.get(), columns_[i].name.c_str(), columns_[i].offset, types[i].get()), "write",
               path);
  }
  return row;
}

}  // namespace skyline::store
