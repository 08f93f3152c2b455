/// Public name of <kernel_ir/kernel.h>.
#pragma once

#include <kernel_ir/kernel.h>
