/// Public name of <ir/fusion_guard.h>.
#pragma once

#include <ir/fusion_guard.h>
