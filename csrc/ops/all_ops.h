/// Every operation a user can call. (A public header under this name.)
#pragma once

#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/composite.h>
#include <ops/indexing.h>
#include <ops/normalization.h>
#include <ops/utils.h>
