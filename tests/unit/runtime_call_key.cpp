// Whatever a plan depends on makes another key, alone.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include <runtime/call_key.h>
#include <runtime/device.h>

using namespace nvfuser;

namespace {

struct KeyedCall {
  const Device* device = &cpuDevice();
  std::optional<PrimDataType> index_type = {};
  Options options;
  std::vector<int64_t> sizes{4, 6};
  std::vector<int64_t> strides{6, 1};
  DataType dtype = DataType::Float;
  Device* holder = &cpuDevice();
  uintptr_t address = 4096;
  PolymorphicValue number{int64_t{3}};
  PolymorphicValue real{2.5};
  bool is_free = false;

  std::string key() const {
    const LentTensor tensor{reinterpret_cast<void*>(address), dtype, sizes, strides, holder};
    const LentArgument arguments[] = {real, tensor, number};
    return std::string(
        CallKey(*device, index_type, options, arguments, {false, false, is_free}).bytes());
  }
};

struct Change {
  const char* name;
  std::function<void(KeyedCall&)> make;
};

const Change kChanges[] = {
    {"device", [](KeyedCall& call) { call.device = &emulatedDevice(); }},
    {"index type", [](KeyedCall& call) { call.index_type = PrimDataType::Int32; }},
    {"another index type", [](KeyedCall& call) { call.index_type = PrimDataType::Int; }},
    {"may not fall back", [](KeyedCall& call) { call.options = call.options.disable("fallback"); }},
    {"code", [](KeyedCall& call) { call.options = call.options.enable("exact_numerics"); }},
    {"dtype", [](KeyedCall& call) { call.dtype = DataType::Int32; }},
    {"no memory", [](KeyedCall& call) { call.holder = nullptr; }},
    {"alignment", [](KeyedCall& call) { call.address += 4; }},
    {"another alignment", [](KeyedCall& call) { call.address += 8; }},
    {"a size", [](KeyedCall& call) { call.sizes[0] = 5; }},
    {"a stride", [](KeyedCall& call) { call.strides[0] = 8; }},
    {"a further axis",
     [](KeyedCall& call) {
       call.sizes.push_back(1);
       call.strides.push_back(1);
     }},
    {"an integer", [](KeyedCall& call) { call.number = PolymorphicValue(int64_t{4}); }},
    {"an integer as a number", [](KeyedCall& call) { call.number = PolymorphicValue(3.0); }},
    {"a number's type", [](KeyedCall& call) { call.real = PolymorphicValue(true); }},
    {"a number that there is not", [](KeyedCall& call) { call.real = PolymorphicValue(); }},
};

}  // namespace

TEST_CASE("call key: each part alone makes another key") {
  std::map<std::string, const char*> keys{{KeyedCall().key(), "the call itself"}};
  for (const Change& change : kChanges) {
    CAPTURE(change.name);
    KeyedCall call;
    change.make(call);
    const auto [known, is_new] = keys.emplace(call.key(), change.name);
    CHECK_MESSAGE(is_new, "it has the key of " << known->second);
  }
}

TEST_CASE("call key: what a plan does not depend on is not in it") {
  const std::string key = KeyedCall().key();
  KeyedCall elsewhere;
  elsewhere.address += 1 << 20;
  CHECK(elsewhere.key() == key);
  KeyedCall other;
  other.real = PolymorphicValue(-7.0);
  CHECK(other.key() == key);
  KeyedCall free;
  free.is_free = true;
  KeyedCall of_another;
  of_another.is_free = true;
  of_another.number = PolymorphicValue(int64_t{4});
  CHECK(free.key() == of_another.key());
}

TEST_CASE("call key: many arguments take their order and place") {
  const std::vector<int64_t> sizes(40, 2);
  const std::vector<int64_t> strides(40, 1);
  const LentTensor tensor{nullptr, DataType::Float, sizes, strides, &cpuDevice()};
  const LentArgument one[] = {tensor, tensor, PolymorphicValue(int64_t{1}), tensor};
  const LentArgument two[] = {tensor, PolymorphicValue(int64_t{1}), tensor, tensor};
  const auto keyOf = [](std::span<const LentArgument> arguments) {
    return std::string(CallKey(cpuDevice(), {}, Options(), arguments, {}).bytes());
  };
  CHECK(keyOf(one).size() > 1024);
  CHECK(keyOf(one) == keyOf(one));
  CHECK(keyOf(one) != keyOf(two));
}
