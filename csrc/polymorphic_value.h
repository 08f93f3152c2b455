/// Public name of <ir/polymorphic_value.h>.
#pragma once

#include <ir/polymorphic_value.h>
