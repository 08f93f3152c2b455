/// swizzleTMABox, applyMmaSwizzleForTMALoad: a box in shared memory as the copy engine swizzles it,
/// so that threads that read a column of it meet different banks.
///
///   rows r, columns c of 128 bytes     →   memory [r/8, r%8, (c/16 bytes) ^ (r%8), rest of c]
///
/// The loops go through rows and columns as before; only memory is laid out otherwise.
#include <tuple>

#include <ir/builder.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

constexpr int64_t kPieceBytes = 16;  ///< what changes places
constexpr int64_t kLineBytes = 128;  ///< of lines, by whose number among eight they do
constexpr int64_t kLines = 8;

int64_t bytesOf(MmaInputSmemSwizzle swizzle) {
  switch (swizzle) {
    case MmaInputSmemSwizzle::None:
      return 0;
    case MmaInputSmemSwizzle::B32:
      return 32;
    case MmaInputSmemSwizzle::B64:
      return 64;
    case MmaInputSmemSwizzle::B128:
      return 128;
  }
  return 0;
}

std::pair<IterDomain*, IterDomain*> splitBy(IterDomain* axis, int64_t factor) {
  return IterDomain::split(axis, IrBuilder::create<Val>(factor, DataType::Index), true);
}

}  // namespace

void TensorView::swizzleTMABox(MmaInputSmemSwizzle swizzle) {
  const int64_t row_bytes = bytesOf(swizzle);
  if (row_bytes == 0) {
    return;
  }
  if (nDims() < 2) {
    scheduleError("swizzleTMABox", this,
                  text("a box has rows and columns, but T", name(), " has ", nDims(), " axes"),
                  "split the tensor's axes into tiles first");
  }
  IterDomain* rows = axis(-2);
  IterDomain* columns = axis(-1);
  const int64_t bytes = dataTypeSizeByte(dtype());
  const auto constant = [](const IterDomain* id) {
    return id->extent()->isConst() ? id->extent()->value().as<int64_t>() : 0;
  };
  if (constant(columns) * bytes != row_bytes) {
    scheduleError("swizzleTMABox", this,
                  text(axisText(this, nDims() - 1), " has rows of ", columns->extent(), " times ",
                       bytes, " bytes, but the swizzle is one of ", row_bytes, " bytes"),
                  text("split it by ", row_bytes / bytes));
  }
  if (constant(rows) == 0 || constant(rows) % kLines != 0) {
    scheduleError("swizzleTMABox", this,
                  text(axisText(this, nDims() - 2), " has ", rows->extent(),
                       " rows, which are no constant multiple of ", kLines),
                  text("split it by ", kLines, " or a multiple"));
  }
  std::vector<IterDomain*> memory = getLoopDomain();
  memory.resize(memory.size() - 2);
  // Lines of 128 bytes take turns; rows are a whole one or a part of it.
  const int64_t rows_of_line = kLineBytes / row_bytes;
  const int64_t places = row_bytes / kPieceBytes;
  auto [groups, in_group] = splitBy(rows, places * rows_of_line);
  memory.push_back(groups);
  IterDomain* line = in_group;
  IterDomain* in_line = nullptr;
  if (rows_of_line > 1) {
    std::tie(line, in_line) = splitBy(in_group, rows_of_line);
  }
  auto [piece, element] = splitBy(columns, kPieceBytes / bytes);
  auto [line_out, piece_out] = IterDomain::swizzle(SwizzleType::XOR, line, piece);
  memory.push_back(line_out);
  if (in_line != nullptr) {
    memory.push_back(in_line);
  }
  memory.push_back(piece_out);
  memory.push_back(element);
  setAllocationDomain(std::move(memory), true);
}

void TensorView::applyMmaSwizzleForTMALoad(MmaInputSmemSwizzle swizzle) {
  swizzleTMABox(swizzle);
  axis(-2)->parallelize(ParallelType::Bulk);
  axis(-1)->parallelize(ParallelType::Bulk);
}

}  // namespace nvfuser
