#include "report/tracking/http_client.hpp"

#include "skyline/core/error.hpp"

#include <array>
#include <utility>

namespace skyline::report {
namespace {

constexpr std::size_t kMostReply = std::size_t{4} << 20;

std::size_t keep_reply(char* data, std::size_t size, std::size_t count, void* reply) {
  auto& body = static_cast<HttpReply*>(reply)->body;
  if (body.size() + size * count > kMostReply) return 0;
  body.append(data, size * count);
  return size * count;
}

int stop_if_too_late(void* last_moment, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const LastMoment*>(last_moment)->passed() ? 1 : 0;
}

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  require(curl_easy_setopt(easy, option, value) == CURLE_OK, "curl_easy_setopt failed");
}

/// Sets an option that older versions of libcurl may not have.
template <typename Value>
void set_if_known(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  require(code == CURLE_OK || code == CURLE_UNKNOWN_OPTION, "curl_easy_setopt failed");
}

}  // namespace

HttpClient::HttpClient(HttpSettings settings, std::shared_ptr<const LastMoment> last_moment)
    : settings_(std::move(settings)), last_moment_(std::move(last_moment)) {
  require(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "curl_global_init failed");
  easy_ = UniqueHandle<EasyTraits>(curl_easy_init());
  require(static_cast<bool>(easy_), "curl_easy_init failed");
  CURL* easy = easy_.get();
  // The empty header avoids a wait for permission to send a large body, which some servers never give.
  std::string headers[] = {"Content-Type: application/json",
                           "Expect:", "Authorization: Bearer " + settings_.token};
  const bool bearer = settings_.user.empty() && !settings_.token.empty();
  for (std::size_t i = 0; i < (bearer ? 3U : 2U); ++i) {
    headers_ = UniqueHandle<ListTraits>(curl_slist_append(headers_.release(), headers[i].c_str()));
  }
  set(easy, CURLOPT_HTTPHEADER, headers_.get());
  set_if_known(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set_if_known(easy, CURLOPT_QUICK_EXIT, 1L);  // a hanging name server must not delay the end
  set(easy, CURLOPT_CONNECTTIMEOUT, settings_.connect_s);
  set(easy, CURLOPT_TIMEOUT, settings_.request_s);
  set(easy, CURLOPT_NOPROGRESS, 0L);
  set(easy, CURLOPT_XFERINFOFUNCTION, &stop_if_too_late);
  set(easy, CURLOPT_XFERINFODATA, const_cast<LastMoment*>(last_moment_.get()));
  set(easy, CURLOPT_WRITEFUNCTION, &keep_reply);
  set(easy, CURLOPT_USERAGENT, "skyline");
  set_credentials();
  set_trust();
}

void HttpClient::set_credentials() {
  if (settings_.user.empty()) return;
  set(easy_.get(), CURLOPT_USERNAME, settings_.user.c_str());
  set(easy_.get(), CURLOPT_PASSWORD, settings_.password.c_str());
}

void HttpClient::set_trust() {
  if (settings_.insecure_tls) {
    set(easy_.get(), CURLOPT_SSL_VERIFYPEER, 0L);
    set(easy_.get(), CURLOPT_SSL_VERIFYHOST, 0L);
  } else if (!settings_.certificates.empty()) {
    set(easy_.get(), CURLOPT_CAINFO, settings_.certificates.c_str());
  }
}

HttpReply HttpClient::get(const std::string& url) {
  set(easy_.get(), CURLOPT_HTTPGET, 1L);
  return perform(url);
}

HttpReply HttpClient::post(const std::string& url, const std::string& json) {
  set(easy_.get(), CURLOPT_POST, 1L);
  set(easy_.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
  set(easy_.get(), CURLOPT_POSTFIELDS, json.c_str());
  return perform(url);
}

HttpReply HttpClient::perform(const std::string& url) {
  HttpReply reply;
  std::array<char, CURL_ERROR_SIZE> text{};
  set(easy_.get(), CURLOPT_URL, url.c_str());
  set(easy_.get(), CURLOPT_WRITEDATA, &reply);
  set(easy_.get(), CURLOPT_ERRORBUFFER, text.data());
  const CURLcode code = curl_easy_perform(easy_.get());
  set(easy_.get(), CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    reply.problem = "no answer before the job's end";
  } else if (code != CURLE_OK) {
    reply.problem = text[0] != '\0' ? text.data() : curl_easy_strerror(code);
  }
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  return reply;
}

std::string HttpClient::escaped(const std::string& text) const {
  char* escaped = curl_easy_escape(easy_.get(), text.c_str(), static_cast<int>(text.size()));
  require(escaped != nullptr, "curl_easy_escape failed");
  std::string copy(escaped);
  curl_free(escaped);
  return copy;
}

}  // namespace skyline::report
