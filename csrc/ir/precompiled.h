/// What most sources above this folder include; the build reads it once (csrc/CMakeLists.txt). No
/// source includes it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/composite_nodes.h>
#include <ir/fusion.h>
#include <ir/internal_nodes.h>
#include <support/error.h>
#include <support/text.h>
