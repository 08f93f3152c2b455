#include <device_lower/share_draws.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kWords = 4;      ///< of a block
constexpr int64_t kMostRest = 64;  ///< what an unrolled loop of neighbours has at most

/// The part of an index whose terms are multiples of the words of a block.
Scalar multipleIn(kir::ScalarPool& pool, Scalar element) {
  int64_t constant = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  pool.decompose(element, &constant, &terms);
  Scalar result = pool.constant(constant - constant % kWords);
  for (const auto& [term, coefficient] : terms) {
    Scalar part = pool.mul(term, coefficient);
    if (pool.provesDivisible(part, pool.constant(kWords))) {
      result = pool.add(result, part);
    }
  }
  return result;
}

}  // namespace

void shareDraws(kir::Kernel& kernel) {
  kir::ScalarPool& pool = *kernel.pool;
  Scalar words = pool.constant(kWords);
  kir::forEach(kernel.body, [&](kir::Stmt& stmt) {
    auto* random = std::get_if<kir::Random>(&stmt.node);
    if (random == nullptr || random->dst.buffer->dtype == DataType::Double) {
      return;
    }
    Scalar multiple = multipleIn(pool, random->element);
    Scalar rest = pool.sub(random->element, multiple);
    if (multiple->isConstant() || !pool.provesNonNegative(rest) ||
        !pool.provesLess(rest, pool.constant(kMostRest))) {
      return;
    }
    random->block = pool.add(pool.div(multiple, words), pool.div(rest, words));
    random->word = pool.mod(rest, words);
    random->element = nullptr;
  });
}

}  // namespace nvfuser
