import { experimental_runCodeMode as runCodeMode } from '@ai-sdk/code-mode'
import { jsonSchema, tool } from 'ai'

import type { Contender } from './contender.ts'

const anything = jsonSchema<any>({})

export function aiSdk(): Contender {
  return {
    name: '@ai-sdk/code-mode',
    run: (js, tools) =>
      runCodeMode({
        js,
        tools: Object.fromEntries(
          Object.entries(tools).map(([name, work]) => [
            name,
            tool({ inputSchema: anything, execute: async (input) => work(input) }),
          ]),
        ),
        options: {
          executionPolicy: {
            timeoutMs: 30_000,
            maxBridgeRequests: 100_000,
            maxInFlightBridgeRequests: 100_000,
            maxResultBytes: 4 << 20,
          },
        },
      }),
    close: async () => {},
  }
}
