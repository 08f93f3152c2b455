/// Cutting with schedulers that are made up for the purpose.
#include <segment_checks.h>

namespace nvfuser {
namespace {

TEST_CASE("nothing to compute gives no group, and what is taken whole is one") {
  Draft empty;
  empty.output(empty.input({4}));
  CHECK(empty.cut(takesAll).empty());

  Draft draft;
  draft.output(sin(sum(draft.input({-1, -1}), {1})));
  CHECK(draft.cut(takesAll).size() == 1);
  CHECK(draft.counts.questions == 1);
  CHECK(draft.cut([](const Group&) { return false; }).size() == 2);
}

TEST_CASE("no kernel goes across a segment_set, unless it copies an input") {
  const auto groups = [](bool cuts) {
    Draft draft;
    TensorView* x = draft.input({-1, -1});
    TensorView* first = sin(segment_set(x));
    TensorView* second = cuts ? segment_set(first) : set(first);
    draft.output(add(exp(second), cos(second)));
    return draft.cut(takesAll);
  };
  CHECK(groups(false).size() == 1);
  const std::vector<Group> cut = groups(true);
  REQUIRE(cut.size() == 2);
  CHECK(cut[0].exprs.size() == 3);
  CHECK(cut[0].outputs == cut[1].inputs);

  Draft last;  // nobody reads it
  last.output(segment_set(sin(last.input({-1, -1}))));
  CHECK(last.cut(takesAll).size() == 1);

  Draft around;  // not by computing it again, and not by way of another reader
  TensorView* x = around.input({-1, -1});
  TensorView* middle = segment_set(neg(x));
  around.output(sub(broadcast(max(middle, {1}), {false, true}), add(middle, x)));
  CHECK(around.cut(takesAll).size() == 2);
}

TEST_CASE("angles of a few turns are computed once on a GPU, and light work where it is needed") {
  const auto groups = [](bool is_heavy, DeviceKind device) {
    Draft draft;
    TensorView* few = draft.input({8});
    TensorView* points = draft.input({64, 8, 1 << 16});
    TensorView* factor = broadcast(is_heavy ? cos(few) : neg(few), {true, false, true});
    draft.output(sum(mul(points, sub(points, factor)), {2}));
    draft.output(mul(points, factor));
    return draft.cut(takesAll, device).size();
  };
  CHECK(groups(true, DeviceKind::Cuda) == 2);
  CHECK(groups(false, DeviceKind::Cuda) == 1);
}

TEST_CASE("kernels of one form stay one launch: none of them computes more than the others") {
  // Sums over the rows of what is stored for a sum over columns: each could be made of x instead.
  Draft draft;
  TensorView* x = draft.input({512, 64});
  std::vector<TensorView*> products;
  TensorView* total = x;
  for (int step = 2; step < 10; ++step) {
    products.push_back(mul(x, IrBuilder::create<Val>(static_cast<double>(step))));
    total = add(total, products.back());
  }
  draft.output(sum(total, {1}));
  for (TensorView* one : products) {
    draft.output(sum(one, {0}));
  }
  // Schedulers that take one reduction a kernel.
  const std::vector<Group> groups = draft.cut([](const Group& group) {
    return std::count_if(group.exprs.begin(), group.exprs.end(),
                         [](const Expr* expr) { return expr->isA<ReductionOp>(); }) <= 1;
  });
  size_t alone = 0;
  for (const Group& group : groups) {
    alone += group.exprs.size() == 1 && group.exprs[0]->isA<ReductionOp>() ? 1 : 0;
  }
  CHECK(alone == products.size());
}

TEST_CASE("a merge that would make a cycle is not made") {
  // b and d could be one kernel, but the sort between them reads one and feeds the other.
  Draft draft;
  TensorView* b = sin(draft.input({1024, 1024}));
  TensorView* c = draft.opaque(b);
  draft.output(add(b, c));
  const std::vector<Group> groups = draft.cut(takesAll);
  REQUIRE(groups.size() == 3);
  CHECK(groups[1].exprs[0]->isA<TopKOp>());
}

TEST_CASE("longer ways around, and merges that two other merges together would close") {
  // a1 -> S1 -> b2 and b1 -> S2 -> a2: {a1, a2} and {b1, b2} must not both be merged.
  Draft draft;
  TensorView* x = draft.input({1024, 1024});
  TensorView* a1 = sin(x);
  TensorView* b1 = cos(x);
  TensorView* a2 = mul(a1, draft.opaque(b1));
  TensorView* b2 = mul(b1, draft.opaque(a1));
  draft.output(a2);
  draft.output(b2);
  const std::vector<Group> groups = draft.cut(takesAll);
  CHECK(groups.size() == 5);  // the sorts, and either {a1, b1} or one of the two pairs
}

TEST_CASE("siblings that share an input become one kernel, also without a way between them") {
  Draft draft;
  TensorView* x = draft.input({-1, -1});
  draft.output(sin(x));
  draft.output(draft.opaque(draft.input({1024, 1024})));
  draft.output(cos(x));
  draft.output(exp(x));
  CHECK(draft.cut(takesAll).size() == 2);
}

TEST_CASE("siblings of a small tensor are apart where both results would be held for longer") {
  auto groups = [](int64_t rows) {
    Draft draft;
    TensorView* bias = broadcast(draft.input({1024}), {true, false});
    for (int i = 0; i < 2; ++i) {
      draft.output(draft.opaque(add(draft.input({rows, 1024}), bias)));
    }
    return draft.cut(takesAll).size();
  };
  CHECK(groups(1024) == 3);       // a launch less for 4 MB
  CHECK(groups(64 * 1024) == 4);  // 256 MB until the first one is sorted
}

/// `steps` of a recurrence over the middle axis of the input, joined along it.
TensorView* joinedSteps(Draft& draft, int64_t steps, bool costly) {
  TensorView* x = draft.input({64, steps, 1024});
  TensorView* h = nullptr;
  std::vector<TensorView*> rows;
  for (int64_t i = 0; i < steps; ++i) {
    TensorView* part = select(x, 1, IrBuilder::create<Val>(i, DataType::Index));
    h = h == nullptr ? part : add(h, part);
    h = costly ? tanh(h) : h;
    rows.push_back(unsqueeze(h, 1));
  }
  return draft.output(cat(rows, 1));
}

TEST_CASE("on the CPU the steps of a recurrence are stored before they are joined") {
  const auto count_groups = [](int64_t steps, bool costly, DeviceKind device) {
    Draft draft;
    joinedSteps(draft, steps, costly);
    return draft.cut(takesAll, device).size();
  };
  CHECK(count_groups(12, true, DeviceKind::Cuda) == 1);
  CHECK(count_groups(2, false, DeviceKind::Cpu) == 1);
  Draft draft;
  joinedSteps(draft, 12, true);
  const std::vector<Group> costly = draft.cut(takesAll, DeviceKind::Cpu);
  CHECK(costly.size() >= 2);
  for (const Group& group : costly) {
    const auto count = [&](auto is) {
      return std::count_if(group.exprs.begin(), group.exprs.end(), is);
    };
    const auto joins = count([](const Expr* expr) { return expr->isA<CatOp>(); });
    const auto steps = count([](const Expr* expr) { return expr->isA<UnaryOp>(); });
    CHECK((joins == 0 || steps <= 1));
  }
}

/// Rows that are negated, and one whose tanh is joined to them.
std::vector<Group> joinedRow(Draft& draft, int64_t rows, DeviceKind device) {
  TensorView* others = neg(draft.input({16, rows, 64}));
  draft.output(cat({others, tanh(draft.input({16, 1, 64}))}, 1));
  return draft.cut(takesAll, device);
}

TEST_CASE("on the CPU the costly one of two parts is stored before it is joined") {
  Draft gpu;
  CHECK(joinedRow(gpu, 255, DeviceKind::Cuda).size() == 1);
  Draft few;
  CHECK(joinedRow(few, 3, DeviceKind::Cpu).size() == 1);  // a launch takes longer
  Draft draft;
  const std::vector<Group> groups = joinedRow(draft, 255, DeviceKind::Cpu);
  REQUIRE(groups.size() == 2);  // rows are negated where they are joined
  for (const Group& group : groups) {
    CHECK(std::count_if(group.exprs.begin(), group.exprs.end(),
                        [](const Expr* expr) { return expr->isA<UnaryOp>(); }) == 1);
  }
}

TEST_CASE("on the CPU what is stretched between two axes is stored where that takes less") {
  const auto groups = [](std::vector<bool> stretched, bool costly, DeviceKind device) {
    Draft draft;
    TensorView* query = draft.input({16, 64});
    query = costly ? tanh(query) : query;
    draft.output(sum(mul(draft.input({16, 1024, 64}), broadcast(query, stretched)), {2}));
    return draft.cut(takesAll, device).size();
  };
  const std::vector<bool> between{false, true, false};
  CHECK(groups(between, true, DeviceKind::Cuda) == 1);
  CHECK(groups(between, false, DeviceKind::Cpu) == 1);
  CHECK(groups(between, true, DeviceKind::Cpu) == 2);
  Draft draft;  // along inner axes it is computed outside of their loops
  TensorView* scale = broadcast(tanh(draft.input({16, 1024})), {false, false, true});
  draft.output(mul(draft.input({16, 1024, 64}), scale));
  CHECK(draft.cut(takesAll, DeviceKind::Cpu).size() == 1);
}

TEST_CASE(
    "on the CPU what is stretched along an outer axis is stored where it is too long to hold") {
  const auto groups = [](int64_t elements, bool costly, DeviceKind device) {
    Draft draft;
    TensorView* of_all = draft.input({elements});
    of_all = broadcast(costly ? tanh(of_all) : of_all, {true, false});
    draft.output(mul(draft.input({64, elements}), of_all));
    return draft.cut(takesAll, device).size();
  };
  CHECK(groups(8192, true, DeviceKind::Cpu) == 2);
  CHECK(groups(512, true, DeviceKind::Cpu) == 1);
  CHECK(groups(8192, false, DeviceKind::Cpu) == 1);
  CHECK(groups(8192, true, DeviceKind::Cuda) == 1);
}

TEST_CASE("on the CPU few numbers that reductions of many rows read are computed before") {
  const auto groups = [](bool costly, bool reduces, int64_t rows) {
    Draft draft;
    TensorView* few = draft.input({16, 16});
    few = broadcast(costly ? log(few) : neg(few), {true, false, false});
    TensorView* all = mul(broadcast(draft.input({rows, 16}), {false, true, false}), few);
    draft.output(reduces ? sum(all, {2}) : all);
    return draft.cut(takesAll, DeviceKind::Cpu).size();
  };
  CHECK(groups(true, true, 20000) == 2);
  CHECK(groups(true, true, 4) == 1);
  CHECK(groups(false, true, 20000) == 1);
  CHECK(groups(true, false, 20000) == 1);  // held
}

TEST_CASE("on the CPU what is read at an index more often than it is there is computed before") {
  const auto groups = [](bool costly, int64_t reads) {
    Draft draft;
    TensorView* x = draft.input({512, 80});
    TensorView* y = costly ? mul(tanh(x), log(x)) : mul(x, neg(x));
    draft.output(indexSelect(y, 1, draft.input({reads}, DataType::Int)));
    return draft.cut(takesAll, DeviceKind::Cpu).size();
  };
  CHECK(groups(true, 400) == 2);
  CHECK(groups(true, 40) == 1);
  CHECK(groups(false, 400) == 1);
}

TEST_CASE("on the CPU what is stretched of a reduction stays in its kernel") {
  Draft draft;  // statistics of columns, over two outer axes
  TensorView* x = draft.input({16, 64, 8192});
  TensorView* scale = broadcast(rsqrt(tanh(sum(x, {0, 1}))), {true, true, false});
  draft.output(mul(x, scale));
  CHECK(draft.cut(takesAll, DeviceKind::Cpu).size() == 1);
}

TEST_CASE("on the CPU what is stretched of a reduction of few elements is computed before") {
  const auto groups = [](int64_t rows) {
    Draft draft;  // logarithms of weights that sum to 1, added to sums of many rows
    TensorView* weights = draft.input({16});
    TensorView* few = log(div(weights, sum(weights, {0}, /*keep_dim=*/true)));
    TensorView* sums = sum(draft.input({rows, 16, 16}), {2});
    draft.output(sum(add(sums, broadcast(few, {true, false})), {1}));
    return draft.cut(takesAll, DeviceKind::Cpu).size();
  };
  CHECK(groups(20000) == groups(4) + 1);
  Draft draft;  // beside sums that nothing sums up
  TensorView* few = log(exp(draft.input({16})));
  draft.output(add(sum(draft.input({20000, 16, 16}), {2}), broadcast(few, {true, false})));
  CHECK(draft.cut(takesAll, DeviceKind::Cpu).size() == 2);
}

TEST_CASE("on the CPU what is read through windows is stored where that takes less") {
  const auto index = [](int64_t value) { return IrBuilder::create<Val>(value, DataType::Index); };
  const auto groups = [&](bool costly, DeviceKind device) {
    Draft draft;
    TensorView* x = draft.input({256, 1024});
    TensorView* row = costly ? tanh(x) : neg(x);
    TensorView* sum = row;
    for (int64_t k = 1; k < 5; ++k) {
      sum = add(sum, pad(row, {index(k), index(-k)}));
    }
    draft.output(sum);
    return draft.cut(takesAll, device).size();
  };
  CHECK(groups(true, DeviceKind::Cuda) == 1);
  CHECK(groups(false, DeviceKind::Cpu) == 1);
  CHECK(groups(true, DeviceKind::Cpu) == 2);
  const auto groupsOfPool = [&](int64_t rows) {
    Draft draft;  // windows of windows: each place of nine
    TensorView* x = sigmoid(draft.input({rows, 64}));
    TensorView* most = x;
    for (int64_t k : {-1, 1}) {
      TensorView* row = pad(x, {index(0), index(0), index(k), index(-k)});
      most = maximum(most, row);
      for (int64_t l : {-1, 1}) {
        most = maximum(most, pad(row, {index(l), index(-l)}));
      }
    }
    draft.output(mul(x, most));
    return draft.cut(takesAll, DeviceKind::Cpu).size();
  };
  CHECK(groupsOfPool(256) == 2);
  CHECK(groupsOfPool(8) == 1);
  Draft draft;  // parts beside each other are computed once
  TensorView* row = tanh(draft.input({256, 1024}));
  draft.output(mul(slice(row, {0, 0}, {256, 512}), slice(row, {0, 512}, {256, 1024})));
  CHECK(draft.cut(takesAll, DeviceKind::Cpu).size() == 1);
}

TEST_CASE("kernels run in the order that leaves least in memory") {
  Draft draft;
  TensorView* x = draft.input({1024, 1024});
  TensorView* first = sin(x);
  TensorView* second = cos(x);
  TensorView* of_first = sum(first, {1});
  TensorView* of_second = sum(second, {1});
  draft.output(add(of_first, of_second));
  const std::vector<Group> groups =
      draft.cut([](const Group& group) { return group.exprs.size() == 1; });
  std::vector<const TensorView*> stored;
  for (const Group& group : groups) {
    stored.insert(stored.end(), group.outputs.begin(), group.outputs.end());
  }
  REQUIRE(stored.size() == 5);
  CHECK(stored[0] == first);
  CHECK(stored[1] == of_first);
  CHECK(stored[2] == second);
  CHECK(stored[3] == of_second);
}

TEST_CASE("reductions of one signature share a kernel, others do not") {
  Draft draft;
  TensorView* x = draft.input({-1, -1});
  draft.output(draft.opaque(draft.input({1024, 1024})));
  draft.output(sum(x, {1}));
  draft.output(max(mul(x, x), {1}));
  draft.output(sum(x, {0}));
  auto one_kind = [](const Group& group) {
    std::set<std::vector<bool>> kinds;
    for (const Expr* expr : group.exprs) {
      if (expr->isA<ReductionOp>()) {
        std::vector<bool> kind;
        for (const IterDomain* id : tensorOutputs(expr)[0]->getLogicalDomain()) {
          kind.push_back(id->isReduction());
        }
        kinds.insert(kind);
      }
    }
    return kinds.size() < 2;
  };
  CHECK(draft.cut(one_kind).size() == 3);
  // Vertically: a normalisation is one kernel beside the sort.
  Draft norm;
  norm.output(norm.opaque(norm.input({1024, 1024})));
  norm.output(softmax(norm.input({-1, -1}), 1));
  CHECK(norm.cut(takesAll).size() == 2);
}

TEST_CASE("reductions of two signatures are one kernel where a scheduler says so") {
  // The backward of a normalisation: over rows and, of the same tensor, over columns.
  Draft draft;
  TensorView* x = draft.input({-1, -1});
  TensorView* y = mul(x, x);
  draft.output(sub(y, broadcast(sum(y, {1}), {false, true})));
  draft.output(sum(y, {0}));
  draft.output(draft.opaque(draft.input({1024, 1024})));
  CHECK(draft.cut(takesAll).size() == 2);
}

TEST_CASE("a small tensor's long computation is not repeated for each row") {
  auto groups = [](int length) {
    Draft draft;
    TensorView* v = draft.input({1024});
    for (int i = 0; i < length; ++i) {
      v = sin(v);
    }
    draft.output(add(draft.input({-1, 1024}), broadcast(v, {true, false})));
    draft.output(draft.opaque(draft.input({1024, 1024})));
    return draft.cut(takesAll).size();
  };
  CHECK(groups(2) == 2);
  CHECK(groups(100) == 3);
}

TEST_CASE("a concatenation keeps its pads, whoever else reads them") {
  Draft draft;
  TensorView* x = draft.input({4});
  TensorView* y = draft.input({4});
  draft.output(cat({sin(x), y}, 0));
  const std::vector<Group> groups =
      draft.cut([](const Group& group) { return group.exprs.size() < 3; });
  REQUIRE(groups.size() == 2);
  CHECK(groups[1].exprs.size() == 3);
}

TEST_CASE("softmax with trees alone: the exponential is computed twice rather than stored") {
  Draft draft;
  draft.output(softmax(draft.input({-1, -1}), 1));
  const std::vector<Group> groups = draft.cut(takesTrees);
  REQUIRE(groups.size() == 3);
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    CHECK(groups[i].outputs.size() == 1);
    CHECK(groups[i].outputs[0]->definition()->isA<ReductionOp>());
  }
}

TEST_CASE("segments exchange the narrow type") {
  Draft draft;
  TensorView* x = draft.input({-1, -1}, DataType::BFloat16);
  TensorView* y = castOp(DataType::BFloat16, draft.opaque(castOp(DataType::Float, x)));
  TensorView* wide = castOp(DataType::Float, y);
  TensorView* top = max(wide, {1});
  draft.output(castOp(DataType::BFloat16, sub(wide, broadcast(top, {false, true}))));
  const std::vector<Group> groups = draft.cut(takesTrees);
  for (const Group& group : groups) {
    for (const TensorView* out : group.outputs) {
      // What the sort reads and writes is wide by definition, and so is the row's maximum.
      const bool wide_by_definition =
          out == top || group.exprs.back()->isA<TopKOp>() ||
          std::any_of(out->uses().begin(), out->uses().end(),
                      [](const Expr* use) { return use->isA<TopKOp>(); });
      CHECK((wide_by_definition || out->dtype() == DataType::BFloat16));
    }
  }
}

TEST_CASE("random numbers are drawn once") {
  Draft draft;
  TensorView* x = draft.input({-1, -1});
  TensorView* noisy = mul(x, rand_like(x));
  draft.output(sub(noisy, broadcast(max(noisy, {1}), {false, true})));
  CHECK(draft.cut(takesTrees).size() >= 2);  // checkCut counts the draws
}

TEST_CASE("the same Fusion is cut in the same way each time") {
  auto names = [] {
    Draft draft;
    defineLayers(draft, 5);
    std::vector<std::vector<int64_t>> result;
    for (const Group& group : draft.cut(takesTrees)) {
      std::vector<int64_t>& mine = result.emplace_back();
      for (const Expr* expr : group.exprs) {
        mine.push_back(expr->name());
      }
    }
    return result;
  };
  CHECK(names() == names());
}

}  // namespace
}  // namespace nvfuser
