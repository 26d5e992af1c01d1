/*
 * How fast is the churn of tiny blocks that symbolic computation makes?
 *
 * THREADS (default 1), STEPS operations each (default 2,000,000). Polynomials are lists of terms of
 * 24 B with coefficients of 8 … 40 B. A sum picks two of 256 polynomials and replaces one by their
 * sum, freeing what it had; a polynomial that gets longer than 64 terms is replaced by a new, short
 * one. An operation is one term with its coefficient: two blocks.
 */
#include "crew.h"

enum { POLYNOMIALS = 256, TERMS_MAX = 64 };

struct term {
    struct term *next;
    unsigned char *digits; /* the first one is their number */
    uint64_t power;
};

static uint64_t
make_term(struct term ***end, uint64_t power, unsigned digits)
{
    struct term *term = bench_malloc(sizeof *term);
    *term = (struct term){.digits = bench_malloc(digits), .power = power};
    bench_touch(term->digits, digits);
    term->digits[0] = (unsigned char)digits;
    **end = term;
    *end = &term->next;
    return 1;
}

static unsigned
free_list(struct term *term)
{
    unsigned length = 0;
    while (term != NULL) {
        struct term *next = term->next;
        free(term->digits);
        free(term);
        term = next;
        length++;
    }
    return length;
}

static struct term *
make_short(struct bench_random *random, uint64_t *made)
{
    struct term *first = NULL, **end = &first;
    for (uint64_t power = 0; power < 6; power++) {
        uint64_t bits = bench_next(random);
        unsigned digits = 8 + bench_scale((uint32_t)(bits >> 32), 33);
        *made += make_term(&end, power * 8 + (bits & 7), digits);
    }
    return first;
}

/* Merges by power; equal powers become one term with the longer coefficient. */
static struct term *
add(const struct term *a, const struct term *b, uint64_t *made)
{
    struct term *first = NULL, **end = &first;
    while (a != NULL || b != NULL) {
        bool take_a = b == NULL || (a != NULL && a->power <= b->power);
        bool take_b = a == NULL || (b != NULL && b->power <= a->power);
        unsigned digits = take_a ? a->digits[0] : 0;
        if (take_b && b->digits[0] > digits) {
            digits = b->digits[0];
        }
        /* Powers move, so that sums do get longer. */
        *made += make_term(&end, (take_a ? a->power : b->power + 1), digits);
        a = take_a ? a->next : a;
        b = take_b ? b->next : b;
    }
    return first;
}

static void
work(struct crew_member *member)
{
    struct term **all = bench_table(POLYNOMIALS * sizeof *all);
    struct bench_random *random = &member->random;
    uint64_t made = 0, done = 0;
    for (int i = 0; i < POLYNOMIALS; i++) {
        all[i] = make_short(random, &made);
    }
    crew_ready(member);
    while (done < member->steps) {
        uint64_t bits = bench_next(random);
        struct term **target = &all[bench_scale((uint32_t)(bits >> 32), POLYNOMIALS)];
        struct term *sum = add(*target, all[bench_scale((uint32_t)bits, POLYNOMIALS)], &done);
        if (free_list(*target) > TERMS_MAX) {
            free_list(sum);
            sum = make_short(random, &done);
        }
        *target = sum;
    }
    crew_done(member, done);
    for (int i = 0; i < POLYNOMIALS; i++) {
        free_list(all[i]);
    }
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [STEPS] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, CREW_MAX, 1);
    uint64_t steps = bench_number_or(argc, argv, 2, "STEPS", 1, 1000000000000u, 2000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, steps, seed, NULL, work);
    return 0;
}
