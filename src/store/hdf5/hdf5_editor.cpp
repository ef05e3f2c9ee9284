#include "store/hdf5/hdf5_editor.hpp"

#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"

namespace skyline::store {

Hdf5Editor::Hdf5Editor(const std::filesystem::path& path)
    : path_(path), file_(open_hdf5_file(path, H5F_ACC_RDWR)) {}

void Hdf5Editor::add_numbers(const std::string& name, const std::vector<double>& numbers) {
  const hsize_t count = numbers.size();
  const Hdf5Space space(check(H5Screate_simple(1, &count, nullptr)));
  const Hdf5PropertyList creation(check(H5Pcreate(H5P_DATASET_CREATE)));
  check(H5Pset_obj_track_times(creation.get(), false));
  const Hdf5Dataset array(check(H5Dcreate2(file_.get(), name.c_str(), H5T_IEEE_F64LE, space.get(),
                                           H5P_DEFAULT, creation.get(), H5P_DEFAULT)));
  check(H5Dwrite(array.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()));
}

void Hdf5Editor::add_attribute(const std::string& name, const char* key, std::string_view text) {
  add_hdf5_attribute(file_, name, key, text, path_);
}

void Hdf5Editor::close() {
  check(H5Fclose(file_.release()));
}

}  // namespace skyline::store
