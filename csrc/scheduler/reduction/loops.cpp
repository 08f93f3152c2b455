#include <scheduler/reduction/loops.h>

#include <algorithm>

namespace nvfuser::reduction {

namespace {

using enum ParallelType;

constexpr int64_t kShortPiece = 64;  ///< elements of a row side by side: a line of 16-bit numbers

std::string axisName(int64_t axis) { return text("axis", axis); }

class Planner {
 public:
  Planner(const ReductionParams& params, const std::vector<bool>& reduced)
      : p_(params), reduced_(reduced), loops_(axisNames(reduced.size())) {}

  LoopSteps run() {
    if (p_.fastest_dim) {
      inner();
    } else if (p_.host) {
      hostOuter();
    } else {
      outer();
    }
    return std::move(loops_);
  }

 private:
  static std::vector<std::string> axisNames(size_t count) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      names.push_back(axisName(static_cast<int64_t>(i)));
    }
    return names;
  }

  /// Axes that become one loop of that name.
  struct Group {
    std::string name;
    std::vector<int64_t> axes;
  };

  /// The reference's axes, merged to [kept, runs, row] of an inner reduction, [planes, columns,
  /// reduced] of an outer one, as far as there are such. `whole_rows`: runs are part of the row.
  void mergeAxes(bool whole_rows) {
    std::vector<int64_t> kept;
    std::vector<int64_t> reduced;
    for (const int64_t axis : p_.order) {
      (reduced_[static_cast<size_t>(axis)] ? reduced : kept).push_back(axis);
    }
    const std::vector<int64_t>& cut = p_.fastest_dim ? reduced : kept;
    const size_t inner = std::min(cut.size(), static_cast<size_t>(p_.inner_axes));
    const auto apart = cut.begin() + static_cast<std::ptrdiff_t>(
                                         p_.fastest_dim && whole_rows ? 0 : cut.size() - inner);
    const std::vector<int64_t> first(cut.begin(), apart);
    const std::vector<int64_t> last(apart, cut.end());
    std::vector<Group> groups;
    if (p_.fastest_dim) {
      groups.push_back({"kept", kept});
      groups.push_back({"runs", first});
      groups.push_back({"row", last});
    } else {
      groups.push_back({"planes", first});
      groups.push_back({"columns", last});
      groups.push_back({"reduced", reduced});
    }
    std::vector<std::string> names;
    for (const Group& group : groups) {
      for (const int64_t axis : group.axes) {
        names.push_back(axisName(axis));
      }
    }
    loops_.order(names);
    for (size_t g = groups.size(); g-- > 0;) {
      const std::vector<int64_t>& axes = groups[g].axes;
      for (size_t i = 1; i < axes.size(); ++i) {
        loops_.merge(axisName(axes[i - 1]), axisName(axes[i]));
      }
      if (!axes.empty()) {
        loops_.rename(axisName(axes.back()), groups[g].name);
      }
    }
  }

  // ---- rows

  void inner() {
    mergeAxes(p_.batches > 0);
    const ParallelType grid = loops_.has("kept") ? BIDy : BIDx;
    splitKept();
    const bool unrolls_runs = p_.unroll_runs > 1 && p_.batches == 0;
    const bool has_runs = loops_.has("runs");
    if (has_runs) {
      splitRuns(grid, unrolls_runs);
    }
    loops_.split("row", p_.vectorization, "row", "vector");
    if (p_.host) {
      gridAndChunks("row", grid, !has_runs);
      loops_.splitIn("vector", 1, "whole", "vector");  // whole vectors need no conditions
      loops_.bind("whole", Unswitch);
    } else if (p_.batches > 0) {
      batches();
    } else {
      loops_.split("row", p_.threads_x, "row", "thread");
      loops_.split("row", p_.unroll, "row", "unrolled");
      gridAndChunks("row", grid, !has_runs);
      if (unrolls_runs) {
        loops_.moveBehind("unrolled runs", "row");
      }
      const char* first = unrolls_runs ? "unrolled runs" : "unrolled";
      loops_.splitIn(first, 1, "whole", first);
      loops_.bind("whole", Unswitch);
      if (unrolls_runs) {
        loops_.bind("unrolled runs", Unroll);
      }
      loops_.bind("unrolled", Unroll);
      loops_.bind("thread", TIDx);
    }
  }

  void splitKept() {
    if (!loops_.has("kept")) {
      return;
    }
    if (p_.host && p_.grid == 1) {
      loops_.splitIn("kept", p_.tasks, "task", "kept");
      loops_.bind("task", BIDx);
      return;
    }
    if (p_.rows > 1) {
      loops_.split("kept", p_.rows, "kept", "rows");
      loops_.bind("rows", p_.threads_of_runs > 1 && !rowsAreNeighbours() ? TIDz : TIDy);
    }
    loops_.bind("kept", BIDx);
  }

  /// Threads that share a result are neighbours, which exchange by shuffles: those of the runs come
  /// first. But short pieces of rows lie beside those of the next rows, in the same lines.
  bool rowsAreNeighbours() const { return p_.threads_x * p_.vectorization < kShortPiece; }

  void splitRuns(ParallelType grid, bool unrolls_runs) {
    if (p_.grid > 1) {
      loops_.splitIn("runs", p_.grid, "grid", "runs");
      loops_.bind("grid", grid);
    }
    if (p_.threads_of_runs > 1) {
      loops_.split("runs", p_.threads_of_runs, "runs", "thread of runs");
      loops_.bind("thread of runs", rowsAreNeighbours() ? TIDz : TIDy);
    }
    if (unrolls_runs) {
      loops_.split("runs", p_.unroll_runs, "runs", "unrolled runs");
      loops_.moveBehind("unrolled runs", "row");
    }
    if (p_.chunk_runs > 0) {
      loops_.split("runs", p_.chunk_runs, "chunks of runs", "runs");
    }
  }

  /// Blocks that share a row, or a column, and chunks of what each of them sums.
  void gridAndChunks(std::string_view loop, ParallelType grid, bool shares) {
    if (p_.grid > 1 && shares) {
      loops_.splitIn(loop, p_.grid, "grid", loop);
      loops_.bind("grid", grid);
    }
    if (p_.chunk > 0) {
      loops_.split(loop, p_.chunk, "chunks", loop);
    }
  }

  /// A constant number of vectors of the row for each thread.
  void batches() {
    if (p_.cluster > 1) {
      loops_.splitIn("row", p_.cluster, "cluster", "row");
      loops_.bind("cluster", BIDy);
    }
    loops_.splitIn("row", p_.batches, "batches", "thread");
    loops_.splitIn("batches", 1, "whole", "batches");
    loops_.bind("whole", Unswitch);
    loops_.bind("batches", Unroll);
    loops_.bind("thread", TIDx);
  }

  // ---- columns

  void outer() {
    mergeAxes(true);
    loops_.split("columns", p_.vectorization, "columns", "vector");
    loops_.split("columns", p_.threads_x, "columns", "thread");
    if (loops_.has("planes")) {
      loops_.merge("planes", "columns");
      if (p_.rows > 1) {
        loops_.split("columns", p_.rows, "columns", "planes of a block");
        loops_.bind("planes of a block", p_.threads_x > 1 ? TIDz : TIDx);
      }
    }
    loops_.bind("columns", BIDx);
    if (p_.batches > 0) {
      loops_.splitIn("reduced", p_.batches, "unrolled", "row of threads");
    } else {
      loops_.split("reduced", p_.threads_y, "reduced", "row of threads");
      loops_.split("reduced", p_.unroll, "reduced", "unrolled");
      gridAndChunks("reduced", BIDy, true);
    }
    loops_.splitIn("unrolled", 1, "whole", "unrolled");
    loops_.bind("whole", Unswitch);
    loops_.bind("unrolled", Unroll);
    loops_.bind("row of threads", TIDy);
    if (p_.threads_x > 1 || !loops_.has("planes of a block")) {
      loops_.bind("thread", TIDx);
    }
    // Threads of a column, then vectors, innermost.
    std::vector<std::string> names = loops_.names();
    std::erase_if(names, [](const auto& name) { return name == "thread" || name == "vector"; });
    names.insert(names.end(), {"thread", "vector"});
    loops_.order(std::move(names));
  }

  /// [tasks, columns, rows, V columns of a strip]: a strip's sums stay in the first-level cache. Of
  /// several rows at once, [tasks, columns, rows, registers of the strip, U rows, a register]: what
  /// is added to a register of sums comes from U rows before it goes back.
  void hostOuter() {
    mergeAxes(true);
    loops_.split("columns", p_.vectorization, "columns", "strip");
    if (loops_.has("planes")) {
      loops_.merge("planes", "columns");
    }
    loops_.splitIn("columns", p_.tasks, "task", "columns");
    loops_.bind("task", BIDx);
    loops_.splitIn("strip", 1, "whole", "strip");  // whole strips need no conditions
    loops_.bind("whole", Unswitch);
    loops_.moveBefore("reduced", "strip");
    if (p_.unroll > 1) {
      loops_.split("strip", std::min(p_.vectorization, kLanes), "strip", "register");
      loops_.split("reduced", p_.unroll, "reduced", "unrolled");
      loops_.moveBehind("unrolled", "strip");
      loops_.bind("unrolled", Unroll);
    }
    if (p_.chunk > 0) {
      loops_.split("reduced", p_.chunk, "chunks", "reduced");
      loops_.moveBefore("chunks", "whole");  // nor do whole chunks
    }
  }

  const ReductionParams& p_;
  const std::vector<bool>& reduced_;
  LoopSteps loops_;
};

}  // namespace

std::vector<bool> reducedAxes(const TensorView* reference) {
  std::vector<bool> reduced;
  for (const IterDomain* id : reference->getLogicalDomain()) {
    reduced.push_back(id->isReduction());
  }
  return reduced;
}

LoopSteps loopsOf(const ReductionParams& params, const std::vector<bool>& reduced) {
  return Planner(params, reduced).run();
}

}  // namespace nvfuser::reduction
