/* Words in attributes' values: the twin of blockml.features.keywords.keyword_bits, of ASCII characters only. */
#include "tree.h"

/* Words are a tree of letters, as blockml.features.keywords.letters makes it: whether all states and columns are
   such, and groups are bits of a positive number. */
int has_sound_words(const Tables *tables) {
    const uint8_t *letters = tables->view[LETTERS].buf;
    const int16_t *steps = tables->view[STEPS].buf;
    const int8_t *groups = tables->view[ENDINGS].buf;
    Py_ssize_t n_states = length_of(tables, ENDINGS), n_steps = length_of(tables, STEPS);
    Py_ssize_t width = n_states ? n_steps / n_states : 0;
    if (length_of(tables, LETTERS) < 128 || width <= 0 || n_states > INT16_MAX || n_steps != n_states * width ||
        length_of(tables, BEGINS) != 2 * width)
        return 0;
    for (Py_ssize_t i = 0; i < n_steps; i++)
        if (steps[i] < 0 || steps[i] >= n_states) return 0;
    for (Py_ssize_t i = 0; i < n_states; i++)
        if (groups[i] >= 63) return 0;
    for (int i = 0; i < 128; i++)
        if (letters[i] >= width) return 0;
    return 1;
}

/* Most places are where no word begins, as three letters tell. From each place the longest word counts, and the
   search goes on behind it, as a regular expression would. */
int64_t groups_in(const Tables *tables, const char *value, Py_ssize_t length) {
    const unsigned char *text = (const unsigned char *)value;
    const uint8_t *letters = tables->view[LETTERS].buf;
    const int16_t *steps = tables->view[STEPS].buf;
    const int8_t *groups = tables->view[ENDINGS].buf;
    Py_ssize_t width = length_of(tables, BEGINS) / 2;
    const uint64_t *may_be_second = tables->view[BEGINS].buf, *may_be_third = may_be_second + width;
    int64_t found = 0;
    for (Py_ssize_t begin = 0; begin < length;) {
        int first = letters[text[begin]], second = letters[text[begin + 1]] & 63;
        int third = letters[text[begin + 1 < length ? begin + 2 : length]] & 63;
        if (!(may_be_second[first] >> second & may_be_third[first] >> third & 1)) {
            begin++;
            continue;
        }
        Py_ssize_t behind = begin + 1;
        int state = 0, group = -1;
        for (Py_ssize_t at = begin; at < length; at++) {
            int column = letters[text[at]];
            if (column == 0 || (state = steps[state * width + column]) == 0) break;
            if (groups[state] >= 0) {
                group = groups[state];
                behind = at + 1;
            }
        }
        if (group >= 0) found |= (int64_t)1 << group;
        begin = behind;
    }
    return found;
}
