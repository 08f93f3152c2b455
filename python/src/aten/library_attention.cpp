// Attention by the kernel that PyTorch chooses: cuDNN's, flash attention, memory-efficient
// attention, or products and a softmax of scores that are stored. All give the natural logarithm
// of the sums of exponentials, so that either direction may take another one.
//
// A dropout's state is what sdpfa_fwd gave: flash attention's own seed and offset. The others have
// none that both directions could share, and leave calls with dropout to the portable code.
#include <cmath>
#include <limits>
#include <optional>

#include "aten/attention_by_products.h"
#include "aten/library.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

using Sizes = std::vector<int64_t>;

/// As ATen numbers them (at::SDPBackend).
enum class AttentionKernel : int64_t { Math = 0, Flash = 1, Efficient = 2, CuDnn = 3 };

/// Numbers of a row for which cuDNN has gradients, too.
constexpr int64_t kDeepestOfCudnn = 128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Axes [batches, heads, …] of a tensor that may have more batches; `tail`: how many are behind
/// them.
std::optional<TensorRef> withOneBatch(const TensorRef& tensor, size_t tail) {
  TensorRef merged = tensor;
  while (merged.sizes.size() > tail + 2) {
    const bool is_one = merged.sizes[0] == 1 || merged.sizes[1] == 1;
    if (!is_one && merged.strides[0] != merged.strides[1] * merged.sizes[1]) {
      return std::nullopt;
    }
    if (merged.sizes[1] == 1) {
      merged.strides[1] = merged.strides[0];
    }
    merged.sizes[1] *= merged.sizes[0];
    merged.sizes.erase(merged.sizes.begin());
    merged.strides.erase(merged.strides.begin());
  }
  return merged;
}

class Attention {
 public:
  /// `query`: its place among the operands.
  Attention(const AtenProgram& aten, size_t query)
      : aten_(aten),
        call_(aten.call()),
        query_(operand(query, 2)),
        key_(operand(query + 1, 2)),
        value_(operand(query + 2, 2)),
        dtype_(query_.dtype()),
        queries_(query_.sizes()[2]),
        keys_(key_.sizes()[2]),
        depth_(query_.sizes()[3]) {}

  bool forward() {
    const auto* op = call_.op->as<SdpaFwdOp>();
    readSettings(SdpaFwdOp::kDropoutP, SdpaFwdOp::kIsCausal, op->scalePlace());
    const bool is_wide =
        op->biasPlace() && call_.input(*op->biasPlace()).dtype != dtype_ && aten_.isOnCuda();
    // Bias and mask are one tensor of ATen, which the causal mask then joins.
    addedScores(op);
    const AttentionKernel kernel = is_wide ? AttentionKernel::Math : choice();
    if (dropout_p_ > 0 && !(kernel == AttentionKernel::Flash && aten_.isOnCuda())) {
      return declineDropout();
    }
    if (kernel == AttentionKernel::CuDnn) {
      auto made = aten_.cudnnAttention(query_, key_, value_, is_causal_, scale_);
      giveForward(std::move(made[0]), withoutLastAxis(made[1]));
    } else if (kernel == AttentionKernel::Flash && aten_.isOnCuda()) {
      flash();
    } else if (kernel == AttentionKernel::Flash) {
      flashOfCpu();
    } else if (kernel == AttentionKernel::Efficient) {
      efficient();
    } else {
      auto [output, logsumexp] = attentionByProducts(aten_, scored());
      giveForward(std::move(output), std::move(logsumexp));
    }
    if (dropout_p_ == 0) {
      const AtenTensor states = aten_.empty(Sizes{3}, DataType::UInt64);
      aten_.zero(states);
      aten_.give(2, aten_.view(states, Sizes{2}, Sizes{1}));
      aten_.give(3, aten_.view(states, {}, {}, 2));
    }
    return true;
  }

  bool backward() {
    const auto* op = call_.op->as<SdpaBwdOp>();
    readSettings(SdpaBwdOp::kDropoutP, SdpaBwdOp::kIsCausal,
                 op->hasScale() ? std::optional(SdpaBwdOp::kScale) : std::nullopt);
    AttentionKernel kernel = choice();
    // Gradients of memory-efficient attention want values as wide as queries, and leave some of
    // those of causal queries beyond the last key unwritten.
    if (kernel == AttentionKernel::Efficient &&
        (depth_ != value_.sizes()[3] || (is_causal_ && queries_ > keys_))) {
      kernel = AttentionKernel::Math;
    }
    if (dropout_p_ > 0 && !(kernel == AttentionKernel::Flash && aten_.isOnCuda())) {
      return declineDropout();
    }
    const AtenTensor grad = operand(0, 2);
    const AtenTensor output = operand(4, 2);
    AtenTensor logsumexp = operand(SdpaBwdOp::kLogSumExp, 1);
    if (kernel == AttentionKernel::CuDnn) {
      const AtenTensor none = aten_.undefined();
      const AtenTensor state = aten_.empty({}, DataType::Int);  // of a dropout that is none
      giveGradients(aten_.run(
          "aten::_scaled_dot_product_cudnn_attention_backward", "",
          {grad, query_, key_, value_, output, withLastAxis(dense(std::move(logsumexp))), state,
           state, none, none, none, queries_, keys_, 0.0, is_causal_, some(scale_)},
          "TTT"));
    } else if (kernel == AttentionKernel::Flash && aten_.isOnCuda()) {
      const AtenTensor none = aten_.undefined();
      const AtenTensor seed = state();
      const AtenTensor offset = aten_.empty({}, DataType::UInt64);
      giveGradients(aten_.run("aten::_scaled_dot_product_flash_attention_backward", "",
                              {padded(grad), padded(query_), padded(key_), padded(value_),
                               padded(output), dense(std::move(logsumexp)), none, none, queries_,
                               keys_, dropout_p_, is_causal_, seed, offset, some(scale_)},
                              "TTT"));
    } else if (kernel == AttentionKernel::Flash) {
      giveGradients(aten_.run("aten::_scaled_dot_product_flash_attention_for_cpu_backward", "",
                              {grad, query_, key_, value_, output, logsumexp, dropout_p_,
                               is_causal_, std::nullopt, some(scale_)},
                              "TTT"));
    } else if (kernel == AttentionKernel::Efficient) {
      const AtenTensor none = aten_.undefined();
      const AtenTensor state = aten_.empty({}, DataType::Int);
      aten_.zero(state);
      const Sizes all{1, 1, 1, 0};
      auto grads = aten_.run("aten::_scaled_dot_product_efficient_attention_backward", "",
                             {grad, query_, key_, value_, none, output, padded32(logsumexp), state,
                              state, dropout_p_, all, is_causal_, some(scale_)},
                             "TTTT");
      giveGradients(std::move(grads));
    } else {
      giveGradients(gradientsByProducts(aten_, scored(), grad, output, logsumexp));
    }
    return true;
  }

 private:
  bool declineDropout() const {
    return declined(call_,
                    "PyTorch's flash attention alone, for Half and BFloat16 without a bias "
                    "or mask, has a dropout whose state both directions share");
  }

  /// As [batch, heads, …], with the last axis side by side where there are two behind.
  AtenTensor operand(size_t i, size_t tail) const {
    const TensorRef& given = call_.input(i);
    auto merged = withOneBatch(given, tail);
    const bool lies_well = merged && (tail < 2 || merged->strides.back() == 1);
    if (lies_well) {
      return aten_.at(*merged, i);
    }
    const AtenTensor dense = aten_.converted(aten_.operand(i), given.dtype);
    TensorRef form = given;
    form.strides = rowMajorStrides(form.sizes);
    form = *withOneBatch(form, tail);
    return aten_.view(dense, form.sizes, form.strides);
  }

  AtenTensor dense(AtenTensor tensor) const {
    const TensorRef form{nullptr,
                         tensor.dtype(),
                         {tensor.sizes().begin(), tensor.sizes().end()},
                         {tensor.strides().begin(), tensor.strides().end()}};
    return form.isContiguous() ? std::move(tensor) : aten_.converted(tensor, tensor.dtype());
  }

  /// What was made as [batch, heads, …] is result `i`.
  void give(size_t i, AtenTensor made) const {
    const TensorRef& wanted = call_.outputs.at(i);
    Sizes strides(made.strides().begin(), made.strides().end());
    const size_t more = wanted.sizes.size() - strides.size();
    for (size_t axis = more; axis-- > 0;) {
      strides.insert(strides.begin(), strides[0] * wanted.sizes[axis + 1]);
    }
    aten_.give(i, aten_.view(made, wanted.sizes, strides));
  }

  void giveGradients(std::vector<AtenTensor> grads) const {
    for (size_t i = 0; i < 3; ++i) {
      const int64_t columns = call_.outputs.at(i).sizes.back();
      give(i, firstColumns(std::move(grads[i]), columns));
    }
  }

  AtenTensor firstColumns(AtenTensor of, int64_t columns) const {
    Sizes sizes(of.sizes().begin(), of.sizes().end());
    if (sizes.back() == columns) {
      return of;
    }
    sizes.back() = columns;
    return aten_.view(of, sizes, of.strides());
  }

  void readSettings(size_t dropout_p, size_t is_causal, std::optional<size_t> scale) {
    dropout_p_ = call_.scalar(dropout_p).as<double>();
    is_causal_ = call_.scalar(is_causal).as<bool>();
    scale_ = scale ? call_.scalar(*scale).as<double>() : 1 / std::sqrt(static_cast<double>(depth_));
    if (!(dropout_p_ >= 0 && dropout_p_ <= 1)) {
      userError(call_.op->getOpString(), ": dropout_p must be between 0 and 1, got ", dropout_p_);
    }
  }

  /// A bias or mask as [batch, heads, queries, keys], axes of one element repeated.
  AtenTensor overScores(size_t place) const {
    TensorRef tensor = call_.input(place);
    Sizes all = call_.input(0).sizes;
    all.back() = keys_;
    while (tensor.sizes.size() < all.size()) {
      tensor.sizes.insert(tensor.sizes.begin(), 1);
      tensor.strides.insert(tensor.strides.begin(), 0);
    }
    for (size_t axis = 0; axis < all.size(); ++axis) {
      if (tensor.sizes[axis] == 1) {
        tensor.strides[axis] = 0;
      }
      tensor.sizes[axis] = all[axis];
    }
    if (const auto merged = withOneBatch(tensor, 2)) {
      return aten_.at(*merged);
    }
    const AtenTensor dense = aten_.converted(aten_.at(tensor), tensor.dtype);
    tensor.strides = rowMajorStrides(tensor.sizes);
    const TensorRef merged = *withOneBatch(tensor, 2);
    return aten_.view(dense, merged.sizes, merged.strides);
  }

  /// Sets `added_`, in the queries' dtype or Float.
  void addedScores(const SdpaFwdOp* op) {
    if (!op->biasPlace() && !op->maskPlace()) {
      return;
    }
    if (op->biasPlace() && !op->maskPlace() && !is_causal_) {
      added_ = overScores(*op->biasPlace());
      const bool is_whole = added_->strides()[3] == 1 && keys_ % 16 == 0 && isAligned(*added_);
      if (!aten_.isOnCuda() || is_whole) {
        return;
      }
    }
    const DataType dtype = op->biasPlace() ? call_.input(*op->biasPlace()).dtype : dtype_;
    // Rows begin at multiples of 16 elements, as memory-efficient attention needs them.
    const int64_t row = (keys_ + 15) / 16 * 16;
    const Sizes sizes{query_.sizes()[0], query_.sizes()[1], queries_, keys_};
    const Sizes filled{sizes[0], sizes[1], queries_, row};
    const AtenTensor memory = aten_.empty(filled, dtype);
    AtenTensor made = aten_.view(memory, sizes, memory.strides());
    if (op->biasPlace()) {
      aten_.copy(made, overScores(*op->biasPlace()));
    } else {
      aten_.zero(made);
    }
    if (op->maskPlace()) {
      hideScores(aten_, made, aten_.one("aten::logical_not", "", {overScores(*op->maskPlace())}));
    }
    if (is_causal_) {
      hideScores(aten_, made, laterKeys(aten_, queries_, keys_));
      is_causal_ = false;
    }
    added_ = std::move(made);
  }

  bool isAligned(const AtenTensor& bias) const {
    const auto strides = bias.strides();
    return strides[0] % 16 == 0 && strides[1] % 16 == 0 && strides[2] % 16 == 0 &&
           reinterpret_cast<uintptr_t>(aten_.dataOf(bias)) % 16 == 0;
  }

  AtenArgument added() const { return added_ ? some(*added_) : AtenArgument(std::nullopt); }

  AttentionKernel choice() const {
    std::vector<int64_t> chosen;
    aten_.run("aten::_fused_sdp_choice", "",
              {query_, key_, value_, added(), dropout_p_, is_causal_, some(scale_), false}, "N",
              &chosen);
    const auto kernel = static_cast<AttentionKernel>(chosen.at(0));
    if (kernel == AttentionKernel::Flash && aten_.isOnCuda() && !AtenProgram::hasFlashAttention()) {
      return AttentionKernel::Math;
    }
    if (kernel != AttentionKernel::CuDnn) {
      return kernel;
    }
    // What cuDNN takes the others take, too.
    const bool is_half = dtype_ == DataType::Half || dtype_ == DataType::BFloat16;
    const bool is_square = queries_ == keys_ || !is_causal_;
    if (!is_half || added_ || !is_square || depth_ != value_.sizes()[3]) {
      return AttentionKernel::Efficient;
    }
    const bool in_both_directions = depth_ <= kDeepestOfCudnn && dropout_p_ == 0;
    return in_both_directions && AtenProgram::hasCudnnAttention() ? AttentionKernel::CuDnn
                                                                  : AttentionKernel::Flash;
  }

  /// cuDNN's log-sum-exp has an axis of one element more.
  AtenTensor withoutLastAxis(const AtenTensor& tensor) const {
    const auto sizes = tensor.sizes();
    const auto strides = tensor.strides();
    return aten_.view(tensor, sizes.first(sizes.size() - 1), strides.first(strides.size() - 1));
  }
  AtenTensor withLastAxis(const AtenTensor& tensor) const {
    Sizes sizes(tensor.sizes().begin(), tensor.sizes().end());
    Sizes strides(tensor.strides().begin(), tensor.strides().end());
    sizes.push_back(1);
    strides.push_back(1);
    return aten_.view(tensor, sizes, strides);
  }

  /// Flash attention on CUDA has rows of multiples of 8 numbers: zeros behind change nothing.
  AtenTensor padded(const AtenTensor& tensor) const {
    const int64_t columns = tensor.sizes()[3];
    Sizes sizes(tensor.sizes().begin(), tensor.sizes().end());
    if (columns % 8 == 0) {
      return aten_.another(tensor);
    }
    sizes[3] = (columns + 7) / 8 * 8;
    AtenTensor wide = aten_.empty(sizes, tensor.dtype());
    aten_.zero(wide);
    aten_.copy(firstColumns(aten_.view(wide, sizes, wide.strides()), columns), tensor);
    return wide;
  }

  /// Memory-efficient attention has rows of log-sum-exp of multiples of 32, infinite behind.
  AtenTensor padded32(const AtenTensor& logsumexp) const {
    Sizes sizes(logsumexp.sizes().begin(), logsumexp.sizes().end());
    sizes[2] = (queries_ + 31) / 32 * 32;
    AtenTensor wide = aten_.empty(sizes, DataType::Float);
    aten_.fill(wide, kInfinity);
    sizes[2] = queries_;
    aten_.copy(aten_.view(wide, sizes, wide.strides()), logsumexp);
    return wide;
  }

  void giveForward(AtenTensor output, AtenTensor logsumexp) const {
    give(0, firstColumns(std::move(output), value_.sizes()[3]));
    give(1, firstColumns(std::move(logsumexp), queries_));
  }

  /// Not by the dispatcher, which cannot tell results of different types.
  void flash() const {
    auto made = aten_.flashAttention(padded(query_), padded(key_), padded(value_), dropout_p_,
                                     is_causal_, scale_);
    giveForward(std::move(made[0]), std::move(made[1]));
    if (dropout_p_ == 0) {
      return;
    }
    const AtenTensor& seed = made[2];
    const AtenTensor state = aten_.result(2);
    if (seed.sizes().size() == 1) {  // both in one, since PyTorch 2.7
      aten_.copy(state, seed);
      aten_.copy(aten_.result(3), aten_.view(seed, {}, {}, 1));
    } else {
      aten_.copy(aten_.view(state, {}, {}, 0), seed);
      aten_.copy(aten_.view(state, {}, {}, 1), made[3]);
      aten_.copy(aten_.result(3), made[3]);
    }
  }

  /// {seed, offset} of a dropout.
  AtenTensor state() const {
    TensorRef seed = call_.input(SdpaBwdOp::kSeed);
    if (seed.rank() == 1 && seed.sizes[0] == 2 && seed.strides[0] == 1 &&
        dataTypeSizeByte(seed.dtype) == dataTypeSizeByte(DataType::UInt64)) {
      seed.dtype = DataType::UInt64;  // bits
      return aten_.at(seed);          // of another dtype than the tensor, perhaps
    }
    const Sizes two{2};
    AtenTensor both = aten_.empty(two, DataType::UInt64);
    const AtenTensor given = aten_.at(seed);
    const bool has_both = seed.rank() == 1;
    aten_.copy(aten_.view(both, {}, {}, 0), aten_.view(given, {}, {}));
    aten_.copy(aten_.view(both, {}, {}, 1), has_both ? aten_.view(given, {}, {}, seed.strides[0])
                                                     : aten_.operand(SdpaBwdOp::kOffset));
    return both;
  }

  void flashOfCpu() const {
    auto made =
        aten_.run("aten::_scaled_dot_product_flash_attention_for_cpu", "",
                  {query_, key_, value_, dropout_p_, is_causal_, added(), some(scale_)}, "TT");
    giveForward(std::move(made[0]), std::move(made[1]));
  }

  void efficient() const {
    auto made = aten_.run(
        "aten::_scaled_dot_product_efficient_attention", "",
        {query_, key_, value_, added(), true, dropout_p_, is_causal_, some(scale_)}, "TTTT");
    giveForward(std::move(made[0]), std::move(made[1]));
  }

  ScoredAttention scored() const {
    return {query_, key_, value_, added_ ? &*added_ : nullptr, scale_, is_causal_};
  }

  const AtenProgram& aten_;
  const external::Call& call_;
  AtenTensor query_, key_, value_;
  DataType dtype_;
  int64_t queries_, keys_, depth_;
  std::optional<AtenTensor> added_;  ///< to the scores
  double dropout_p_ = 0;
  double scale_ = 1;
  bool is_causal_ = false;
};

}  // namespace

bool runAttention(const AtenProgram& aten) { return Attention(aten, 0).forward(); }

bool runAttentionBackward(const AtenProgram& aten) { return Attention(aten, 1).backward(); }

}  // namespace nvfuser::python
