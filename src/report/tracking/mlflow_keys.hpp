#pragma once

#include <map>
#include <string>

namespace skyline::report {

/// Makes a key of a text: characters that MLflow does not allow become `_`, and so do parts between slashes
/// that are empty, `.` or `..`.
std::string mlflow_key(std::string text);

/// Gives each name a key of its own: adds a number to a key that another name has, or that would be a folder
/// of another's file.
class MlflowKeys {
 public:
  const std::string& of(const std::string& name);

 private:
  bool is_free(const std::string& key) const;

  std::map<std::string, std::string> keys_;  // keys by name
};

}  // namespace skyline::report
