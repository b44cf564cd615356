/* Nets as they come from Python, and pages: see layers.c. */
#include "decide.h"
#include "net.h"
#include <stdlib.h>

#define CAPSULE "blockml.net"

/* Units as Net.check allows them; columns and words are fewer than these in any net that is as large as it may be. */
enum { MOST_UNITS = 1 << 14, MOST_ROWS = 1 << 25 };

const Net *net_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

static void free_net(PyObject *capsule) {
    Net *net = PyCapsule_GetPointer(capsule, CAPSULE);
    if (net != NULL) free(net->memory);
    free(net);
}

/* Copies rows of `groups` groups of `width` numbers each, every group padded. */
static void copy_padded(const float *from, Py_ssize_t rows, Py_ssize_t groups, Py_ssize_t width, float *to) {
    for (Py_ssize_t i = 0; i < rows * groups; i++, from += width, to += padded(width))
        memcpy(to, from, (size_t)width * sizeof(float));
}

/* held_net((f, m, h, k, d, ways, n_words, factors), arrays): the nets of a tuple of arrays, those of blockml.nets.Net in
   order, as net_probabilities takes them. */
PyObject *held_net(PyObject *module, PyObject *arguments) {
    enum { CENTRE, SCALE, FIRST, FIRST_BIAS, WORDS, LIFT, OWN, PAGE, ALIKE, SECOND_BIAS, OUT, OUT_BIAS, MIX, N };
    PyObject *arrays, *result = NULL;
    Py_buffer view[N];
    int opened = 0;
    Net *net = calloc(1, sizeof *net);
    (void)module;
    if (net == NULL) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(arguments, "(nnnnnnnn)O!", &net->f, &net->m, &net->h, &net->k, &net->d, &net->ways, &net->n_words,
                          &net->factors, &PyTuple_Type, &arrays))
        goto done;
    if (PyTuple_Size(arrays) != N) {
        PyErr_SetString(PyExc_ValueError, "not the arrays of a net");
        goto done;
    }
    for (; opened < N; opened++)
        if (open_array(PyTuple_GetItem(arrays, opened), &view[opened], 4, 0) < 0) goto done;
    Py_ssize_t f = net->f, m = net->m, h = net->h, k = net->k, d = net->d, rank = net->factors;
    /* so few that no product of them is too large for a number */
    int sound = f > 0 && f <= MOST_ROWS && m > 0 && m <= MOST_UNITS && h > 0 && h <= MOST_UNITS && k > 0 && k <= MOST_UNITS &&
                d >= 0 && d <= MOST_UNITS && net->ways >= 0 && net->ways <= MOST_WAYS && net->n_words >= 0 &&
                net->n_words <= MOST_ROWS && rank >= 0 && rank <= MOST_UNITS;
    if (!sound) f = m = h = k = d = rank = 0;
    const Py_ssize_t given[N] = {
        f, f, f * (rank ? rank : m * h), m * h, net->n_words * m * d, m * d * h, m * h * k, 2 * m * h * k,
        m * net->ways * h * k, m * k, m * k, m, rank * m * h,
    };
    for (int i = 0; sound && i < N; i++) sound = view[i].len / 4 == given[i];
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "arrays of a net that don't fit together");
        goto done;
    }
    net->all_h = m * padded(h);
    net->all_k = m * padded(k);
    net->rank = rank ? padded(rank) : net->all_h;
    struct {
        float **place;
        Py_ssize_t from, rows, groups, width;
    } parts[] = {
        {&net->centre, CENTRE, 1, 1, f}, {&net->scale, SCALE, 1, 1, f},
        {&net->first, FIRST, f, rank ? 1 : m, rank ? rank : h}, {&net->first_bias, FIRST_BIAS, 1, m, h},
        {&net->mix, MIX, rank, m, h}, {&net->lift, LIFT, m * d, 1, h}, {&net->own, OWN, m * h, 1, k},
        {&net->page, PAGE, m * 2 * h, 1, k}, {&net->alike, ALIKE, m * net->ways * h, 1, k},
        {&net->second_bias, SECOND_BIAS, 1, m, k}, {&net->out, OUT, 1, m, k},
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    Py_ssize_t total = net->n_words * (m * d + 1) + m;
    for (int i = 0; i < PARTS; i++) total += parts[i].rows * parts[i].groups * padded(parts[i].width);
    net->memory = calloc((size_t)total, sizeof(float));
    if (net->memory == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    float *next = net->memory;
    for (int i = 0; i < PARTS; i++) {
        *parts[i].place = next;
        copy_padded(view[parts[i].from].buf, parts[i].rows, parts[i].groups, parts[i].width, next);
        next += parts[i].rows * parts[i].groups * padded(parts[i].width);
    }
    net->out_bias = memcpy(next, view[OUT_BIAS].buf, (size_t)m * sizeof(float));
    net->words = memcpy(next + m, view[WORDS].buf, (size_t)view[WORDS].len);
    net->known = net->words + net->n_words * m * d;
    for (Py_ssize_t word = 0; word < net->n_words; word++)
        for (Py_ssize_t i = 0; i < m * d; i++)
            if (net->words[word * m * d + i] != 0) net->known[word] = 1;
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
    *n_groups = (Py_ssize_t)rank_keys((const uint64_t *)numbers, (size_t)n, NULL, NULL, *memory);
    return *n_groups >= 0;
}

int are_bags(const Net *net, const Seen *page, Py_ssize_t n_buckets) {
    int sound = page->starts[0] >= 0 && page->starts[page->n_bags] <= n_buckets;
    for (Py_ssize_t bag = 0; bag < page->n_bags; bag++) sound &= page->starts[bag] <= page->starts[bag + 1];
    int64_t bad = 0;
    for (Py_ssize_t i = 0; i < n_buckets; i++) bad |= OUTSIDE(int64_t, page->buckets[i], 0, net->n_words);
    for (Py_ssize_t i = 0; i < page->n; i++) bad |= OUTSIDE(int64_t, page->bag[i], 0, page->n_bags);
    return sound && bad >= 0;
}

/* net_probabilities(net, columns, bound, starts, buckets, bag, groups, n_words, probabilities): those (n,) of blocks by the
   nets of held_net, from columns (f, n); bags of words, empty arrays for a net that reads none; a tuple of groups (n,), for
   each way to be alike; and the words of blocks. */
PyObject *net_probabilities(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, STARTS, BUCKETS, BAG, N_WORDS, PROBABILITIES, N };
    PyObject *object[N], *capsule, *groups, *result = NULL;
    static const Py_ssize_t sizes[N] = {4, 8, 4, 8, 8, 4};
    float bound;
    double *odds = NULL;
    Py_buffer view[N + MOST_WAYS];
    const int64_t *group[MOST_WAYS];
    int64_t *renumbered[MOST_WAYS] = {NULL};
    Py_ssize_t n_groups[MOST_WAYS];
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOfOOOO!OO", &capsule, &object[0], &bound, &object[1], &object[2], &object[3],
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
    failed = failed || write_net_odds(net, &page, bound, odds) < 0;
    if (!failed) write_logistics(odds, (size_t)n, view[PROBABILITIES].buf);
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
