#!/bin/sh
# Everything that needs a GPU, on a machine that has one: tools/gpu_check.sh [BUILD_DIR [quick]]
#
# Device tests, scheduled kernels and examples on the device, compute-sanitizer's four tools on them
# (not with `quick`), and the benchmarks last. Wants a built tree (./dev build; ./dev build benchmarks).
# Exits non-zero if a test fails or a sanitizer finds something.
build=${1:-build}
export LD_LIBRARY_PATH="$PWD/$build/lib:$LD_LIBRARY_PATH" EXAMPLE_DEVICE=cuda
failures=0

check() { # name, command…
  name=$1
  shift
  if output=$("$@" 2>&1); then
    echo "ok      $name"
  else
    failures=$((failures + 1))
    echo "FAILED  $name"
    echo "$output" | tail -n 20
  fi
}

examples=$(ls "$build"/bin/example_* | grep -v demo)
check "device tests" "$build/bin/nvfuser_test_device"
check "operation table" env NVFUSER_TEST_GPU=1 "$build/bin/nvfuser_test_numerics" -tc='operation table*on CUDA'
check "scheduled kernels" "$build/bin/nvfuser_test_numerics" -tc='scheduled*'
for example in $examples; do
  check "$(basename "$example")" "$example"
done
if [ "$2" != quick ] && command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck synccheck; do
    check "$tool: scheduled kernels" compute-sanitizer --tool $tool --error-exitcode 9 \
      "$build/bin/nvfuser_test_numerics" -tc='scheduled*'
    for example in $examples; do
      check "$tool: $(basename "$example")" compute-sanitizer --tool $tool --error-exitcode 9 "$example"
    done
  done
fi
"$build/bin/bench_scheduled"
echo "$failures failures"
[ $failures -eq 0 ]
