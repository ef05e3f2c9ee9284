#pragma once

#include <map>
#include <string>

namespace skyline::report {

/// The text as a key: what MLflow does not allow in one becomes `_`, also a part between slashes that is
/// empty,
/// `.` or `..`.
std::string mlflow_key(std::string text);

/// Keys of names, each name one of its own: a number is added to a key that another name has, or that would
/// be a folder of another's file.
class MlflowKeys {
 public:
  const std::string& of(const std::string& name);

 private:
  bool is_free(const std::string& key) const;

  std::map<std::string, std::string> keys_;  // by name
};

}  // namespace skyline::report
