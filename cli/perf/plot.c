// SPDX-License-Identifier: Apache-2.0
// The SVG of `tern perf --plot`: for each kind a row of two panels, time and bus bandwidth against
// size, both axes logarithmic, and a legend. Lines are the algorithms that were asked for (or one,
// of what was selected) and the MPIs. Plain elements, so that any viewer shows it and a person can
// edit it.

#include "perf/plot.h"

#include <math.h>
#include <stdio.h>

#include "numbers.h"
#include "perf/peers.h"
#include "perf/print.h"
#include "tern/file.h"

#define PANEL_WIDTH 420.0
#define PANEL_HEIGHT 260.0
#define LEFT 70.0
#define TOP 50.0
#define BETWEEN 90.0
#define LEGEND 150.0
#define BOTTOM 60.0
#define WIDTH (LEFT + 2 * PANEL_WIDTH + BETWEEN + LEGEND)
#define ROW_HEIGHT (TOP + PANEL_HEIGHT + BOTTOM)
#define X_LABELS_MOST 8

// Told apart also by those who do not see red and green alike (Okabe and Ito).
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                      "#56b4e9", "#000000", "#8a8a00", "#7f3fbf", "#a05a2c"};

struct axis {
    double low, high; // logarithms to the base 10
};

struct panel {
    FILE *file;
    double x, y; // of the upper left corner
    struct axis sizes, values;
    bool busbw;
};

// A line of the plot: which rows, and which of their values.
struct line {
    int algo; // number of the algorithm within a size, or
    int peer; // when algo is -1
};

// The lines of one size follow each other in the order of --algo.
struct chart {
    const struct perf_options *options;
    const struct perf_row *rows;
    long nrows;
    struct line lines[PERF_ALGOS_MAX + PERF_PEERS];
    int nlines;
};

static double value_of(const struct chart *chart, const struct line *line, long row, bool busbw)
{
    const struct perf_row *own = &chart->rows[row];
    if (line->algo >= 0) {
        bool mine = row % chart->options->nalgos == line->algo;
        return !mine ? 0 : busbw ? own->busbw_GBps : own->time.median_us;
    }
    double us = own->peers[line->peer].median_us;
    if (row % chart->options->nalgos != 0 || us <= 0) {
        return 0;
    }
    return busbw ? own->busbw_GBps * own->time.median_us / us : us;
}

static double x_of(const struct panel *panel, double bytes)
{
    double width = panel->sizes.high - panel->sizes.low;
    return panel->x + (log10(bytes) - panel->sizes.low) / width * PANEL_WIDTH;
}

static double y_of(const struct panel *panel, double value)
{
    double height = panel->values.high - panel->values.low;
    return panel->y + PANEL_HEIGHT - (log10(value) - panel->values.low) / height * PANEL_HEIGHT;
}

// From the least to the greatest value of all lines, in whole decades.
static struct axis value_axis(const struct chart *chart, bool busbw)
{
    struct axis axis = {INFINITY, -INFINITY};
    for (int i = 0; i < chart->nlines; i++) {
        for (long row = 0; row < chart->nrows; row++) {
            double value = value_of(chart, &chart->lines[i], row, busbw);
            if (value > 0) {
                axis.low = fmin(axis.low, floor(log10(value)));
                axis.high = fmax(axis.high, ceil(log10(value)));
            }
        }
    }
    if (axis.low > axis.high) {
        return (struct axis){0, 1};
    }
    axis.high = axis.high > axis.low ? axis.high : axis.low + 1;
    return axis;
}

static struct axis size_axis(const struct chart *chart)
{
    struct axis axis = {INFINITY, -INFINITY};
    for (long row = 0; row < chart->nrows; row++) {
        double bytes = log10((double)chart->rows[row].bytes);
        axis.low = fmin(axis.low, bytes);
        axis.high = fmax(axis.high, bytes);
    }
    double margin = axis.high > axis.low ? (axis.high - axis.low) * 0.02 : 0.5;
    return (struct axis){axis.low - margin, axis.high + margin};
}

static void draw_text(const struct panel *panel, double x, double y, const char *anchor,
                      const char *text)
{
    fprintf(panel->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
            text);
}

static void draw_rule(const struct panel *panel, double x1, double y1, double x2, double y2)
{
    fprintf(panel->file,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", x1, y1,
            x2, y2);
}

static void draw_size_ticks(const struct panel *panel)
{
    double low = panel->sizes.low / log10(2);
    double high = panel->sizes.high / log10(2);
    int step = (int)ceil((high - low) / X_LABELS_MOST);
    step = step < 1 ? 1 : step;
    for (int power = (int)ceil(low); power <= (int)floor(high); power++) {
        if (power < 0 || power % step != 0) {
            continue;
        }
        char text[32];
        double bytes = ldexp(1, power);
        double x = x_of(panel, bytes);
        draw_rule(panel, x, panel->y, x, panel->y + PANEL_HEIGHT);
        draw_text(panel, x, panel->y + PANEL_HEIGHT + 16, "middle",
                  cli_bytes_text((uint64_t)bytes, text));
    }
}

static void draw_value_ticks(const struct panel *panel)
{
    for (int power = (int)panel->values.low; power <= (int)panel->values.high; power++) {
        char text[32];
        double y = y_of(panel, pow(10, power));
        draw_rule(panel, panel->x, y, panel->x + PANEL_WIDTH, y);
        snprintf(text, sizeof text, "%g", pow(10, power));
        draw_text(panel, panel->x - 6, y + 4, "end", text);
    }
}

static void draw_line(const struct panel *panel, const struct chart *chart, int index)
{
    const char *colour = colours[index % (int)(sizeof colours / sizeof colours[0])];
    const char *dashes = chart->lines[index].algo < 0 ? " stroke-dasharray=\"6 3\"" : "";
    fprintf(panel->file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s points=\"",
            colour, dashes);
    for (int dots = 0; dots < 2; dots++) {
        for (long row = 0; row < chart->nrows; row++) {
            double value = value_of(chart, &chart->lines[index], row, panel->busbw);
            if (value <= 0) {
                continue;
            }
            double x = x_of(panel, (double)chart->rows[row].bytes);
            double y = y_of(panel, value);
            fprintf(panel->file,
                    dots == 0 ? "%.1f,%.1f " : "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" ", x, y);
            if (dots == 1) {
                fprintf(panel->file, "fill=\"%s\"/>\n", colour);
            }
        }
        fputs(dots == 0 ? "\"/>\n" : "", panel->file);
    }
}

static void draw_panel(struct panel *panel, const struct chart *chart)
{
    panel->sizes = size_axis(chart);
    panel->values = value_axis(chart, panel->busbw);
    draw_size_ticks(panel);
    draw_value_ticks(panel);
    fprintf(panel->file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
            "stroke=\"#444444\"/>\n",
            panel->x, panel->y, PANEL_WIDTH, PANEL_HEIGHT);
    for (int i = 0; i < chart->nlines; i++) {
        draw_line(panel, chart, i);
    }
    draw_text(panel, panel->x + PANEL_WIDTH / 2, panel->y + PANEL_HEIGHT + 36, "middle", "size");
    double y = panel->y + PANEL_HEIGHT / 2;
    double x = panel->x - 50;
    fprintf(panel->file,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 %.1f "
            "%.1f)\">%s</text>\n",
            x, y, x, y, panel->busbw ? "bus bandwidth, GB/s" : "time, us");
}

static void draw_legend(const struct panel *panel, const struct chart *chart)
{
    double x = panel->x + PANEL_WIDTH + 20;
    for (int i = 0; i < chart->nlines; i++) {
        const struct line *line = &chart->lines[i];
        const char *asked = line->algo >= 0 ? chart->options->algos[line->algo] : NULL;
        double y = panel->y + 12 + 18 * i;
        fprintf(panel->file,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                "stroke-width=\"2\"%s/>\n",
                x, y - 4, x + 24, y - 4, colours[i % (int)(sizeof colours / sizeof colours[0])],
                line->algo < 0 ? " stroke-dasharray=\"6 3\"" : "");
        fprintf(panel->file, "<text x=\"%.1f\" y=\"%.1f\">%s%s%s</text>\n", x + 30, y,
                line->algo < 0 ? perf_systems[line->peer].title : "tern", asked != NULL ? ", " : "",
                asked != NULL ? asked : "");
    }
}

static void draw_chart(FILE *file, const struct chart *chart, double y)
{
    const struct perf_row *row = &chart->rows[0];
    struct panel panel = {.file = file, .x = LEFT, .y = y + TOP};
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"15\">%s, %d rank%s, %s%s%s, %s</text>\n",
            LEFT, y + TOP - 18, perf_shapes[row->kind].word, row->nranks,
            row->nranks == 1 ? "" : "s", tern_dtype_name(row->dtype),
            perf_has(row->kind, PERF_REDUCES) ? " " : "",
            perf_has(row->kind, PERF_REDUCES) ? row->op : "",
            perf_memory_words[chart->options->memory]);
    draw_panel(&panel, chart);
    panel.x += PANEL_WIDTH + BETWEEN;
    panel.busbw = true;
    draw_panel(&panel, chart);
    draw_legend(&panel, chart);
}

static void choose_lines(struct chart *chart)
{
    for (int algo = 0; algo < chart->options->nalgos; algo++) {
        chart->lines[chart->nlines++] = (struct line){.algo = algo};
    }
    for (int peer = 0; peer < PERF_PEERS; peer++) {
        if (chart->options->peers[peer]) {
            chart->lines[chart->nlines++] = (struct line){.algo = -1, .peer = peer};
        }
    }
}

// Rows of one kind from `begin` on; barriers have no size and are not drawn.
static long kind_end(const struct perf_row *rows, long nrows, long begin)
{
    long end = begin;
    while (end < nrows && rows[end].kind == rows[begin].kind) {
        end++;
    }
    return end;
}

struct picture {
    const struct perf_options *options;
    const struct perf_row *rows;
    long nrows;
};

static int draw_picture(FILE *file, void *arg)
{
    const struct picture *picture = arg;
    const struct perf_row *rows = picture->rows;
    int charts = 0;
    for (long row = 0; row < picture->nrows; row = kind_end(rows, picture->nrows, row)) {
        charts += rows[row].kind != PERF_BARRIER;
    }
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            WIDTH, ROW_HEIGHT * (charts > 0 ? charts : 1));
    double y = 0;
    for (long row = 0; row < picture->nrows; row = kind_end(rows, picture->nrows, row)) {
        struct chart chart = {.options = picture->options, .rows = &rows[row]};
        chart.nrows = kind_end(rows, picture->nrows, row) - row;
        if (rows[row].kind != PERF_BARRIER) {
            choose_lines(&chart);
            draw_chart(file, &chart, y);
            y += ROW_HEIGHT;
        }
    }
    fputs("</svg>\n", file);
    return TERN_OK;
}

int perf_plot(const struct perf_options *options, const struct perf_row *rows, long nrows)
{
    struct picture picture = {options, rows, nrows};
    if (tern_file_save(options->plot, draw_picture, &picture) != TERN_OK) {
        perf_say("--plot: %s", tern_last_error());
        return -1;
    }
    return 0;
}
