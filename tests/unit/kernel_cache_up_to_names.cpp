// Which texts are one kernel: those that differ in names and comments alone.
#include <doctest/doctest.h>

#include <runtime/kernel_cache/up_to_names.h>

using namespace nvfuser;

TEST_CASE("up to names: numbers by first appearance, comments and the entry left out") {
  CHECK(upToNames("void f_0_1(float* T4, Index i7) { T4[i7 - 1] = T9; }  // T9 of f", "f_0_1") ==
        "void @(float* T#0, Index i#0) { T#0[i#0 - 1] = T#1; } ");
  CHECK(upToNames("f_1_block(end_k12, T3_lanes_0 /* T3 */)", "f_1") ==
        "@_block(end_k#0, T#0_lanes_0 )");
}

TEST_CASE("up to names: sums, scalars, and where lines are broken") {
  CHECK(upToNames("acc7 = acc7 + T8[k1] * s_f3 + s_d12;", "f") ==
        "acc#0 = acc#0 + T#0[k#0] * s_f#0 + s_d#0;");
  CHECK(upToNames("a(T1,\n    T22);  // long\n  b;", "f") == upToNames("a(T3, T4);\nb;", "f"));
  CHECK(upToNames("a;\n  #pragma GCC ivdep\n  for", "f") == "a;\n#pragma GCC ivdep\nfor");
}

TEST_CASE("up to names: workspaces, barriers and what scans carry have the numbers of tensors") {
  CHECK(upToNames("f(block_work7, grid_work7, tickets7, barrier12, last7, carry3, stage2)", "f") ==
        "@(block_work#0, grid_work#0, tickets#0, barrier#0, last#0, carry#0, stage#0)");
  CHECK(upToNames("log2(a) + exp10(b) + State0 + v1", "f") == "log2(a) + exp10(b) + State0 + v1");
}

TEST_CASE("up to names: what differs by more is not the same") {
  const char* const different[] = {"T1 = T2 + T1;",    "T1 = T2 + T2;",   "T1 = T1 + T2;",
                                   "T1 = T2 - T1;",    "i1 = i2 + i1;",   "T1_2 = T2 + T1;",
                                   "T1 = T2 + T1; 17", "acc1 = T2 + T1;", "s_f1 = T2 + T1;",
                                   "s_i1 = T2 + T1;"};
  for (const char* a : different) {
    for (const char* b : different) {
      CHECK((upToNames(a, "f") == upToNames(b, "f")) == (a == b));
    }
  }
}

TEST_CASE("up to names: types, numbers, literals and other words stay") {
  const char* const same =
      "i8 a; i64 b = 1e5f + 0x1k2; char c = '\\''; s = \"T5 // \\\" n7\"; u8 v1;";
  CHECK(upToNames(same, "f") == same);
  CHECK(upToNames("int f1, ff_1;", "f") == "int f1, ff_1;");
}
