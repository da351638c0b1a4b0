// SPDX-License-Identifier: Apache-2.0
// Attributes that change no value, from ignored.def: their text is skipped. All others that are not understood are
// refused by name and place, since an attribute that is dropped in silence may be what the answer depends on.
#include <string.h>

#include "ir/parse.h"

typedef enum ignored_rule { RULE_ANY, RULE_ONE_OF, RULE_WHOLE } ignored_rule;

static const struct {
    const char *of, *key;
    ignored_rule rule;
    const char *values;
} rows[] = {
#define IGNORED(of, key, rule, values) {of, key, RULE_##rule, values},
#include "ir/ignored.def"
};

// `text` without blanks against the words of `values`.
static bool is_one_of(ir_text text, const char *values)
{
    AUTO_VALUE(glia_strbuf) plain = {0};
    for (int i = 0; i < text.size; i++)
        if (!strchr(" \t\r\n", text.data[i])) glia_put_u8(&plain, (uint8_t)text.data[i]);
    const char *want = glia_strbuf_str(&plain);
    for (const char *word = values;; word++) {
        const size_t size = strcspn(word, "|");
        if (size == strlen(want) && memcmp(word, want, size) == 0) return true;
        word += size;
        if (!*word) return false;
    }
}

// Do the numbers that follow `key` all have this value? Up to what is no list of numbers.
static bool numbers_are(ir_text text, const char *key, int64_t value)
{
    ir_lex l = ir_lex_of((glia_span){(const uint8_t *)text.data, (size_t)text.size});
    const size_t size = strlen(key);
    for (; (size_t)(l.end - l.at) >= size; l.at++) {
        int64_t number;
        if (memcmp(l.at, key, size) != 0) continue;
        for (l.at += size; ir_lex_int(&l, &number); ir_lex_accept(&l, ','))
            if (number != value) return false;
        l.at--;
    }
    return true;
}

static bool is_whole(ir_text sharding)
{
    return numbers_are(sharding, "devices=[", 1) && numbers_are(sharding, "maximal device=", 0);
}

static bool obeys(ignored_rule rule, ir_text value, const char *values)
{
    switch (rule) {
    case RULE_ANY:
        return true;
    case RULE_ONE_OF:
        return is_one_of(value, values);
    case RULE_WHOLE:
        return is_whole(value);
    }
    return false;
}

static int shown(ir_text t)
{
    return t.size < 80 ? t.size : 80;
}

// Reports an attribute that must not be dropped.
static void judge(parse *p, const char *where, ir_text of, ir_text key, ir_text value)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((strcmp(rows[i].of, "*") != 0 && !ir_text_is(of, rows[i].of)) || !ir_text_is(key, rows[i].key)) continue;
        if (!obeys(rows[i].rule, value, rows[i].values))
            PARSE_FAIL(p, where, UNSUPPORTED, "'%.*s' has '%.*s=%.*s', which is not supported; %s is", shown(of), of.data,
                       shown(key), key.data, shown(value), value.data,
                       rows[i].rule == RULE_WHOLE ? "a sharding that leaves arrays whole, as {replicated}," : rows[i].values);
        return;
    }
    PARSE_FAIL(p, where, UNSUPPORTED,
               "'%.*s' has the attribute '%.*s', which is not known and may change what is computed\n"
               "hint: attributes are rows of ir/attrs.def, those without meaning here of ir/ignored.def",
               shown(of), of.data, shown(key), key.data);
}

bool parse_ignored(parse *p, const char *where, ir_text of, ir_text key)
{
    ir_text value;
    ir_lex_skip(&p->lex);
    if (!ir_lex_skip_value(&p->lex, &value))
        return PARSE_FAIL(p, p->lex.at, INVALID, "attribute '%.*s' of '%.*s' has no value that ends", shown(key), key.data,
                          shown(of), of.data);
    judge(p, where, of, key, value);
    return true;
}
