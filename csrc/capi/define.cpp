/// Defining a fusion: tensors, scalars, constants, operations, outputs.
#include <algorithm>
#include <complex>
#include <span>

#include <capi/arguments.h>
#include <capi/fusion_handle.h>
#include <capi/guarded.h>
#include <support/error.h>

using namespace nvfuser;
using namespace nvfuser::capi;

namespace {

int defineConstant(nvf_fusion* fusion, const PolymorphicValue& value, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requirePointer(id, "id");
    *id = fusion->defineConstant(value);
  });
}

}  // namespace

extern "C" {

int nvf_fusion_create(nvf_fusion** fusion) {
  return guarded([&] {
    requirePointer(fusion, "the place for the fusion");
    *fusion = new nvf_fusion;
  });
}

void nvf_fusion_destroy(nvf_fusion* fusion) {
  guarded([&] { delete fusion; });
}

int nvf_define_tensor(nvf_fusion* fusion, int64_t ndims, const int64_t* sizes,
                      const int8_t* contiguity, int32_t dtype, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requireRank(ndims);
    std::vector<int64_t> all_sizes(static_cast<size_t>(ndims), -1);
    std::vector<bool> contiguous(static_cast<size_t>(ndims), false);
    if (sizes != nullptr) {
      std::copy_n(sizes, ndims, all_sizes.begin());
    }
    if (contiguity != nullptr) {
      std::transform(contiguity, contiguity + ndims, contiguous.begin(),
                     [](int8_t flag) { return flag != 0; });
    }
    requirePointer(id, "id");
    *id = fusion->defineTensor(all_sizes, contiguous, dtype);
  });
}

int nvf_define_tensor_like(nvf_fusion* fusion, int64_t ndims, const int64_t* sizes,
                           const int64_t* strides, int32_t dtype, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requireRank(ndims);
    if (ndims > 0) {
      requirePointer(sizes, "sizes");
      requirePointer(strides, "strides");
    }
    requirePointer(id, "id");
    const auto rank = static_cast<size_t>(ndims);
    *id = fusion->defineTensorLike({sizes, rank}, {strides, rank}, dtype);
  });
}

int nvf_define_scalar(nvf_fusion* fusion, int32_t dtype, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requirePointer(id, "id");
    *id = fusion->defineScalar(dtype);
  });
}

int nvf_define_constant_double(nvf_fusion* fusion, double value, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(value), id);
}
int nvf_define_constant_int(nvf_fusion* fusion, int64_t value, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(value), id);
}
int nvf_define_constant_bool(nvf_fusion* fusion, int32_t value, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(value != 0), id);
}
int nvf_define_constant_complex(nvf_fusion* fusion, double real, double imag, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(std::complex<double>(real, imag)), id);
}

int nvf_op(nvf_fusion* fusion, const char* name, const nvf_argument* arguments,
           int64_t argument_count, int64_t* ids, int64_t capacity, int64_t* count) {
  return guarded([&] {
    requireDefining(fusion);
    requirePointer(name, "the name of the operation");
    requirePointer(ids, "ids");
    requirePointer(count, "count");
    if (argument_count > 0) {
      requirePointer(arguments, "arguments");
    }
    const std::vector<int64_t> results =
        fusion->call(name, {arguments, static_cast<size_t>(argument_count)});
    if (static_cast<int64_t>(results.size()) > capacity) {
      throw ArgumentError(text(std::string_view(name), ": has ", results.size(),
                               " results, but there is room for ", capacity));
    }
    std::copy(results.begin(), results.end(), ids);
    *count = static_cast<int64_t>(results.size());
  });
}

int nvf_add_output(nvf_fusion* fusion, int64_t id) {
  return guarded([&] {
    requireDefining(fusion);
    fusion->addOutput(id);
  });
}

int nvf_value_info(nvf_fusion* fusion, int64_t id, int32_t* is_tensor, int64_t* ndims,
                   int32_t* dtype) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    Val* val = fusion->valueOf(id);
    const auto* tv = val->isA<TensorView>() ? val->as<TensorView>() : nullptr;
    if (is_tensor != nullptr) {
      *is_tensor = tv != nullptr ? 1 : 0;
    }
    if (ndims != nullptr) {
      *ndims = tv != nullptr ? static_cast<int64_t>(Axes{}.of(tv).size()) : 0;
    }
    if (dtype != nullptr) {
      *dtype = codeOf(val->dtype());
    }
  });
}

}  // extern "C"
