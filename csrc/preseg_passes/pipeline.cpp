#include <preseg_passes/pipeline.h>

#include <algorithm>
#include <array>

#include <preseg_passes/broadcast_squeeze.h>
#include <preseg_passes/cancel_permutes.h>
#include <preseg_passes/cancel_reshapes.h>
#include <preseg_passes/cancel_split_cat.h>
#include <preseg_passes/cat_to_repeat.h>
#include <preseg_passes/consecutive_casts.h>
#include <preseg_passes/hoist_reads.h>
#include <preseg_passes/hoist_selections.h>
#include <preseg_passes/join_equal.h>
#include <preseg_passes/join_sums.h>
#include <preseg_passes/mark_joins.h>
#include <preseg_passes/mark_views.h>
#include <preseg_passes/memory_order.h>
#include <preseg_passes/merge_reductions.h>
#include <preseg_passes/move_pad.h>
#include <preseg_passes/narrow_integers.h>
#include <preseg_passes/narrow_joins.h>
#include <preseg_passes/operand_order.h>
#include <preseg_passes/own_spreads.h>
#include <preseg_passes/read_outputs.h>
#include <preseg_passes/read_uncut.h>
#include <preseg_passes/reduce_unmerged.h>
#include <preseg_passes/remove_empty.h>
#include <preseg_passes/rewrite.h>
#include <preseg_passes/share_moments.h>
#include <preseg_passes/short_axes.h>
#include <preseg_passes/short_results.h>
#include <preseg_passes/spread_selections.h>
#include <preseg_passes/substitute_extents.h>
#include <preseg_passes/wide_combines.h>
#include <support/dump.h>

namespace nvfuser::preseg_passes {

namespace {

// Sizes first: the passes behind it look for constants. Then what makes the graph smaller, so that
// the others meet their patterns.
constexpr std::array kPasses = {
    Pass{"substitute-extents", "axes of equal size get one extent, a constant where one is known",
         "sizes, provided that equal ones were checked to be equal", substituteExtents},
    Pass{"remove-empty", "tensors without elements, and what only they need, are not computed",
         "values; a reduction of nothing is its neutral element", removeEmpty},
    Pass{"cancel-reshapes", "what is reshaped to the sizes that it has, or had, is not reshaped",
         "every value", cancelReshapes},
    Pass{"wide-combines",
         "on a GPU, scans and sums at an index are done in dtypes that its threads exchange",
         "every value; sums in half precision are rounded once", widenCombines, PassFor::Gpus},
    Pass{"consecutive-casts", "a cast of a lossless cast is one cast, or none",
         "every value, bit by bit", mergeConsecutiveCasts},
    Pass{"short-axes",
         "sums, scans and turned orders along an axis of few elements are chains of pointwise "
         "operations",
         "every value, but for the order of a sum", takeShortAxesApart},
    Pass{"short-planes", "so are, on a GPU, those over few planes of an input",
         "every value, but for the order of a sum", takeShortPlanesApart, PassFor::Gpus},
    Pass{"short-results",
         "on a GPU, outputs made of other parts along an axis of few elements are joins of parts",
         "every value", takeShortResultsApart, PassFor::Gpus},
    Pass{"join-equal", "what is computed twice is computed once",
         "every value; random numbers stay apart", joinEqual},
    Pass{"broadcast-squeeze", "axes of extent 1 that come and go are left out",
         "the axes of every output", cancelBroadcastSqueeze},
    Pass{"reduce-unmerged",
         "on a GPU, what is reduced over axes that a reshape has made is reduced over those before "
         "it",
         "every value, but for the order of a sum", reduceUnmerged, PassFor::Gpus},
    Pass{"merge-reductions", "a sum of sums is a sum over the axes of both, so is an extreme",
         "every value, but for the order of a sum", mergeReductions},
    Pass{"share-moments", "a mean beside a variance is the one that comes with it",
         "every value, but for the order of a sum", shareMoments},
    Pass{"join-sums", "sums that are added up are one sum of what is added up",
         "every value, but for the order of a sum", joinSums},
    Pass{"cancel-permutes",
         "axes that are turned and turned back, with pointwise operations in between, stay",
         "every value", cancelPermutes},
    Pass{"cancel-split-cat", "slices of a tensor that are joined again in order are the tensor",
         "every value; the operations in between see the same elements", cancelSplitCat},
    Pass{"cat-to-repeat", "a tensor joined with itself is expanded along a new axis, then merged",
         "every value, and the sizes of the result", turnCatIntoRepeat},
    Pass{"narrow-joins", "a join of many tensors is a join of joins", "every value, and the sizes",
         narrowJoins},
    Pass{"spread-selections",
         "on a GPU, selected rows are read at an index that is spread along them",
         "every element that is read", spreadSelections, PassFor::Gpus},
    Pass{"spread-computed-selections", "on the CPU, so are those whose index is computed",
         "every element that is read", spreadComputedSelections, PassFor::Cpu},
    Pass{"hoist-selections",
         "one place of a computed tensor is computed from operands at that place", "every value",
         hoistSelections},
    Pass{"hoist-reads", "a slice, select or gather of a computed tensor reads its operands instead",
         "every element that is read; the others are not computed", hoistReads},
    Pass{"read-uncut",
         "on a GPU, what is read at an index of a slice of an input is read of the input",
         "every element that is read", readUncut, PassFor::Gpus},
    Pass{"own-spreads",
         "parts of inputs that are spread along several axes are read for each of them",
         "every value", readEachSpread},
    Pass{"narrow-integers", "integers of 64 bits that fit 32 have 32", "every value",
         narrowIntegers},
    Pass{"move-pad", "a pad of a computed tensor is computed from padded operands",
         "every value: only where zeros give +0", movePad},
    Pass{"memory-order", "tensors lie in memory as the operands that they have their axes from",
         "values and sizes; strides that the user declared", inferMemoryOrder},
    Pass{"operand-order", "permuted operands of products lie as what they are permutations of",
         "values and sizes; orders that the user declared", orderOperands},
    Pass{"mark-views", "outputs that are inputs or results in another shape are marked as views",
         "the graph", markViews},
    Pass{"mark-joins",
         "outputs whose parts are stored there by what computes them are marked as such",
         "the graph", markJoins},
    Pass{"read-outputs",
         "what is computed of a tensor that an output is a copy of is computed of the output",
         "every value", readOutputs},
};

bool isFor(const Pass& pass, DeviceKind device) {
  return pass.devices == PassFor::Everything ||
         (pass.devices == PassFor::Cpu) == (device == DeviceKind::Cpu);
}

bool isDisabled(const Pass& pass, const Options& options) {
  if (!options.isDisabled(DisableOption::Preseg)) {
    return false;
  }
  const auto& names = options.arguments(DisableOption::Preseg);
  return names.empty() || std::find(names.begin(), names.end(), pass.name) != names.end();
}

const Pass& passOf(std::string_view name) {
  const auto found = std::find_if(kPasses.begin(), kPasses.end(),
                                  [&](const Pass& pass) { return pass.name == name; });
  if (found == kPasses.end()) {
    userError("preseg: there is no pass '", name, "'; those are ",
              join(kPasses, ", ", [](const Pass& pass) { return pass.name; }));
  }
  return *found;
}

bool shows(const Pass& pass, const Options& options) {
  if (!options.dumps(DebugDumpOption::PreSegmenterLogging)) {
    return false;
  }
  const auto& names = options.arguments(DebugDumpOption::PreSegmenterLogging);
  return names.empty() || std::find(names.begin(), names.end(), pass.name) != names.end();
}

void runAndSweep(const Pass& pass, Fusion& fusion) {
  pass.run(fusion);
  sweep(fusion);
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

void runOne(Fusion& fusion, std::string_view name) { runAndSweep(passOf(name), fusion); }

void checkNames(const Options& options) {
  for (const std::string& name : options.arguments(DisableOption::Preseg)) {
    passOf(name);
  }
}

void runAll(Fusion& fusion, const Options& options, std::string_view subject, DeviceKind device,
            const Observer& observer) {
  for (const Pass& pass : kPasses) {
    if (isDisabled(pass, options) || !isFor(pass, device)) {
      continue;
    }
    const bool shown = shows(pass, options);
    const std::string before = shown ? fusion.mathString() : std::string();
    if (observer) {
      observer(pass, fusion, false);
    }
    runAndSweep(pass, fusion);
    if (options.flag(Setting::Verify)) {
      try {
        fusion.verify();
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& error) {
        throw InternalError(text("after the pass ", pass.name, ": ", error.what()));
      }
    }
    if (observer) {
      observer(pass, fusion, true);
    }
    if (shown) {
      const std::string after = fusion.mathString();
      dump(options, subject, text("pre_segmenter_logging ", pass.name),
           after == before ? std::string("unchanged\n")
                           : text("before:\n", before, "after:\n", after));
    }
  }
}

}  // namespace nvfuser::preseg_passes
