/* What trees, nets and the page as a whole say of its blocks, in one go: the twin of blockml.model.scoring. */
#include "decision.h"
#include "predictors_trees.h"
#include "predictors_mlp.h"
#include "features_page_tree.h"
#include <math.h>
#include <stdlib.h>

/* As blockml.model.scoring hands them over. */
typedef struct {
    double share, caution, article_caution, link_caution, copy_caution, leaning, doubt, least_words;
    double hardly, most_care, certain, least_certain, wordless, slack, here, least_f1, sure, border;
    int least_copied, preformatted, same_line, far;
} Rules;

static int read_rules(PyObject *given, Rules *r) {
    return PyArg_ParseTuple(given, "ddddddddddddddddddiiii", &r->share, &r->caution, &r->article_caution,
                            &r->link_caution, &r->copy_caution, &r->leaning, &r->doubt, &r->least_words, &r->hardly,
                            &r->most_care, &r->certain, &r->least_certain, &r->wordless, &r->slack, &r->here,
                            &r->least_f1, &r->sure, &r->border, &r->least_copied, &r->preformatted,
                            &r->same_line, &r->far);
}

/* Memory of a page: columns (n,), but for `odds`, which has room for 3 n. */
typedef struct {
    double *odds;
    int64_t *line, *text;
    float *alone, *by_net, *final;
    int32_t *n_words;
} Space;

static void *space_for(size_t n, Space *space) {
    void *memory = malloc(n * (3 * sizeof(double) + 2 * sizeof(int64_t) + 3 * sizeof(float) + sizeof(int32_t)));
    if (memory == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    space->odds = memory;
    space->line = (int64_t *)(space->odds + 3 * n), space->text = space->line + n;
    space->alone = (float *)(space->text + n), space->by_net = space->alone + n, space->final = space->by_net + n;
    space->n_words = (int32_t *)(space->final + n);
    return memory;
}

/* Numbers of lines, and of the texts of those that stand on the page more than once. */
static int look_at_lines(const Tree *tree, const uint8_t *separators, const Rules *rules, const Space *space) {
    for (Py_ssize_t i = 0; i < tree->n; i++) {
        space->line[i] = i > 0 ? space->line[i - 1] + (separators[i] > rules->same_line) : 0;
        space->n_words[i] = (int32_t)tree->amounts[i]; /* which were whole numbers of as many bits */
    }
    if (rules->copy_caution == 0) return 0;
    return number_lines(tree->texts, space->n_words, tree->flags, space->line, tree->n, rules->least_copied,
                        rules->preformatted, space->text);
}

enum { N_OF_PAGE = 13 };

/* The row of a page: the twin of blockml.decision.page_policy.page_row. */
static void describe(const Numbers *of, float *row) {
    double n_kept = at_least(of->kept_words, 1), n_words = at_least(of->words, 1);
    const double values[N_OF_PAGE] = {
        of->expected, of->border, n_kept / n_words, log1p(n_kept), log1p(n_words), of->unsure / n_kept, of->agreement,
        (double)of->runs / (double)(of->n_kept > 1 ? of->n_kept : 1), of->kept_linked / n_kept, of->kept_prose / n_kept,
        of->prose / n_words, of->low, of->high,
    };
    for (int k = 0; k < N_OF_PAGE; k++) row[k] = (float)values[k];
}

static double lesser(double one, double other) { return one < other ? one : other; }

/* How careful to be with a page, from how probable it is that it is an article; NULL where that isn't known. */
static Care care_for(const Rules *rules, const float *likely) {
    double care = lesser(rules->caution + rules->article_caution * (likely != NULL ? *likely : 0), rules->most_care);
    return (Care){
        .care = care,
        .of_links = lesser(care + rules->link_caution, rules->most_care),
        .least_body = rules->least_certain,
        .wordless = rules->wordless,
        .leaning = rules->leaning,
        .doubt = likely != NULL && *likely < rules->hardly ? rules->doubt : 0,
        .least_words = rules->least_words,
        .least_f1 = rules->least_f1,
        .certain = (float)rules->certain,
    };
}

/* A model, and a page that it judges. */
typedef struct {
    const Rules *rules;
    const Forest *trees, *article; /* the second may be NULL */
    const Net *net;
    const Seen *seen;
    const Tree *tree;
    const int64_t *place; /* (n,) groups of blocks in elements built alike */
} Case;

/* Writes sums (n, groups) of trees and scores (n,), and the F1 that they promise. Returns 0, or -1 without memory. */
static int judge(const Case *of, const Space *space, double *sums, float *scores, double *expected) {
    const Rules *rules = of->rules;
    Py_ssize_t n = of->tree->n, n_groups = of->trees->n_groups;
    size_t n_blocks = (size_t)n;
    Matrix matrix = {of->seen->columns, n, of->net->f, 1, n};
    memset(sums, 0, (size_t)(n * n_groups) * sizeof(double));
    if (sum_trees(of->trees, matrix, sums) < 0 || write_net_odds(of->net, of->seen, space->odds) < 0) return -1;
    write_logistics(space->odds, n_blocks, space->by_net);
    for (Py_ssize_t i = 0; i < n; i++) space->odds[i] = sums[i * n_groups];
    write_logistics(space->odds, n_blocks, space->alone);
    write_blended(space->odds, space->by_net, n_blocks, rules->share, space->odds + n, space->final);

    const double *amounts = of->tree->amounts;
    const Blocks page = {n_blocks, amounts, amounts + n, amounts + 2 * n, space->line};
    Numbers numbers;
    if (count_page(&page, space->alone, space->final, &numbers) < 0) return -1;
    *expected = (double)(float)numbers.expected; /* as in the row */
    float row[N_OF_PAGE], likely;
    if (of->article != NULL) {
        double odds = 0;
        describe(&numbers, row);
        if (sum_trees(of->article, (Matrix){row, 1, N_OF_PAGE, 1, 1}, &odds) < 0) return -1;
        write_logistics(&odds, 1, &likely);
    }
    const Care care = care_for(rules, of->article != NULL ? &likely : NULL);
    double caution = lesser(rules->copy_caution, rules->most_care);
    const Copies copies = {caution != 0 ? space->text : NULL, of->place, rules->slack, rules->here * caution, caution};
    return write_scores(&page, space->final, &care, &copies, scores);
}

/* Whether the second group of trees, of comments, isn't behind the third, of main content, in a block that is kept. */
static int is_rivalled(const Case *of, const double *sums, const float *scores) {
    Py_ssize_t n_groups = of->trees->n_groups;
    for (Py_ssize_t i = 0; i < of->tree->n; i++, sums += n_groups)
        if (scores[i] >= (float)of->rules->border && (n_groups < 3 || sums[1] > sums[2] - of->rules->sure)) return 1;
    return 0;
}

/* page_verdict(tree, names, columns, trees, n_groups, article, net, (starts, buckets, bag), separators, rules, sums,
   scores): writes sums (n, n_groups) of the trees, of which the first group tells content, and scores (n,); returns
   the F1 that is expected, and whether comments rival main content in a block that is kept. Columns (f, n) are such
   as trees and net ask for. `article` are trees for the row of a page, or None. */
PyObject *page_verdict(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, STARTS, BUCKETS, BAG, JOINTS, SUMS, SCORES, N };
    static const Py_ssize_t sizes[N] = {4, 8, 4, 8, 1, 8, 4};
    PyObject *object[N], *of_tree, *of_names, *trees, *article, *of_net, *given, *result = NULL;
    Py_buffer view[N];
    Py_ssize_t n_groups, counts[MOST_WAYS];
    Forest forest = {.opened = 0}, of_article = {.opened = 0};
    const int64_t *group[MOST_WAYS];
    int64_t *renumbered[MOST_WAYS] = {NULL};
    Rules rules;
    Space space;
    void *memory = NULL;
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO!nOO(OOO)OO!OO", &of_tree, &of_names, &object[COLUMNS], &PyTuple_Type,
                          &trees, &n_groups,
                          &article, &of_net, &object[STARTS], &object[BUCKETS], &object[BAG], &object[JOINTS],
                          &PyTuple_Type, &given, &object[SUMS], &object[SCORES]) ||
        !read_rules(given, &rules))
        return NULL;
    const Tree *tree = tree_of(of_tree);
    const Names *names = tree == NULL ? NULL : names_of(of_names, of_tree);
    const Net *net = names == NULL ? NULL : net_of(of_net);
    if (net == NULL) return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened >= SUMS) < 0) goto done;
    if (open_forest(trees, n_groups, &forest) < 0) goto done;
    if (article != Py_None && open_forest(article, 1, &of_article) < 0) goto done;
    Py_ssize_t n = tree->n;
    Seen seen = {n,     view[STARTS].len / 8 - 1, view[COLUMNS].buf, view[STARTS].buf, view[BAG].buf, view[BUCKETS].buf,
                 group, counts,                   tree->amounts};
    int sound = view[COLUMNS].len / 4 == net->f * n && view[JOINTS].len == n && view[SUMS].len / 8 / n == n_groups &&
                view[SUMS].len / 8 % n == 0 &&
                view[SCORES].len / 4 == n && net->ways == names->n_ways && net->ways <= MOST_WAYS && rules.far >= 0 &&
                rules.far < names->n_ways && view[COLUMNS].len / 4 <= INT32_MAX;
    if (net->d == 0)
        seen.n_bags = 0;
    else if (sound)
        sound = seen.n_bags >= 0 && view[BAG].len / 8 == n && are_bags(net, &seen, view[BUCKETS].len / 4);
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such columns, words or groups, or arrays differ in size");
        goto done;
    }
    for (Py_ssize_t way = 0; way < net->ways; way++)
        if (!number_groups(names->groups + way * n, n, &group[way], &counts[way], &renumbered[way])) goto done;
    if ((memory = space_for((size_t)n, &space)) == NULL) goto done;
    if (look_at_lines(tree, view[JOINTS].buf, &rules, &space) < 0) goto done;
    const Case here = {&rules, &forest, article == Py_None ? NULL : &of_article, net, &seen, tree,
                       names->groups + rules.far * n};
    double expected;
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    failed = judge(&here, &space, view[SUMS].buf, view[SCORES].buf, &expected);
    Py_END_ALLOW_THREADS;
    if (failed < 0)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("dO", expected,
                               is_rivalled(&here, view[SUMS].buf, view[SCORES].buf) ? Py_True : Py_False);
done:
    free(memory);
    for (int way = 0; way < MOST_WAYS; way++) free(renumbered[way]);
    close_forest(&forest);
    close_forest(&of_article);
    while (opened > 0) PyBuffer_Release(&view[--opened]);
    return result;
}
