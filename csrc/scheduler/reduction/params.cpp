#include <scheduler/reduction/params.h>

#include <scheduler/reduction/loops.h>
#include <support/text.h>

namespace nvfuser {

std::string ReductionParams::toString() const {
  std::string result =
      text(fastest_dim ? "inner" : "outer", schedule_3d ? " 3-D" : "", host ? " on the host" : "",
           ", reference T", reference, ", order [", join(order, ", "), "], inner axes ", inner_axes,
           ", V ", vectorization, ", unroll ", unroll);
  auto add = [&](const char* name, int64_t value, int64_t neutral) {
    if (value != neutral) {
      append(result, text(", ", name, " ", value));
    }
  };
  if (persistence != Persistence::None) {
    append(result, persistence == Persistence::Registers ? ", held in registers"
                                                         : ", held in shared memory");
  }
  if (project_persistent_buffers) {
    append(result, hold_expensive ? ", computed again from inputs and exponentials"
                                  : ", computed again from inputs");
  }
  if (turned_rows) {
    append(result, ", rows turned");
  }
  if (moments_in_passes) {
    append(result, ", moments in passes");
  }
  if (online_softmax) {
    append(result, ", online softmax");
  }
  add("unroll runs", unroll_runs, 1);
  add("batches", batches, 0);
  add("threads x", threads_x, 0);
  add("threads y", threads_y, 0);
  add("rows", rows, 1);
  add("threads of runs", threads_of_runs, 1);
  if (pad_to_warp) {
    append(result, ", whole warps");
  }
  add("padded to", padded_to, 0);
  add("at most threads", most_threads, 0);
  add("grid", grid, 1);
  add("resident blocks", resident_blocks, 0);
  add("cluster", cluster, 1);
  add("tasks", tasks, 1);
  if (column_values) {
    append(result, ", values of columns first");
  }
  if (streaming) {
    append(result, ", streaming");
  }
  add("chunks of", chunk, 0);
  add("runs in a chunk", chunk_runs, 0);
  append(result,
         text(", inputs by [", join(inputs, ", "), "], outputs by [", join(outputs, ", "), "]"));
  if (!reduced.empty()) {
    append(result, text("; loops: ", join(reduction::loopsOf(*this, reduced).lines(), "; ")));
  }
  return result;
}

}  // namespace nvfuser
