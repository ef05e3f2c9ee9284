#include "store/hdf5/table.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace skyline::store {
namespace {

Hdf5Type copy_type(hid_t type, const std::filesystem::path& path) {
  return Hdf5Type(check_hdf5(H5Tcopy(type), "write", path));
}

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
  Hdf5Type operator()(const std::vector<std::int64_t>&) const { return copy_type(H5T_NATIVE_INT64, path); }
  Hdf5Type operator()(const std::vector<std::uint64_t>&) const { return copy_type(H5T_NATIVE_UINT64, path); }
  Hdf5Type operator()(const std::vector<double>&) const { return copy_type(H5T_NATIVE_DOUBLE, path); }
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

void Table::add(const std::string& name, Column column) {
  require(std::visit([](const auto& values) { return values.size(); }, column) == num_rows_,
          "a column does not have the table's number of rows");
  require(std::none_of(columns_.begin(), columns_.end(),
                       [&](const NamedColumn& other) { return other.name == name; }),
          "two columns of one name");
  columns_.push_back({name, std::move(column)});
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
