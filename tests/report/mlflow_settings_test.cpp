#include "report/tracking/mlflow_server.hpp"
#include "report/tracking/mlflow_sink.hpp"
#include "support/user_error_of.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::optional<MlflowSettings> settings_of(const std::map<std::string, std::string>& variables) {
  return mlflow_settings([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

MlflowSettings with_uri(const std::string& uri) {
  return settings_of({{"MLFLOW_TRACKING_URI", uri}}).value();
}

TEST(MlflowSettings, WithoutAnAddressThereIsNothingToTrack) {
  EXPECT_FALSE(settings_of({}));
  EXPECT_FALSE(settings_of({{"MLFLOW_TRACKING_URI", ""}, {"MLFLOW_RUN_ID", "1"}}));
}

TEST(MlflowSettings, ReadsServers) {
  EXPECT_EQ(with_uri("http://127.0.0.1:5000/").address, "http://127.0.0.1:5000");
  EXPECT_EQ(with_uri("HTTPS://host/prefix").address, "HTTPS://host/prefix");
}

TEST(MlflowSettings, AzuresSchemeStandsForHttpsAndTheSecondInterface) {
  EXPECT_EQ(with_uri("azureml://eastus.api.azureml.ms/mlflow/v1.0/subscriptions/s/workspaces/w?").address,
            "https://eastus.api.azureml.ms/mlflow/v2.0/subscriptions/s/workspaces/w");
  EXPECT_EQ(with_uri("azureml://h/mlflow/v2.0/x?a=b").address, "https://h/mlflow/v2.0/x");
}

TEST(MlflowSettings, RefusesFoldersAndSaysWhatToUse) {
  for (const char* folder : {"mlruns", "/data/ml runs", "file:///data/ml%20runs", "FILE:/data", "file://"}) {
    EXPECT_EQ(testing::user_error_of([&] { with_uri(folder); }),
              std::string("MLFLOW_TRACKING_URI: expected http, https or azureml, got ") + folder +
                  ": MLflow gives folders up; start `mlflow server` for this one and name its address");
  }
}

TEST(MlflowSettings, RefusesOtherSchemesAndShowsNoMoreThanTheScheme) {
  const std::string error = testing::user_error_of([] { with_uri("postgresql://me:secret@host/db"); });
  EXPECT_EQ(error, "MLFLOW_TRACKING_URI: expected http, https or azureml, got postgresql:");
  for (const char* word : {"databricks", "Databricks-UC", "uc"}) {
    EXPECT_THAT(testing::user_error_of([&] { with_uri(word); }), EndsWith(std::string("got ") + word))
        << word;
  }
  EXPECT_THAT(testing::user_error_of([] { with_uri("databricks://profile"); }), EndsWith("got databricks:"));
  EXPECT_THAT(testing::user_error_of([] { with_uri("http:/x"); }), HasSubstr("MLFLOW_TRACKING_URI"));
}

TEST(MlflowSettings, CredentialsInTheAddressAreNotShown) {
  const MlflowSettings settings = with_uri("https://me:secret@host:1/p@q");
  EXPECT_EQ(settings.shown, "https://q");  // rather less than a part of a password
  EXPECT_THAT(settings.address, HasSubstr("me:secret@"));
  EXPECT_EQ(with_uri("https://me:secret@host:1/p").shown, "https://host:1/p");
  EXPECT_EQ(with_uri("http://me:p/ss@host/x").shown, "http://host/x");
  EXPECT_EQ(with_uri("http://me:p@ss@host").shown, "http://host");
  EXPECT_EQ(with_uri("http://me:p@s/s@host").shown, "http://host");
  EXPECT_EQ(with_uri("http://me:p?s#s@host").shown, "http://(not shown)");
  EXPECT_EQ(with_uri("https://me:p@host/x?sig=s").shown, "https://host/x");
  EXPECT_EQ(with_uri("https://host/x?sig=a@b").shown, "https://(not shown)");
  EXPECT_EQ(with_uri("https://host/x#s").shown, "https://host/x");
}

TEST(MlflowSettings, ReadsTheOtherVariables) {
  const MlflowSettings settings = settings_of({{"MLFLOW_TRACKING_URI", "http://h"},
                                               {"MLFLOW_TRACKING_TOKEN", "t"},
                                               {"MLFLOW_TRACKING_USERNAME", "u"},
                                               {"MLFLOW_TRACKING_PASSWORD", "p"},
                                               {"MLFLOW_TRACKING_INSECURE_TLS", "True"},
                                               {"MLFLOW_TRACKING_SERVER_CERT_PATH", "/c.pem"},
                                               {"MLFLOW_RUN_ID", "r"},
                                               {"MLFLOW_RUN_NAME", "n"},
                                               {"MLFLOW_EXPERIMENT_ID", "7"},
                                               {"MLFLOW_EXPERIMENT_NAME", "e"}})
                                      .value();
  EXPECT_EQ(settings.access.token + settings.access.user + settings.access.password, "tup");
  EXPECT_TRUE(settings.access.insecure_tls);
  EXPECT_EQ(settings.access.certificates, "/c.pem");
  EXPECT_EQ(settings.run_id + settings.run_name + settings.experiment_id + settings.experiment_name, "rn7e");
}

TEST(MlflowSettings, AFlagIsTrueOrFalse) {
  EXPECT_FALSE(settings_of({{"MLFLOW_TRACKING_URI", "http://a"}, {"MLFLOW_TRACKING_INSECURE_TLS", "0"}})
                   ->access.insecure_tls);
  EXPECT_EQ(testing::user_error_of([] {
              settings_of({{"MLFLOW_TRACKING_URI", "http://a"}, {"MLFLOW_TRACKING_INSECURE_TLS", "maybe"}});
            }),
            "MLFLOW_TRACKING_INSECURE_TLS: expected true or false, got maybe");
}

TEST(MlflowKey, KeepsWhatMlflowAllows) {
  EXPECT_EQ(mlflow_key("front/hyper-volume_1.x y"), "front/hyper-volume_1.x y");
  EXPECT_EQ(mlflow_key("a:b$\xc3\xa9"), "a_b___");
  EXPECT_EQ(mlflow_key(std::string(300, 'x')).size(), 250U);
}

TEST(MlflowKey, IsAPathThatStaysWhereItIs) {
  EXPECT_EQ(mlflow_key("trial/../../x"), "trial/__/__/x");
  EXPECT_EQ(mlflow_key("a//./b/"), "a/_/_/b/_");
  EXPECT_EQ(mlflow_key("..."), "...");
  EXPECT_EQ(mlflow_key(""), "_");
  EXPECT_EQ(mlflow_key(std::string(248, 'x') + "//y").back(), '_');
  EXPECT_EQ(mlflow_key(std::string(248, 'x') + "//y").size(), 250U);
}

TEST(MlflowKeys, GivesEachNameAKeyOfItsOwn) {
  MlflowKeys keys;
  EXPECT_EQ(keys.of("trial/a:b"), "trial/a_b");
  EXPECT_EQ(keys.of("trial/a$b"), "trial/a_b_2");
  EXPECT_EQ(keys.of("trial/a_b"), "trial/a_b_3");
  EXPECT_EQ(keys.of("trial/a:b"), "trial/a_b");
}

TEST(MlflowSettings, KnowWhereCredentialsCouldBeReadOnTheWay) {
  const auto shows = [](const std::string& address, const std::string& token) {
    return shows_credentials(*mlflow_settings([&](const char* name) -> std::optional<std::string> {
      if (std::string_view(name) == "MLFLOW_TRACKING_URI") return address.c_str();
      if (std::string_view(name) == "MLFLOW_TRACKING_TOKEN") return token;
      return std::nullopt;
    }));
  };
  for (const char* address :
       {"http://tracking.example:5000", "HTTP://tracking.example", "http://10.0.0.7/mlflow",
        "http://localhost.example", "http://[2001:db8::1]:5000"}) {
    EXPECT_TRUE(shows(address, "secret")) << address;
    EXPECT_FALSE(shows(address, "")) << address;
  }
  EXPECT_TRUE(shows("http://user:password@tracking.example", ""));
  for (const char* address : {"https://tracking.example", "azureml://workspace.example/mlflow/v1.0/x",
                              "http://localhost:5000", "http://127.0.0.1:5000/x", "http://[::1]:5000"}) {
    EXPECT_FALSE(shows(address, "secret")) << address;
  }
}

}  // namespace
}  // namespace skyline::report
