/// What most tests include. Each still includes what it uses: this saves time, and nothing depends
/// on it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>
#include <support/text.h>
