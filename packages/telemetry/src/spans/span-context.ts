import type { Context, Span } from '@opentelemetry/api'
import { trace } from '@opentelemetry/api'

/**
 * Returns a context with a span in it, like `trace.setSpan`. Contexts of the API copy all values into a map, and V8
 * promotes their functions to its old generation together with the span. For two spans in each step that costs too
 * much.
 */
export function withSpan(above: Context, span: Span): Context {
  return trace.setSpan(isLight(above) ? above : opening(above), span)
}

/** Marks contexts that were created here. */
const light = Symbol('light')

function isLight(context: Context): boolean {
  return light in context
}

/** The first value that is set in it creates a light context. */
function opening(above: Context): Context {
  return {
    getValue: (key) => above.getValue(key),
    setValue: (key, value) => holding(above, key, value),
    deleteValue: (key) => above.deleteValue(key),
  }
}

/**
 * A context with one value over another context. Setting the same key replaces the value; other keys go to the context
 * below.
 */
function holding(above: Context, key: symbol, value: unknown): Context & { readonly [light]: true } {
  return {
    [light]: true,
    getValue: (asked) => (asked === key ? value : above.getValue(asked)),
    setValue: (next, its) => (next === key ? holding(above, key, its) : holding(above.setValue(next, its), key, value)),
    deleteValue: (gone) => (gone === key ? above.deleteValue(gone) : holding(above.deleteValue(gone), key, value)),
  }
}
