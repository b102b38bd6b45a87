import type { Extension, Tool } from '@provost/core'
import { defineExtension, isPromise } from '@provost/core'

import { parseInput } from '../definition/parse-input.ts'

/** Notifies tools of the input that the model writes for them, while it writes. */
export function toolInputs(find: (name: string) => Tool | undefined): Extension {
  return defineExtension<never>({
    name: 'tool-inputs',
    hooks: {
      event(event, ctx) {
        if (event.type !== 'tool.call.start' && event.type !== 'tool.call.delta' && event.type !== 'tool.call.end')
          return
        const tool = find(event.toolName)
        const listener = tool?.['~tool'].inputListener
        if (!tool || !listener) return
        if (event.type === 'tool.call.start') return listener.start?.(event.callId, ctx)
        if (event.type === 'tool.call.delta') return listener.delta?.(event.callId, event.delta, ctx)
        if (!listener.available) return
        const parsed = parseInput(tool, event.input)
        const tell = (done: Awaited<typeof parsed>): unknown =>
          done.ok ? listener.available?.(event.callId, done.value, ctx) : undefined
        return isPromise(parsed) ? parsed.then(tell) : tell(parsed)
      },
    },
  })
}
