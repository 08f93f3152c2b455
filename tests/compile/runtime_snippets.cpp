// Every file of the device-side library compiles with NVRTC, without a warning, for every
// architecture class that it distinguishes.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include <codegen/snippets.h>
#include <runtime/cuda/nvrtc.h>
#include <snippet_text.h>
#include <support/error.h>

using namespace nvfuser;

namespace {

/// A kernel that calls everything in a file.
struct Use {
  const char* file;
  const char* text;
};

const Use kUses[] = {
    {"async_copy.cuh", R"(
extern "C" __global__ void k(float*o){extern __shared__ __align__(16) float m[];
asyncCopy<16>(m,o,threadIdx.x<3);
asyncCopy<4>(m+4,o);
asyncCopy<8>(m+8,o);
asyncCopyCommit();
asyncCopyWait<0>();
o[0]=m[0];
}
)"},
    {"attention_rows.cuh", R"(
extern "C" __global__ void k(float*s,float*p,const float*b,const bool*m,float*l,const u64*w,AttentionForm f){
attentionRows(s,p,b,m,l,w,w,f);
attentionSlopes(s,p,b,b,w,w,f);
}
)"},
    {"scatter_entries.cuh", R"(
extern "C" __global__ void k(const i64*i,const float*s,float*o,ScatterForm f){
scatterEntries<Stored>(i,s,o,f);
scatterEntries<Added>(i,s,o,f);
scatterEntries<Multiplied>(i,s,o,f);
scatterEntries<Greatest>(i,s,o,f);
scatterEntries<Least>(i,s,o,f);
}
extern "C" __global__ void l(const i32*i,const u16*s,u16*o,ScatterForm f){scatterEntries<Stored>(i,s,o,f);}
)"},
    {"state_group.cuh", R"(
struct Largest{float v;
static __device__ Largest identity(){return {0.0f};}
static __device__ Largest combine(Largest a,Largest b){return a.v>b.v?a:b;}
};
extern "C" __global__ void k(float*o){auto g=StateGroup<Largest,4>::identity();
g.of[1].v=o[1];
o[0]=StateGroup<Largest,4>::combine(g,g).of[1].v;
}
)"},
    {"strided_product.cuh", R"(
extern "C" __global__ void __launch_bounds__(256) k(const float*a,double*c,const float*s,const i32*e,ProductForm f){
stridedProduct<double>(a,a,c,s,s,s,a,s,e,f);
}
extern "C" __global__ void __launch_bounds__(256) l(const float*a,float*c,const float*s,const i32*e,ProductForm f){
stridedProduct<float>(a,a,c,s,s,s,a,s,e,f);
}
)"},
    {"first_of_tiles.cuh", R"(
extern "C" __global__ void __launch_bounds__(256) k(const u32*in,i64 n,u32*o,i64*p){extern __shared__ __align__(16) char m[];
firstOfTiles<FloatKey<u32,0x7f800000u>>(in,p,n,2,5,64,true,o,p,m);
}
extern "C" __global__ void __launch_bounds__(256) l(const u64*in,i64 n,u64*o,i64*p){extern __shared__ __align__(16) char m[];
firstOfTiles<SignedKey<u64>>(in,nullptr,n,2,5,64,false,o,p,m);
}
)"},
    {"mbarrier.cuh", R"(
extern "C" __global__ void k(float*o){__shared__ u64 b[2];
mbarrierInit(b,2);
__syncthreads();
if(isBlockLeader()){mbarrierExpect(b,0u);mbarrierArrive(b);}
mbarrierWait(b,0);
fenceAsyncProxy();
o[0]=1;
}
)"},
    {"block_part.cuh", R"(
extern "C" __global__ void __launch_bounds__(256, 1) k(u32*o){using Part=BlockPart<1,0,128>;
if(Part::rank()<128){takeRegisters<240>();
Part::sync();
o[Part::rank()]=Part::count()+Part::extent<0>()+WholeBlock::extent<1>()+Part::isLeader();
}else{leaveRegisters<24>();
o[WholeBlock::rank()]=WholeBlock::count();
}
}
)"},
    {"box_copy.cuh", R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap a,const __grid_constant__ TensorMap b,int n){
extern __shared__ __align__(1024) float m[];
__shared__ u64 w[1];
u32 phases=0;
mbarrierInit(w,1);
__syncthreads();
boxLoad<Box<128,32,16>>(m,a,{n,1},w);
boxLoad<Box<0,16,2,2>>(m+512,a,{n,1,2},w);
boxLoad<Box<0,16,2,2,2>>(m+1024,a,{n,1,2,3},w);
boxLoad<Box<0,16,2,2,2,1>>(m+2048,a,{n,1,2,3,4},w);
bulkLoadCommit(w);
bulkLoadWait(w,0,phases);
boxStore<Box<128,32,16>>(b,{n,1},m);
boxStore<Box<0,16,2,2>>(b,{n,1,2},m+512);
boxStore<Box<0,16,2,2,2>>(b,{n,1,2,3},m+1024);
boxStore<Box<0,16,2,2,2,1>>(b,{n,1,2,3,4},m+2048);
bulkStoreCommit();
bulkStoreWait<0>();
}
)"},
    {"grid_dependency.cuh", R"(
extern "C" __global__ void k(float*o){gridDependencyWait();
gridDependencyLaunch();
o[threadIdx.x]=1;
}
)"},
    {"bulk_copy.cuh", R"(
extern "C" __global__ void k(float*o,const float*a,int n){extern __shared__ __align__(16) float m[];
__shared__ u64 b[1];
u32 phases=0;
mbarrierInit(b,1);
__syncthreads();
bulkLoad(m,a,n,b);
bulkLoadCommit(b);
bulkLoadWait(b,0,phases);
bulkStore(o,m,n);
bulkStoreCommit();
bulkStoreWait<0>();
bulkStoreWait<2>();
}
)"},
    {"basics.cuh", R"(
extern "C" __global__ void k(float*o,const float*a){auto v=loadVecStreaming<4>(a+4*threadIdx.x);
v[0]+=infinity<float>();
storeVec(o+4*threadIdx.x,v);
auto w=loadVec<8>(reinterpret_cast<const u16*>(a));
storeVecStreaming(reinterpret_cast<u16*>(o),w);
}
)"},
    {"bf16.cuh", R"(
extern "C" __global__ void k(bf16_t*o,const bf16_t*a){o[threadIdx.x]=bf16_t(float(a[threadIdx.x])+1.f);
}
)"},
    {"block_scan.cuh", R"(
struct S{float v;
static __device__ S combine(const S&a,const S&b){return{a.v+b.v};}
static __device__ S identity(){return{0.0f};}};
extern "C" __global__ void k(float*o){extern __shared__ __align__(16) float m[];
S s{o[threadIdx.x]},t{1.0f};
blockScan<true,false,false,false>(s,t,m);
__syncthreads();
blockScan<false,true,false,true>(s,t,m);
__syncthreads();
blockScan<true,true,true,true>(s,t,m);
o[threadIdx.x]=s.v+t.v;
}
)"},
    {"block_reduce.cuh", R"(
struct S{double v;
short t;
static __device__ S combine(const S&a,const S&b){return {a.v+b.v,a.t};
}};
 extern "C" __global__ void k(double*o){extern __shared__ __align__(16) char m[];
o[threadIdx.x]=blockAllReduce<true,true,false>(S{o[threadIdx.x],1},m).v;
}
)"},
    {"cluster.cuh", R"(
#if __CUDA_ARCH__>=900
extern "C" __global__ void k(float*o){extern __shared__ float m[];
m[0]=1;
clusterSync();
o[0]=*mapSharedRank(m,clusterRank()^1);
clusterSync();
o[1]=clusterSize();
}

#endif
)"},
    {"cluster_reduce.cuh", R"(
#if __CUDA_ARCH__>=900
struct S{float v;
static __device__ S combine(const S&a,const S&b){return {a.v+b.v};
}};
extern "C" __global__ void k(float*o){extern __shared__ __align__(16) char m[];
o[threadIdx.x]=clusterAllReduce<true,false,true>(S{o[threadIdx.x]},m).v;
}

#endif
)"},
    {"divide_by.cuh", R"(
extern "C" __global__ void k(float* o) { o[0] = divideBy(o[1], o[2]) + divideBy(o[1], 255.0f); }
)"},
    {"rounded.cuh", R"(
extern "C" __global__ void k(float*o){
o[0]=expRounded(o[0])+sigmoidRounded(o[1])+divideRounded(o[2],o[3]);
}
)"},
    {"combine_at.cuh", R"(
extern "C" __global__ void k(float*o,double*d,int*i,i64*l,u16*h){
addAt(o,1.0f);
addAt(d,1.0);
addAt(i,-1);
addAt(l,i64(-1));
addVecAt(o,Vec<float,4>{{1,2,3,4}});
addVecAt(o,Vec<float,2>{{1,2}});
combineAt(o,[&](float before){return before*2.0f;});
combineAt(d,[&](double before){return before*2.0;});
combineAt(l,[&](i64 before){return before>3?before:i64(3);});
storeAt(h,u16(3));
}
)"},
    {"add_in_block.cuh", R"(
extern "C" __global__ void k(float*o){
__shared__ float f[4];__shared__ double d[1];__shared__ int i[1];__shared__ i64 l[1];
addInBlock(f,1.0f);
addInBlock(d,1.0);
addInBlock(i,-1);
addInBlock(l,i64(-1));
addVecInBlock(f,Vec<float,4>{{1,2,3,4}});
__syncthreads();
o[0]=f[0]+float(d[0])+i[0]+l[0];
}
)"},
    {"copy_strided.cuh", R"(
extern "C" __global__ void k(const u8*a,u8*b,const double*c,double*d,CopyForm form){
copyStrided<u32,u8>(a,b,form);
copyStrided<u64,double>(c,d,form);
}
)"},
    {"complex.cuh", R"(
template<class T> __device__ void f(complex<T>*o,complex<T> a,complex<T> b){int i=0;
o[i++]=a+b;
o[i++]=a*b-a/b;
o[i++]=exp(a)+log(a)+sqrt(a)+pow(a,b);
o[i++]=sin(a)+cos(a)+tan(a)+asin(a)+acos(a)+atan(a);
o[i++]=sinh(a)+cosh(a)+tanh(a)+asinh(a)+acosh(a)+atanh(a)+log1p(a)+expm1(a)+exp2(a)+rsqrt(a)+sigmoid(a)+log2(a)+log10(a);
o[i++]=abs(a)*a+T(2);
o[i]=conj(a);
} extern "C" __global__ void k(complex<float>*o,complex<double>*p){f(o,o[9],o[10]);
f(p,p[9],p[10]);
}
)"},
    {"fast_divide.cuh", R"(
extern "C" __global__ void k(u32*o,FastDivide d){u32 q,r;
d.divmod(o[threadIdx.x],q,r);
o[threadIdx.x]=q+r;
 constexpr FastDivide e=makeFastDivide(7);
 o[64]=e.magic;
}
)"},
    {"fp8.cuh", R"(
extern "C" __global__ void k(fp8_e4m3_t*o,const fp8_e5m2_t*a){o[threadIdx.x]=fp8_e4m3_t(float(a[threadIdx.x])+1.f);
fp8_e5m2_t q{float(o[0])};
o[1]=fp8_e4m3_t::fromBits(q.bits);
}
)"},
    {"grid_reduce.cuh", R"(
struct S{float v;
static __device__ S combine(const S&a,const S&b){return {a.v+b.v};
}static __device__ S identity(){return {0};
}};
 extern "C" __global__ void k(float*o,S*p,u32*t){extern __shared__ __align__(16) char m[];
S s{o[threadIdx.x]};
if(gridReduce<true,false,false,true,false,false>(s,p,t,m))o[0]=s.v;
 o[1]=gridAllReduce<true,false,false,true,true,false>(s,p,t+1,m).v;
}
)"},
    {"grid_sync.cuh", R"(
extern "C" __global__ void k(u32*o){gridSync(o,gridDim.x,blockIdx.x==0);
}
)"},
    {"half.cuh", R"(
extern "C" __global__ void k(half_t*o,const half_t*a){o[threadIdx.x]=half_t(float(a[threadIdx.x])+1.f);
}
)"},
    {"math.cuh", R"(
template<class T> __device__ void fi(T*o,T a,T b){o[0]=truncDiv(a,b);
o[1]=truncMod(a,b);
o[2]=floorMod(a,b);
o[3]=floorDiv(a,b);
o[4]=gcd(a,b);
o[5]=powInteger(a,b);
o[6]=shiftLeft(a,b);
o[7]=maxNan(a,b)+minNan(a,b);
o[8]=shiftRight(a,b)+shiftRightLogical(a,b)+bitCeil(a);
} template<class T> __device__ void ff(T*o,T a,T b){o[0]=maxNan(a,b)+minNan(a,b)+maxNumber(a,b)+minNumber(a,b)+lerp(a,b,a)+floorMod(a,b)+floorDiv(a,b);
o[1]=toInteger<i8>(a)+toInteger<u8>(a)+toInteger<i64>(a)+toInteger<u64>(a)+toInteger<u32>(a)+toInteger<i32>(b)+bitCeil(i32(3))+bitCeil(i64(9));
} extern "C" __global__ void k(i32*a,i64*b,u8*c,i8*d,float*e,double*f,i16*g,u64*h,u32*i,u16*j){fi(a,a[9],a[10]);
fi(b,b[9],b[10]);
fi(c,c[9],c[10]);
fi(d,d[9],d[10]);
fi(g,g[9],g[10]);
fi(h,h[9],h[10]);
fi(i,i[9],i[10]);
fi(j,j[9],j[10]);
ff(e,e[9],e[10]);
ff(f,f[9],f[10]);
}
)"},
    {"order_key.cuh", R"(
extern "C" __global__ void k(u8*a,u16*b,u32*c,u64*d){
a[0]=UnsignedKey<u8>::of(a[0],true);
a[1]=BoolKey<u8>::of(a[1],false);
b[0]=FloatKey<u16,0x7c00>::of(b[0],true);
c[0]=SignedKey<u32>::of(c[0],true);
d[0]=FloatKey<u64,0x7ff0000000000000ull>::of(d[0],false);
}
)"},
    {"philox.cuh", R"(
extern "C" __global__ void k(float*o,double*p,u64 seed,u64 off){u64 e=threadIdx.x;
o[e]=uniformF32(seed,off,e)+normalF32(seed,off,e);
p[e]=uniformF64(seed,off,e)+normalF64(seed,off,e);
auto b=philox(seed,off,e/8);
o[e+64]=dropoutKeep(b,e,probabilityBits(0.9),seed,off);
}
)"},
    {"online_softmax.cuh", R"(
extern "C" __global__ void k(float*o,double*d){auto s=OnlineSoftmax<float>::identity();
s.push(o[0]);
s=OnlineSoftmax<float>::combine(s,s);
o[1]=s.sum;
auto t=OnlineSoftmax<double>::identity();
t.push(d[0]);
d[1]=OnlineSoftmax<double>::combine(t,t).max;
}
)"},
    {"print.cuh", R"(
extern "C" __global__ void k(float*a,i32*b,u64*c,bool*d){printValue(a[0]);
printValue(b[0]);
printValue(c[0]);
printValue(d[0]);
}
)"},
    {"sort_digits.cuh", R"(
using F=FloatKey<u32,0x7f800000u>;
using D=FloatKey<u64,0x7ff0000000000000ull>;
extern "C" __global__ void __launch_bounds__(256) k(const u32*in,u32*n,u32*t,u32*o,i64*p){
digitCounts<F,Source::Elements>(in,5000,2,0,true,n);
digitStarts(n,2,t);
digitPlaces<F,Source::Elements>(in,nullptr,5000,2,0,true,n,t,o,t);
}
extern "C" __global__ void __launch_bounds__(256) l(const u64*in,const u32*q,u32*n,u32*t,u64*o,i64*p){
digitPlaces<D,Source::Keys>(in,q,5000,2,8,true,n,t,o,p);
}
)"},
    {"sort_rows.cuh", R"(
extern "C" __global__ void k(const u16*in,u16*o,i64*p){extern __shared__ __align__(16) char m[];
sortRows<FloatKey<u16,0x7f80>>(in,nullptr,3,70,128,70,true,o,p,m);
}
extern "C" __global__ void l(const u64*in,u64*o,i64*p){extern __shared__ __align__(16) char m[];
sortRows<UnsignedKey<u64>>(in,p,3,70,128,70,true,o,p,m);
}
)"},
    {"warp_reduce.cuh", R"(
struct S{float v;
static __device__ S combine(const S&a,const S&b){return {a.v+b.v};
}};
 extern "C" __global__ void k(float*o){o[threadIdx.x]=warpAllReduce<32>(S{o[threadIdx.x]}).v;
}
)"},
    {"welford_group.cuh", R"(
extern "C" __global__ void k(float*o){extern __shared__ __align__(16) char m[];
auto w=StateGroup<Welford<float>, 4>::identity();
w.of[1].push(o[threadIdx.x]);
w=blockAllReduce<false,true,false>(w,m);
o[1]=w.of[1].m2;
}
)"},
    {"welford.cuh", R"(
extern "C" __global__ void k(float*o){auto w=Welford<float>::identity();
w.push(o[0]);
w=Welford<float>::combine(w,w);
o[1]=w.m2;
}
)"},
};

}  // namespace

TEST_CASE("snippets: NVRTC takes every file for every architecture") {
  for (const Use& use : kUses) {
    CAPTURE(use.file);
    std::string text;
    std::set<std::string> seen;
    addSnippet(use.file, seen, text);
    for (std::string arch : {"sm_75", "sm_80", "sm_89", "sm_90", "sm_100"}) {
      CAPTURE(arch);
      CHECK(cuda::compileToCubin(text + use.text, use.file, arch).log == "");
    }
  }
}

TEST_CASE("snippets: files without a kernel above compile alone") {
  for (std::string_view file : runtimeFiles()) {
    bool used = std::any_of(std::begin(kUses), std::end(kUses),
                            [&](const Use& use) { return file == use.file; });
    if (used || !file.ends_with(".cuh")) {
      continue;
    }
    CAPTURE(file);
    std::string text;
    std::set<std::string> seen;
    addSnippet(std::string(file), seen, text);
    CHECK(cuda::compileToCubin(text + "extern \"C\" __global__ void k() {}", "k.cu", "sm_90").log ==
          "");
  }
}
