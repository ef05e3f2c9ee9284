#pragma once

#include "core/system/unique_handle.hpp"
#include "report/tracking/metric_sink.hpp"

#include <memory>
#include <string>

#include <curl/curl.h>

namespace skyline::report {

/// Credentials, certificates and limits for requests to a server.
struct HttpSettings {
  std::string token;  // used for `Authorization: Bearer` if there is no user
  std::string user;
  std::string password;
  bool insecure_tls = false;
  std::string certificates;  // file of trusted authorities; empty for the system's
  long connect_s = 10;
  long request_s = 30;
};

struct HttpReply {
  long status = 0;  // HTTP status
  std::string body;
  std::string problem;  // the reason if there was no answer, else empty
};

/// Sends requests to one server, one at a time, over one connection. One thread at a time may use it. No
/// request lasts longer than the settings allow, or much beyond the last moment.
class HttpClient {
 public:
  HttpClient(HttpSettings settings, std::shared_ptr<const LastMoment> last_moment);

  HttpReply get(const std::string& url);
  HttpReply post(const std::string& url, const std::string& json);
  /// Escapes text for a part of a URL.
  std::string escaped(const std::string& text) const;

 private:
  struct EasyTraits {
    using Type = CURL*;
    static constexpr Type kNull = nullptr;
    static void close(Type handle) noexcept { curl_easy_cleanup(handle); }
  };
  struct ListTraits {
    using Type = curl_slist*;
    static constexpr Type kNull = nullptr;
    static void close(Type list) noexcept { curl_slist_free_all(list); }
  };
  void set_credentials();
  void set_trust();
  HttpReply perform(const std::string& url);

  HttpSettings settings_;
  std::shared_ptr<const LastMoment> last_moment_;
  UniqueHandle<ListTraits> headers_;
  UniqueHandle<EasyTraits> easy_;
};

}  // namespace skyline::report
