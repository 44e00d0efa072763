/* Notes: a line a value in the text of a metadata entry. */
#include "graph/notes.h"

#include <string.h>

const char *notes_find(const Graph *g, const char *key, const char *name) {
  const char *text = graph_metadata(g, key);
  size_t length = strlen(name);
  for (const char *at = text; at && (at = strstr(at, name)); at += length) {
    const char *end = at + length;
    if ((at == text || at[-1] == '\n') && (!*end || *end == '\n' || *end == ' ')) return end;
    if (!length) return NULL;
  }
  return NULL;
}

Status notes_add(Graph *g, const char *key, const char *name, const char *more) {
  const char *before = graph_metadata(g, key);
  const char *text = arena_print(g->arena, "%s%s%s%s%s", before ? before : "", before ? "\n" : "", name,
                                 *more ? " " : "", more);
  return text ? graph_set_metadata(g, key, text) : error_memory(g->error, "for the exporter's notes");
}
