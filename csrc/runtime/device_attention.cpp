#include <runtime/device_attention.h>

#include <codegen/snippet_set.h>
#include <runtime/device_kernels.h>
#include <runtime/device_products.h>

namespace nvfuser {

namespace {

using external::Attention;
using external::HeadMatrices;
using external::Product;

constexpr int64_t kScoreThreads = 256;
constexpr int64_t kMostScores = int64_t{64} << 20;  ///< in memory at once, unless a head has more

/// As in runtime/attention_rows.cuh.
struct HeadStrides {
  int64_t outer = 0, inner = 0, row = 0, column = 0;
};
struct AttentionForm {
  int64_t queries = 0, keys = 0, width = 0;
  int64_t inner = 1, first_head = 0;
  int64_t is_causal = 0, drops = 0, has_lse = 0;
  HeadStrides bias, mask, lse, grad, output;
  uint64_t seed = 0, offset = 0;
  double dropout_p = 0, scale = 1;
};

/// `types`: those of the operands and of the bias.
std::string attentionText(const std::string& types) {
  codegen::SnippetSet snippets(Target::Cuda);
  for (const char* path : {"half.cuh", "bf16.cuh", "attention_rows.cuh"}) {
    snippets.add(path);
  }
  return snippets.text() + text(R"(
template <class ElementOf, class BiasOf>
struct Types {
  using Element = ElementOf;
  using Bias = BiasOf;
};
using Given = Types<)",
                                types, R"(>;
extern "C" __global__ void __launch_bounds__(256) attention_rows(float* scores, float* plain,
    const Given::Bias* bias, const bool* mask, float* lse, const u64* seed, const u64* offset,
    AttentionForm form) {
  attentionRows(scores, plain, bias, mask, lse, seed, offset, form);
}
extern "C" __global__ void __launch_bounds__(256) attention_slopes(float* slopes,
    const float* plain, const Given::Element* grad, const Given::Element* output, const u64* seed,
    const u64* offset, AttentionForm form) {
  attentionSlopes(slopes, plain, grad, output, seed, offset, form);
}
extern "C" __global__ void store_state(u64* seed, i64 step, u64* offset, u64 seed_word,
    u64 offset_word) {
  seed[0] = seed_word;
  seed[step] = offset_word;
  offset[0] = offset_word;
}
)");
}

/// The heads of a piece, along two axes at most; its matrices begin at its first head.
struct HeadsPiece {
  Attention attention;
  int64_t first_head = 0;
  int64_t outer = 1, inner = 1;
};

/// All matrices that there are.
template <typename Visit>
void forMatrices(Attention& a, const Visit& visit) {
  for (HeadMatrices* one : {&a.query, &a.key, &a.value, &a.output, &a.logsumexp, &a.grad,
                            &a.grad_query, &a.grad_key, &a.grad_value}) {
    visit(*one);
  }
  for (auto* one : {&a.bias, &a.mask}) {
    if (*one) {
      visit(**one);
    }
  }
}

/// Heads along the last axes that fit together, for each place along the others.
std::vector<HeadsPiece> piecesOf(const Attention& all) {
  size_t kept = 0;
  int64_t scores = all.queries * all.keys;
  while (kept < 2 && kept < all.heads.size() &&
         scores * all.heads[all.heads.size() - 1 - kept] <= kMostScores) {
    scores *= all.heads[all.heads.size() - 1 - kept];
    ++kept;
  }
  const size_t dropped = all.heads.size() - kept;
  int64_t count = 1;
  for (size_t axis = 0; axis < dropped; ++axis) {
    count *= all.heads[axis];
  }
  std::vector<HeadsPiece> pieces;
  for (int64_t i = 0; i < count; ++i) {
    HeadsPiece piece{all};
    piece.inner = kept > 0 ? all.heads.back() : 1;
    piece.outer = kept > 1 ? all.heads[all.heads.size() - 2] : 1;
    piece.first_head = i * piece.inner * piece.outer;
    forMatrices(piece.attention, [&](HeadMatrices& of) {
      if (of.data == nullptr) {
        return;
      }
      int64_t at = i;
      int64_t elements = 0;
      for (size_t axis = dropped; axis-- > 0;) {
        elements += at % all.heads[axis] * of.heads[axis];
        at /= all.heads[axis];
      }
      of.data = static_cast<std::byte*>(of.data) + elements * dataTypeSizeByte(of.dtype);
      of.heads.erase(of.heads.begin(), of.heads.begin() + static_cast<std::ptrdiff_t>(dropped));
    });
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

HeadStrides headStrides(const HeadMatrices& of) {
  HeadStrides strides;
  strides.inner = of.heads.empty() ? 0 : of.heads.back();
  strides.outer = of.heads.size() < 2 ? 0 : of.heads[of.heads.size() - 2];
  strides.row = of.row;
  strides.column = of.column;
  return strides;
}

/// A factor or the result of a product: its matrices, or these turned.
struct Factor {
  const void* data;
  DataType dtype;
  HeadStrides strides;
  Factor turned() const {
    Factor other = *this;
    std::swap(other.strides.row, other.strides.column);
    return other;
  }
};

Factor factorOf(const HeadMatrices& of) { return {of.data, of.dtype, headStrides(of)}; }

class Attending {
 public:
  Attending(const HeadsPiece& piece, Device& device, const RunContext& context)
      : piece_(piece), a_(piece.attention), device_(device), context_(context) {
    const std::string type = *deviceTypeOf(a_.query.dtype);
    const std::string bias = a_.bias ? *deviceTypeOf(a_.bias->dtype) : type;
    kernels_ = &deviceKernels(device, text(type, ", ", bias),
                              {"attention_rows", "attention_slopes", "store_state"}, attentionText);
    form_.queries = a_.queries;
    form_.keys = a_.keys;
    form_.width = a_.width;
    form_.inner = piece.inner;
    form_.first_head = piece.first_head;
    form_.is_causal = a_.is_causal ? 1 : 0;
    form_.drops = a_.dropout_p > 0 ? 1 : 0;
    form_.bias = a_.bias ? headStrides(*a_.bias) : HeadStrides{};
    form_.mask = a_.mask ? headStrides(*a_.mask) : HeadStrides{};
    form_.lse = headStrides(a_.logsumexp);
    form_.grad = headStrides(a_.grad);
    form_.output = headStrides(a_.output);
    form_.seed = a_.seed;
    form_.offset = a_.offset;
    form_.dropout_p = a_.dropout_p;
    form_.scale = a_.scale;
  }

  void forward() {
    const DeviceMemory memory = scores();
    const Factor p = matrix(memory);
    multiply(factorOf(a_.query), factorOf(a_.key).turned(), p, a_.queries, a_.keys, a_.depth);
    rows(memory, nullptr);
    multiply(p, factorOf(a_.value), factorOf(a_.output), a_.queries, a_.width, a_.keys);
  }

  void backward() {
    form_.has_lse = 1;
    const DeviceMemory memory = scores(), memory_of_slopes = scores();
    const DeviceMemory memory_of_plain = form_.drops != 0 ? scores() : DeviceMemory();
    const Factor kept = matrix(memory), slopes = matrix(memory_of_slopes);
    const Factor query = factorOf(a_.query), key = factorOf(a_.key), grad = factorOf(a_.grad);
    multiply(query, key.turned(), kept, a_.queries, a_.keys, a_.depth);
    rows(memory, memory_of_plain.data());
    multiply(kept.turned(), grad, factorOf(a_.grad_value), a_.keys, a_.width, a_.queries);
    multiply(grad, factorOf(a_.value).turned(), slopes, a_.queries, a_.keys, a_.width);
    const void* const plain = form_.drops != 0 ? memory_of_plain.data() : memory.data();
    launch("attention_slopes", memory_of_slopes.data(), plain, a_.grad.data, a_.output.data,
           a_.seed_at.at, a_.offset_at.at, form_);
    multiply(slopes, key, factorOf(a_.grad_query), a_.queries, a_.depth, a_.keys);
    multiply(slopes.turned(), query, factorOf(a_.grad_key), a_.keys, a_.depth, a_.queries);
  }

  void storeState(const TensorRef& seed, const TensorRef& offset) const {
    launchKernel(device_, *kernels_->at("store_state"), {}, context_, seed.data, seed.strides[0],
                 offset.data, a_.seed, a_.offset);
  }

 private:
  int64_t heads() const { return piece_.outer * piece_.inner; }
  DeviceMemory scores() const {
    return DeviceMemory(static_cast<size_t>(heads() * a_.queries * a_.keys * 4), device_, context_);
  }
  Factor matrix(const DeviceMemory& memory) const {
    const int64_t each = a_.queries * a_.keys;
    return {memory.data(), DataType::Float, {piece_.inner * each, each, a_.keys, 1}};
  }

  void multiply(const Factor& a, const Factor& b, const Factor& c, int64_t m, int64_t n,
                int64_t k) const {
    Product p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = a.data;
    p.b = b.data;
    p.c = const_cast<void*>(c.data);
    p.dtype_a = a.dtype;
    p.dtype_b = b.dtype;
    p.dtype = c.dtype;
    p.a_row = a.strides.row;
    p.a_column = a.strides.column;
    p.b_row = b.strides.row;
    p.b_column = b.strides.column;
    p.c_row = c.strides.row;
    p.c_column = c.strides.column;
    p.batches = {{piece_.outer, a.strides.outer, b.strides.outer, c.strides.outer},
                 {piece_.inner, a.strides.inner, b.strides.inner, c.strides.inner}};
    check(multiplyOnDevice(p, device_, context_), "attention's dtypes have products");
  }

  template <typename... Args>
  void launch(const char* entry, const Args&... args) const {
    LaunchShape shape;
    shape.grid[0] = heads() * a_.queries;
    shape.block[0] = kScoreThreads;
    if (shape.grid[0] > 0) {
      launchKernel(device_, *kernels_->at(entry), shape, context_, args...);
    }
  }

  void rows(const DeviceMemory& memory, void* plain) const {
    const void* const bias = a_.bias ? a_.bias->data : nullptr;
    const void* const mask = a_.mask ? a_.mask->data : nullptr;
    void* const data = memory.data();
    launch("attention_rows", data, plain, bias, mask, a_.logsumexp.data, a_.seed_at.at,
           a_.offset_at.at, form_);
  }

  const HeadsPiece& piece_;
  const Attention& a_;
  Device& device_;
  const RunContext& context_;
  const DeviceKernels* kernels_ = nullptr;
  AttentionForm form_;
};

}  // namespace

bool attendOnDevice(const external::Call& call, Device& device, const RunContext& context) {
  const bool is_forward = call.op->isA<SdpaFwdOp>();
  const Attention all = external::attentionOf(call);
  const auto isWord = [](const Attention::Word& word) {
    return word.at == nullptr || dataTypeSizeByte(word.dtype) == 8;
  };
  if (!deviceTypeOf(all.query.dtype) || (all.bias && !deviceTypeOf(all.bias->dtype)) ||
      !isWord(all.seed_at) || !isWord(all.offset_at)) {
    return false;
  }
  for (const HeadsPiece& piece : piecesOf(all)) {
    Attending attending(piece, device, context);
    if (is_forward) {
      attending.forward();
    } else {
      attending.backward();
    }
  }
  if (is_forward) {
    const HeadsPiece none{all};
    Attending(none, device, context).storeState(call.outputs.at(2), call.outputs.at(3));
  }
  return true;
}

}  // namespace nvfuser
