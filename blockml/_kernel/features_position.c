/* Columns of text and position; references: blockml.features.position and blockml.features.position. */
#include "features_page_tree.h"

static int write_text(Page *page, float *const *rows) {
    enum { ALNUM, SPACE, DIGIT, SENTENCE, CLAUSE, CAPITAL, IDEOGRAPH };
    const Tree *tree = page->tree;
    const uint8_t *classes = page->tables->view[MASKS].buf;
    if (read_texts(&page->texts, tree, page->tables) < 0) return -1;
    Py_ssize_t n = tree->n;
    const double *words = tree->amounts, *linked = words + n, *prose = linked + n, *counts = page->texts.counts;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double *count = counts + i;
        double alnum = count[ALNUM * n], letters = at_least(alnum, 1), word = at_least(words[i], 1);
        double sentence = count[SENTENCE * n], clause = count[CLAUSE * n], length = page->texts.lengths[i];
        double signs = at_least(length - alnum - (count[SPACE * n] - 1), 0); /* without the line break that was added */
        uint8_t first = page->texts.first[i], last = page->texts.last[i];
        const double values[19] = {
            words[i],
            length,
            letters / word,
            linked[i],
            linked[i] / word,
            words[i] - linked[i],
            count[DIGIT * n] / letters,
            count[CAPITAL * n] / letters,
            count[IDEOGRAPH * n] / letters,
            sentence,
            clause,
            signs / at_least(length, 1),
            clause / word,
            (last & classes[SENTENCE]) > 0,
            (last & classes[CLAUSE]) > 0,
            (first & classes[CAPITAL] & ~classes[ALNUM]) > 0,
            (first & classes[DIGIT]) > 0,
            (first & classes[ALNUM]) == 0,
            prose[i] > 0,
        };
        for (int k = 0; k < 19; k++) rows[k][i] = (float)values[k];
    }
    return 0;
}

const Family text_family = {
    write_text, 0,
    {{ONCE, "words chars wordlen linkedwords linkshare freewords digits capitals ideographs sentences clauses signs "
            "clauserate endssentence endsclause startscapital startsdigit startssign prose"}},
};

enum { NO_HEADING = 9, AWAY = -9999 };

/* Writes the heading level of each block: the smallest one among its four nearest ancestors, or NO_HEADING. */
static void read_headings(const Page *page, uint8_t *heading) {
    const Tree *tree = page->tree;
    for (Py_ssize_t i = 0; i < tree->n; i++) {
        int64_t least = NO_HEADING;
        for (Py_ssize_t level = 0; level < tree->n_levels && level < 4; level++) {
            int64_t node = tree->ancestors[level * tree->n + i];
            int64_t code = of_tag(page, HEADING_LEVEL, node < 0 ? tree->n_tags : tree->tag[node]);
            if (code < least) least = code;
        }
        heading[i] = (uint8_t)(least < 0 ? 0 : least);
    }
}

/* Writes distances from the page's ends, from headings and from running text. */
static int write_position(Page *page, float *const *rows) {
    const Tree *tree = page->tree;
    Py_ssize_t n = tree->n;
    const double *words = tree->amounts, *prose = words + 2 * n;
    double n_words = tree->n_words, n_prose = at_least(tree->n_prose, 1);
    uint8_t *heading = malloc((size_t)n);
    if (heading == NULL) return no_memory();
    read_headings(page, heading);
    double before = 0, prose_before = 0, before_h1 = 0, before_heading = 0;
    Py_ssize_t h1 = -1, any = -1, reading = -1, first_h1 = -1;
    for (Py_ssize_t i = 0; i < n && first_h1 < 0; i++)
        if (heading[i] == 1) first_h1 = i;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (heading[i] == 1) h1 = i, before_h1 = before;
        if (heading[i] < NO_HEADING) any = i, before_heading = before;
        if (prose[i] > 0) reading = i;
        const double values[] = {
            (double)i / (double)(n > 1 ? n - 1 : 1),
            (double)i,
            (double)(n - 1 - i),
            before / n_words,
            before,
            n_words - before - words[i],
            prose_before / n_prose,
            heading[i] < NO_HEADING ? heading[i] : 0,
            h1 >= 0 ? (double)(i - h1) : -1,
            h1 >= 0 ? before - before_h1 : -1,
            first_h1 >= 0 ? (double)(i - first_h1) : AWAY,
            any >= 0 ? (double)(i - any) : -1,
            any >= 0 ? before - before_heading : -1,
            any >= 0 ? heading[any] : 0,
            0, /* distance to the next heading, computed below */
            reading >= 0 ? (double)(i - reading) : -1,
        };
        for (int k = 0; k < 16; k++) rows[k][i] = (float)values[k];
        before += words[i];
        prose_before += prose[i];
    }
    Py_ssize_t next_heading = n, next_reading = n;
    for (Py_ssize_t i = n; i-- > 0;) {
        if (heading[i] < NO_HEADING) next_heading = i;
        if (prose[i] > 0) next_reading = i;
        rows[14][i] = (float)(next_heading - i);
        rows[16][i] = next_reading < n ? (float)(next_reading - i) : -1;
    }
    free(heading);
    return 0;
}

const Family position_family = {
    write_position, 0,
    {{ONCE, "place index fromend wordplace wordsbefore wordsafter proseplace heading sinceh1 wordssinceh1 fromfirsth1 "
            "sinceheading wordssinceheading lastheading untilheading sinceprose untilprose"}},
};

/* Smooths values (n,), clipped at `most`, by a weighted sum of `width` neighbours, added in order. `room` is a
   workspace of n + width values. */
static void smooth(const double *values, Py_ssize_t n, double most, const double *weights, Py_ssize_t width,
                   double *room, double *sums) {
    Py_ssize_t before = width / 2;
    memset(room, 0, (size_t)(n + width) * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++) room[before + i] = values[i] < most ? values[i] : most;
    for (Py_ssize_t i = 0; i < n; i++) sums[i] = 0;
    for (Py_ssize_t k = 0; k < width; k++)
        for (Py_ssize_t i = 0; i < n; i++) sums[i] += weights[k] * room[k + i];
}

/* Writes words within each reach before and after a block; the share of linked words in these; then both with smooth
   weights, where blocks are clipped. */
static int write_around(Page *page, float *const *rows) {
    const Tables *tables = page->tables;
    const int64_t *reaches = tables->view[REACHES].buf;
    const double *words = page->tree->amounts, *weights = tables->view[WEIGHTS].buf;
    double most = (double)number_in(tables, MOST_SMOOTHED);
    Py_ssize_t n = page->tree->n, n_reaches = length_of(tables, REACHES), width = length_of(tables, WEIGHTS);
    const double *linked = words + n;
    double *before = malloc((size_t)(4 * (n + 1) + width) * sizeof(double));
    if (before == NULL) return no_memory();
    double *links_before = before + n + 1, *room = links_before; /* once the sums are no longer needed */
    before[0] = links_before[0] = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        before[i + 1] = before[i] + words[i];
        links_before[i + 1] = links_before[i] + linked[i];
    }
    for (Py_ssize_t k = 0; k < n_reaches; k++) {
        float *amounts = rows[k], *shares = rows[n_reaches + k];
        Py_ssize_t reach = reaches[k] < 0 ? 0 : reaches[k] < n ? (Py_ssize_t)reaches[k] : n;
        for (Py_ssize_t i = 0; i < n; i++) {
            Py_ssize_t since = i > reach ? i - reach : 0, until = i + reach + 1 < n ? i + reach + 1 : n;
            double amount = before[until] - before[since], links = links_before[until] - links_before[since];
            amounts[i] = (float)amount;
            shares[i] = (float)(links / at_least(amount, 1));
        }
    }
    double *smooth_words = room + n + width, *smooth_links = smooth_words + n;
    smooth(words, n, most, weights, width, room, smooth_words);
    smooth(linked, n, most, weights, width, room, smooth_links);
    for (Py_ssize_t i = 0; i < n; i++) {
        rows[2 * n_reaches][i] = (float)smooth_words[i];
        rows[2 * n_reaches + 1][i] = (float)(smooth_links[i] / at_least(smooth_words[i], 0.1));
    }
    free(before);
    return 0;
}

const Family around_family = {
    write_around, 0, {{WINDOWS, "words#around"}, {WINDOWS, "links#around"}, {ONCE, "blurredwords blurredlinks"}},
};
