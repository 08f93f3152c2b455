/// Public name of <ir/type.h>.
#pragma once

#include <ir/type.h>
