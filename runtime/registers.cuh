// Registers seen as a vector: the other side of a vector access.
//
//   vecAt<N>(p)   the N elements at p, an array of the thread aligned as Vec is, as one Vec<T, N>
//
// needs: basics.cuh
template <int N, class T>
__device__ __forceinline__ Vec<T, N>& vecAt(T* p) {
  return *reinterpret_cast<Vec<T, N>*>(p);
}
