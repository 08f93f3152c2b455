/// Products of matrices on an NVIDIA GPU by cuBLASLt, opened at run time: our own declarations of
/// the few types and functions that we use, from NVIDIA's public documentation. No header of CUDA
/// is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <external/external_call.h>

namespace nvfuser::external {

namespace cublaslt {

using Status = int;
constexpr Status kSuccess = 0;
using Handle = void*;
using MatmulDesc = void*;
using Layout = void*;
using Preference = void*;

// Values of cudaDataType_t, cublasComputeType_t and of the attributes.
enum DataKind : int { R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, C_64F = 5, R_16BF = 14 };
enum ComputeKind : int { Compute32F = 68, Compute64F = 70 };
enum DescAttribute : int { TransA = 3, TransB = 4, EpilogueKind = 7, BiasPointer = 8 };
enum AlgorithmAttribute : int { PartsOfSum = 2 };  ///< SPLITK_NUM
enum LayoutAttribute : int { BatchCount = 5, BatchStride = 6 };
enum PreferenceAttribute : int {
  MaxWorkspaceBytes = 1,
  ReductionSchemes = 3,
  AlignA = 5,
  AlignB,
  AlignC,
  AlignD
};
/// How parts of a sum may be added up: in the type that is computed in, but not in the result's
/// type or in the result itself, which would round each of them.
constexpr uint32_t kWideReductionSchemes = 2;
// Bits of an epilogue; GELU is the approximation with tanh.
constexpr uint32_t kEpilogueRelu = 2, kEpilogueBias = 4, kEpilogueGelu = 32;
constexpr int32_t kTransposed = 1;

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

/// The functions; members leave out the prefix `cublasLt`.
struct Table {
  Status (*Create)(Handle*);
  Status (*MatmulDescCreate)(MatmulDesc*, int compute, int scale);
  Status (*MatmulDescDestroy)(MatmulDesc);
  Status (*MatmulDescSetAttribute)(MatmulDesc, int attribute, const void* value, size_t bytes);
  Status (*MatrixLayoutCreate)(Layout*, int type, uint64_t rows, uint64_t columns, int64_t ld);
  Status (*MatrixLayoutDestroy)(Layout);
  Status (*MatrixLayoutSetAttribute)(Layout, int attribute, const void* value, size_t bytes);
  Status (*MatmulPreferenceCreate)(Preference*);
  Status (*MatmulPreferenceDestroy)(Preference);
  Status (*MatmulPreferenceSetAttribute)(Preference, int attribute, const void* value,
                                         size_t bytes);
  Status (*MatmulAlgoGetHeuristic)(Handle, MatmulDesc, Layout a, Layout b, Layout c, Layout d,
                                   Preference, int wanted, Heuristic* results, int* found);
  Status (*MatmulAlgoConfigGetAttribute)(const Algorithm*, int attribute, void* value, size_t bytes,
                                         size_t* written);
  Status (*Matmul)(Handle, MatmulDesc, const void* alpha, const void* a, Layout of_a, const void* b,
                   Layout of_b, const void* beta, const void* c, Layout of_c, void* d, Layout of_d,
                   const Algorithm*, void* workspace, size_t workspace_bytes, void* stream);
};

struct Opened {
  const Table* table = nullptr;  ///< null: `why` says why there is none
  Handle handle = nullptr;
};
/// The library of this machine, opened by the first call, and its handle for a device.
Opened openCublasLt(int device, std::string* why);

}  // namespace cublaslt

/// Runs a matmul or linear with the library; false, having done nothing, for what it does not take
/// (`why` says what): other operations, integers, strides that are no leading dimension, a bias of
/// results whose rows are not dense, an epilogue of Double or complex numbers, an epilogue before
/// which the product would be rounded.
/// The device's context has to be current.
bool runCublasLt(const Call& call, std::string* why);
/// The same with given functions, for tests.
bool runCublasLt(const cublaslt::Table& table, cublaslt::Handle handle, const Call& call,
                 std::string* why);

/// Where the library is looked for besides the loader's path, and the greatest CUDA version (major)
/// that the driver takes. To be told before the first call; later calls change nothing.
void setCublasLtSearch(std::vector<std::string> folders, int most_major);

}  // namespace nvfuser::external
