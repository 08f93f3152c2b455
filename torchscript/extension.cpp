// The part of the extension that includes PyTorch's headers, as one unit: they take far longer than
// our code. Each file keeps its name, by which PYTORCH_JIT_LOG_LEVEL knows it.
// nvfuser.torchscript._build compiles this file, and all others that are not named here.

#include "decompose.cpp"
#include "graph_fuser.cpp"
#include "group_outputs.cpp"
#include "guard.cpp"
#include "infer_types.cpp"
#include "kernel_cache.cpp"
#include "knobs.cpp"
#include "known_call.cpp"
#include "lent_arguments.cpp"
#include "lower_graph.cpp"
#include "partition.cpp"
#include "register.cpp"
#include "run_context.cpp"
#include "tensor_types.cpp"
