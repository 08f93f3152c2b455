/// Public name of <evaluator/expression_evaluator.h>.
#pragma once

#include <evaluator/expression_evaluator.h>
