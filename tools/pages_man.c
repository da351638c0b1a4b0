// SPDX-License-Identifier: Apache-2.0
// The manual page, from the rows that the reference pages are printed from.
#include <string.h>

#include "pages_internal.h"

// Text for troff: dashes as typed, no line that begins a request.
static void put_troff(glia_strbuf *out, const char *text)
{
    if (*text == '.' || *text == '\'') glia_put(out, "\\&");
    for (const char *c = text; *c; c++) {
        if (*c == '-' || *c == '\\') glia_put(out, "\\");
        glia_put(out, *c == '\\' ? "e" : (const char[]){ *c, 0 });
    }
}

static void man_option(const tool_option *o, glia_strbuf *out)
{
    char shown[TOOL_NAME_SIZE];
    tool_flag_shown(o, shown);
    glia_put(out, ".TP\n.B ");
    if (o->letter) glia_putf(out, "\\-%c, ", o->letter);
    glia_put(out, "\\-\\-");
    put_troff(out, shown);
    glia_putf(out, " \\fI%s\\fR\n", tool_value_name(o->type));
    put_troff(out, o->help);
    if (*o->unit) glia_putf(out, " (%s)", o->unit);
    if (o->type == TOOL_LIST) glia_put(out, " (may be repeated)");
    if (o->fallback && o->type != TOOL_FLAG) {
        glia_put(out, " [");
        put_troff(out, o->fallback);
        glia_put(out, "]");
    }
    glia_put(out, "\n");
}

static void man_exit(glia_strbuf *out, int exit, const char *text)
{
    glia_putf(out, ".TP\n.B %d\n", exit);
    put_troff(out, text);
    glia_put(out, "\n");
}

static void man_verb(const tool_command *c, glia_strbuf *out)
{
    glia_putf(out, ".SS glia %s [options] ", c->name);
    put_troff(out, c->inputs);
    glia_put(out, "\n");
    put_troff(out, c->summary);
    glia_put(out, "\n");
    for (size_t k = 0; k < c->option_count; k++) man_option(&c->options[k], out);
}

static void man_variable(const pages_variable *v, glia_strbuf *out)
{
    glia_put(out, ".TP\n.B ");
    put_troff(out, v->name);
    glia_put(out, "\n");
    put_troff(out, v->text);
    glia_put(out, " [");
    put_troff(out, v->fallback);
    glia_put(out, "]\n");
}

static void man_environment(glia_strbuf *out)
{
    size_t count;
    const pages_variable_group *groups = pages_variables(&count);
    glia_put(out, ".SH ENVIRONMENT\n");
    for (size_t g = 0; g < count; g++) {
        glia_putf(out, ".SS %s\n", groups[g].title);
        const pages_variable *v;
        for (size_t k = 0; (v = groups[g].at(k)); k++) man_variable(v, out);
    }
}

static void man_files(glia_strbuf *out)
{
    static const struct { const char *name, *what; } files[] = {
        { "~/.cache/glia", "the compile cache; NEURON_COMPILE_CACHE_URL names another" },
        { "*.neff", "a compiled program; 'glia neff show' looks into it" },
        { "*.s", "its assembly text, from 'glia neff disasm'" },
        { "*.hlo.txt", "a graph as HLO text, as XLA dumps it" },
        { "*.gguf", "a model; a Hugging Face folder with config.json and safetensors is one too" },
        { "*.npy", "an array of NumPy; bf16 and fp8 are saved as unsigned integers of the same size" },
    };
    glia_put(out, ".SH FILES\n");
    for (size_t k = 0; k < COUNT_OF(files); k++) {
        glia_put(out, ".TP\n.I ");
        put_troff(out, files[k].name);
        glia_put(out, "\n");
        put_troff(out, files[k].what);
        glia_put(out, "\n");
    }
}

static void man_examples(glia_strbuf *out)
{
    static const struct { const char *what, *command; } examples[] = {
        { "Continue a prompt on a simulated trn2.3xlarge, and predict trn1 and trn3 too:",
          "glia generate -m model.gguf -p 'The capital of France is' -n 8 --compare trn1,trn3" },
        { "Perplexity of a text:", "glia eval -m model.gguf --file text.txt" },
        { "A graph to a NEFF, its time, and a run on random inputs:",
          "glia compile layer.hlo.txt -o layer.neff --target trn2\nglia time layer.neff\nglia run layer.neff --random 1 -o out" },
        { "How long a Llama would take to decode a token, without its weights:", "glia time --config config.json --phase decode --instance trn2.48xlarge" },
        { "Every number of a chip, with its source:", "glia hw show trn2" },
    };
    glia_put(out, ".SH EXAMPLES\n");
    for (size_t k = 0; k < COUNT_OF(examples); k++) {
        glia_put(out, ".PP\n");
        put_troff(out, examples[k].what);
        glia_put(out, "\n.PP\n.nf\n");
        put_troff(out, examples[k].command);
        glia_put(out, "\n.fi\n");
    }
}

void tool_page_man(glia_strbuf *out)
{
    glia_put(out, ".\\\" Printed by 'glia doc man' from the rows in tools/commands.def, tools/options/*.def, tools/environment.def and src/rt/env.def.\n"
                  ".TH GLIA 1 \"\" \"glia " GLIA_VERSION "\" \"User Commands\"\n.SH NAME\nglia \\- the Trainium platform in software\n"
                  ".SH SYNOPSIS\n.B glia\n\\fIverb\\fR [\\fIoptions\\fR] [\\fIinput\\fR]\n"
                  ".SH DESCRIPTION\nCompiles, executes, times and inspects programs of Trainium on any Linux machine, without a chip.\n"
                  "Results go to stdout, all else to stderr; \\-\\-json prints one document whose schema names it.\n"
                  "Each option is also a variable: \\-\\-max\\-tokens is GLIA_MAX_TOKENS. What stands in [] is the default.\n.SH VERBS\n");
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        man_verb(&c, out);
    }
    glia_put(out, ".SH EXIT STATUS\n");
    pages_each_exit(out, man_exit);
    man_environment(out);
    man_files(out);
    man_examples(out);
    glia_put(out, ".SH SEE ALSO\ndocs/README.md of the source tree; docs/using.md tells what the answers mean.\n");
}
