// SPDX-License-Identifier: Apache-2.0
// getopt_long, driven by a table of options.

#include "options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "numbers.h"
#include "ranks.h"
#include "suggest.h"

#define OPTIONS_MAX 48
#define WORD_BYTES 24
#define FIRST_ROW 256 // getopt's codes of long options; those of short ones are their letters

static const struct cli_option help_option = {.spec = "-h, --help", .text = "print this text"};

// What a spec says: "-r, --root R".
struct names {
    char letter;           // 'r', or 0
    char word[WORD_BYTES]; // "root", or ""
    bool takes_value;
};

static struct names read_spec(const char *spec)
{
    struct names names = {0};
    while (*spec != '\0') {
        size_t length = strcspn(spec, " ,");
        if (spec[0] != '-') {
            names.takes_value = true;
            break;
        }
        if (spec[1] == '-') {
            snprintf(names.word, sizeof names.word, "%.*s", (int)length - 2, spec + 2);
        } else {
            names.letter = spec[1];
        }
        spec += length + strspn(spec + length, " ,");
    }
    return names;
}

int cli_refuse(const struct cli_command *command, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (!command->is_job || cli_speaks()) {
        fprintf(stderr, "tern %s: %s; see 'tern %s --help'\n", command->name, sentence,
                command->name);
    }
    return CLI_EXIT_USAGE;
}

static void print_option(const struct cli_option *option)
{
    const char *label = option->spec;
    for (const char *text = option->text; text != NULL; label = "") {
        const char *end = strchr(text, '\n');
        int length = end != NULL ? (int)(end - text) : (int)strlen(text);
        printf("  %-17s  %.*s\n", label, length, text);
        text = end != NULL ? end + 1 : NULL;
    }
}

static int print_help(const struct cli_command *command, const struct cli_option *options)
{
    if (command->is_job && !cli_speaks()) {
        return 0;
    }
    fputs(command->head, stdout);
    if (command->print_more != NULL) {
        command->print_more();
    }
    for (; options->spec != NULL; options++) {
        print_option(options);
    }
    print_option(&help_option);
    fputs(command->foot, stdout);
    return 0;
}

// The options as getopt wants them; long ones have FIRST_ROW and the number of their row as code.
struct known {
    struct names names[OPTIONS_MAX];
    struct option words[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 3];
    int count;
};

static void make_known(const struct cli_command *command, const struct cli_option *options,
                       struct known *known)
{
    memset(known, 0, sizeof *known);
    int words = 0;
    char *letter = known->letters;
    // '+': stop at the first other word. ':': tell a missing value apart.
    letter = stpcpy(letter, command->ordered ? "+:" : ":");
    for (bool more = true; more && known->count < OPTIONS_MAX; known->count++) {
        const struct cli_option *option = &options[known->count];
        more = option->spec != NULL;
        struct names *names = &known->names[known->count];
        *names = read_spec(more ? option->spec : help_option.spec);
        if (names->letter != '\0') {
            *letter++ = names->letter;
            letter = stpcpy(letter, names->takes_value ? ":" : "");
        }
        if (names->word[0] != '\0') {
            known->words[words++] = (struct option){
                .name = names->word,
                .has_arg = names->takes_value ? required_argument : no_argument,
                .val = FIRST_ROW + known->count,
            };
        }
    }
}

static int refuse_unknown(const struct cli_command *command, const struct known *known,
                          const char *word)
{
    // A short option may be in the middle of a word, a long one is all of it.
    if (optopt > 0 && optopt < FIRST_ROW) {
        return cli_refuse(command, "there is no option '-%c'", optopt);
    }
    if (optopt == 0) {
        return cli_refuse(command, "there is no option '%s'%s", word,
                          cli_suggest_option(word, known->words));
    }
    return cli_refuse(command, "'%s': it takes no value", word);
}

static int take(const struct cli_command *command, const struct cli_option *option,
                const struct names *names, void *arguments)
{
    char name[WORD_BYTES + 2];
    if (names->word[0] != '\0') {
        snprintf(name, sizeof name, "--%s", names->word);
    } else {
        snprintf(name, sizeof name, "-%c", names->letter);
    }
    if (option->flag != NULL) {
        *option->flag = true;
    } else if (option->word != NULL && optarg[0] == '\0') {
        return cli_refuse(command, "%s needs a value, not ''", name);
    } else if (option->word != NULL) {
        *option->word = optarg;
    } else if (option->take != NULL) {
        return option->take(arguments, name, optarg);
    } else if (!cli_read_number(optarg, option->least, option->most, option->number)) {
        return cli_refuse(command, "%s takes %s from %ld to %ld, not '%s'", name,
                          option->what != NULL ? option->what : "a number", option->least,
                          option->most, optarg);
    }
    return -1;
}

int cli_read_options(const struct cli_command *command, const struct cli_option *options, int argc,
                     char **argv, void *arguments)
{
    struct known known;
    make_known(command, options, &known);
    opterr = 0;
    int status = -1;
    int code;
    while (status < 0 && (code = getopt_long(argc, argv, known.letters, known.words, NULL)) != -1) {
        if (code == ':') {
            return cli_refuse(command, "%s needs a value", argv[optind - 1]);
        }
        if (code == '?') {
            return refuse_unknown(command, &known, argv[optind - 1]);
        }
        int row = code - FIRST_ROW;
        for (int i = 0; code < FIRST_ROW && i < known.count; i++) {
            row = known.names[i].letter == code ? i : row;
        }
        status = options[row].spec == NULL
                     ? print_help(command, options)
                     : take(command, &options[row], &known.names[row], arguments);
    }
    return status;
}

int cli_take_order(const struct cli_command *command, const char *option, const char *word,
                   tern_order *order)
{
    *order = strcmp(word, "any") == 0 ? TERN_ORDER_ANY : TERN_ORDER_RANK;
    return *order == TERN_ORDER_ANY || strcmp(word, "rank") == 0
               ? -1
               : cli_refuse(command, "%s takes 'rank' or 'any', not '%s'", option, word);
}
