/* Counts of characters and words of blocks; references: blockml.features.page_context.PageContext.characters and
   blockml.features.density.word_density. */
#include "features_page_tree.h"

void free_texts(Texts *texts) { free(texts->counts); }

void count_classes(const uint8_t *masks, uint64_t *counted) {
    for (int kind = 0; kind < N_KINDS; kind++) {
        counted[kind] = (uint64_t)1 << 8 * N_CLASSES; /* counts all characters */
        for (int k = 0; k < N_CLASSES; k++) counted[kind] |= (uint64_t)((kind & masks[k]) == masks[k]) << 8 * k;
    }
}

/* Counts of each kind of character, packed in bytes; those of ASCII characters are looked up directly. */
typedef struct {
    const uint8_t *kinds;
    const uint64_t *counted;
    uint64_t ascii[0x80];
} Counting;

/* Adds the counts of UTF-8 characters to sums (N_CLASSES + 1,); returns the last character. */
static uint32_t count_characters(const Counting *counting, const uint8_t *byte, const uint8_t *end, int64_t *sums) {
    const uint64_t not_ascii = 0x8080808080808080u;
    uint32_t point = '\n';
    while (byte < end) {
        uint64_t counts = 0, eight;
        const uint8_t *stop = end - byte > 255 ? byte + 255 : end; /* more would overflow a byte */
        while (byte < stop) {
            if (stop - byte >= 8 && (memcpy(&eight, byte, 8), !(eight & not_ascii))) {
                for (int k = 0; k < 8; k++) counts += counting->ascii[byte[k]];
                byte += 8;
                point = byte[-1];
            } else {
                point = next_point(&byte, end);
                counts += counting->counted[counting->kinds[point]];
            }
        }
        for (int k = 0; k <= N_CLASSES; k++) sums[k] += counts >> 8 * k & 255;
    }
    return point;
}

/* Counts the characters of the text of block i and of a final line break. */
static void read_text(const Counting *counting, Utf8 text, Py_ssize_t i, Py_ssize_t n, Texts *texts) {
    int64_t sums[N_CLASSES + 1] = {0};
    const uint8_t *byte = (const uint8_t *)text.bytes, *end = byte + text.length;
    texts->last[i] = counting->kinds[count_characters(counting, byte, end, sums)];
    texts->first[i] = counting->kinds[text.length ? next_point(&byte, end) : '\n'];
    texts->lengths[i] = (double)sums[N_CLASSES];
    for (int k = 0; k < N_CLASSES; k++)
        texts->counts[k * n + i] = (double)(sums[k] + (int64_t)(counting->ascii['\n'] >> 8 * k & 255));
}

/* Counts the characters of all texts of a page by class, once. */
int read_texts(Texts *texts, const Tree *tree, const Tables *tables) {
    Py_ssize_t n = tree->n;
    if (texts->counts != NULL) return 0;
    double *counts = malloc((size_t)n * ((N_CLASSES + 1) * sizeof(double) + 2));
    if (counts == NULL) return no_memory();
    uint8_t *first = (uint8_t *)(counts + (N_CLASSES + 1) * n);
    Counting counting = {.kinds = tables->view[CLASSES].buf, .counted = tables->counted};
    for (int point = 0; point < 0x80; point++) counting.ascii[point] = counting.counted[counting.kinds[point]];
    *texts = (Texts){.counts = counts, .lengths = counts + N_CLASSES * n, .first = first, .last = first + n};
    for (Py_ssize_t i = 0; i < n; i++) read_text(&counting, tree->texts[i], i, n, texts);
    return 0;
}

/* Returns the words per full line of n words: lines are filled in order, and the last one doesn't count. */
static float line_density(const int32_t *lengths, Py_ssize_t n, int64_t line_width) {
    Py_ssize_t word = 0, n_lines = 0;
    for (;;) {
        Py_ssize_t after = word;
        int64_t used = 0; /* with a blank after each word */
        while (after < n && used + lengths[after] <= line_width) used += (int64_t)lengths[after++] + 1;
        if (after == word) { /* a word longer than a line has its own line */
            n_lines += word == 0; /* after an empty first line, like boilerpipe */
            after++;
        }
        if (after >= n) break;
        n_lines++;
        word = after;
    }
    return n_lines ? (float)((double)word / (double)n_lines) : (float)n;
}

/* word_densities(line_width, (lengths, counts, densities)): writes the density of each block from the lengths of its
   words. */
PyObject *word_densities(PyObject *module, PyObject *arguments) {
    PyObject *arrays;
    Py_buffer view[3];
    int line_width;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iO!", &line_width, &PyTuple_Type, &arrays)) return NULL;
    if (open_arrays(arrays, view, "i i *f") < 0) return NULL;
    const int32_t *lengths = view[0].buf, *counts = view[1].buf;
    Py_ssize_t n = n_items(&view[1]), left = n_items(&view[2]) < n ? -1 : n_items(&view[0]), i = 0;
    for (; i < n && counts[i] >= 0 && counts[i] <= left; left -= counts[i], lengths += counts[i], i++)
        ((float *)view[2].buf)[i] = line_density(lengths, counts[i], line_width);
    close_arrays(view, 3);
    if (i == n) return Py_NewRef(Py_None);
    PyErr_SetString(PyExc_IndexError, "fewer word lengths than words of the blocks");
    return NULL;
}
