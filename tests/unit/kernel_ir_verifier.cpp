// The verifier of the kernel IR: sound kernels pass, each broken rule is named.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include <kernel_ir/verifier.h>
#include <support/error.h>

namespace nvfuser {
namespace {

/// for k in 0..4: T1 = T0[k]; with T1 declared inside.
struct Sample {
  kir::Kernel kernel;
  kir::Buffer* in;
  kir::Buffer* local;
  kir::Scalar k;
  std::shared_ptr<kir::Block> body = std::make_shared<kir::Block>();

  Sample() {
    kernel.name = "sample";
    in = kernel.addBuffer({.name = "T0",
                           .dtype = DataType::Float,
                           .memory = MemoryType::Global,
                           .role = kir::BufferRole::Input});
    local = kernel.addBuffer({.name = "T1", .dtype = DataType::Float});
    local->elements = kernel.pool->constant(1);
    k = kernel.pool->symbol("k", kernel.pool->constant(4));
    body->push_back({kir::Declare{local}});
    body->push_back({kir::Assign{{local, kernel.pool->zero(), 1}, kir::Ref{in, k, 1}}});
    kernel.body.push_back(
        {kir::For{k, kernel.pool->constant(4), kir::LoopKind::Serial, false, "", body}});
  }

  std::string verdict() const {
    try {
      kir::verify(kernel, kernel.sources);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "sound";
  }
};

TEST_CASE("kernel IR: a sound kernel passes") { CHECK(Sample().verdict() == "sound"); }

TEST_CASE("kernel IR: each broken rule is named") {
  struct Row {
    const char* words;
    std::function<void(Sample&)> damage;
  };
  const Row rows[] = {
      {"'k' is used in k but not defined before it",
       [](Sample& s) {
         std::get<kir::For>(s.kernel.body[0].node).var = s.kernel.pool->symbol("j");
       }},
      {"T1 is used in a write outside the scope that declares it",
       [](Sample& s) { s.body->erase(s.body->begin()); }},
      {"T1 is declared twice",
       [](Sample& s) { s.body->insert(s.body->begin(), {kir::Declare{s.local}}); }},
      {"an access to T1 has width 0",
       [](Sample& s) { std::get<kir::Assign>((*s.body)[1].node).dst.width = 0; }},
      {"an access to T1 has no index",
       [](Sample& s) { std::get<kir::Assign>((*s.body)[1].node).dst.index = nullptr; }},
      {"a buffer of a write is not the kernel's",
       [](Sample& s) {
         static kir::Buffer stranger;
         std::get<kir::Assign>((*s.body)[1].node).dst.buffer = &stranger;
       }},
      {"a loop lacks its variable, extent or body",
       [](Sample& s) { std::get<kir::For>(s.kernel.body[0].node).extent = nullptr; }},
      {"T0 has no place in shared memory",
       [](Sample& s) {
         s.in->memory = MemoryType::Shared;
         s.in->read = true;
         s.kernel.shared_bytes = s.kernel.pool->constant(16);
       }},
  };
  for (const Row& row : rows) {
    Sample sample;
    row.damage(sample);
    const std::string verdict = sample.verdict();
    CHECK_MESSAGE(verdict.find(row.words) != std::string::npos, row.words, "\n", verdict);
  }
}

}  // namespace
}  // namespace nvfuser
