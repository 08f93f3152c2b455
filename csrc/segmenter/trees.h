/// Cuts a Fusion into trees: each leads to one tensor (the outputs of one expression) and becomes
/// one kernel.
///
/// An operation joins the tree of its consumers if they are all in one tree and its result need not
/// be stored: it is no output, no reduction, and nobody reads it other than element by element. A
/// pad that feeds a concatenation joins its tree in any case, so it may be computed twice.
#pragma once

#include <vector>

#include <segmenter/group.h>

namespace nvfuser {

/// In an order in which they can run.
std::vector<Group> cutIntoTrees(const Fusion& fusion);

/// The same expressions, each a tree of its own (a concatenation keeps its pads).
std::vector<Group> cutIntoSingles(const Fusion& fusion, const Group& tree);

}  // namespace nvfuser
