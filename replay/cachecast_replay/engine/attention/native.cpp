// Causal attention of new tokens over a paged K and V cache in float32, without copying the cache.
//
// Built on first use by native.py and called through ctypes. The scores of a query are kept for its
// whole context (first K, then V), so the result is that of a plain softmax, not of a running one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int kLanes = 16;  // floats in a vector; the compiler cuts it where registers are shorter
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(kLanes * sizeof(int32_t))));

struct Shape {
  int block_tokens, kv_heads, group, head_dim;  // group: query heads of one K/V head
  float scale;
};

inline Vec load(const float* from) { return *reinterpret_cast<const Vec*>(from); }
inline void store(float* to, Vec value) { *reinterpret_cast<Vec*>(to) = value; }
inline Vec spread(float value) { return value - Vec{}; }
inline Vec larger(Vec one, Vec other) { return one > other ? one : other; }

inline float sum(Vec value) {
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += value[lane];
  return total;
}

// exp for arguments <= 0 (softmax subtracts the maximum): a power of two times a polynomial.
inline Vec exp_of(Vec x) {
  x = larger(x, spread(-87.0f));
  const Ints whole = __builtin_convertvector(x * 1.44269504088896341f - 0.5f, Ints);
  const Vec n = __builtin_convertvector(whole, Vec);
  const Vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Vec y = spread(1.9875691500e-4f);
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  const Ints bits = (whole + 127) << 23;
  Vec power;
  std::memcpy(&power, &bits, sizeof power);
  return y * power;
}

// scores[0, context) become weights that sum to 1. Room for whole vectors is there.
void softmax(float* scores, int context) {
  const int padded = (context + kLanes - 1) / kLanes * kLanes;
  for (int at = context; at < padded; ++at) scores[at] = -1e30f;  // weighs 1e-38 of a real one
  Vec top = load(scores);
  for (int at = kLanes; at < padded; at += kLanes) top = larger(top, load(scores + at));
  float highest = top[0];
  for (int lane = 1; lane < kLanes; ++lane) highest = std::max(highest, top[lane]);
  Vec total = {};
  for (int at = 0; at < padded; at += kLanes) {
    const Vec weight = exp_of(load(scores + at) - highest);
    store(scores + at, weight);
    total += weight;
  }
  const float over = 1.0f / sum(total);
  for (int at = 0; at < padded; at += kLanes) store(scores + at, load(scores + at) * over);
}

template <int D>
inline void prefetch(const float* row) {
  for (int d = 0; d < D; ++d) __builtin_prefetch(row + d * kLanes, 0, 2);
}

// Runs `use(rows, jump, first, last)` for each block of the context; `rows + jump` is the next
// block, to be fetched row by row while this one is used.
template <typename Use>
void each_block(const float* cache, const int32_t* table, const Shape& shape, int context, Use use) {
  const int64_t floats = int64_t(shape.block_tokens) * shape.kv_heads * shape.head_dim;
  for (int first = 0, number = 0; first < context; first += shape.block_tokens, ++number) {
    const int last = std::min(context, first + shape.block_tokens);
    const int next = last < context ? table[number + 1] : table[number];
    use(cache + table[number] * floats, (next - table[number]) * floats, first, last);
  }
}

// One new token: Q query heads of each K/V head at a time, every block read from memory once.
// q, out: (kv_heads, group, head_dim), D = head_dim / 16.
template <int D, int Q>
void one_token(const float* k, const float* v, const int32_t* table, const Shape& shape, int context,
               const float* q, float* out, std::vector<float>& scores) {
  constexpr int dim = D * kLanes;
  const int64_t stride = int64_t(shape.kv_heads) * dim, heads = shape.kv_heads;
  const int64_t room = (context + kLanes - 1) / kLanes * kLanes;
  scores.resize(heads * Q * room);
  each_block(k, table, shape, context, [&](const float* rows, int64_t jump, int first, int last) {
    for (int head = 0; head < heads; ++head) {
      Vec query[Q][D];
      for (int i = 0; i < Q; ++i)
        for (int d = 0; d < D; ++d)
          query[i][d] = load(q + (head * shape.group + i) * dim + d * kLanes) * shape.scale;
      float* to = scores.data() + head * Q * room;
      const float* row = rows + head * dim;
      for (int at = first; at < last; ++at, row += stride) {
        prefetch<D>(row + jump);
        Vec dots[Q] = {};
        for (int d = 0; d < D; ++d)
          for (int i = 0; i < Q; ++i) dots[i] += query[i][d] * load(row + d * kLanes);
        for (int i = 0; i < Q; ++i) to[i * room + at] = sum(dots[i]);
      }
    }
  });
  for (int i = 0; i < heads * Q; ++i) softmax(scores.data() + i * room, context);
  for (int head = 0; head < heads; ++head)
    std::fill_n(out + head * shape.group * dim, Q * dim, 0.0f);
  each_block(v, table, shape, context, [&](const float* rows, int64_t jump, int first, int last) {
    for (int head = 0; head < heads; ++head) {
      float* to = out + head * shape.group * dim;
      const float* weights = scores.data() + head * Q * room;
      const float* row = rows + head * dim;
      Vec mixed[Q][D];
      for (int i = 0; i < Q; ++i)
        for (int d = 0; d < D; ++d) mixed[i][d] = load(to + i * dim + d * kLanes);
      for (int at = first; at < last; ++at, row += stride) {
        prefetch<D>(row + jump);
        for (int d = 0; d < D; ++d)
          for (int i = 0; i < Q; ++i)
            mixed[i][d] += weights[i * room + at] * load(row + d * kLanes);
      }
      for (int i = 0; i < Q; ++i)
        for (int d = 0; d < D; ++d) store(to + i * dim + d * kLanes, mixed[i][d]);
    }
  });
}

template <int D>
void one_token_group(const float* k, const float* v, const int32_t* table, const Shape& shape,
                     int context, const float* q, float* out, std::vector<float>& scores) {
  for (int done = 0; done < shape.group;) {
    const int take = std::min(4, shape.group - done), skip = done * D * kLanes;
    const auto run = take == 4   ? one_token<D, 4>
                     : take == 3 ? one_token<D, 3>
                     : take == 2 ? one_token<D, 2>
                                 : one_token<D, 1>;
    run(k, v, table, shape, context, q + skip, out + skip, scores);
    done += take;
  }
}

constexpr int kRows = 8;  // rows of K that share each load of the queries

// Up to 16 queries of one K/V head, one per lane, so that K and V are used where they lie.
// turned: queries, then the result, as (head_dim, 16). seen: each lane's context, at most `most`.
void tile(const float* const* k, const float* const* v, int dim, float* turned, const Ints& seen,
          int most, float* scores) {
  Vec top = spread(-INFINITY);
  for (int first = 0; first < most; first += kRows) {
    const float* rows[kRows];
    for (int i = 0; i < kRows; ++i) rows[i] = k[std::min(first + i, most - 1)];
    Vec dots[kRows] = {};
    for (int d = 0; d < dim; ++d) {
      const Vec query = load(turned + d * kLanes);
      for (int i = 0; i < kRows; ++i) dots[i] += rows[i][d] * query;
    }
    for (int i = 0; i < kRows; ++i) {
      dots[i] = first + i < seen ? dots[i] : spread(-1e30f);
      top = larger(top, dots[i]);
      store(scores + (first + i) * kLanes, dots[i]);
    }
  }
  Vec total = {};
  for (int at = 0; at < most; ++at) {
    const Vec weight = exp_of(load(scores + at * kLanes) - top);
    store(scores + at * kLanes, weight);
    total += weight;
  }
  for (int d = 0; d < dim; d += kLanes) {
    Vec mixed[kLanes] = {};
    for (int at = 0; at < most; ++at) {
      const Vec weight = load(scores + at * kLanes);
      for (int i = 0; i < kLanes; ++i) mixed[i] += v[at][d + i] * weight;
    }
    for (int i = 0; i < kLanes; ++i) store(turned + (d + i) * kLanes, mixed[i] / total);
  }
}

struct Room {  // reused from sequence to sequence
  std::vector<float> scores, turned;
  std::vector<const float*> k, v;
};

// All new tokens of one sequence, 16 pairs of (token, query head) at a time.
void chunk(const float* k, const float* v, const int32_t* table, const Shape& shape, int start,
           int news, const float* q, float* out, Room& room) {
  const int dim = shape.head_dim, context = start + news, queries = news * shape.group;
  const int64_t row = int64_t(shape.kv_heads) * dim;
  room.scores.resize(int64_t(context + kRows) * kLanes);
  room.turned.resize(int64_t(dim) * kLanes);
  room.k.resize(context);
  room.v.resize(context);
  for (int head = 0; head < shape.kv_heads; ++head) {
    for (int at = 0; at < context; ++at) {
      const int64_t token = int64_t(table[at / shape.block_tokens]) * shape.block_tokens;
      const int64_t from = (token + at % shape.block_tokens) * row + head * dim;
      room.k[at] = k + from;
      room.v[at] = v + from;
    }
    for (int first = 0; first < queries; first += kLanes) {
      const int count = std::min(kLanes, queries - first);
      int64_t place[kLanes];
      Ints seen;
      for (int i = 0; i < kLanes; ++i) {  // idle lanes repeat the last query
        const int query = first + std::min(i, count - 1);
        const int token = query / shape.group;
        place[i] = token * row * shape.group + (head * shape.group + query % shape.group) * dim;
        seen[i] = start + token + 1;
        for (int d = 0; d < dim; ++d)
          room.turned[d * kLanes + i] = q[place[i] + d] * shape.scale;
      }
      tile(room.k.data(), room.v.data(), dim, room.turned.data(), seen, seen[kLanes - 1],
           room.scores.data());
      for (int i = 0; i < count; ++i)
        for (int d = 0; d < dim; ++d) out[place[i] + d] = room.turned[d * kLanes + i];
    }
  }
}

void sequence(const float* k, const float* v, const int32_t* table, const Shape& shape, int start,
              int news, const float* q, float* out, Room& room) {
  const int steps = shape.head_dim / kLanes;
  const auto run = steps == 2   ? one_token_group<2>
                   : steps == 4 ? one_token_group<4>
                   : steps == 8 ? one_token_group<8>
                                : nullptr;
  if (run == nullptr || news * shape.group > kLanes / 2) {  // enough queries to fill the lanes
    chunk(k, v, table, shape, start, news, q, out, room);
    return;
  }
  const int64_t row = int64_t(shape.kv_heads) * shape.group * shape.head_dim;
  for (int token = 0; token < news; ++token)
    run(k, v, table, shape, start + token + 1, q + token * row, out + token * row, room.scores);
}

}  // namespace

// q, out: (tokens, kv_heads * group, head_dim), the new tokens of all sequences one after another.
// k, v: (blocks, block_tokens, kv_heads, head_dim). tables: (sequences, width). starts, news:
// (sequences,). head_dim must be a multiple of 16.
extern "C" void paged_attention(const float* q, const float* k, const float* v, float* out,
                                const int32_t* tables, const int32_t* starts, const int32_t* news,
                                int32_t sequences, int32_t width, int32_t block_tokens,
                                int32_t kv_heads, int32_t group, int32_t head_dim, float scale,
                                int32_t threads) {
  const Shape shape{block_tokens, kv_heads, group, head_dim, scale};
  std::vector<int64_t> offsets(sequences);
  for (int at = 1; at < sequences; ++at) offsets[at] = offsets[at - 1] + news[at - 1];
  const int64_t row = int64_t(kv_heads) * group * head_dim;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    Room room;
#pragma omp for schedule(dynamic)
    for (int at = 0; at < sequences; ++at)
      sequence(k, v, tables + int64_t(at) * width, shape, starts[at], news[at],
               q + offsets[at] * row, out + offsets[at] * row, room);
  }
}
