// SPDX-License-Identifier: Apache-2.0
// Strings in the JSON of reports.
#ifndef TERN_COLL_JOB_JSON_H
#define TERN_COLL_JOB_JSON_H

#include <stdio.h>

// A JSON string; bytes beyond ASCII are taken one by one, so that it is valid whatever they are.
void tern__job_json_string(FILE *file, const char *text);

// `,"key":"text"`
void tern__job_json_field(FILE *file, const char *key, const char *text);

#endif
