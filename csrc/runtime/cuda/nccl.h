/// NCCL, opened at run time: our own declarations of the few types and functions that we use, from
/// its public documentation. Values are part of its ABI.
#pragma once

#include <cstddef>
#include <string>

namespace nvfuser::cuda::nccl {

using Status = int;
constexpr Status kSuccess = 0;
using Comm = struct CommOpaque*;
using Stream = void*;

struct UniqueId {
  char bytes[128];
};

/// ncclConfig_t as of 2.14, with which later ones fill in what is new.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 1;
};

enum Kind : int {
  Int8 = 0,
  Uint8 = 1,
  Int32 = 2,
  Uint32 = 3,
  Int64 = 4,
  Uint64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Bfloat16 = 9,
  Float8e4m3 = 10,  ///< from 2.24 on
  Float8e5m2 = 11,
};
enum Reduction : int { Sum = 0, Product = 1, Max = 2, Min = 3 };

/// The functions; members leave out the prefix `nccl`.
struct Table {
  Status (*GetVersion)(int*);
  const char* (*GetErrorString)(Status);
  Status (*GetUniqueId)(UniqueId*);
  Status (*CommInitRankConfig)(Comm*, int ranks, UniqueId, int rank, const Config*);
  Status (*CommDestroy)(Comm);
  Status (*CommAbort)(Comm);
  Status (*CommGetAsyncError)(Comm, Status*);
  Status (*GroupStart)();
  Status (*GroupEnd)();
  Status (*AllReduce)(const void* in, void* out, size_t count, int kind, int reduction, Comm,
                      Stream);
  Status (*ReduceScatter)(const void* in, void* out, size_t count_of_part, int kind, int reduction,
                          Comm, Stream);
  Status (*AllGather)(const void* in, void* out, size_t count_of_part, int kind, Comm, Stream);
  Status (*Broadcast)(const void* in, void* out, size_t count, int kind, int root, Comm, Stream);
  Status (*Send)(const void*, size_t count, int kind, int peer, Comm, Stream);
  Status (*Recv)(void*, size_t count, int kind, int peer, Comm, Stream);

  int version = 0;  ///< 10000 × major + 100 × minor + patch
};

/// The library of this machine, opened by the first call; null without one, and `why` then says
/// what is missing. One that the process already has comes first (PyTorch's).
const Table* library(std::string* why);

}  // namespace nvfuser::cuda::nccl
