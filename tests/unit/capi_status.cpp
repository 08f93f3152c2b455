#include <doctest/doctest.h>

#include <new>
#include <string>

#include <capi/arguments.h>
#include <capi/guarded.h>
#include <support/error.h>

namespace nvfuser::capi {
namespace {

template <typename Error>
int statusOf(const Error& error) {
  return guarded([&] { throw error; });
}

TEST_CASE("every exception has its status and message at the border of the C interface") {
  CHECK(guarded([] {}) == NVF_OK);
  CHECK(statusOf(UserError("a wrong program")) == NVF_USER_ERROR);
  CHECK(std::string(lastError()) == "a wrong program");
  CHECK(statusOf(ArgumentError("a wrong argument")) == NVF_ARGUMENT_ERROR);
  CHECK(std::string(lastError()) == "a wrong argument");
  CHECK(statusOf(CompileError("refused", "the log")) == NVF_COMPILE_ERROR);
  CHECK(std::string(lastError()) == "refused\nthe log");
  CHECK(statusOf(std::bad_alloc()) == NVF_USER_ERROR);
  CHECK(std::string(lastError()) == "out of memory");
  CHECK(guarded([] { check(false, "an invariant"); }) == NVF_INTERNAL_ERROR);
  CHECK(std::string(lastError()).find("an invariant") != std::string::npos);
  CHECK(statusOf(std::out_of_range("a mistake")) == NVF_INTERNAL_ERROR);
  CHECK(statusOf(42) == NVF_INTERNAL_ERROR);
  CHECK(std::string(lastError()) == "an exception of unknown type");
  CHECK(std::string(nvf_last_error()) == lastError());
}

TEST_CASE("more axes than a tensor has are the caller's mistake, not ours") {
  nvf_fusion* fusion = nullptr;
  REQUIRE(nvf_fusion_create(&fusion) == NVF_OK);
  int64_t id = -1;
  for (int64_t ndims : {int64_t{1025}, int64_t{1} << 40, INT64_MAX}) {
    CAPTURE(ndims);
    const int64_t one = 1;
    CHECK(nvf_define_tensor(fusion, ndims, nullptr, nullptr, NVF_FLOAT, &id) == NVF_USER_ERROR);
    CHECK(std::string(nvf_last_error()).find("there are at most 1024") != std::string::npos);
    CHECK(nvf_define_tensor_like(fusion, ndims, &one, &one, NVF_FLOAT, &id) == NVF_USER_ERROR);
  }
  CHECK(nvf_define_tensor(fusion, -1, nullptr, nullptr, NVF_FLOAT, &id) == NVF_ARGUMENT_ERROR);
  CHECK(nvf_define_tensor(fusion, 1024, nullptr, nullptr, NVF_FLOAT, &id) == NVF_OK);
  CHECK(id == 0);
  nvf_fusion_destroy(fusion);
}

}  // namespace
}  // namespace nvfuser::capi
