// C = A · B of row-major tensors is Cᵗ = Bᵗ · Aᵗ for cuBLASLt, whose matrices are column by column.
// Its A is therefore our B, and the bias, one number for each of its rows, one for each of our
// columns.
//
// A bias is added by the library's epilogue, or as its matrix C, all of whose columns are then in
// one place. The epilogue is faster (by up to a fifth, docs/performance.md), but takes aligned
// biases of three dtypes only, and where a sum is cut into parts it adds in the type of the result,
// to what has been rounded (pytorch/pytorch#180875).
//
// Tensor cores cut off what does not fit when they add, so a sum of narrow numbers gets less right
// with each step: of the algorithms that the library proposes for long sums, the first one is taken
// that makes parts short enough (docs/performance.md has errors and times).
#include <external/cublaslt.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <external/cublaslt_form.h>

namespace nvfuser::external {

using namespace cublaslt;

namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;
constexpr uint32_t kLeastAlignmentOfEpilogue = 16;  ///< bytes, of a bias (pytorch/pytorch#194497)
constexpr int64_t kLongSum = int64_t{1} << 15;
constexpr int64_t kLongestPart = int64_t{1} << 12;  ///< of a long sum
constexpr int kMostProposals = 8;

void throwIfFailed(Status status, const char* call, const Call& of) {
  if (status == kSuccess) {
    return;
  }
  userError("cublasLt", call, " failed with status ", status, " for ", of.op->toString(),
            "; a provider registered for ", operationName(of.op), " would run instead");
}

/// The library's objects of one call, destroyed with it.
class Descriptors {
 public:
  Descriptors(const Table& table, const Call& call) : t_(table), call_(call) {}
  ~Descriptors() {
    for (Layout layout : layouts_) {
      t_.MatrixLayoutDestroy(layout);
    }
    for (MatmulDesc desc : descs_) {
      t_.MatmulDescDestroy(desc);
    }
    if (preference_ != nullptr) {
      t_.MatmulPreferenceDestroy(preference_);
    }
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  MatmulDesc desc(const Kinds& kinds) {
    MatmulDesc made = nullptr;
    throwIfFailed(t_.MatmulDescCreate(&made, kinds.compute, kinds.scale), "MatmulDescCreate",
                  call_);
    descs_.push_back(made);
    return made;
  }
  template <typename T>
  void set(MatmulDesc desc, DescAttribute attribute, const T& value) {
    throwIfFailed(t_.MatmulDescSetAttribute(desc, attribute, &value, sizeof value),
                  "MatmulDescSetAttribute", call_);
  }
  Layout layout(DataKind kind, const Operand& o, int64_t batch_count, int64_t batch_stride) {
    Layout made = nullptr;
    throwIfFailed(t_.MatrixLayoutCreate(&made, kind, static_cast<uint64_t>(o.rows),
                                        static_cast<uint64_t>(o.columns), o.ld),
                  "MatrixLayoutCreate", call_);
    layouts_.push_back(made);
    if (batch_count > 1) {
      const auto count = static_cast<int32_t>(batch_count);
      throwIfFailed(t_.MatrixLayoutSetAttribute(made, BatchCount, &count, sizeof count),
                    "MatrixLayoutSetAttribute", call_);
      throwIfFailed(
          t_.MatrixLayoutSetAttribute(made, BatchStride, &batch_stride, sizeof batch_stride),
          "MatrixLayoutSetAttribute", call_);
    }
    return made;
  }
  Preference preference() {
    throwIfFailed(t_.MatmulPreferenceCreate(&preference_), "MatmulPreferenceCreate", call_);
    return preference_;
  }
  template <typename T>
  void prefer(PreferenceAttribute attribute, const T& value) {
    throwIfFailed(t_.MatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
                  "MatmulPreferenceSetAttribute", call_);
  }

 private:
  const Table& t_;
  const Call& call_;
  std::vector<MatmulDesc> descs_;
  Preference preference_ = nullptr;
  std::vector<Layout> layouts_;
};

/// Bytes that an address, and those of all batches, are a multiple of; at most 256.
uint32_t alignmentOf(const void* data, int64_t batch_bytes) {
  const auto bits = reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(batch_bytes) | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

/// How many parts of each sum are made apart and added up; nothing of what cannot say so.
std::optional<int64_t> partsOfSum(const Table& table, const Algorithm& algorithm) {
  int32_t parts = 0;
  size_t written = 0;
  const Status status =
      table.MatmulAlgoConfigGetAttribute(&algorithm, PartsOfSum, &parts, sizeof parts, &written);
  return status == kSuccess ? std::optional<int64_t>(std::max(parts, 1)) : std::nullopt;
}

/// The library's first proposal, for long sums the first one with short parts; null without any.
const Heuristic* bestOf(const Table& table, std::span<const Heuristic> proposals, bool is_long,
                        int64_t length) {
  const Heuristic* first = nullptr;
  for (const Heuristic& proposal : proposals) {
    if (proposal.state != kSuccess) {
      continue;
    }
    first = first == nullptr ? &proposal : first;
    if (!is_long || partsOfSum(table, proposal.algorithm).value_or(1) * kLongestPart >= length) {
      return &proposal;
    }
  }
  return first;
}

const char* at(const void* data, int64_t elements, int64_t size) {
  return static_cast<const char*>(data) + elements * size;
}

/// What the library is told of a product, and the algorithm that it proposes for it.
class Plan {
 public:
  Plan(const Table& table, Handle handle, const Call& call, const Form& form)
      : table_(table), handle_(handle), form_(form), made_(table, call) {
    const Product::Batch inner = form.inner();
    a = made_.layout(form.kinds.data, form.a, inner.size, inner.b);
    b = made_.layout(form.kinds.data, form.b, inner.size, inner.a);
    c = d = made_.layout(form.kinds.data, form.d, inner.size, inner.c);
    preference_ = made_.preference();
    made_.prefer(MaxWorkspaceBytes, kWorkspaceBytes);
    made_.prefer(ReductionSchemes, kWideReductionSchemes);
    made_.prefer(AlignA, alignmentOfAll(form.p.b, &Product::Batch::b));
    made_.prefer(AlignB, alignmentOfAll(form.p.a, &Product::Batch::a));
    made_.prefer(AlignC, alignmentOfAll(form.p.c, &Product::Batch::c));
    made_.prefer(AlignD, alignmentOfAll(form.p.c, &Product::Batch::c));
    if (!chooseWithBiasAsEpilogue()) {
      chooseWithBiasAsMatrix();
    }
  }

  MatmulDesc desc = nullptr;
  Layout a, b, c, d;  ///< c is d where nothing is added by it
  std::optional<Heuristic> choice;
  Status status = kSuccess;  ///< the library's, where it proposes nothing

 private:
  bool isNarrow() const { return form_.elementSize() < dataTypeSizeByte(DataType::Float); }

  /// The alignment of an operand's part in each batch.
  uint32_t alignmentOfAll(const void* data, int64_t Product::Batch::* step) const {
    uint32_t least = alignmentOf(data, 0);
    for (const Product::Batch& batch : form_.p.batches) {
      least = std::min(least, alignmentOf(data, batch.*step * form_.elementSize()));
    }
    return least;
  }

  void describe(uint32_t more_of_epilogue) {
    desc = made_.desc(form_.kinds);
    if (form_.a.transposed) {
      made_.set(desc, TransA, kTransposed);
    }
    if (form_.b.transposed) {
      made_.set(desc, TransB, kTransposed);
    }
    const uint32_t end = form_.given.end == Epilogue::Relu       ? kEpilogueRelu
                         : form_.given.end == Epilogue::TanhGelu ? kEpilogueGelu
                                                                 : 0;
    if ((end | more_of_epilogue) != 0) {
      made_.set(desc, EpilogueKind, end | more_of_epilogue);
    }
  }

  void choose() {
    const int64_t length = form_.p.k;
    const bool is_long = isNarrow() && length > kLongSum;
    std::array<Heuristic, kMostProposals> proposals{};
    int found = 0;
    status = table_.MatmulAlgoGetHeuristic(handle_, desc, a, b, c, d, preference_,
                                           is_long ? kMostProposals : 1, proposals.data(), &found);
    const size_t usable = status == kSuccess ? static_cast<size_t>(found) : 0;
    const Heuristic* best = bestOf(table_, {proposals.data(), usable}, is_long, length);
    choice = best != nullptr ? std::optional(*best) : std::nullopt;
  }

  bool chooseWithBiasAsEpilogue() {
    const void* bias = form_.given.bias;
    if (bias == nullptr || form_.isWide() || alignmentOf(bias, 0) < kLeastAlignmentOfEpilogue) {
      return false;
    }
    describe(kEpilogueBias);
    made_.set(desc, BiasPointer, bias);
    choose();
    return choice && !(isNarrow() && partsOfSum(table_, choice->algorithm) != 1);
  }

  /// The bias, if there is one, is C.
  void chooseWithBiasAsMatrix() {
    if (form_.given.bias != nullptr) {
      const Operand column{form_.d.rows, form_.d.columns, 0, false};
      c = made_.layout(form_.kinds.data, column, form_.inner().size, 0);
      made_.prefer(AlignC, alignmentOf(form_.given.bias, 0));
    }
    describe(0);
    choose();
  }

  const Table& table_;
  Handle handle_;
  const Form& form_;
  Descriptors made_;
  Preference preference_ = nullptr;
};

struct Workspace {
  const Machine& machine;
  void* data;
  ~Workspace() {
    if (data != nullptr) {
      machine.release(data);
    }
  }
};

/// One call of the library for each index of the outer axes of batches.
void multiplyBatches(const Table& table, Handle handle, const Call& call, const Form& form,
                     const Plan& plan) {
  const bool in_double = form.kinds.scale == R_64F || form.kinds.scale == C_64F;
  const std::array<double, 2> one_double{1, 0}, zero_double{0, 0};
  const std::array<float, 2> one_float{1, 0}, zero_float{0, 0};
  const void* one = in_double ? static_cast<const void*>(&one_double) : &one_float;
  const void* zero = in_double ? static_cast<const void*>(&zero_double) : &zero_float;
  const size_t bytes = plan.choice->workspace_bytes;
  const Workspace workspace{*call.machine, bytes > 0 ? call.machine->allocate(bytes) : nullptr};
  std::vector<Product::Batch> outer = form.p.batches;
  if (!outer.empty()) {
    outer.pop_back();
  }
  int64_t calls = 1;
  for (const Product::Batch& batch : outer) {
    calls *= batch.size;
  }
  for (int64_t index = 0; index < calls; ++index) {
    int64_t offset_a = 0, offset_b = 0, offset_c = 0;
    int64_t rest = index;
    for (size_t i = outer.size(); i-- > 0;) {
      const int64_t here = rest % outer[i].size;
      rest /= outer[i].size;
      offset_a += here * outer[i].a;
      offset_b += here * outer[i].b;
      offset_c += here * outer[i].c;
    }
    const int64_t size = form.elementSize();
    auto* result = const_cast<char*>(at(form.p.c, offset_c, size));
    const bool adds_c = plan.c != plan.d;
    throwIfFailed(
        table.Matmul(handle, plan.desc, one, at(form.p.b, offset_b, size), plan.a,
                     at(form.p.a, offset_a, size), plan.b, adds_c ? one : zero,
                     adds_c ? form.given.bias : result, plan.c, result, plan.d,
                     &plan.choice->algorithm, workspace.data, bytes, call.machine->stream),
        "Matmul", call);
  }
}

}  // namespace

bool runCublasLt(const Call& call, std::string* why) {
  if (!call.op->isOneOf<MatmulOp, LinearOp>()) {
    return false;  // it has products of matrices alone
  }
  const Opened opened = openCublasLt(call.machine->index, why);
  if (opened.table == nullptr) {
    return false;
  }
  return runCublasLt(*opened.table, opened.handle, call, why);
}

bool runCublasLt(const Table& table, Handle handle, const Call& call, std::string* why) {
  const Product given = productOf(call);
  if (kindsOf(given.dtype) && given.numBatches() * given.m * given.n == 0) {
    return true;
  }
  const std::optional<Form> form = formOf(given, why);
  if (!form) {
    return false;
  }
  const Plan plan(table, handle, call, *form);
  if (!plan.choice) {
    *why = text("cuBLASLt has no algorithm for a product of ", given.m, " x ", given.k, " and ",
                given.k, " x ", given.n, " (status ", plan.status, ")");
    return false;
  }
  multiplyBatches(table, handle, call, *form, plan);
  return true;
}

}  // namespace nvfuser::external
