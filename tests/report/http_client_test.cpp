#include "report/tracking/http_client.hpp"

#include <cstdarg>
#include <set>

#include <dlfcn.h>
#include <gtest/gtest.h>

#undef curl_easy_setopt

namespace {

/// Options that the library shall not know.
std::set<CURLoption> unknown_options;

}  // namespace

/// Stands before the library's own.
extern "C" CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  using SetOption = CURLcode (*)(CURL*, CURLoption, ...);
  if (unknown_options.contains(option)) return CURLE_UNKNOWN_OPTION;
  va_list arguments;
  va_start(arguments, option);
  void* value = va_arg(arguments, void*);  // a long, a pointer or a curl_off_t: of the same size
  va_end(arguments);
  return reinterpret_cast<SetOption>(dlsym(RTLD_NEXT, "curl_easy_setopt"))(easy, option, value);
}

namespace skyline::report {
namespace {

TEST(HttpClient, WorksWithALibraryOfTheYearBefore) {
  unknown_options = {CURLOPT_QUICK_EXIT, CURLOPT_PROTOCOLS_STR};
  HttpClient client({}, std::make_shared<LastMoment>());
  EXPECT_NE(client.get("http://127.0.0.1:1/").problem, "");
  unknown_options = {CURLOPT_NOSIGNAL};
  EXPECT_THROW(HttpClient({}, std::make_shared<LastMoment>()), InternalError);
  unknown_options.clear();
}

}  // namespace
}  // namespace skyline::report
