// SPDX-License-Identifier: Apache-2.0
// What is no plan is refused with just the right sentence: line, column, what was expected and what
// stands there. The limits hold, and what is at them is read.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/test/kit.h"

// The text is refused, with just this sentence.
static void assert_refused(const char *text, size_t length, int status, const char *sentence)
{
    tern_plan *plan = NULL;
    int got = tern_plan_parse(text, length, "t", &plan);
    if (got >= 0) {
        fail_msg("accepted instead of: %s", sentence);
    }
    assert_string_equal(tern_last_error(), sentence);
    assert_int_equal(got, status);
    assert_null(plan);
}

static void a_text_that_is_cut_off_is_no_plan(void **state)
{
    size_t length = strlen(fused_text);
    for (size_t cut = 0; cut < length; cut++) {
        char *exact = malloc(cut + 1); // so that a sanitizer sees what is read behind the end
        assert_non_null(exact);
        memcpy(exact, fused_text, cut);
        char *fitted = realloc(exact, cut > 0 ? cut : 1);
        tern_plan *plan = NULL;
        assert_int_equal(tern_plan_parse(fitted, cut, "t", &plan), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "the end of the text"));
        assert_null(plan);
        free(fitted);
    }
    assert_refused("", 0, TERN_ERR_ARG, "t:1:1: expected 'tern-plan', found the end of the text");
    assert_refused(
        fused_text, length - 4, TERN_ERR_ARG,
        "t:15:1: expected 'copy', 'reduce', 'post', 'wait', 'rank' or 'end', found the end of the text");
    assert_refused(
        fused_text, length - 1, TERN_ERR_ARG,
        "t:15:4: expected a line feed, found the end of the text: it is cut off, or its last line is not ended");
}

struct refusal {
    const char *text;
    int status;
    const char *sentence;
};

static void refuse_all(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].status, cases[i].sentence);
    }
}

#define REFUSE_ALL(cases) refuse_all(cases, sizeof(cases) / sizeof(cases)[0])

#define V "tern-plan 1\n"
#define K V "kind all_reduce\n"
#define R K "ranks 2\n"
#define B R "bytes 16\n"
#define U B "unit 4\n"
static const struct refusal wrong_headers[] = {
    {"plan 1\n", TERN_ERR_ARG, "t:1:1: expected 'tern-plan', found 'plan'"},
    {"tern-plan 2\n", TERN_ERR_ARG, "t:1:11: expected version 1 of the text form, found '2'"},
    {"tern-plan\n", TERN_ERR_ARG,
     "t:1:10: expected version 1 of the text form, found the end of the line"},
    {"tern-plan 1 1\n", TERN_ERR_ARG, "t:1:13: expected the end of the line, found '1'"},
    {V, TERN_ERR_ARG, "t:2:1: expected 'kind', found the end of the text"},
    {V "ranks 2\n", TERN_ERR_ARG, "t:2:1: expected 'kind', found 'ranks'"},
    {V V, TERN_ERR_ARG, "t:2:1: expected 'kind', found a second 'tern-plan'"},
    {V "kind allreduce\n", TERN_ERR_ARG,
     "t:2:6: expected a kind of collective (all_reduce, reduce_scatter, all_gather, broadcast, all_to_all, barrier, reduce, gather, scatter), found 'allreduce'"},
    {V "kind all_reduced\n", TERN_ERR_ARG,
     "t:2:6: expected a kind of collective (all_reduce, reduce_scatter, all_gather, broadcast, all_to_all, barrier, reduce, gather, scatter), found 'all_reduced'"},
    {K "ranks 0\n", TERN_ERR_LIMIT, "t:3:7: expected a number of ranks (1 to 1024), found '0'"},
    {K "ranks 1025\n", TERN_ERR_LIMIT,
     "t:3:7: expected a number of ranks (1 to 1024), found '1025'"},
    {K "ranks 2x\n", TERN_ERR_ARG, "t:3:7: expected a number of ranks (1 to 1024), found '2x'"},
    {K "ranks +2\n", TERN_ERR_ARG, "t:3:7: expected a number of ranks (1 to 1024), found '+2'"},
    {K "ranks -2\n", TERN_ERR_ARG, "t:3:7: expected a number of ranks (1 to 1024), found '-2'"},
    {K "ranks 02\n", TERN_ERR_ARG,
     "t:3:7: expected a number of ranks (1 to 1024, without leading zeros), found '02'"},
    {K "ranks\n", TERN_ERR_ARG,
     "t:3:6: expected a number of ranks (1 to 1024), found the end of the line"},
    {R "bytes 281474976710657\n", TERN_ERR_LIMIT,
     "t:4:7: expected a number of bytes (0 to 281474976710656), found '281474976710657'"},
    {R "bytes 18446744073709551616\n", TERN_ERR_LIMIT,
     "t:4:7: expected a number of bytes (0 to 281474976710656), found '18446744073709551616'"},
    {R "bytes 36893488147419103232000000000000000000000000\n", TERN_ERR_LIMIT,
     "t:4:7: expected a number of bytes (0 to 281474976710656), found '3689348814741910323200000000000000000000...'"},
    {B "unit 3\n", TERN_ERR_ARG,
     "t:5:6: expected the bytes of an element (1, 2, 4 or 8), found '3'"},
    {B "unit 16\n", TERN_ERR_ARG,
     "t:5:6: expected the bytes of an element (1, 2, 4 or 8), found '16'"},
    {B "unit # 4\n", TERN_ERR_ARG,
     "t:5:6: expected the bytes of an element (1, 2, 4 or 8), found the end of the line"},
    {U "algorithm a.b\n", TERN_ERR_ARG,
     "t:6:11: expected a name of 1 to 31 letters, digits, '_' and '-', found 'a.b'"},
    {U "algorithm abcdefghijklmnopqrstuvwxyz012345\n", TERN_ERR_ARG,
     "t:6:11: expected a name of 1 to 31 letters, digits, '_' and '-', found 'abcdefghijklmnopqrstuvwxyz012345'"},
    {U "algorithm\n", TERN_ERR_ARG,
     "t:6:10: expected a name of 1 to 31 letters, digits, '_' and '-', found the end of the line"},
    {HEAD "root 0\n", TERN_ERR_ARG,
     "t:7:1: expected 'scratch', 'slots', 'rank' or 'end', found 'root': only broadcast, reduce, gather and scatter have one"},
    {HEAD "kind barrier\n", TERN_ERR_ARG,
     "t:7:1: expected 'scratch', 'slots', 'rank' or 'end', found a second 'kind'"},
    {HEAD "scratch 4\nscratch 4\n", TERN_ERR_ARG,
     "t:8:1: expected 'slots', 'rank' or 'end', found a second 'scratch'"},
    {HEAD "slots\n", TERN_ERR_ARG,
     "t:7:6: expected 'in', 'scratch' or 'in scratch', found the end of the line"},
    {HEAD "slots out\n", TERN_ERR_ARG,
     "t:7:7: expected 'in', 'scratch' or 'in scratch', found 'out'"},
    {HEAD "slots in in\n", TERN_ERR_ARG,
     "t:7:10: expected 'scratch' or the end of the line, found 'in'"},
    {HEAD "slots scratch in\n", TERN_ERR_ARG, "t:7:15: expected the end of the line, found 'in'"},
    {HEAD "slots in\nslots in\n", TERN_ERR_ARG,
     "t:8:1: expected 'rank' or 'end', found a second 'slots'"},
    {HEAD "slots in\nscratch 4\n", TERN_ERR_ARG,
     "t:8:1: expected 'rank' or 'end', found 'scratch'"},
    {HEAD "scratch 281474976710657\n", TERN_ERR_LIMIT,
     "t:7:9: expected a number of bytes (0 to 281474976710656), found '281474976710657'"},
    {HEAD "copy @0 4 : 0.in+0 -> 0.out+0\n", TERN_ERR_ARG,
     "t:7:1: expected 'scratch', 'slots', 'rank' or 'end', found 'copy'"},
    {HEAD "scratch 4\ncopy @0 4 : 0.in+0 -> 0.out+0\n", TERN_ERR_ARG,
     "t:8:1: expected 'slots', 'rank' or 'end', found 'copy'"},
    {HEAD, TERN_ERR_ARG,
     "t:7:1: expected 'scratch', 'slots', 'rank' or 'end', found the end of the text"},
    {V "kind broadcast\nranks 2\nbytes 4\nunit 4\nalgorithm x\nend\n", TERN_ERR_ARG,
     "t:7:1: expected 'root', found 'end'"},
    {V "kind broadcast\nranks 2\nbytes 4\nunit 4\nalgorithm x\nroot 2\n", TERN_ERR_ARG,
     "t:7:6: expected a rank (0 to 1), found '2'"},
    {V "kind gather\nranks 2\nbytes 8\nunit 4\nalgorithm x\nrank 0 lane 0\n", TERN_ERR_ARG,
     "t:7:1: expected 'root', found 'rank'"},
    {V "kind reduce\nranks 2\nbytes 8\nunit 4\nalgorithm x\nroot 1\nroot 1\n", TERN_ERR_ARG,
     "t:8:1: expected 'scratch', 'slots', 'rank' or 'end', found a second 'root'"},
    {V "kind scatter\nranks 3\nbytes 8\nunit 4\nalgorithm x\nroot 0\nend\n", TERN_ERR_ARG,
     "t:4:7: scatter of 8 bytes: the size must be a multiple of 12 (ranks times unit)"},
    {V "kind all_gather\nranks 3\n# x\nbytes  8\nunit 4\nalgorithm x\nend\n", TERN_ERR_ARG,
     "t:5:8: all_gather of 8 bytes: the size must be a multiple of 12 (ranks times unit)"},
    {R "bytes 6\nunit 4\nalgorithm x\nend\n", TERN_ERR_ARG,
     "t:4:7: all_reduce of 6 bytes: the size must be a multiple of 4 (the unit)"},
    {V "kind barrier\nranks 3\nbytes 4\nunit 4\nalgorithm x\nend\n", TERN_ERR_ARG,
     "t:4:7: a barrier has 0 bytes, not 4"},
};

static void wrong_headers_are_refused(void **state)
{
    REFUSE_ALL(wrong_headers);
}

#define POST "post @0 rank 0 signal 0\n"
static const struct refusal wrong_lanes[] = {
    {HEAD "rank 2 lane 0\n", TERN_ERR_ARG, "t:7:6: expected a rank (0 to 1), found '2'"},
    {HEAD "rank 0\n", TERN_ERR_ARG, "t:7:7: expected 'lane', found the end of the line"},
    {HEAD "rank 0 lane 1\n", TERN_ERR_ARG,
     "t:7:13: expected lane 0: the lanes of a rank count up from 0, found '1'"},
    {LANE POST "rank 0 lane 2\n", TERN_ERR_ARG,
     "t:9:13: expected lane 1: the lanes of a rank count up from 0, found '2'"},
    {LANE POST "rank 0 lane 0\n", TERN_ERR_ARG,
     "t:9:13: expected lane 1: the lanes of a rank count up from 0, found '0'"},
    {LANE POST "rank 1 lane 1\n", TERN_ERR_ARG,
     "t:9:13: expected lane 0: the lanes of a rank count up from 0, found '1'"},
    {HEAD "rank 1 lane 0\n" POST "rank 0 lane 0\n", TERN_ERR_ARG,
     "t:9:6: expected rank 1 or a higher one: ranks ascend, found '0'"},
    {LANE "rank 0 lane 1024\n", TERN_ERR_LIMIT,
     "t:8:13: expected a lane (0 to 1023), found '1024'"},
    {LANE "rank 1 lane 0\n", TERN_ERR_ARG,
     "t:8:1: expected an op, since the last lane of a rank is not empty, found 'rank'"},
    {LANE " end\n", TERN_ERR_ARG,
     "t:8:2: expected an op, since the last lane of a rank is not empty, found 'end'"},
    {LANE POST "rank 0 lane 1\nend\n", TERN_ERR_ARG,
     "t:10:1: expected an op, since the last lane of a rank is not empty, found 'end'"},
    {LANE "rank 0 lane 1 2\n", TERN_ERR_ARG, "t:8:15: expected the end of the line, found '2'"},
    {LANE POST "end end\n", TERN_ERR_ARG, "t:9:5: expected the end of the line, found 'end'"},
    {LANE POST "end\n# yes\nend\n", TERN_ERR_ARG,
     "t:11:1: expected nothing but comments after 'end', found 'end'"},
    {LANE POST "end\n" HEAD, TERN_ERR_ARG,
     "t:10:1: expected nothing but comments after 'end', found a second 'tern-plan'"},
    {LANE POST "scratch 4\n", TERN_ERR_ARG,
     "t:9:1: expected 'copy', 'reduce', 'post', 'wait', 'rank' or 'end', found 'scratch'"},
    {LANE POST "unit 4\n", TERN_ERR_ARG,
     "t:9:1: expected 'copy', 'reduce', 'post', 'wait', 'rank' or 'end', found a second 'unit'"},
    {LANE POST "root 0\n", TERN_ERR_ARG,
     "t:9:1: expected 'copy', 'reduce', 'post', 'wait', 'rank' or 'end', found 'root': only broadcast, reduce, gather and scatter have one"},
};

static void wrong_lanes_are_refused(void **state)
{
    REFUSE_ALL(wrong_lanes);
}

#define RANGE "an operand such as 0.in+0, of a rank (0 to 1), found "
static const struct refusal wrong_ops[] = {
    {LANE "move @0 4\n", TERN_ERR_ARG,
     "t:8:1: expected 'copy', 'reduce', 'post', 'wait', 'rank' or 'end', found 'move'"},
    {LANE "copying @0 4\n", TERN_ERR_ARG,
     "t:8:1: expected 'copy', 'reduce', 'post', 'wait', 'rank' or 'end', found 'copying'"},
    {LANE "  copy\n", TERN_ERR_ARG, "t:8:7: expected '@' and a round, found the end of the line"},
    {LANE "  copy 0 4\n", TERN_ERR_ARG, "t:8:8: expected '@' and a round, found '0'"},
    {LANE "  copy @ 4\n", TERN_ERR_ARG,
     "t:8:9: expected a round (0 to 65535), found the end of the word"},
    {LANE "copy @65536 4\n", TERN_ERR_LIMIT, "t:8:7: expected a round (0 to 65535), found '65536'"},
    {LANE "copy @00 4\n", TERN_ERR_ARG,
     "t:8:7: expected a round (0 to 65535, without leading zeros), found '00'"},
    {LANE "copy @0: 4\n", TERN_ERR_ARG, "t:8:8: expected a blank after the round, found ':'"},
    {LANE "copy @0 : 0.in+0\n", TERN_ERR_ARG,
     "t:8:9: expected a length (0 to 281474976710656), found ':'"},
    {LANE "copy @0 281474976710657 :\n", TERN_ERR_LIMIT,
     "t:8:9: expected a length (0 to 281474976710656), found '281474976710657'"},
    {LANE "copy @0 4 0.in+0\n", TERN_ERR_ARG, "t:8:11: expected ':', found '0.in+0'"},
    {LANE "copy @0 4 atomic : 0.in+0\n", TERN_ERR_ARG, "t:8:11: expected ':', found 'atomic'"},
    {LANE "reduce @0 4 atom : 0.in+0\n", TERN_ERR_ARG,
     "t:8:13: expected ':' or 'atomic', found 'atom'"},
    {LANE "reduce @0 4 atomic 0.in+0\n", TERN_ERR_ARG, "t:8:20: expected ':', found '0.in+0'"},
    {LANE "copy @0 4 :\n", TERN_ERR_ARG, "t:8:12: expected " RANGE "the end of the line"},
    {LANE "copy @0 4 : -> 0.in+0\n", TERN_ERR_ARG, "t:8:13: expected " RANGE "'->'"},
    {LANE "copy @0 4 : 2.in+0\n", TERN_ERR_ARG, "t:8:13: expected " RANGE "'2.in+0'"},
    {LANE "copy @0 4 : 0in+0\n", TERN_ERR_ARG, "t:8:14: expected '.' and a buffer, found 'in+0'"},
    {LANE "copy @0 4 : 0\n", TERN_ERR_ARG,
     "t:8:14: expected '.' and a buffer, found the end of the word"},
    {LANE "copy @0 4 : 0.\n", TERN_ERR_ARG,
     "t:8:15: expected 'in+', 'out+' or 'scratch+', found the end of the word"},
    {LANE "copy @0 4 : 0.input+0\n", TERN_ERR_ARG,
     "t:8:15: expected 'in+', 'out+' or 'scratch+', found 'input+0'"},
    {LANE "copy @0 4 : 0.in\n", TERN_ERR_ARG,
     "t:8:15: expected 'in+', 'out+' or 'scratch+', found 'in'"},
    {LANE "copy @0 4 : 0.in+\n", TERN_ERR_ARG,
     "t:8:18: expected an offset (0 to 281474976710656), found the end of the word"},
    {LANE "copy @0 4 : 0.in+281474976710657\n", TERN_ERR_LIMIT,
     "t:8:18: expected an offset (0 to 281474976710656), found '281474976710657'"},
    {LANE "copy @0 4 : 0.in+0x1\n", TERN_ERR_ARG,
     "t:8:19: expected a blank after the offset, found 'x1'"},
    {LANE "copy @0 4 : 0.in+0 1.in+0 -> 0.out+0\n", TERN_ERR_ARG,
     "t:8:20: expected '->', found '1.in+0'"},
    {LANE "copy @0 4 : 0.in+0\n", TERN_ERR_ARG, "t:8:19: expected '->', found the end of the line"},
    {LANE "copy @0 4 : 0.in+0 ->\n", TERN_ERR_ARG,
     "t:8:22: expected an operand such as 0.in+0, found the end of the line"},
    {LANE "copy @0 4 : 0.in+0 -> 0.out+0 -> 1.out+0\n", TERN_ERR_ARG,
     "t:8:31: expected " RANGE "'->'"},
    {LANE "reduce @0 4 : -> 0.out+0\n", TERN_ERR_ARG,
     "t:8:15: expected an operand such as 0.in+0, found '->'"},
    {LANE "reduce @0 4 : 0.in+0\n", TERN_ERR_ARG,
     "t:8:21: expected an operand or '->', found the end of the line"},
    {LANE "reduce @0 4 : 0.in+0 -> # 0.out+0\n", TERN_ERR_ARG,
     "t:8:25: expected an operand such as 0.in+0, found the end of the line"},
    {LANE "post @0 signal 0\n", TERN_ERR_ARG, "t:8:9: expected 'rank', found 'signal'"},
    {LANE "post @0 rank 2 signal 0\n", TERN_ERR_ARG, "t:8:14: expected a rank (0 to 1), found '2'"},
    {LANE "post @0 rank 1 signal 1048576\n", TERN_ERR_LIMIT,
     "t:8:23: expected a signal (0 to 1048575), found '1048576'"},
    {LANE "post @0 rank 1 signal 0 count 1\n", TERN_ERR_ARG,
     "t:8:25: expected the end of the line, found 'count'"},
    {LANE "wait @0 signal 0\n", TERN_ERR_ARG,
     "t:8:17: expected 'count', found the end of the line"},
    {LANE "wait @0 signal 0 count 0\n", TERN_ERR_LIMIT,
     "t:8:24: expected a count (1 to 2147483647), found '0'"},
    {LANE "wait @0 signal 0 count 2147483648\n", TERN_ERR_LIMIT,
     "t:8:24: expected a count (1 to 2147483647), found '2147483648'"},
    {LANE "wait @0 signal 0 count 1,\n", TERN_ERR_ARG,
     "t:8:24: expected a count (1 to 2147483647), found '1,'"},
};

static void wrong_ops_are_refused(void **state)
{
    REFUSE_ALL(wrong_ops);
}

static void strange_bytes_are_refused_wherever_they_are(void **state)
{
    static const struct refusal cases[] = {
        {"tern-plan 1\r\n", TERN_ERR_ARG,
         "t:1:12: expected lines that end with a line feed alone, found a carriage return"},
        {"tern-plan 1\n# \xc3\xa9\n", TERN_ERR_ARG,
         "t:2:3: expected printable ASCII characters, blanks and line feeds, found the byte 0xc3"},
        {"\xef\xbb\xbftern-plan 1\n", TERN_ERR_ARG,
         "t:1:1: expected printable ASCII characters, blanks and line feeds, found the byte 0xef"},
        {"tern-plan 1\nkind\v\n", TERN_ERR_ARG,
         "t:2:5: expected printable ASCII characters, blanks and line feeds, found the byte 0x0b"},
        {"tern-plan 1\x7f\n", TERN_ERR_ARG,
         "t:1:12: expected printable ASCII characters, blanks and line feeds, found the byte 0x7f"},
    };
    REFUSE_ALL(cases);
    static const char zero[] = "tern-plan 1\nkind all_reduce\n\0";
    assert_refused(
        zero, sizeof zero - 1, TERN_ERR_ARG,
        "t:3:1: expected printable ASCII characters, blanks and line feeds, found the byte 0x00");
}

// A text: LANE, then `head`, then `count` times `piece`, then `tail`.
static char *repeat(const char *head, const char *piece, int count, const char *tail)
{
    char *text =
        malloc(strlen(LANE) + strlen(head) + (size_t)count * strlen(piece) + strlen(tail) + 1);
    assert_non_null(text);
    char *at = stpcpy(stpcpy(text, LANE), head);
    for (int i = 0; i < count; i++) {
        at = stpcpy(at, piece);
    }
    strcpy(at, tail);
    return text;
}

static void an_op_has_at_most_2048_operands(void **state)
{
    char *text = repeat("reduce @0 4 :", " 0.in+0", 2047, " -> 0.out+0\nend\n");
    tern_plan *plan = parse(text);
    assert_text(plan, text);
    tern_plan_destroy(plan);
    free(text);
    text = repeat("reduce @0 4 :", " 0.in+0", 2048, " -> 0.out+0\nend\n");
    assert_refused(text, strlen(text), TERN_ERR_LIMIT,
                   "t:8:14354: expected at most 2048 operands of an op, found '0.out+0'");
    free(text);
    text = repeat("copy @0 4 : 0.in+0 ->", " 0.out+0", 2048, "\nend\n");
    assert_refused(text, strlen(text), TERN_ERR_LIMIT,
                   "t:8:16399: expected at most 2048 operands of an op, found '0.out+0'");
    free(text);
}

static void a_line_has_at_most_131072_bytes(void **state)
{
    char *text = repeat("post @0 rank 0 signal 0 #", "x", 131072 - 25, "\nend\n");
    tern_plan_destroy(parse(text));
    free(text);
    text = repeat("post @0 rank 0 signal 0 #", "x", 131072 - 24, "\nend\n");
    assert_refused(text, strlen(text), TERN_ERR_LIMIT,
                   "t:8:131073: expected the end of the line: a line has at most 131072 bytes");
    free(text);
}

static void a_rank_has_at_most_1024_lanes(void **state)
{
    char *text = malloc(65536);
    char *at = stpcpy(text, HEAD);
    for (int lane = 0; lane < 1024; lane++) {
        at += sprintf(at, "rank 1 lane %d\n", lane);
    }
    strcpy(at, POST "end\n");
    tern_plan *plan = parse(text);
    assert_int_equal(tern_plan_lane_count(plan, 1), 1024);
    assert_text(plan, text);
    tern_plan_destroy(plan);
    strcpy(at, "rank 1 lane 1024\n" POST "end\n");
    assert_refused(text, strlen(text), TERN_ERR_LIMIT,
                   "t:1031:13: expected a lane (0 to 1023), found '1024'");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_is_cut_off_is_no_plan),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(wrong_lanes_are_refused),
        cmocka_unit_test(wrong_ops_are_refused),
        cmocka_unit_test(strange_bytes_are_refused_wherever_they_are),
        cmocka_unit_test(an_op_has_at_most_2048_operands),
        cmocka_unit_test(a_line_has_at_most_131072_bytes),
        cmocka_unit_test(a_rank_has_at_most_1024_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
