// Attention as it is defined, one row of probabilities after the other:
//
//   s[i][j] = scale · q[i]·k[j] + bias[i][j]       over the keys that i sees
//   p[i][j] = exp(s[i][j] − lse[i]),  lse[i] = log Σ exp(s[i][j])
//   o[i]    = Σ z[i][j] · p[i][j] · v[j]           z: 0, or 1/(1 − dropout_p) for those kept
//
// and the gradients of o for q, k and v, given those of o (d):
//
//   g[i][j] = p[i][j] · (z[i][j] · d[i]·v[j] − d[i]·o[i])
//   dv[j] = Σ z·p·d[i],  dk[j] = scale · Σ g·q[i],  dq[i] = scale · Σ g·k[j]
//
// An element (i, j) of a head is kept if its uniform number, by its row-major number among all
// heads' [queries, keys], is less than 1 − dropout_p.

#include <cmath>
#include <limits>

#include <evaluator/operations.h>

namespace nvfuser::reference {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A tensor [heads, rows, columns], row-major.
struct Heads {
  Array array;
  int64_t rows, columns;

  Heads(const Array& from, int64_t rows_, int64_t columns_)
      : array(contiguous(from)), rows(rows_), columns(columns_) {}
  explicit Heads(const Array& from) : Heads(from, from.sizes[from.rank() - 2], from.sizes.back()) {}
  const double* row(int64_t head, int64_t i) const {
    return array.data<double>() + array.offset + (head * rows + i) * columns;
  }
};

/// Sums, moved as roundings may move them where a seed is given.
class Sums {
 public:
  explicit Sums(std::optional<uint64_t> disturbance) : disturbance_(disturbance) {}

  struct Sum {
    long double value = 0;
    double squares = 0;
    int64_t terms = 0;
    void add(double x) {
      value += x;
      squares += x * x;
      ++terms;
    }
  };
  double take(const Sum& sum) {
    const auto value = static_cast<double>(sum.value);
    return disturbance_ ? disturbedSum(value, sum.squares, static_cast<double>(sum.terms),
                                       *disturbance_, next_++)
                        : value;
  }
  double dot(const double* a, const double* b, int64_t count) {
    Sum sum;
    for (int64_t i = 0; i < count; ++i) {
      sum.add(a[i] * b[i]);
    }
    return take(sum);
  }

 private:
  std::optional<uint64_t> disturbance_;
  uint64_t next_ = 0;
};

struct Settings {
  double dropout_p = 0;
  bool is_causal = false;
  double scale = 1;
  uint64_t seed = 0, offset = 0;
};

class Rows {
 public:
  Rows(const Heads& query, const Heads& key, const Settings& settings, Sums& sums)
      : query_(query), key_(key), settings_(settings), sums_(sums) {
    check(query.columns == key.columns, "attention's query and key agree");
  }

  std::optional<Array> bias, mask;  ///< [heads, queries, keys]

  std::vector<double> scores(int64_t head, int64_t i) const {
    std::vector<double> s(static_cast<size_t>(key_.rows), -kInfinity);
    for (int64_t j = 0; j < key_.rows; ++j) {
      const int64_t at = (head * query_.rows + i) * key_.rows + j;
      const bool seen = (!settings_.is_causal || j <= i) &&
                        (!mask || mask->data<int64_t>()[mask->offset + at] != 0);
      if (seen) {
        s[static_cast<size_t>(j)] =
            settings_.scale * sums_.dot(query_.row(head, i), key_.row(head, j), query_.columns) +
            (bias ? bias->data<double>()[bias->offset + at] : 0.0);
      }
    }
    return s;
  }
  /// 0, or what a probability that is kept is multiplied by.
  double kept(int64_t head, int64_t i, int64_t j) const {
    if (settings_.dropout_p == 0) {
      return 1;
    }
    const int64_t at = (head * query_.rows + i) * key_.rows + j;
    const double u = uniformFloat(settings_.seed, settings_.offset, static_cast<uint64_t>(at));
    return u < 1 - settings_.dropout_p ? 1 / (1 - settings_.dropout_p) : 0;
  }

 private:
  const Heads& query_;
  const Heads& key_;
  const Settings& settings_;
  Sums& sums_;
};

double probability(double score, double lse) {
  return lse == -kInfinity ? 0 : std::exp(score - lse);
}

Settings settingsOf(const Expr* op, Context& context, size_t dropout, size_t causal,
                    std::optional<size_t> scale, int64_t numbers) {
  auto number = [&](size_t place) { return onlyElement(context.operand(op->input(place))); };
  Settings settings;
  settings.dropout_p = number(dropout).as<double>();
  settings.is_causal = number(causal).as<bool>();
  settings.scale =
      scale ? number(*scale).as<double>() : 1 / std::sqrt(static_cast<double>(numbers));
  if (!(settings.dropout_p >= 0 && settings.dropout_p <= 1)) {
    userError(op->getOpString(), ": dropout_p must be between 0 and 1, got ", settings.dropout_p);
  }
  return settings;
}

void requireSameKeys(const Expr* op, const Heads& query, const Heads& key, const Heads& value) {
  if (key.rows != value.rows || query.columns != key.columns) {
    userError(op->getOpString(), ": query [", join(query.array.sizes, ", "), "], key [",
              join(key.array.sizes, ", "), "] and value [", join(value.array.sizes, ", "),
              "] do not go together: query and key have equal last axes, key and value the same "
              "number of keys");
  }
}

int64_t headsOf(const Array& array) {
  int64_t heads = 1;
  for (size_t axis = 0; axis + 2 < array.rank(); ++axis) {
    heads *= array.sizes[axis];
  }
  return heads;
}

Array stateArray(std::vector<int64_t> sizes, const std::vector<uint64_t>& words) {
  Array out = makeArray(DataType::UInt64, std::move(sizes));
  for (size_t i = 0; i < words.size(); ++i) {
    out.data<int64_t>()[i] = static_cast<int64_t>(words[i]);
  }
  return out;
}

}  // namespace

std::vector<Array> attention(const SdpaFwdOp* op, Context& context,
                             std::optional<uint64_t> disturbance) {
  const Heads query(context.operand(op->input(0)));
  const Heads key(context.operand(op->input(1)));
  const Heads value(context.operand(op->input(2)));
  requireSameKeys(op, query, key, value);
  Settings settings = settingsOf(op, context, SdpaFwdOp::kDropoutP, SdpaFwdOp::kIsCausal,
                                 op->scalePlace(), query.columns);
  if (op->draws()) {
    settings.seed = context.options.philox_seed;
    settings.offset =
        context.options.philox_offset + static_cast<uint64_t>(context.random_index.at(op));
  }
  Sums sums(disturbance);
  Rows rows(query, key, settings, sums);
  std::vector<int64_t> sizes = query.array.sizes;
  sizes.back() = key.rows;
  auto stretched = [&](size_t place, DataType dtype) {
    Array array = convert(context.operand(op->input(place)), dtype);
    const size_t missing = sizes.size() - array.rank();
    array.sizes.insert(array.sizes.begin(), missing, 1);
    array.strides.insert(array.strides.begin(), missing, 0);
    return contiguous(broadcastTo(array, sizes));
  };
  if (op->biasPlace()) {
    rows.bias = stretched(*op->biasPlace(), DataType::Double);
  }
  if (op->maskPlace()) {
    rows.mask = stretched(*op->maskPlace(), DataType::Bool);
  }
  std::vector<int64_t> out_sizes = query.array.sizes;
  out_sizes.back() = value.columns;
  Array output = makeArray(query.array.dtype, out_sizes);
  out_sizes.pop_back();
  Array logsumexp = makeArray(DataType::Float, out_sizes);
  for (int64_t head = 0; head < headsOf(query.array); ++head) {
    for (int64_t i = 0; i < query.rows; ++i) {
      const std::vector<double> s = rows.scores(head, i);
      double greatest = -kInfinity;
      for (double score : s) {
        greatest = std::isnan(score) || score > greatest ? score : greatest;
      }
      Sums::Sum total;
      for (size_t j = 0; greatest != -kInfinity && j < s.size(); ++j) {
        total.add(std::exp(s[j] - greatest));
      }
      const double lse =
          greatest == -kInfinity ? -kInfinity : greatest + std::log(sums.take(total));
      logsumexp.data<double>()[head * query.rows + i] = lse;
      double* o = output.data<double>() + (head * query.rows + i) * value.columns;
      for (int64_t column = 0; column < value.columns; ++column) {
        Sums::Sum sum;
        for (int64_t j = 0; j < key.rows; ++j) {
          sum.add(rows.kept(head, i, j) * probability(s[static_cast<size_t>(j)], lse) *
                  value.row(head, j)[column]);
        }
        o[column] = sums.take(sum);
      }
    }
  }
  return {output, logsumexp, stateArray({2}, {settings.seed, settings.offset}),
          stateArray({}, {settings.offset})};
}

std::vector<Array> attentionBackward(const SdpaBwdOp* op, Context& context,
                                     std::optional<uint64_t> disturbance) {
  const Heads grad(context.operand(op->input(0)));
  const Heads query(context.operand(op->input(1)));
  const Heads key(context.operand(op->input(2)));
  const Heads value(context.operand(op->input(3)));
  const Heads output(context.operand(op->input(4)));
  const Heads logsumexp(context.operand(op->input(SdpaBwdOp::kLogSumExp)), query.rows, 1);
  requireSameKeys(op, query, key, value);
  const auto scale = op->hasScale() ? std::optional(SdpaBwdOp::kScale) : std::nullopt;
  Settings settings =
      settingsOf(op, context, SdpaBwdOp::kDropoutP, SdpaBwdOp::kIsCausal, scale, query.columns);
  const Array seed = contiguous(context.operand(op->input(SdpaBwdOp::kSeed)));
  const Array offset = context.operand(op->input(SdpaBwdOp::kOffset));
  settings.seed = static_cast<uint64_t>(seed.data<int64_t>()[seed.offset]);
  settings.offset = seed.rank() == 1 ? static_cast<uint64_t>(seed.data<int64_t>()[seed.offset + 1])
                                     : static_cast<uint64_t>(offset.data<int64_t>()[offset.offset]);
  Sums sums(disturbance);
  const Rows rows(query, key, settings, sums);
  Array grad_query = makeArray(query.array.dtype, query.array.sizes);
  Array grad_key = makeArray(key.array.dtype, key.array.sizes);
  Array grad_value = makeArray(value.array.dtype, value.array.sizes);
  const auto keys = static_cast<size_t>(key.rows);
  for (int64_t head = 0; head < headsOf(query.array); ++head) {
    std::vector<Sums::Sum> of_key(keys * static_cast<size_t>(key.columns));
    std::vector<Sums::Sum> of_value(keys * static_cast<size_t>(value.columns));
    for (int64_t i = 0; i < query.rows; ++i) {
      const double lse = *logsumexp.row(head, i);
      const std::vector<double> s = rows.scores(head, i);
      const double* d = grad.row(head, i);
      const double mean = sums.dot(d, output.row(head, i), value.columns);
      std::vector<Sums::Sum> of_query(static_cast<size_t>(query.columns));
      for (int64_t j = 0; j < key.rows; ++j) {
        const double p = probability(s[static_cast<size_t>(j)], lse);
        const double z = rows.kept(head, i, j);
        const double g =
            p * (z * sums.dot(d, value.row(head, j), value.columns) - mean) * settings.scale;
        for (int64_t column = 0; column < query.columns; ++column) {
          of_query[static_cast<size_t>(column)].add(g * key.row(head, j)[column]);
          of_key[static_cast<size_t>(j * key.columns + column)].add(g * query.row(head, i)[column]);
        }
        for (int64_t column = 0; column < value.columns; ++column) {
          of_value[static_cast<size_t>(j * value.columns + column)].add(z * p * d[column]);
        }
      }
      for (size_t column = 0; column < of_query.size(); ++column) {
        grad_query
            .data<double>()[static_cast<size_t>(head * query.rows + i) * of_query.size() + column] =
            sums.take(of_query[column]);
      }
    }
    for (size_t at = 0; at < of_key.size(); ++at) {
      grad_key.data<double>()[static_cast<size_t>(head) * of_key.size() + at] =
          sums.take(of_key[at]);
    }
    for (size_t at = 0; at < of_value.size(); ++at) {
      grad_value.data<double>()[static_cast<size_t>(head) * of_value.size() + at] =
          sums.take(of_value[at]);
    }
  }
  return {grad_query, grad_key, grad_value};
}

}  // namespace nvfuser::reference
