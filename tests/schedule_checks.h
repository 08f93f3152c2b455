/// Texts and oracles for the tests of scheduling.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/builder.h>
#include <shape_text.h>
#include <user_error.h>

namespace nvfuser {

/// The loop domain: "[i0, 4]", reductions "r4", broadcasts "b".
inline std::string loopText(const TensorView* tv) {
  return "[" + join(tv->getLoopDomain(), ", ", [](const IterDomain* id) { return axisText(id); }) +
         "]";
}

/// Whether statements that share a loop at `depth` could run: no path of reads leaves their group
/// and returns, and none that does not share the loop stays inside. Written by definition, with a
/// closure over all pairs.
inline bool isRunnableAt(const Fusion& fusion, int64_t depth) {
  const std::vector<Expr*> exprs = fusion.exprs();
  const size_t n = exprs.size();
  std::map<const Expr*, size_t> number;
  for (size_t i = 0; i < n; ++i) {
    number[exprs[i]] = i;
  }
  std::vector<size_t> group(n);
  std::iota(group.begin(), group.end(), 0);
  std::vector<std::pair<size_t, size_t>> apart;  // reads that do not share the loop
  for (size_t c = 0; c < n; ++c) {
    for (TensorView* in : tensorInputs(exprs[c])) {
      if (in->definition() == nullptr) {
        continue;
      }
      const size_t p = number.at(in->definition());
      if (in->getComputeAtPosition() <= depth) {
        apart.emplace_back(p, c);
        continue;
      }
      const size_t from = group[p];
      const size_t to = group[c];
      for (size_t& g : group) {
        if (g == from) {
          g = to;
        }
      }
    }
  }
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  for (auto [p, c] : apart) {
    reaches[group[p]][group[c]] = true;
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (reaches[i][k] && reaches[k][j]) {
          reaches[i][j] = true;
        }
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (reaches[i][i]) {
      return false;
    }
  }
  return true;
}

/// Whether each loop at `depth` has one size: the axes that its members come from, where they can
/// meet (permissive) and are no broadcasts, have equal extents or are the same axis (exact).
inline bool hasOneSizeAt(const Fusion& fusion, int64_t depth) {
  const IdGraph permissive(fusion, IdGraph::Mode::Permissive);
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  std::map<const TensorView*, const TensorView*> group;
  std::vector<TensorView*> tvs = fusion.allTvs();
  for (TensorView* tv : tvs) {
    group[tv] = tv;
  }
  for (TensorView* tv : tvs) {
    if (tv->getComputeAtPosition() <= depth) {
      continue;
    }
    for (TensorView* consumer : consumersOf(tv)) {
      const TensorView* from = group[tv];
      const TensorView* to = group[consumer];
      for (auto& [member, its] : group) {
        if (its == from) {
          its = to;
        }
      }
    }
  }
  std::map<const TensorView*, std::vector<IterDomain*>> sources;
  for (TensorView* tv : tvs) {
    if (tv->isFusionInput() || tv->nDims() <= depth) {
      continue;
    }
    std::vector<IterDomain*> open{tv->axis(depth)};
    while (!open.empty()) {
      IterDomain* id = open.back();
      open.pop_back();
      if (id->definition() == nullptr) {
        if (!id->isBroadcast()) {
          sources[group[tv]].push_back(id);
        }
        continue;
      }
      for (Val* in : id->definition()->inputs()) {
        open.push_back(in->as<IterDomain>());
      }
    }
  }
  for (const auto& [name, ids] : sources) {
    for (IterDomain* a : ids) {
      for (IterDomain* b : ids) {
        if (permissive.mapped(a, b) && !exact.mapped(a, b) && !a->extent()->sameAs(b->extent())) {
          return false;
        }
      }
    }
  }
  return true;
}

/// What must hold of every schedule: the IR's rules; shared loops are one class, in every consumer
/// at the same place, and none is a reduction of its producer; the loops can run; producer
/// positions agree.
inline void checkSound(const Fusion& fusion) {
  CHECK_NOTHROW(fusion.verify());
  const IdGraph graph(fusion, IdGraph::Mode::Permissive);
  int64_t deepest = 0;
  for (TensorView* tv : fusion.allTvs()) {
    deepest = std::max(deepest, tv->nDims());
    const int64_t pos = tv->getComputeAtPosition();
    for (TensorView* consumer : consumersOf(tv)) {
      CAPTURE(tv->toString());
      CAPTURE(consumer->toString());
      REQUIRE(pos <= tv->nDims());
      REQUIRE(pos <= consumer->nDims());
      if (!tv->isFusionInput()) {
        CHECK(consumer->getMaxProducerPosition() >= pos);
      }
      for (int64_t i = 0; i < pos; ++i) {
        CHECK(graph.mapped(tv->axis(i), consumer->axis(i)));
        CHECK_FALSE(tv->axis(i)->isReduction());
      }
    }
    for (TensorView* sibling : siblingsOf(tv)) {
      CHECK(sibling->getComputeAtPosition() == pos);
    }
    if (tv->isFusionInput()) {
      CHECK(pos == 0);
    }
  }
  for (int64_t depth = 0; depth < deepest; ++depth) {
    CHECK(isRunnableAt(fusion, depth));
  }
}

}  // namespace nvfuser
