// Indices and predicates of generated kernels, held against the definition of the transforms: the
// kernel IR is run statement by statement on small extents.
#include <doctest/doctest.h>

#include <set>

#include <device_lower/lower.h>
#include <evaluator/expression_evaluator.h>
#include <ops/all_ops.h>
#include <random_schedule.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

using namespace nvfuser;
using kir::Scalar;

namespace {

constexpr int64_t kUnwritten = INT64_MIN;

/// Runs a kernel of copies, one thread after the other. Elements are numbers of input elements.
class Machine {
 public:
  Machine(const Lowering& lowering, const TensorView* in, const std::vector<int64_t>& sizes)
      : kernel_(lowering.kernel) {
    evaluator_.bindTensor(in, sizes);
    for (const auto& buffer : kernel_.buffers) {
      auto& memory = memory_[buffer.get()];
      if (buffer->role == kir::BufferRole::Input) {
        for (int64_t i = 0; i < product(sizes); ++i) {
          memory.push_back(i);
        }
      } else if (buffer->role == kir::BufferRole::Output) {
        memory.assign(static_cast<size_t>(product(sizes)), kUnwritten);
      } else {
        memory.assign(static_cast<size_t>(value(buffer->elements)), kUnwritten);
      }
    }
  }

  const std::vector<int64_t>& run() {
    const ParallelType types[] = {ParallelType::BIDx, ParallelType::BIDy, ParallelType::BIDz,
                                  ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};
    std::vector<int64_t> extents;
    for (int d = 0; d < 6; ++d) {
      const Scalar extent = d < 3 ? kernel_.grid[d] : kernel_.block[d - 3];
      extents.push_back(extent == nullptr ? 1 : value(extent));
    }
    forEachElement(extents, [&](const std::vector<int64_t>& at) {
      for (size_t d = 0; d < 6; ++d) {
        by_name_[std::string(parallelIndexName(types[d]))] = at[d];
      }
      block(kernel_.body);
    });
    for (const auto& buffer : kernel_.buffers) {
      if (buffer->role == kir::BufferRole::Output) {
        return memory_[buffer.get()];
      }
    }
    FAIL("the kernel has no output");
    return memory_.begin()->second;
  }

  static int64_t product(const std::vector<int64_t>& sizes) {
    int64_t all = 1;
    for (int64_t size : sizes) {
      all *= size;
    }
    return all;
  }

 private:
  int64_t value(Scalar a) {
    return kir::evaluate(a, [&](Scalar symbol) -> int64_t {
      if (auto found = symbols_.find(symbol); found != symbols_.end()) {
        return found->second;
      }
      if (auto found = by_name_.find(symbol->name); found != by_name_.end()) {
        return found->second;
      }
      const kir::SymbolSource& source = kernel_.sources.at(symbol);
      REQUIRE(source.val != nullptr);
      return evaluator_.evaluateInt(source.val, "a size");
    });
  }

  int64_t& element(const kir::Ref& ref, int64_t offset = 0) {
    auto& memory = memory_.at(ref.buffer);
    const int64_t index = value(ref.index) + offset;
    CAPTURE(ref.buffer->name);
    CAPTURE(ref.index->toString());
    REQUIRE(index >= 0);
    REQUIRE(index < static_cast<int64_t>(memory.size()));
    return memory[static_cast<size_t>(index)];
  }

  void copy(const kir::Ref& dst, const kir::Ref& src, int64_t width) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t read = element(src, i);
      REQUIRE(read != kUnwritten);
      int64_t& written = element(dst, i);
      if (dst.buffer->role == kir::BufferRole::Output) {
        REQUIRE(written == kUnwritten);  // once
      }
      written = read;
    }
  }

  void block(const kir::Block& statements) {
    for (const kir::Stmt& stmt : statements) {
      if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
        const int64_t extent = value(loop->extent);
        for (int64_t i = 0; i < extent; ++i) {
          symbols_[loop->var] = i;
          block(*loop->body);
        }
      } else if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        if (value(branch->condition) != 0) {
          block(*branch->then_body);
        } else if (branch->else_body) {
          block(*branch->else_body);
        }
      } else if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
        symbols_[let->var] = value(let->value);
      } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
        copy(assign->dst, std::get<kir::Ref>(assign->src), 1);
      } else if (auto* vector = std::get_if<kir::CopyVector>(&stmt.node)) {
        CHECK(value(vector->dst.index) % vector->dst.width == 0);
        copy(vector->dst, vector->src, vector->dst.width);
      } else {
        REQUIRE(std::holds_alternative<kir::Declare>(stmt.node));
      }
    }
  }

  const kir::Kernel& kernel_;
  ExpressionEvaluator evaluator_;
  std::map<const kir::Buffer*, std::vector<int64_t>> memory_;
  std::map<Scalar, int64_t> symbols_;
  std::map<std::string, int64_t> by_name_;
};

/// x → copy → permuted copy, each with a schedule of its own.
struct Permuted {
  Fusion fusion;
  FusionGuard guard{&fusion};
  std::vector<int64_t> sizes;
  std::vector<int64_t> order;  ///< of the output's axes
  TensorView* in;
  TensorView* middle;
  TensorView* out;

  Permuted(RandomSchedule& random, bool symbolic) {
    const int64_t rank = random.number(1, 3);
    for (int64_t i = 0; i < rank; ++i) {
      sizes.push_back(random.number(2, 7));
      order.insert(order.begin() + random.number(0, i), i);
    }
    in = symbolic ? makeContigTensor(rank) : makeContigConcreteTensor(sizes);
    fusion.addInput(in);
    middle = set(in);
    out = permute(middle, order);
    fusion.addOutput(out);
  }

  void check() {
    Lowering lowering = lower(&fusion, LowerOptions());
    CAPTURE(lowering.kernel.toString());
    Machine machine(lowering, in, sizes);
    const std::vector<int64_t>& got = machine.run();
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i-- > 0;) {
      strides[i] = strides[i + 1] * sizes[i + 1];
    }
    std::vector<int64_t> permuted;
    for (int64_t axis : order) {
      permuted.push_back(sizes[static_cast<size_t>(axis)]);
    }
    size_t next = 0;
    forEachElement(permuted, [&](const std::vector<int64_t>& element) {
      int64_t expected = 0;
      for (size_t i = 0; i < element.size(); ++i) {
        expected += element[i] * strides[static_cast<size_t>(order[i])];
      }
      REQUIRE(got[next++] == expected);
    });
  }
};

}  // namespace

TEST_CASE("indices: two copies scheduled apart, constant and symbolic sizes") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomSchedule random(seed);
    Permuted program(random, seed % 2 == 1);
    random.transform(program.middle, random.number(0, 5));
    random.transform(program.out, random.number(0, 5));
    if (random.number(0, 1) == 0) {
      program.middle->setMemoryType(MemoryType::Shared);
    }
    program.check();
  }
}

TEST_CASE("indices: inlined copies, constant and symbolic sizes") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomSchedule random(seed);
    Permuted program(random, seed % 2 == 1);
    random.transform(program.out, random.number(0, 5));
    scheduler_utils::transformPropagateToAllFrom(program.out);
    inlineMost();
    program.check();
  }
}

TEST_CASE("indices: blocks and threads cover every element once") {
  const ParallelType types[] = {ParallelType::TIDx, ParallelType::BIDx, ParallelType::TIDy,
                                ParallelType::BIDy, ParallelType::TIDz};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomSchedule random(seed);
    Permuted program(random, seed % 2 == 1);
    random.transform(program.out, random.number(0, 5));
    size_t next = 0;
    for (int64_t i = 0; i < program.out->nDims() && next < 5; ++i) {
      if (random.number(0, 2) != 0) {
        program.out->axis(i)->parallelize(types[next++]);
      }
    }
    scheduler_utils::transformPropagateToAllFrom(program.out);
    scheduler_utils::parallelizeAllLike(program.out);
    inlineMost();
    program.check();
  }
}

TEST_CASE("predicates: none where every split divides, one where it may not") {
  auto conditions = [](const std::function<void(TensorView*)>& schedule, bool symbolic) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = symbolic ? makeContigTensor(1) : makeContigConcreteTensor({1024});
    fusion.addInput(x);
    TensorView* out = set(x);
    fusion.addOutput(out);
    schedule(out);
    Lowering lowering = lower(&fusion, LowerOptions());
    std::vector<std::string> found;
    kir::forEach(lowering.kernel.body, [&](const kir::Stmt& stmt) {
      if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        found.push_back(branch->condition->toString());
      }
    });
    return join(found, "; ");
  };
  auto plain = [](TensorView*) {};
  auto byFour = [](TensorView* tv) { tv->split(0, 4); };
  auto byThree = [](TensorView* tv) { tv->split(0, 3); };
  auto threads = [](TensorView* tv) {
    tv->split(0, 128);
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(1)->parallelize(ParallelType::TIDx);
  };
  CHECK(conditions(plain, false) == "");
  CHECK(conditions(plain, true) == "");
  CHECK(conditions(byFour, false) == "");
  CHECK(conditions(byThree, false).find("< 1024") != std::string::npos);
  CHECK(conditions(byFour, true).find("< i0") != std::string::npos);
  CHECK(conditions(threads, false) == "");
  CHECK(conditions(threads, true).find("< i0") != std::string::npos);
}

TEST_CASE("predicates: a broadcast bound to threads is in the registers of all of them") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({8, 64});
  fusion.addInput(x);
  TensorView* row = set(x);
  TensorView* total = sum(row, {1});
  TensorView* wide = broadcast(total, {false, true});
  TensorView* out = sub(row, wide);
  fusion.addOutput(out);
  for (TensorView* tv : {row, total, wide, out}) {
    tv->axis(1)->parallelize(ParallelType::TIDx);
  }
  const Lowering lowering = lower(&fusion, LowerOptions());
  kir::forEach(lowering.kernel.body, [&](const kir::Stmt& stmt) {
    CHECK_FALSE(std::holds_alternative<kir::If>(stmt.node));
  });
}

TEST_CASE("predicates: a sum in memory starts where it is taken, beside a part of a broadcast") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = TensorViewBuilder().shape({1, -1, -1}).contiguity(true).build();
  fusion.addInput(x);
  TensorView* total = sum(x, {1});
  TensorView* out = neg(total);
  fusion.addOutput(out);
  Fusion meaning(fusion);
  total->setMemoryType(MemoryType::Global);
  total->split(0, 4, /*inner_split=*/false);
  total->reorder({{1, 2}});
  total->merge(1);  // [4 for the broadcast axis' one element, r1 and what is left of that axis, i2]
  KernelExecutor executor;
  const KernelArgumentHolder args(Tensor::randn({1, 5, 3}, DataType::Float, 5));
  executor.compile(&fusion, args);
  CHECK_NOTHROW(testValidate(&meaning, executor.run(args), args, __LINE__, __FILE__));
}
