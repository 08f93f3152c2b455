/// Public name of <ir/fusion.h>.
#pragma once

#include <ir/fusion.h>
