// Copies of boxes of a tensor by the copy engine (cp.async.bulk.tensor, sm_90 and later): 2 to 5
// axes, the innermost one first. Elements outside of the tensor are loaded as zeros and not stored.
//
//   boxLoad<Box<Swizzle, extents…>>(shared, map, {at…}, barrier)    the box whose first element is
//                                                 at the coordinates `at`; loads of one phase end
//                                                 with bulkLoadCommit (bulk_copy.cuh)
//   boxStore<Box<Swizzle, extents…>>(map, {at…}, shared)            fences and groups as those of
//                                                                   bulkStore
//
// A box lies in shared memory without gaps, at a multiple of 128 bytes. Swizzle of 32, 64 or 128
// bytes, those of a row of the box: each 16 bytes of a line change places by its number among
// eight; the box lies at a multiple of 256, 512 or 1024 bytes then.
//
// `map` is a parameter of the kernel, `const __grid_constant__`. The host has found out whether the
// engine takes the tensor; if not, and before sm_90, the threads copy, and then wait for each
// other.
//
// needs: basics.cuh mbarrier.cuh block_part.cuh bulk_copy.cuh
struct alignas(64) TensorMap {
  u64 descriptor[16];
  u64 address;
  i64 strides[5];  // bytes
  i64 sizes[5];
  i32 box[5];
  i32 rank;
  i32 element_bytes;
  i32 swizzle;
  i32 fits;
};
static_assert(sizeof(TensorMap) == 256, "as the host fills it in");

template <int SwizzleBytes, int... Extents>
struct Box {
  static constexpr int kRank = sizeof...(Extents);
  static constexpr int kElements = (Extents * ...);
  static constexpr int kExtents[kRank] = {Extents...};
  // Where a byte is that would be at `offset` without a swizzle.
  static __device__ __forceinline__ u32 swizzled(u32 offset) {
    return SwizzleBytes == 0 ? offset : offset ^ ((offset >> 7 & (SwizzleBytes / 16 - 1)) << 4);
  }
};

template <class B>
struct BoxPlace {
  int at[B::kRank];
};

// Visits elements `i` of the box, each thread its share: f(shared offset, inside, global address).
template <class B, class Part, class T, class F>
__device__ __forceinline__ void forEachOfBox(const TensorMap& map, const BoxPlace<B>& place, F f) {
  for (int i = (int)Part::rank(); i < B::kElements; i += (int)Part::count()) {
    int rest = i;
    bool inside = true;
    i64 offset = 0;
    for (int d = 0; d < B::kRank; ++d) {
      const int extent = map.box[d];
      const i64 at = place.at[d] + rest % extent;
      rest /= extent;
      inside = inside && at >= 0 && at < map.sizes[d];
      offset += at * map.strides[d];
    }
    f(B::swizzled(i * (u32)sizeof(T)) / (u32)sizeof(T), inside,
      reinterpret_cast<T*>(map.address + offset));
  }
}

template <class B>
__device__ __forceinline__ void boxLoadByEngine(void* shared, const TensorMap& map,
                                                const BoxPlace<B>& place, u64* barrier) {
#if defined(NVFUSER_EMULATED)
  __nvf_box_load(shared, &map, place.at, barrier);
#elif __CUDA_ARCH__ >= 900
  const int* at = place.at;
  const u64 from = reinterpret_cast<u64>(map.descriptor);
  const u32 to = sharedAddress(shared);
  const u32 counter = sharedAddress(barrier);
  if constexpr (B::kRank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3}], [%2];" ::"r"(to),
        "l"(from), "r"(counter), "r"(at[0])
        : "memory");
  } else if constexpr (B::kRank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(to),
        "l"(from), "r"(counter), "r"(at[0]), "r"(at[1])
        : "memory");
  } else if constexpr (B::kRank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
        "l"(from), "r"(counter), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  } else if constexpr (B::kRank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
        "l"(from), "r"(counter), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
        "l"(from), "r"(counter), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
  }
#endif
}

template <class B>
__device__ __forceinline__ void boxStoreByEngine(const TensorMap& map, const BoxPlace<B>& place,
                                                 const void* shared) {
#if defined(NVFUSER_EMULATED)
  __nvf_box_store(&map, place.at, shared);
#elif __CUDA_ARCH__ >= 900
  const int* at = place.at;
  const u64 to = reinterpret_cast<u64>(map.descriptor);
  const u32 from = sharedAddress(shared);
  if constexpr (B::kRank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(to),
        "r"(from), "r"(at[0])
        : "memory");
  } else if constexpr (B::kRank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
            to),
        "r"(from), "r"(at[0]), "r"(at[1])
        : "memory");
  } else if constexpr (B::kRank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
        "[%0, {%2, %3, %4}], [%1];" ::"l"(to),
        "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  } else if constexpr (B::kRank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group "
        "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(to),
        "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group "
        "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(to),
        "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
  }
#endif
}

template <class B, class Part = WholeBlock, class T>
__device__ __forceinline__ void boxLoad(T* shared, const TensorMap& map, const BoxPlace<B>& place,
                                        u64* barrier) {
  if (kHasBulkCopy && map.fits) {
    if (Part::isLeader()) {
      mbarrierExpect(barrier, B::kElements * (u32)sizeof(T));
      boxLoadByEngine<B>(shared, map, place, barrier);
    }
    return;
  }
  forEachOfBox<B, Part, T>(map, place, [&](u32 at, bool inside, const T* from) {
    T value{};
    if (inside) {
      value = *from;
    }
    shared[at] = value;
  });
  fenceAsyncProxy();  // the engine may be the next to touch it
  Part::sync();
}

template <class B, class Part = WholeBlock, class T>
__device__ __forceinline__ void boxStore(const TensorMap& map, const BoxPlace<B>& place,
                                         const T* shared) {
  if (kHasBulkCopy && map.fits) {
    if (Part::isLeader()) {
      boxStoreByEngine<B>(map, place, shared);
    }
    return;
  }
  forEachOfBox<B, Part, T>(map, place, [&](u32 at, bool inside, T* to) {
    if (inside) {
      *to = shared[at];
    }
  });
}
