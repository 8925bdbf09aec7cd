/* The yardstick of benchmarks/speed.py: one simulation without memory limits and Send ops, from the same arrays, by the same
   algorithm and with the same result as placelab.simulate.

   An instant is processed in rounds: completions in order of number, ops before transfers; then free channels; when both
   have nothing left to do, idle devices. Ties: the op that has waited longest, the lower number. Returns the makespan. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { PARALLEL, SEQUENTIAL, CHANNEL };

typedef struct {
    double key;
    int32_t number;
} Item;

/* Equal keys: by `since`, where there is one, then by number. */
static inline int before(Item a, Item b, const double *since)
{
    if (a.key != b.key) return a.key < b.key;
    if (since && since[a.number] != since[b.number]) return since[a.number] < since[b.number];
    return a.number < b.number;
}

static inline void push(Item *heap, int32_t *size, double key, int32_t number, const double *since)
{
    Item item = {key, number};
    int32_t i = (*size)++;
    for (int32_t parent; i > 0 && before(item, heap[parent = (i - 1) >> 1], since); i = parent) heap[i] = heap[parent];
    heap[i] = item;
}

static inline int32_t pop(Item *heap, int32_t *size, const double *since)
{
    int32_t first = heap[0].number, n = --*size, i = 0;
    Item last = heap[n];
    for (int32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(heap[child + 1], heap[child], since)) child++;
        if (before(last, heap[child], since)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

/* Longest path from each op to the end under a placement (Mayer et al. 2017, eq. 12), in steps of 2^-40 of the longest.
   Edges are sorted by producer. */
void path_computation_time(int32_t n_ops, int32_t n_devices, const int32_t *device, const double *duration,
                           const int32_t *succ_ptr, const int32_t *consumer, const int32_t *edge_tensor,
                           const double *tensor_bytes, const double *latency, const double *bandwidth, double *rank)
{
    double most = 0.0;
    for (int32_t v = n_ops - 1; v >= 0; v--) {
        double longest = 0.0;
        for (int32_t e = succ_ptr[v]; e < succ_ptr[v + 1]; e++) {
            int32_t s = consumer[e], link = device[v] * n_devices + device[s];
            double x = rank[s];
            if (device[s] != device[v]) x = latency[link] + tensor_bytes[edge_tensor[e]] / bandwidth[link] + x;
            if (x > longest) longest = x;
        }
        rank[v] = duration[v] + longest;
        if (rank[v] > most) most = rank[v];
    }
    for (int32_t v = 0; v < n_ops && most > 0.0; v++) rank[v] = rint(rank[v] / most * 0x1p40);
}

/* Without `priority`: first come, first served. */
double simulate(int32_t n_ops, int32_t n_edges, int32_t n_devices, int32_t model, const int32_t *device,
                const double *duration, const int32_t *succ_ptr, const int32_t *pred_ptr, const int32_t *producer,
                const int32_t *consumer, const int32_t *edge_tensor, const double *tensor_bytes, const double *latency,
                const double *bandwidth, const double *priority, double *start, double *finish)
{
    int32_t pairs = n_devices * n_devices;
    int32_t *cursor = malloc(4 * n_ops), *by_device = malloc(4 * n_edges), *sorted = malloc(4 * n_edges);
    int32_t *base = calloc(n_devices + 1, 4), *queued = calloc(n_devices, 4), *touched = malloc(4 * n_devices);
    int32_t *missing = malloc(4 * n_ops), *reader = malloc(4 * n_edges), *first_transfer = malloc(4 * (n_ops + 1));
    int32_t *local = malloc(8 * n_ops), *reader_ptr = malloc(8 * n_edges), *tensor = malloc(4 * n_edges);
    int32_t *pair_of = malloc(4 * n_edges), *next = malloc(4 * n_edges), *open = malloc(4 * pairs);
    int32_t *head = malloc(4 * pairs), *tail = malloc(4 * pairs);
    char *busy = calloc(n_devices, 1), *looked = calloc(n_devices, 1), *carries = calloc(pairs, 1), *listed = calloc(pairs, 1);
    double *port = calloc(n_devices, 8), *since = malloc(8 * n_ops), now = 0.0;
    int32_t n_transfers = 0, n_touched = 0, n_open = 0, n_events = 0;

    /* Edges of each op by (device, tensor): two stable counting sorts. */
    int32_t *count = calloc(n_devices + 1, 4);
    for (int32_t e = 0; e < n_edges; e++) count[device[consumer[e]] + 1]++;
    for (int32_t d = 0; d < n_devices; d++) count[d + 1] += count[d];
    for (int32_t e = 0; e < n_edges; e++) by_device[count[device[consumer[e]]]++] = e;
    for (int32_t v = 0; v < n_ops; v++) cursor[v] = succ_ptr[v];
    for (int32_t i = 0; i < n_edges; i++) sorted[cursor[producer[by_device[i]]]++] = by_device[i];

    /* Of each op: its readers at home, and one transfer for each other (device, tensor). */
    for (int32_t v = 0; v < n_ops; v++) {
        int32_t last_device = -1, last_tensor = -1;
        first_transfer[v] = n_transfers;
        local[2 * v] = local[2 * v + 1] = succ_ptr[v];
        for (int32_t i = succ_ptr[v]; i < succ_ptr[v + 1]; i++) {
            int32_t w = consumer[sorted[i]], d = device[w], t = edge_tensor[sorted[i]];
            reader[i] = w;
            if (d == device[v]) {
                if (last_device != d) local[2 * v] = i;
                local[2 * v + 1] = i + 1;
            } else {
                if (d != last_device || t != last_tensor) {
                    tensor[n_transfers] = t;
                    pair_of[n_transfers] = device[v] * n_devices + d;
                    reader_ptr[2 * n_transfers++] = i;
                }
                reader_ptr[2 * n_transfers - 1] = i + 1;
                last_tensor = t;
            }
            last_device = d;
        }
    }
    first_transfer[n_ops] = n_transfers;

    Item *queue = malloc(sizeof(Item) * n_ops), *events = malloc(sizeof(Item) * (n_devices + n_transfers + 1));
    for (int32_t v = 0; v < n_ops; v++) base[device[v] + 1]++;
    for (int32_t d = 0; d < n_devices; d++) base[d + 1] += base[d];
    for (int32_t p = 0; p < pairs; p++) head[p] = -1;

#define LOOK_AT(d) \
    if (!looked[d]) looked[d] = 1, touched[n_touched++] = d
#define ARRIVE(w, d) \
    if (--missing[w] == 0) since[w] = now, push(queue + base[d], &queued[d], priority ? -priority[w] : now, w, since)
#define SEND(x, begin) push(events, &n_events, begin + latency[pair] + tensor_bytes[tensor[x]] / bandwidth[pair], n_ops + x, NULL)

    for (int32_t v = 0; v < n_ops; v++) {
        missing[v] = pred_ptr[v + 1] - pred_ptr[v];
        if (missing[v] == 0) {
            missing[v] = 1;
            ARRIVE(v, device[v]);
            LOOK_AT(device[v]);
        }
    }
    for (;;) {
        for (int32_t i = 0; i < n_touched; i++) {
            int32_t d = touched[i];
            looked[d] = 0;
            if (busy[d] || queued[d] == 0) continue;
            int32_t v = pop(queue + base[d], &queued[d], since);
            busy[d] = 1;
            start[v] = now;
            finish[v] = now + duration[v];
            push(events, &n_events, finish[v], v, NULL);
        }
        n_touched = 0;
        if (n_events == 0) break;
        now = events[0].key;
        do { /* a transfer that takes no time arrives before devices choose */
            while (n_events > 0 && events[0].key == now) {
                int32_t v = pop(events, &n_events, NULL), d;
                if (v < n_ops) {
                    d = device[v];
                    busy[d] = 0;
                    for (int32_t i = local[2 * v]; i < local[2 * v + 1]; i++) ARRIVE(reader[i], d);
                    for (int32_t x = first_transfer[v]; x < first_transfer[v + 1]; x++) {
                        int32_t pair = pair_of[x], to = pair % n_devices;
                        double begin = now;
                        if (model == SEQUENTIAL) {
                            if (port[d] > begin) begin = port[d];
                            if (port[to] > begin) begin = port[to];
                            port[d] = port[to] = begin + latency[pair] + tensor_bytes[tensor[x]] / bandwidth[pair];
                        }
                        if (model != CHANNEL) {
                            SEND(x, begin);
                            continue;
                        }
                        next[x] = -1;
                        if (head[pair] < 0) head[pair] = x;
                        else next[tail[pair]] = x;
                        tail[pair] = x;
                        if (!listed[pair]) listed[pair] = 1, open[n_open++] = pair;
                    }
                } else {
                    int32_t x = v - n_ops, pair = pair_of[x];
                    d = pair % n_devices;
                    for (int32_t i = reader_ptr[2 * x]; i < reader_ptr[2 * x + 1]; i++) ARRIVE(reader[i], d);
                    if (model == CHANNEL) {
                        carries[pair] = 0;
                        if (!listed[pair]) listed[pair] = 1, open[n_open++] = pair;
                    }
                }
                LOOK_AT(d);
            }
            for (; n_open > 0; n_open--) {
                int32_t pair = open[n_open - 1], x = head[pair];
                listed[pair] = 0;
                if (carries[pair] || x < 0) continue;
                carries[pair] = 1;
                head[pair] = next[x];
                SEND(x, now);
            }
        } while (n_events > 0 && events[0].key == now);
    }
    void *all[] = {cursor, by_device, sorted, base, queued, touched, missing, reader, first_transfer, local, reader_ptr,
                   tensor, pair_of, next, open, head, tail, busy, looked, carries, listed, port, since, count, queue, events};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    return now;
}
