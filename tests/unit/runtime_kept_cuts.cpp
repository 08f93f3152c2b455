// Cuts of Fusions in the disk cache: what a key holds, and what is not believed.
#include <doctest/doctest.h>

#include <cache_folder.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ir/exact_numerics.h>
#include <ops/all_ops.h>
#include <runtime/kept_cuts.h>

using namespace nvfuser;
using namespace nvfuser::cache_test;

namespace {

/// Sums of rows and of columns of one exponential.
std::unique_ptr<Fusion> sumsOfBoth(double factor = 2.0) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* in = makeContigTensor(2);
  fusion->addInput(in);
  Val* number = IrBuilder::create<Val>(DataType::Double);
  fusion->addInput(number);
  TensorView* scaled = mul(exp(in), IrBuilder::create<Val>(factor, DataType::Double));
  fusion->addOutput(sum(scaled, {0}));
  fusion->addOutput(mul(sum(scaled, {1}), number));
  return fusion;
}

/// Its first `first` operations, and the others.
std::vector<Group> twoGroups(const Fusion& fusion, std::ptrdiff_t first) {
  const std::vector<Expr*> exprs = tensorExprs(fusion);
  const std::vector<Expr*> begin(exprs.begin(), exprs.begin() + first);
  const std::vector<Expr*> end(exprs.begin() + first, exprs.end());
  std::vector<Group> groups;
  for (const std::vector<Expr*>& part : {begin, end}) {
    groups.push_back(makeGroup(part, [&](const TensorView* tv) {
      return tv->isFusionOutput() || tv->definition() == exprs[static_cast<size_t>(first) - 1];
    }));
  }
  return groups;
}

KernelArgumentHolder arguments(const std::vector<int64_t>& sizes, double number) {
  KernelArgumentHolder args;
  args.push(Tensor::ones(sizes, DataType::Float));
  args.push(number);
  return args;
}

}  // namespace

TEST_CASE("kept cuts: a cut comes back as it was, also for a copy of the fusion") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const auto fusion = sumsOfBoth();
  CHECK_FALSE(findCut(*fusion, "key", cache).has_value());
  const std::vector<Group> groups = twoGroups(*fusion, 2);
  keepCut(*fusion, "key", groups, cache);
  const auto found = findCut(*fusion, "key", cache);
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(found->at(i).exprs == groups[i].exprs);
    CHECK(found->at(i).outputs == groups[i].outputs);
    CHECK(found->at(i).inputs == groups[i].inputs);
  }
  const auto again = sumsOfBoth();
  const auto of_copy = findCut(*again, "key", cache);
  REQUIRE(of_copy.has_value());
  CHECK(of_copy->at(1).exprs.front()->toString() == groups[1].exprs.front()->toString());
}

TEST_CASE("kept cuts: an entry that says no cut of the fusion is not there") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const auto fusion = sumsOfBoth();
  const std::vector<Group> groups = twoGroups(*fusion, 2);
  auto finds = [&](const std::vector<Group>& kept) {
    keepCut(*fusion, "key", kept, cache);
    return findCut(*fusion, "key", cache).has_value();
  };
  CHECK(finds(groups));
  CHECK_FALSE(finds({groups[0]}));             // outputs are missing
  CHECK_FALSE(finds({groups[1], groups[0]}));  // what it reads comes later
  std::vector<Group> unstored = groups;
  unstored[0].outputs.clear();
  CHECK_FALSE(finds(unstored));
  for (const char* payload : {"", "x", "1 99\n", "-1\n", "1 0 99\n", "5 0 1 2 3 4\n"}) {
    cache.store("key", payload);
    CHECK_MESSAGE(!findCut(*fusion, "key", cache).has_value(), payload);
  }
}

TEST_CASE("kept cuts: whatever a cut may depend on is in the key") {
  const auto fusion = sumsOfBoth();
  const Options options = Options::current();
  const KernelArgumentHolder args = arguments({8, 12}, 3.0);
  const std::string key = cutKey(*fusion, args, cpuDevice(), DataType::Int, options);
  CHECK(cutKey(*sumsOfBoth(), args, cpuDevice(), DataType::Int, options) == key);
  CHECK(cutKey(*fusion, arguments({8, 12}, 4.0), cpuDevice(), DataType::Int, options) == key);

  CHECK(cutKey(*sumsOfBoth(2.5), args, cpuDevice(), DataType::Int, options) != key);
  CHECK(cutKey(*fusion, arguments({8, 13}, 3.0), cpuDevice(), DataType::Int, options) != key);
  CHECK(cutKey(*fusion, args, emulatedDevice(), DataType::Int, options) != key);
  CHECK(cutKey(*fusion, args, cpuDevice(), DataType::Int32, options) != key);
  const Options contracting = options.enable("fma");
  CHECK(cutKey(*fusion, args, cpuDevice(), DataType::Int, contracting) != key);
  KernelArgumentHolder turned;
  turned.push(Tensor::meta({8, 12}, {1, 8}, DataType::Float));
  turned.push(3.0);
  CHECK(cutKey(*fusion, turned, cpuDevice(), DataType::Int, options) != key);
  const auto exact = sumsOfBoth();
  computeExactly(*exact);
  CHECK(cutKey(*exact, args, cpuDevice(), DataType::Int, options) != key);
}
