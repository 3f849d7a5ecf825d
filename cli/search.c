// SPDX-License-Identifier: Apache-2.0
// Watching a search, and certificates.

#include "search.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tern/certificate.h"
#include "tern/status.h"

#define SHOW_NS INT64_C(100000000) // not more often

static volatile sig_atomic_t pressed;
static struct sigaction before;

static void note(int signal)
{
    (void)signal;
    pressed = 1;
}

static bool shall_stop(void *context)
{
    (void)context;
    return pressed != 0;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void hide(struct cli_search *search)
{
    if (search->shown) {
        fputs("\r\033[K", stderr);
        search->shown = false;
    }
}

// "bound 695.944 us; best 711.962 us (optimal), 2.3 % over it; plan 5, of 6 rounds"
static void show(struct cli_search *search)
{
    const tern_search_news *news = &search->news;
    hide(search);
    fprintf(stderr, "bound %.3f us", news->bound_us);
    if (news->plans > 0) {
        fprintf(stderr, "; best %.3f us (%s)", news->best_us, news->best);
    }
    if (news->plans > 0 && news->bound_us > 0) {
        fprintf(stderr, ", %.1f %% over it", (news->best_us / news->bound_us - 1) * 100);
    }
    fprintf(stderr, "; plan %d", news->plans + 1);
    if (news->rounds > 0) {
        fprintf(stderr, ", of %d rounds", news->rounds);
    }
    search->shown = true;
}

static void take_news(void *context, const tern_search_news *news)
{
    struct cli_search *search = context;
    int64_t now = now_ns();
    search->news = *news;
    if (search->terminal && now - search->shown_ns >= SHOW_NS) {
        search->shown_ns = now;
        show(search);
    }
}

void cli_search_begin(struct cli_search *search)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    pressed = 0;
    search->how.stop = shall_stop;
    search->how.progress = take_news;
    search->how.context = search;
    search->terminal = isatty(STDERR_FILENO);
    search->shown_ns = now_ns(); // most searches are over before there is anything to see
    sigaction(SIGINT, NULL, &before);
    if (before.sa_handler != SIG_IGN) {
        sigaction(SIGINT, &action, NULL);
    }
}

void cli_search_end(struct cli_search *search, const char *prefix)
{
    hide(search);
    sigaction(SIGINT, &before, NULL);
    if (pressed && search->news.plans > 0) {
        fprintf(stderr, "%sstopped; this is the best of %d plans\n", prefix, search->news.plans);
    }
}

void cli_search_print(const struct cli_search *search, FILE *file)
{
    const tern_search_news *news = &search->news;
    if (news->plans > 0) {
        fprintf(file, "search    %d plans, simulated with start-up: %s is the quickest, %.3f us\n",
                news->plans, news->best, news->best_us);
    }
    if (news->plans > 0 && news->bound_us > 0) {
        fprintf(file, "          without start-up none takes less than %.3f us\n", news->bound_us);
    }
}

int cli_certificate_write(const tern_algo_request *request, const char *path)
{
    tern_certificate *certificate;
    int status = tern_certificate_make(request, &certificate);
    if (status == TERN_OK) {
        status = tern_certificate_save(certificate, path);
        tern_certificate_destroy(certificate);
    }
    return status;
}

// Whether a bound says anything about a plan; if not, a sentence.
static bool is_about(const tern_certificate_proof *proof, const tern_plan_spec *spec,
                     const char *path)
{
    const tern_kind_facts *facts = tern_coll_kind_facts(spec->kind);
    if (proof->kind != spec->kind) {
        fprintf(stderr, "tern check: '%s' is about %s, and the plan is of %s\n", path,
                tern_plan_kind_name(proof->kind), tern_plan_kind_name(spec->kind));
        return false;
    }
    if (facts->root != TERN_KIND_ROOT_NONE && proof->root != spec->root) {
        fprintf(stderr, "tern check: '%s' is about root %d, and that of the plan is %d\n", path,
                proof->root, spec->root);
        return false;
    }
    return true;
}

int cli_certificate_print(const char *path, const tern_topo *topo, const tern_plan *plan)
{
    tern_certificate *certificate;
    tern_certificate_proof proof;
    int status = tern_certificate_load(path, &certificate);
    if (status != TERN_OK) {
        return status;
    }
    status = tern_certificate_check(certificate, topo, &proof);
    tern_certificate_destroy(certificate);
    if (status != TERN_OK) {
        return status;
    }
    if (plan != NULL && !is_about(&proof, tern_plan_get_spec(plan), path)) {
        return 1;
    }
    printf("bound     proved: %s\n", proof.text);
    if (proof.scope == TERN_CERTIFICATE_TREE_PLANS) {
        puts("          that no other plan takes less is a conjecture");
    }
    if (proof.scope != TERN_CERTIFICATE_ALL_PLANS && proof.us_per_byte_all > 0) {
        printf("          for any plan at all, %.1f %% of that is proved\n",
               proof.us_per_byte_all / proof.us_per_byte * 100);
    }
    if (plan != NULL) {
        double bytes = (double)tern_plan_get_spec(plan)->bytes;
        printf("          that is %.3f us for the plan's %.0f bytes\n", proof.us_per_byte * bytes,
               bytes);
    }
    return TERN_OK;
}
