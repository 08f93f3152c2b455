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

#include <external/product.h>

namespace nvfuser::external {

using namespace cublaslt;

namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;
constexpr uint32_t kLeastAlignmentOfEpilogue = 16;  ///< bytes, of a bias (pytorch/pytorch#194497)
constexpr int64_t kLongSum = int64_t{1} << 15;
constexpr int64_t kLongestPart = int64_t{1} << 12;  ///< of a long sum
constexpr int kMostProposals = 8;

/// A matrix, column by column as the library has it, or transposed.
struct Operand {
  int64_t rows, columns;  ///< as stored
  int64_t ld;
  bool transposed;
};

std::optional<Operand> operand(int64_t rows, int64_t columns, int64_t row_stride,
                               int64_t column_stride) {
  if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1)) {
    return Operand{rows, columns, columns == 1 ? rows : column_stride, false};
  }
  if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1)) {
    return Operand{columns, rows, rows == 1 ? columns : row_stride, true};
  }
  return std::nullopt;
}

struct Kinds {
  DataKind data;
  ComputeKind compute;
  DataKind scale;
};
std::optional<Kinds> kindsOf(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Half:
      return Kinds{R_16F, Compute32F, R_32F};
    case PrimDataType::BFloat16:
      return Kinds{R_16BF, Compute32F, R_32F};
    case PrimDataType::Float:
      return Kinds{R_32F, Compute32F, R_32F};
    case PrimDataType::Double:
      return Kinds{R_64F, Compute64F, R_64F};
    case PrimDataType::ComplexFloat:
      return Kinds{C_32F, Compute32F, C_32F};
    case PrimDataType::ComplexDouble:
      return Kinds{C_64F, Compute64F, C_64F};
    default:
      return std::nullopt;
  }
}

/// C with its columns side by side in memory: where its rows are, the transposed product.
Product rowMajor(Product p) {
  if (p.c_column == 1 || p.n == 1) {
    return p;
  }
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.a_row, p.b_column);
  std::swap(p.a_column, p.b_row);
  std::swap(p.c_row, p.c_column);
  for (Product::Batch& batch : p.batches) {
    std::swap(batch.a, batch.b);
  }
  return p;
}

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

struct Workspace {
  const Machine& machine;
  void* data;
  ~Workspace() {
    if (data != nullptr) {
      machine.release(data);
    }
  }
};

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
  const auto kinds = kindsOf(given.dtype);
  if (!kinds) {
    *why = text("cuBLASLt has no products of ", dataTypeName(given.dtype));
    return false;
  }
  if (given.numBatches() * given.m * given.n == 0) {
    return true;
  }
  const int64_t size = dataTypeSizeByte(given.dtype);
  const Product p = rowMajor(given);
  // The library's A, B and D: Bᵗ, Aᵗ and Cᵗ.
  const auto a = operand(p.n, p.k, p.b_column, p.b_row);
  const auto b = operand(p.k, p.m, p.a_column, p.a_row);
  const auto d = operand(p.n, p.m, p.c_column, p.c_row);
  if (p.k == 0 || !a || !b || !d || d->transposed) {
    *why = p.k == 0 ? "nothing is summed"
                    : "cuBLASLt takes matrices whose rows or columns lie side by side";
    return false;
  }
  const bool has_bias = given.bias != nullptr;
  const bool is_wide = kinds->compute == Compute64F || kinds->data == C_32F;
  if (has_bias && (p.m != given.m || p.a != given.a || (given.bias_step != 1 && given.n != 1))) {
    *why = "cuBLASLt adds a dense bias to row-major results only";
    return false;
  }
  const bool rounds_twice =
      given.dtype != DataType::Float && (given.end == Epilogue::TanhGelu || given.bias_is_epilogue);
  if (given.end != Epilogue::None && is_wide) {
    *why = text("cuBLASLt ends no products of ", dataTypeName(given.dtype), " with a function");
    return false;
  }
  if (rounds_twice) {
    *why = "cuBLASLt does not round a product before its epilogue";
    return false;
  }
  const Product::Batch inner = p.batches.empty() ? Product::Batch{1, 0, 0, 0} : p.batches.back();
  Descriptors made(table, call);
  const auto describe = [&](uint32_t epilogue) {
    const MatmulDesc desc = made.desc(*kinds);
    if (a->transposed) {
      made.set(desc, TransA, kTransposed);
    }
    if (b->transposed) {
      made.set(desc, TransB, kTransposed);
    }
    if (epilogue != 0) {
      made.set(desc, EpilogueKind, epilogue);
    }
    return desc;
  };
  const uint32_t end = given.end == Epilogue::Relu       ? kEpilogueRelu
                       : given.end == Epilogue::TanhGelu ? kEpilogueGelu
                                                         : 0;
  const Layout of_a = made.layout(kinds->data, *a, inner.size, inner.b);
  const Layout of_b = made.layout(kinds->data, *b, inner.size, inner.a);
  const Layout of_d = made.layout(kinds->data, *d, inner.size, inner.c);
  int64_t outer = 1;
  uint32_t align_a = alignmentOf(p.b, inner.b * size);
  uint32_t align_b = alignmentOf(p.a, inner.a * size);
  uint32_t align_d = alignmentOf(p.c, inner.c * size);
  for (size_t i = 0; i + 1 < p.batches.size(); ++i) {
    outer *= p.batches[i].size;
    align_a = std::min(align_a, alignmentOf(p.b, p.batches[i].b * size));
    align_b = std::min(align_b, alignmentOf(p.a, p.batches[i].a * size));
    align_d = std::min(align_d, alignmentOf(p.c, p.batches[i].c * size));
  }
  const Preference preference = made.preference();
  made.prefer(MaxWorkspaceBytes, kWorkspaceBytes);
  made.prefer(ReductionSchemes, kWideReductionSchemes);
  made.prefer(AlignA, align_a);
  made.prefer(AlignB, align_b);
  made.prefer(AlignC, align_d);
  made.prefer(AlignD, align_d);
  const bool is_narrow = size < dataTypeSizeByte(DataType::Float);
  const bool is_long = is_narrow && p.k > kLongSum;
  Heuristic choice{};
  Status status = kSuccess;
  bool is_found = false;
  MatmulDesc desc = nullptr;
  Layout of_c = of_d;
  const auto choose = [&] {
    std::array<Heuristic, kMostProposals> proposals{};
    int found = 0;
    status = table.MatmulAlgoGetHeuristic(handle, desc, of_a, of_b, of_c, of_d, preference,
                                          is_long ? kMostProposals : 1, proposals.data(), &found);
    const Heuristic* best =
        bestOf(table, {proposals.data(), status == kSuccess ? static_cast<size_t>(found) : 0},
               is_long, p.k);
    is_found = best != nullptr;
    choice = is_found ? *best : Heuristic{};
  };
  bool by_epilogue =
      has_bias && !is_wide && alignmentOf(given.bias, 0) >= kLeastAlignmentOfEpilogue;
  if (by_epilogue) {
    desc = describe(end | kEpilogueBias);
    made.set(desc, BiasPointer, given.bias);
    choose();
    by_epilogue = is_found && !(is_narrow && partsOfSum(table, choice.algorithm) != 1);
  }
  if (!by_epilogue) {
    if (has_bias) {
      of_c = made.layout(kinds->data, {d->rows, d->columns, 0, false}, inner.size, 0);
      made.prefer(AlignC, alignmentOf(given.bias, 0));
    }
    desc = describe(end);
    choose();
  }
  if (!is_found) {
    *why = text("cuBLASLt has no algorithm for a product of ", given.m, " x ", given.k, " and ",
                given.k, " x ", given.n, " (status ", status, ")");
    return false;
  }
  const bool in_double = kinds->scale == R_64F || kinds->scale == C_64F;
  const std::array<double, 2> one_double{1, 0}, zero_double{0, 0};
  const std::array<float, 2> one_float{1, 0}, zero_float{0, 0};
  const void* one = in_double ? static_cast<const void*>(&one_double) : &one_float;
  const void* zero = in_double ? static_cast<const void*>(&zero_double) : &zero_float;
  const Workspace workspace{*call.machine, choice.workspace_bytes > 0
                                               ? call.machine->allocate(choice.workspace_bytes)
                                               : nullptr};
  for (int64_t batch = 0; batch < outer; ++batch) {
    int64_t offset_a = 0, offset_b = 0, offset_c = 0;
    int64_t rest = batch;
    for (size_t i = p.batches.size() < 2 ? 0 : p.batches.size() - 1; i-- > 0;) {
      const int64_t here = rest % p.batches[i].size;
      rest /= p.batches[i].size;
      offset_a += here * p.batches[i].a;
      offset_b += here * p.batches[i].b;
      offset_c += here * p.batches[i].c;
    }
    auto* result = const_cast<char*>(at(p.c, offset_c, size));
    throwIfFailed(
        table.Matmul(handle, desc, one, at(p.b, offset_b, size), of_a, at(p.a, offset_a, size),
                     of_b, of_c == of_d ? zero : one, of_c == of_d ? result : given.bias, of_c,
                     result, of_d, &choice.algorithm, workspace.data, choice.workspace_bytes,
                     call.machine->stream),
        "Matmul", call);
  }
  return true;
}

}  // namespace nvfuser::external
