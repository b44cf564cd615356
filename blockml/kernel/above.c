/* What stands above blocks, from a chain (levels, n_blocks) of nodes: the parent of each block, its parent and so on;
   -1 above a root.

   chains: the twin of blockml.features.view.View.chain. nearest_levels: of
   blockml.features.structure.nearest_levels. most_above: of blockml.features.view.View.most_above. chain_keys: of the hash in blockml.features.alike. */
#include "kernel.h"
#include <string.h>

enum { GROUPS = 64 };

/* Whether all nodes of a chain are nodes, or -1. */
static int in_range(const int64_t *chain, Py_ssize_t length, Py_ssize_t n_nodes) {
    for (Py_ssize_t i = 0; i < length; i++)
        if (chain[i] < -1 || chain[i] >= n_nodes) {
            PyErr_SetString(PyExc_IndexError, "no such node");
            return 0;
        }
    return 1;
}

/* chains(parents, first, chain): the chain (most_levels, n_blocks) of blocks whose parents come first; returns how many
   levels there are, which are all that is written. */
PyObject *chains(PyObject *module, PyObject *arguments) {
    PyObject *object[3];
    Py_buffer view[3];
    static const Py_ssize_t sizes[3] = {4, 4, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &object[0], &object[1], &object[2])) return NULL;
    int count = open_arrays(object, view, sizes, 3);
    PyObject *result = NULL;
    if (count < 3) goto done;
    const int32_t *parents = view[0].buf, *first = view[1].buf;
    int64_t *chain = view[2].buf;
    Py_ssize_t n_nodes = view[0].len / 4, n = view[1].len / 4, most = n > 0 ? view[2].len / 8 / n : 0, level = 0;
    for (int any = n > 0; any && level < most; level++) {
        int64_t *row = chain + level * n;
        any = 0;
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t below = level ? row[block - n] : 0;
            int64_t node = !level ? first[block] : below < 0 ? -1 : parents[below];
            if (node < -1 || node >= n_nodes) {
                PyErr_SetString(PyExc_IndexError, "no such node");
                goto done;
            }
            row[block] = node;
            any |= node >= 0 && parents[node] >= 0;
        }
    }
    result = PyLong_FromSsize_t(level);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
}

/* nearest_levels(chain, n_blocks, far, bits, levels): levels (n_groups, n_blocks) up to the nearest node of a chain
   whose bits (n_nodes + 1,), the last for "no node", hold the group; far where there is none. */
PyObject *nearest_levels(PyObject *module, PyObject *arguments) {
    PyObject *object[3];
    Py_ssize_t n;
    float far;
    Py_buffer view[3];
    static const Py_ssize_t sizes[3] = {8, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnfOO", &object[0], &n, &far, &object[1], &object[2])) return NULL;
    int count = open_arrays(object, view, sizes, 3);
    PyObject *result = NULL;
    if (count < 3) goto done;
    const int64_t *chain = view[0].buf;
    const uint64_t *bits = view[1].buf;
    float *levels = view[2].buf;
    Py_ssize_t n_nodes = view[1].len / 8 - 1, n_levels = n > 0 ? view[0].len / 8 / n : 0;
    Py_ssize_t n_groups = n > 0 ? view[2].len / 4 / n : 0;
    if (n_groups > GROUPS || n < 0 || (n && n_levels < 1)) {
        PyErr_SetString(PyExc_ValueError, "too many groups, or no levels");
        goto done;
    }
    if (!in_range(chain, view[0].len / 8, n_nodes)) goto done;
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t i = 0; i < n_groups * n; i++) levels[i] = far;
    uint64_t wanted = n_groups == GROUPS ? ~(uint64_t)0 : ((uint64_t)1 << n_groups) - 1;
    struct {
        Py_ssize_t group;
        float level;
    } near[GROUPS]; /* what was found above a block; of the next one it is mostly the same */
    int n_near = 0;
    for (Py_ssize_t block = 0; block < n; block++) {
        if (block == 0 || chain[block] != chain[block - 1]) {
            uint64_t missing = wanted;
            n_near = 0;
            for (Py_ssize_t level = 0; level < n_levels && missing; level++) {
                int64_t node = chain[level * n + block];
                uint64_t found = bits[node < 0 ? n_nodes : node] & missing;
                missing &= ~found;
                for (Py_ssize_t group = 0; found; group++, found >>= 1) {
                    for (; !(found & 255); group += 8) found >>= 8; /* few groups: most bytes are empty */
                    if (!(found & 1)) continue;
                    near[n_near].group = group;
                    near[n_near++].level = (float)level;
                }
            }
        }
        for (int k = 0; k < n_near; k++) levels[near[k].group * n + block] = near[k].level;
    }
    Py_END_ALLOW_THREADS;
    result = Py_NewRef(Py_None);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
}

/* most_above(chain, n_blocks, values, most): the largest value (n_nodes + 1,), the last for "no node", of the nodes of each
   block's chain; of levels beyond a root too. */
PyObject *most_above(PyObject *module, PyObject *arguments) {
    PyObject *object[3];
    Py_ssize_t n;
    Py_buffer view[3];
    static const Py_ssize_t sizes[3] = {8, 8, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOO", &object[0], &n, &object[1], &object[2])) return NULL;
    int count = open_arrays(object, view, sizes, 3);
    PyObject *result = NULL;
    if (count < 3) goto done;
    const int64_t *chain = view[0].buf;
    const double *values = view[1].buf;
    double *most = view[2].buf;
    Py_ssize_t n_nodes = view[1].len / 8 - 1, n_levels = n > 0 ? view[0].len / 8 / n : 0;
    if (n < 0 || view[2].len / 8 < n || (n && n_levels < 1)) {
        PyErr_SetString(PyExc_ValueError, "no room for all blocks, or no levels");
        goto done;
    }
    if (!in_range(chain, view[0].len / 8, n_nodes)) goto done;
    for (Py_ssize_t level = 0; level < n_levels; level++)
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t node = chain[level * n + block];
            double value = values[node < 0 ? n_nodes : node];
            if (!level || value > most[block]) most[block] = value;
        }
    result = Py_NewRef(Py_None);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
}

/* chain_keys(chain, n_blocks, factor, codes, keys): keys (n_blocks,) of the codes (n_nodes + 1,) of each block's chain,
   from its top down. */
PyObject *chain_keys(PyObject *module, PyObject *arguments) {
    PyObject *object[3];
    Py_ssize_t n;
    unsigned long long factor;
    Py_buffer view[3];
    static const Py_ssize_t sizes[3] = {8, 8, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnKOO", &object[0], &n, &factor, &object[1], &object[2])) return NULL;
    int count = open_arrays(object, view, sizes, 3);
    PyObject *result = NULL;
    if (count < 3) goto done;
    const int64_t *chain = view[0].buf;
    const uint64_t *codes = view[1].buf;
    uint64_t *keys = view[2].buf;
    Py_ssize_t n_nodes = view[1].len / 8 - 1, n_levels = n > 0 ? view[0].len / 8 / n : 0;
    if (n < 0 || view[2].len / 8 < n) {
        PyErr_SetString(PyExc_ValueError, "no room for all keys");
        goto done;
    }
    if (!in_range(chain, view[0].len / 8, n_nodes)) goto done;
    Py_BEGIN_ALLOW_THREADS;
    memset(keys, 0, (size_t)n * 8);
    for (Py_ssize_t level = n_levels; level-- > 0;)
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t node = chain[level * n + block];
            uint64_t key = keys[block] * (uint64_t)factor + codes[node < 0 ? n_nodes : node];
            keys[block] = key ^ (key >> 31);
        }
    Py_END_ALLOW_THREADS;
    result = Py_NewRef(Py_None);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
}
