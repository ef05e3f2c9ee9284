#include "store/hdf5/table.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace skyline::store {
namespace {

Hdf5Type make_flag_type(const std::filesystem::path& path) {
  Hdf5Type type(check_hdf5(H5Tenum_create(H5T_NATIVE_INT8), "write", path));
  for (const std::int8_t value : {std::int8_t{0}, std::int8_t{1}}) {
    check_hdf5(H5Tenum_insert(type.get(), value == 0 ? "FALSE" : "TRUE", &value), "write", path);
  }
  return type;
}

/// The type of a column's elements.
struct ElementType {
  const std::filesystem::path& path;
  template <typename Number>
  Hdf5Type operator()(const std::vector<Number>&) const {
    return Hdf5Type(check_hdf5(H5Tcopy(native_type<Number>()), "write", path));
  }
  Hdf5Type operator()(const std::vector<bool>&) const { return make_flag_type(path); }
  Hdf5Type operator()(const std::vector<std::string>& texts) const {
    std::size_t longest = 1;
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    return make_text_type(longest, path);
  }
};

/// Copies a column into the rows of `block`, from byte `offset` of each.
void fill(std::string& block, std::size_t row_bytes, std::size_t offset, const Table::Column& column) {
  const auto copy_values = [&](const auto& values) {
    for (std::size_t row = 0; row < values.size(); ++row) {
      char* place = block.data() + row * row_bytes + offset;
      using T = typename std::decay_t<decltype(values)>::value_type;
      if constexpr (std::is_same_v<T, std::string>) {
        values[row].copy(place, values[row].size());
      } else if constexpr (std::is_same_v<T, bool>) {
        *place = values[row] ? 1 : 0;
      } else {
        std::memcpy(place, &values[row], sizeof(T));
      }
    }
  };
  std::visit(copy_values, column);
}

}  // namespace

void Table::end_row() {
  require(next_ == columns_.size(), "a row of a table lacks cells");
  next_ = 0;
  ++num_rows_;
}

void Table::drop_first_row() {
  for (NamedColumn& column : columns_) {
    std::visit([](auto& values) { values.erase(values.begin()); }, column.values);
  }
  --num_rows_;
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> names;
  for (const NamedColumn& column : columns_) names.push_back(column.name);
  return names;
}

void Table::write(Hdf5Image& image, const std::string& name) const {
  const std::filesystem::path& path = image.path();
  std::vector<Hdf5Type> types;
  std::vector<std::size_t> offsets;
  std::size_t row_bytes = 0;
  for (const NamedColumn& column : columns_) {
    types.push_back(std::visit(ElementType{path}, column.values));
    offsets.push_back(row_bytes);
    row_bytes += H5Tget_size(types.back().get());
  }
  const Hdf5Type row(check_hdf5(H5Tcreate(H5T_COMPOUND, row_bytes), "write", path));
  std::string block(row_bytes * num_rows_, '\0');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    check_hdf5(H5Tinsert(row.get(), columns_[i].name.c_str(), offsets[i], types[i].get()), "write", path);
    fill(block, row_bytes, offsets[i], columns_[i].values);
  }
  const hsize_t dims[] = {num_rows_};
  image.write_array(name, row.get(), dims, std::move(block));
}

}  // namespace skyline::store
