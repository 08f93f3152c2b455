/// Loops of which the host's compiler must not make vectors.
///
/// GCC 12, for CPUs with AVX2 and no AVX-512, makes a masked gather of a read at a computed place,
///
///   for (k = 0; k < 64; ++k)
///     if (b < 1) T1[k] = T0[k / 32];
///
/// with a mask of all ones or none, since no iteration changes the condition. Having asked whether
/// it is none, it goes on with lanes of 1, as truth values have, where the gather looks at a lane's
/// sign: nothing is read, and T1 becomes zeros. A condition that iterations change is a vector, and
/// right; so are places that are linear in k, of which no gather is made. At -O2 it makes vectors
/// of loops alone whose length it knows. (`-funswitch-loops` would ask before the loop, but gives
/// up on long ones.)
#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>

namespace nvfuser::codegen {

bool HostEmitter::gathersUnderOneCondition(const kir::For& loop) {
  LaneLoop lanes;
  lanes.var = loop.var;
  bool is_known = loop.extent->isConstant();  // and the loops inside, which may be written out
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    if (auto* inner = std::get_if<kir::For>(&stmt.node)) {
      is_known &= inner->extent->isConstant();
    } else if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
      lanes.lets[let->var] = kernel_.pool->substitute(let->value, lanes.lets);
    } else if (auto* load = std::get_if<kir::LoadIndex>(&stmt.node)) {
      lanes.varying.push_back(load->var);
    }
  });
  if (!is_known) {
    return false;
  }
  const auto is_changed = [&](kir::Scalar condition) {
    const kir::Scalar whole = kernel_.pool->substitute(condition, lanes.lets);
    return kir::ScalarPool::contains(whole, lanes.var) ||
           std::any_of(lanes.varying.begin(), lanes.varying.end(), [&](kir::Scalar loaded) {
             return kir::ScalarPool::contains(whole, loaded);
           });
  };
  bool has_one_condition = false;
  bool gathers = false;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      has_one_condition |= !is_changed(branch->condition);
    }
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
      gathers |= !is_write && !strideOf(ref, lanes).has_value();
    });
  });
  return has_one_condition && gathers;
}

void HostEmitter::loopStart(const kir::For& loop) {
  if (gathersUnderOneCondition(loop)) {
    out_.line("asm(\"\");",
              "no vectors: GCC's gathers under a condition of all lanes read nothing");
  }
}

}  // namespace nvfuser::codegen
