// SPDX-License-Identifier: Apache-2.0
// Links between launchers: words arrive whole and in order, whatever pieces the bytes come in; what
// is not of this build, a full way, silence and an end are told apart.
#include "support/cmocka.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "boot/link.h"
#include "tern/status.h"

#define LONG_NS (60 * TERN_NS_PER_SECOND)

struct pair {
    struct tern__link link;
    int other;
};

static struct pair open_pair(int64_t silence_ns)
{
    struct pair pair;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(tern__link_open(&pair.link, ends[0], silence_ns), TERN_OK);
    pair.other = ends[1];
    return pair;
}

static void close_pair(struct pair *pair)
{
    tern__link_close(&pair->link);
    close(pair->other);
}

// The bytes of a word, as a link writes them.
static size_t word_bytes(uint32_t kind, const void *payload, uint32_t size, char *bytes)
{
    struct pair pair = open_pair(LONG_NS);
    struct tern__link_word word = {.kind = kind, .rank = 3, .value = -4, .bytes = size};
    tern__link_say(&pair.link, &word, payload);
    ssize_t got = recv(pair.other, bytes, TERN__LINK_PAYLOAD_MAX + sizeof word, 0);
    assert_int_equal(got, sizeof word + size);
    close_pair(&pair);
    return (size_t)got;
}

static void words_arrive_whole_in_any_pieces(void **state)
{
    static char bytes[TERN__LINK_PAYLOAD_MAX + 100];
    struct pair pair = open_pair(LONG_NS);
    struct tern__link_word word;
    const void *payload;
    size_t size = word_bytes(5, "a payload", 10, bytes);
    size += word_bytes(0, NULL, 0, bytes + size); // a sign of life, which is not heard
    size += word_bytes(6, NULL, 0, bytes + size);
    int heard = 0;
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(send(pair.other, bytes + i, 1, 0), 1);
        tern__link_turn(&pair.link);
        while (tern__link_hear(&pair.link, &word, &payload)) {
            assert_int_equal(word.kind, heard == 0 ? 5 : 6);
            assert_int_equal(word.rank, 3);
            assert_int_equal(word.value, -4);
            if (heard == 0) {
                assert_string_equal(payload, "a payload");
            }
            heard++;
        }
    }
    assert_int_equal(heard, 2);
    assert_int_equal(pair.link.state, TERN__LINK_OPEN);
    close_pair(&pair);
}

static void words_said_before_the_end_are_heard(void **state)
{
    static char bytes[200];
    struct pair pair = open_pair(LONG_NS);
    struct tern__link_word word;
    const void *payload;
    size_t size = word_bytes(7, "last", 5, bytes);
    assert_int_equal(send(pair.other, bytes, size, 0), (ssize_t)size);
    assert_int_equal(shutdown(pair.other, SHUT_WR), 0);
    tern__link_turn(&pair.link);
    assert_true(tern__link_hear(&pair.link, &word, &payload));
    assert_string_equal(payload, "last");
    assert_false(tern__link_hear(&pair.link, &word, &payload));
    assert_int_equal(pair.link.state, TERN__LINK_CLOSED);
    close_pair(&pair);
}

static void what_is_foreign_is_known(void **state)
{
    static char bytes[200];
    struct tern__link_word word;
    const void *payload;
    size_t size = word_bytes(7, NULL, 0, bytes);
    // Its magic, its version, its length; and something else.
    static const size_t places[] = {0, 4, 22};
    for (int i = 0; i < 4; i++) {
        struct pair pair = open_pair(LONG_NS);
        char sent[200] = "GET / HTTP/1.1\r\nHost: somewhere else\r\n\r\nand more";
        if (i < 3) {
            memcpy(sent, bytes, size);
            sent[places[i]] ^= 0x40;
        }
        assert_int_equal(send(pair.other, sent, size, 0), (ssize_t)size);
        tern__link_turn(&pair.link);
        assert_false(tern__link_hear(&pair.link, &word, &payload));
        assert_int_equal(pair.link.state, TERN__LINK_FOREIGN);
        close_pair(&pair);
    }
}

static void silence_is_noticed_and_signs_of_life_are_given(void **state)
{
    int64_t begin_ns = tern__now_ns();
    struct pair pair = open_pair(100 * TERN_NS_PER_MS);
    while (pair.link.state == TERN__LINK_OPEN) {
        int64_t next_ns = tern__link_turn(&pair.link);
        struct pollfd fd = tern__link_pollfd(&pair.link);
        poll(&fd, 1, tern__deadline_ms(next_ns, 1000));
        assert_true(tern__now_ns() - begin_ns < 20 * TERN_NS_PER_SECOND);
    }
    assert_int_equal(pair.link.state, TERN__LINK_SILENT);
    assert_true(tern__now_ns() - begin_ns >= 100 * TERN_NS_PER_MS);
    struct tern__link_word word;
    assert_int_equal(recv(pair.other, &word, sizeof word, MSG_DONTWAIT), sizeof word);
    assert_int_equal(word.kind, 0);
    close_pair(&pair);
}

static void nobody_who_takes_nothing_is_waited_for(void **state)
{
    static char payload[TERN__LINK_PAYLOAD_MAX];
    struct pair pair = open_pair(LONG_NS);
    struct tern__link_word word = {.kind = 1, .bytes = sizeof payload};
    for (int i = 0; i < 10000 && pair.link.state == TERN__LINK_OPEN; i++) {
        tern__link_say(&pair.link, &word, payload);
    }
    assert_int_equal(pair.link.state, TERN__LINK_CLOSED);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_arrive_whole_in_any_pieces),
        cmocka_unit_test(words_said_before_the_end_are_heard),
        cmocka_unit_test(what_is_foreign_is_known),
        cmocka_unit_test(silence_is_noticed_and_signs_of_life_are_given),
        cmocka_unit_test(nobody_who_takes_nothing_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
