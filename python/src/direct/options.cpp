// The options of one call.

#include <algorithm>
#include <string_view>

#include "direct/executors.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

// Options of nvFuser that programs pass, and that have nothing to switch here.
constexpr std::string_view kEnable[] = {"cutlass_scheduler",
                                        "fuse_matmul",
                                        "fuse_multiple_matmuls",
                                        "id_model_extra_validation",
                                        "io_to_lower_precision",
                                        "kernel_db",
                                        "kernel_debug",
                                        "kernel_lineinfo",
                                        "kernel_profile",
                                        "memory_promotion",
                                        "reuse_zeroed_memory",
                                        "static_fusion_count",
                                        "wait_debugger",
                                        "warn_register_spill",
                                        "tma_pointwise",
                                        "tma_inner_persistent",
                                        "tma_reduction",
                                        "ws_normalization",
                                        "host_ir_lowering",
                                        "host_ir_jit",
                                        "insert_resharding_after",
                                        "fast_math",
                                        "p2p_protocol",
                                        "p2p_transport",
                                        "multicast_protocol"};
constexpr std::string_view kDisable[] = {"compile_to_sass",
                                         "contig_indexing",
                                         "expr_simplify",
                                         "fallback",
                                         "fma",
                                         "greedy_scheduler",
                                         "grouped_grid_welford_outer_opt",
                                         "index_hoist",
                                         "magic_zero",
                                         "matmul_expr_eval",
                                         "nvrtc_caching",
                                         "nvtx",
                                         "parallel_compile",
                                         "predicate_elimination",
                                         "python_inline_definitions",
                                         "kernel_reuse",
                                         "var_name_remapping",
                                         "welford_vectorization",
                                         "resize_scheduler",
                                         "reuse_mismatched_type_registers",
                                         "multidevice",
                                         "infer_contiguity"};

/// Those of the names that switch something here.
std::string effective(const std::vector<std::string>& names, OptionKind kind,
                      std::span<const std::string_view> accepted, std::string_view list) {
  std::string result;
  for (const std::string& name : names) {
    const std::string_view plain = std::string_view(name).substr(0, name.find('('));
    const auto& table = optionsTable();
    const bool ours = std::any_of(table.begin(), table.end(), [&](const OptionInfo& info) {
      return info.kind == kind && info.name == plain;
    });
    if (ours) {
      append(result, text(result.empty() ? "" : ",", name));
    } else if (std::find(accepted.begin(), accepted.end(), plain) == accepted.end()) {
      userError("Unrecognized ", list, "_option: ", name, "; docs/options.md lists them");
    }
  }
  return result;
}

}  // namespace

std::optional<Options> optionsOf(const std::vector<std::string>& enable,
                                 const std::vector<std::string>& disable) {
  const std::string on = effective(enable, OptionKind::Enable, kEnable, "enable");
  const std::string off = effective(disable, OptionKind::Disable, kDisable, "disable");
  if (on.empty() && off.empty()) {
    return std::nullopt;
  }
  Options options = Options::current();
  options = on.empty() ? options : options.enable(on);
  return off.empty() ? options : options.disable(off);
}

}  // namespace nvfuser::python
