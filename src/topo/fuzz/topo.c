// SPDX-License-Identifier: Apache-2.0
// Topologies from any bytes. The first byte chooses: a file, or a word and changes on lines of
// their own. What is taken must tell itself in a text that makes the same again; what is refused
// must say why and leave the output alone.

#include "topo/topo.h"
#include "support/fuzz.h"

static void look_at_uses(const tern_topo *topo, int from, int to)
{
    int uses[TERN_TOPO_USES_MAX];
    int count = tern_topo_uses(topo, from, to, uses);
    MUST(count >= 0 && count <= TERN_TOPO_USES_MAX);
    for (int i = 0; i < count; i++) {
        tern_topo_resource resource;
        MUST(tern_topo_get_resource(topo, uses[i], &resource));
        MUST(resource.GBps > 0 && resource.GBps <= 1e15);
        MUST(i == 0 || uses[i] != uses[i - 1]);
    }
}

static void look(const tern_topo *topo)
{
    int size = tern_topo_size(topo);
    int links = 0;
    MUST(size >= 1 && size <= TERN_TOPO_WORD_RANKS_MAX);
    for (int i = 0; i < size * size; i++) {
        tern_link link;
        if (i / size != i % size && tern_topo_link(topo, i / size, i % size, &link)) {
            MUST(link.bandwidth_GBps > 0 && link.bandwidth_GBps <= 1e15 && link.latency_us >= 0);
            links++;
        }
        look_at_uses(topo, i / size, i % size);
    }
    MUST(links == tern_topo_link_count(topo));
}

// Applies what the text says behind the word to a fresh topology; no word here needs quotes.
static void retell(const tern_topo *topo, const char *word)
{
    tern_topo *again = NULL;
    MUST(tern_topo_create(word, &again) == TERN_OK);
    char *copy = strdup(tern_topo_text(topo));
    char *save = NULL;
    MUST(strcmp(strtok_r(copy, " ", &save), word) == 0);
    for (char *option; (option = strtok_r(NULL, " ", &save)) != NULL;) {
        char *links = strtok_r(NULL, " ", &save);
        if (*links == '\'') {
            links++;
            links[strlen(links) - 1] = '\0';
        }
        bool cut = strcmp(option, "--cut") == 0;
        MUST((cut ? tern_topo_cut(again, links) : tern_topo_slow(again, links)) == TERN_OK);
    }
    free(copy);
    MUST(strcmp(tern_topo_text(again), tern_topo_text(topo)) == 0);
    int size = tern_topo_size(topo);
    for (int i = 0; i < size * size; i++) {
        tern_link one = {0};
        tern_link two = {0};
        bool there = tern_topo_link(topo, i / size, i % size, &one);
        MUST(tern_topo_link(again, i / size, i % size, &two) == there);
        MUST(one.bandwidth_GBps == two.bandwidth_GBps && one.latency_us == two.latency_us);
    }
    tern_topo_resource one;
    for (int i = 0; tern_topo_get_resource(topo, i, &one); i++) {
        tern_topo_resource two = {.GBps = 0};
        MUST(tern_topo_get_resource(again, i, &two) && one.GBps == two.GBps);
    }
    tern_topo_destroy(again);
}

static void change(tern_topo *topo, const char *links)
{
    int (*how)(tern_topo *, const char *) =
        strchr(links, '=') != NULL ? tern_topo_slow : tern_topo_cut;
    int status = how(topo, links);
    MUST(status == TERN_OK || (status == TERN_ERR_ARG && tern_last_error()[0] != '\0'));
}

static void try_word(char *text)
{
    char *save = NULL;
    char *word = strtok_r(text, "\n", &save);
    if (word == NULL || strstr(word, ".json") != NULL) {
        return; // files of this machine are none of our business
    }
    tern_topo *topo = NULL;
    int status = tern_topo_create(word, &topo);
    if (status != TERN_OK) {
        MUST(status == TERN_ERR_ARG && topo == NULL && tern_last_error()[0] != '\0');
        return;
    }
    int changes = 0;
    for (char *links; (links = strtok_r(NULL, "\n", &save)) != NULL && changes < 64; changes++) {
        change(topo, links);
    }
    if (tern_topo_size(topo) <= 64) {
        look(topo);
        retell(topo, word);
    }
    tern_topo_destroy(topo);
}

static void try_file(const char *text, size_t size)
{
    tern_topo *topo = NULL;
    int status = tern__topo_from_json("fuzz.json", text, size, &topo);
    if (status != TERN_OK) {
        MUST(status == TERN_ERR_ARG && topo == NULL);
        MUST(strncmp(tern_last_error(), "fuzz.json:", 10) == 0);
        return;
    }
    if (tern_topo_size(topo) <= 64) {
        look(topo);
    }
    tern_topo_destroy(topo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *text = malloc(size); // as large as needed: a read beyond it is seen
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] == '{') {
        try_file(text, size - 1);
    } else {
        try_word(text);
    }
    free(text);
    return 0;
}
