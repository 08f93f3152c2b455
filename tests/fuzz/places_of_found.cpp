// Where the statements of programs are that once failed since an axis was taken for another: each
// with the first of its random schedules that a kernel can carry out.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include <fuzz/library/build.h>
#include <fuzz/library/program.h>
#include <fuzz/library/random_schedule.h>
#include <golden_file.h>
#include <places_text.h>
#include <support/error.h>

namespace nvfuser::fuzz {
namespace {

constexpr std::string_view kPrograms[] = {
    "a_result_of_threads_of_a_wider_loop",
    "an_expanded_axis_split_between_blocks_and_a_loop",
    "an_output_in_a_loop_over_part_of_an_empty_axis",
    "array_of_indices_read_behind_its_loop",
    "axis_repeated_once",
    "broadcast_of_another_axis_than_the_loops",
    "broadcast_that_other_threads_need",
    "element_of_several_blocks_read_by_one",
    "elements_spread_by_anothers_axis",
    "elements_that_meet_in_one_iteration",
    "first_parts_of_a_merged_axis",
    "first_thread_outside_of_merged_axes",
    "flattened_axes_met_by_their_own_parts",
    "flattened_rows_in_loops_over_rows",
    "last_block_of_repeated_rows",
    "longer_broadcast_in_a_loop_of_one",
    "merged_axes_of_one_class",
    "output_in_a_loop_of_what_it_is_repeated_to",
    "registers_of_a_merged_axis_partly_shared",
    "repeated_rows_in_one_loop",
    "repeated_rows_of_a_repeated_axis",
    "repeated_rows_of_a_reshape",
    "reshape_followed_by_a_new_axis",
    "reshape_that_meets_its_input",
    "reshaped_axes_flattened_beside_their_own",
    "reshaped_part_of_a_flat_loop_written_once",
    "row_of_some_of_its_axes",
    "row_read_in_another_shape",
    "row_reshaped_into_rows_beside_itself",
    "rows_of_a_transpose_beside_parts_of_them",
    "shared_memory_of_a_reshape_in_a_bound_loop",
    "states_behind_a_merged_broadcast",
    "sum_beside_a_split_broadcast",
    "sum_in_memory_in_split_broadcast",
    "sum_started_in_the_first_iteration",
    "threads_that_read_what_one_writes",
    "tile_of_a_repeated_tensor",
    "value_repeated_along_two_axes_of_one_size",
    "value_read_beyond_its_loop",
};

Program readProgram(std::string_view name) {
  std::ifstream file(text(NVFUSER_TESTS_DIR, "/fuzz/found/", name, ".fuzz"));
  std::stringstream content;
  content << file.rdbuf();
  return parseProgram(content.str());
}

std::string placesOf(const Program& program) {
  for (uint64_t number = 1; number <= 20; ++number) {
    Builder builder = build(program);
    Fusion& fusion = builder.fusion();
    scheduleRandomly(fusion, program.schedule_seed + number,
                     std::max<int64_t>(program.schedule_steps, 6));
    fusion.settleAxes();  // a schedule has loops for them
    try {
      Lowering lowering = lower(&fusion, LowerOptions());
      return text("schedule ", number, "\n", placesText(lowering));
    } catch (const UserError&) {
    }
  }
  FAIL("each of its random schedules is refused");
  return {};
}

}  // namespace

TEST_CASE("places: programs that once failed") {
  std::string got;
  for (std::string_view name : kPrograms) {
    got += text(name, ", ", placesOf(readProgram(name)));
  }
  checkGoldenFile("golden/expected/places_of_found.txt", got);
}

}  // namespace nvfuser::fuzz
