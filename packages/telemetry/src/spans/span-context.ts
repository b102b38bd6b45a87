import type { Context, Span } from '@opentelemetry/api'
import { trace } from '@opentelemetry/api'

/**
 * A context with a span in it, as `trace.setSpan` makes one. Those of the API copy all they hold into a map, and have
 * functions of their own that V8 keeps among its old objects, with the span and all it tells: for two spans in each step
 * that is too much.
 */
export function withSpan(above: Context, span: Span): Context {
  return trace.setSpan(isLight(above) ? above : opening(above), span)
}

/** Marks contexts that were made here. */
const light = Symbol('light')

function isLight(context: Context): boolean {
  return light in context
}

/** What is set in it first makes a light one. */
function opening(above: Context): Context {
  return {
    getValue: (key) => above.getValue(key),
    setValue: (key, value) => holding(above, key, value),
    deleteValue: (key) => above.deleteValue(key),
  }
}

/** A value over another context. The next of the same key takes its place; all else is for the context below. */
function holding(above: Context, key: symbol, value: unknown): Context & { readonly [light]: true } {
  return {
    [light]: true,
    getValue: (asked) => (asked === key ? value : above.getValue(asked)),
    setValue: (next, its) => (next === key ? holding(above, key, its) : holding(above.setValue(next, its), key, value)),
    deleteValue: (gone) => (gone === key ? above.deleteValue(gone) : holding(above.deleteValue(gone), key, value)),
  }
}
