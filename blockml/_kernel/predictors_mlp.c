/* Nets as they come from Python, and pages: see predictors_mlp_layers.c. */
#include "predictors_mlp.h"
#include <stdlib.h>

#define CAPSULE "blockml.net"

/* Units as Net.check allows them; columns and words are fewer than these in any net that is as large as it may be;
   words of a bag, whose sums have 32 bits. */
enum { MOST_UNITS = 1 << 14, MOST_ROWS = 1 << 25, MOST_IN_BAG = 1 << 16 };

const Net *net_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

static void free_net(PyObject *capsule) {
    Net *net = PyCapsule_GetPointer(capsule, CAPSULE);
    if (net != NULL) free(net->memory);
    free(net);
}

/* Copies rows of `groups` groups of `width` numbers of `size` bytes each; every group is padded. */
static void copy_padded(const char *from, Py_ssize_t rows, Py_ssize_t groups, Py_ssize_t width, Py_ssize_t size,
                        char *to) {
    for (Py_ssize_t i = 0; i < rows * groups; i++, from += width * size, to += padded(width) * size)
        memcpy(to, from, (size_t)(width * size));
}

/* The same with rows in pairs: both numbers of a column lie side by side. */
static void copy_pairs(const int16_t *from, Py_ssize_t rows, Py_ssize_t groups, Py_ssize_t width, int16_t *to) {
    Py_ssize_t step = groups * padded(width);
    for (Py_ssize_t row = 0; row < rows; row++)
        for (Py_ssize_t group = 0; group < groups; group++)
            for (Py_ssize_t k = 0; k < width; k++)
                to[2 * (row / 2 * step + group * padded(width) + k) + row % 2] = *from++;
}

/* Arrays of a net, those of blockml.predictors.quantized_mlp.QuantizedMLP in order, and the bytes of their numbers. */
enum { CENTRE, SCALE, FIRST, MIX, FIRST_SCALE, FIRST_BIAS, WORDS, KNOWN, LIFT, LIFT_SCALE, OWN, PAGE, ALIKE,
      SECOND_SCALE, SECOND_BIAS, OUT, OUT_SCALE, OUT_BIAS, N_ARRAYS };
static const Py_ssize_t SIZES[N_ARRAYS] = {4, 4, 2, 2, 4, 4, 2, 1, 2, 4, 2, 2, 2, 4, 4, 2, 4, 4};

/* Whether sizes are so small that no product of them is too large for a number, and arrays are as large as they say. */
static int fits(const Net *net, const Py_buffer *view) {
    Py_ssize_t f = net->f, m = net->m, h = net->h, k = net->k, d = net->d, rank = net->factors;
    if (!(f > 0 && f <= MOST_ROWS && m > 0 && m <= MOST_UNITS && h > 0 && h <= MOST_UNITS && k > 0 && k <= MOST_UNITS &&
          d >= 0 && d <= MOST_UNITS && net->ways >= 0 && net->ways <= MOST_WAYS && net->n_words >= 0 &&
          net->n_words <= MOST_ROWS && rank >= 0 && rank <= MOST_UNITS))
        return 0;
    const Py_ssize_t wanted[N_ARRAYS] = {
        f, f, f * (rank ? rank : m * h), rank * m * h, m * h, m * h, net->n_words * m * d, net->n_words, m * d * h,
            m * h,
        m * h * k, 2 * m * h * k, m * net->ways * h * k, m * k, m * k, m * k, m, m,
    };
    for (int i = 0; i < N_ARRAYS; i++)
        if (view[i].len / SIZES[i] != wanted[i]) return 0;
    return 1;
}

/* Makes room for a net's arrays and copies them; 0 without memory. */
static int take(Net *net, const Py_buffer *view) {
    Py_ssize_t m = net->m, h = net->h, k = net->k, d = net->d, rank = net->factors;
    net->all_h = m * padded(h);
    net->all_k = m * padded(k);
    net->rank = rank ? padded(rank) : net->all_h;
    net->width = m * 2 * pairs_of(d);
    /* What is in pairs comes in parts of so many rows each, one part after another. */
    struct {
        void *place;
        int from;
        Py_ssize_t parts, rows, groups, width;
        int in_pairs;
    } copies[] = {
        {&net->centre, CENTRE, 1, 1, 1, net->f, 0}, {&net->scale, SCALE, 1, 1, 1, net->f, 0},
        {&net->first_scale, FIRST_SCALE, 1, 1, m, h, 0}, {&net->first_bias, FIRST_BIAS, 1, 1, m, h, 0},
        {&net->lift_scale, LIFT_SCALE, 1, 1, m, h, 0}, {&net->second_scale, SECOND_SCALE, 1, 1, m, k, 0},
        {&net->second_bias, SECOND_BIAS, 1, 1, m, k, 0}, {&net->out_scale, OUT_SCALE, 1, 1, 1, m, 0},
        {&net->out_bias, OUT_BIAS, 1, 1, 1, m, 0}, {&net->first, FIRST, 1, net->f, rank ? 1 : m, rank ? rank : h, 0},
        {&net->out, OUT, 1, 1, m, k, 0}, {&net->mix, MIX, 1, rank, m, h, 1}, {&net->lift, LIFT, m, d, 1, h, 1},
        {&net->own, OWN, m, h, 1, k, 1}, {&net->page, PAGE, 2 * m, h, 1, k, 1},
        {&net->alike, ALIKE, m * net->ways, h, 1, k, 1},
    };
    enum { COPIES = sizeof copies / sizeof *copies };
    Py_ssize_t total = net->n_words * (net->width + 1) * 2;
    for (int i = 0; i < COPIES; i++)
        total += copies[i].parts * 2 * pairs_of(copies[i].rows) * copies[i].groups * padded(copies[i].width) *
                 SIZES[copies[i].from];
    char *next = net->memory = calloc((size_t)total + 1, 1);
    if (next == NULL) return 0;
    for (int i = 0; i < COPIES; i++) {
        Py_ssize_t size = SIZES[copies[i].from], rows = copies[i].rows, groups = copies[i].groups,
            width = copies[i].width;
        const char *from = view[copies[i].from].buf;
        memcpy(copies[i].place, &next, sizeof next);
        for (Py_ssize_t part = 0; part < copies[i].parts; part++) {
            if (copies[i].in_pairs)
                copy_pairs((const int16_t *)from, rows, groups, width, (int16_t *)next);
            else
                copy_padded(from, rows, groups, width, size, next);
            from += rows * groups * width * size;
            next += 2 * pairs_of(rows) * groups * padded(width) * size;
        }
    }
    net->words = (int16_t *)next, net->known = net->words + net->n_words * net->width;
    const int16_t *words = view[WORDS].buf;
    for (Py_ssize_t i = 0; i < net->n_words * m; i++, words += d)
        memcpy(net->words + i * 2 * pairs_of(d), words, (size_t)d * sizeof(int16_t));
    const uint8_t *known = view[KNOWN].buf;
    for (Py_ssize_t word = 0; word < net->n_words; word++) net->known[word] = known[word] != 0;
    return 1;
}

/* held_net((f, m, h, k, d, ways, n_words, factors), arrays): the nets of a tuple of arrays as net_probabilities takes
   them. */
PyObject *held_net(PyObject *module, PyObject *arguments) {
    PyObject *arrays, *result = NULL;
    Py_buffer view[N_ARRAYS];
    int opened = 0;
    Net *net = calloc(1, sizeof *net);
    (void)module;
    if (net == NULL) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(arguments, "(nnnnnnnn)O!", &net->f, &net->m, &net->h, &net->k, &net->d, &net->ways,
                          &net->n_words, &net->factors, &PyTuple_Type, &arrays))
        goto done;
    if (PyTuple_Size(arrays) != N_ARRAYS) {
        PyErr_SetString(PyExc_ValueError, "not the arrays of a net");
        goto done;
    }
    for (; opened < N_ARRAYS; opened++)
        if (open_array(PyTuple_GetItem(arrays, opened), &view[opened], SIZES[opened], 0) < 0) goto done;
    if (!fits(net, view))
        PyErr_SetString(PyExc_ValueError, "arrays of a net that don't fit together");
    else if (!take(net, view))
        PyErr_NoMemory();
    else
        result = PyCapsule_New(net, CAPSULE, free_net);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    if (result == NULL) {
        free(net->memory);
        free(net);
    }
    return result;
}

int number_groups(const int64_t *numbers, Py_ssize_t n, const int64_t **group, Py_ssize_t *n_groups, int64_t **memory) {
    int64_t least = 0, most = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    *group = numbers;
    if (least >= 0 && most < n) {
        *n_groups = (Py_ssize_t)most + 1;
        return 1;
    }
    *memory = malloc((size_t)n * sizeof(int64_t));
    if (*memory == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    *group = *memory;
    *n_groups = (Py_ssize_t)factorize((const uint64_t *)numbers, (size_t)n, *memory);
    return *n_groups >= 0;
}

int are_bags(const Net *net, const Seen *page, Py_ssize_t n_buckets) {
    int sound = page->starts[0] >= 0 && page->starts[page->n_bags] <= n_buckets;
    for (Py_ssize_t bag = 0; bag < page->n_bags; bag++)
        sound &= page->starts[bag] <= page->starts[bag + 1] &&
                 (uint64_t)page->starts[bag + 1] - (uint64_t)page->starts[bag] <= MOST_IN_BAG;
    uint64_t outside = 0;
    for (Py_ssize_t i = 0; i < n_buckets; i++) outside |= OUTSIDE(uint64_t, page->buckets[i], 0, net->n_words);
    for (Py_ssize_t i = 0; i < page->n; i++) outside |= OUTSIDE(uint64_t, page->bag[i], 0, page->n_bags);
    return sound && !(outside >> 63);
}

/* net_probabilities(net, columns, starts, buckets, bag, groups, n_words, probabilities): those (n,) of blocks by the
   nets of held_net, from columns (f, n); bags of words, empty arrays for a net that reads none; a tuple of groups
   (n,), for each way to be alike; and the words of blocks. */
PyObject *net_probabilities(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, STARTS, BUCKETS, BAG, N_WORDS, PROBABILITIES, N };
    PyObject *object[N], *capsule, *groups, *result = NULL;
    static const Py_ssize_t sizes[N] = {4, 8, 4, 8, 8, 4};
    double *odds = NULL;
    Py_buffer view[N + MOST_WAYS];
    const int64_t *group[MOST_WAYS];
    int64_t *renumbered[MOST_WAYS] = {NULL};
    Py_ssize_t n_groups[MOST_WAYS];
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO!OO", &capsule, &object[0], &object[1], &object[2], &object[3],
                          &PyTuple_Type, &groups, &object[4], &object[5]))
        return NULL;
    const Net *net = net_of(capsule);
    if (net == NULL) return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened == PROBABILITIES) < 0) goto done;
    Py_ssize_t n = view[PROBABILITIES].len / 4;
    Seen page = {n,     view[STARTS].len / 8 - 1, view[COLUMNS].buf, view[STARTS].buf, view[BAG].buf, view[BUCKETS].buf,
                   group, n_groups,                 view[N_WORDS].buf};
    int sound = n > 0 && view[COLUMNS].len / 4 == net->f * n && view[N_WORDS].len / 8 == n && net->ways <= MOST_WAYS &&
                PyTuple_Size(groups) == net->ways;
    if (net->d == 0)
        page.n_bags = 0;
    else if (sound)
        sound = page.n_bags >= 0 && view[BAG].len / 8 == n && are_bags(net, &page, view[BUCKETS].len / 4);
    for (Py_ssize_t way = 0; sound && way < net->ways; way++) {
        if (open_array(PyTuple_GetItem(groups, way), &view[opened], 8, 0) < 0) goto done;
        sound = view[opened++].len / 8 == n;
        if (sound && !number_groups(view[opened - 1].buf, n, &group[way], &n_groups[way], &renumbered[way])) goto done;
    }
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such columns, words or groups, or arrays differ in size");
        goto done;
    }
    int failed = (odds = malloc((size_t)n * sizeof(double))) == NULL;
    Py_BEGIN_ALLOW_THREADS;
    failed = failed || write_net_odds(net, &page, odds) < 0;
    if (!failed) write_sigmoids(odds, (size_t)n, view[PROBABILITIES].buf);
    Py_END_ALLOW_THREADS;
    if (failed)
        PyErr_NoMemory();
    else
        result = Py_NewRef(Py_None);
done:
    free(odds);
    for (int way = 0; way < MOST_WAYS; way++) free(renumbered[way]);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
