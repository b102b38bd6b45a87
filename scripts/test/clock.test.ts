import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Where the time of the machine is read directly, and why. All other sources take it from a `Clock`. A key is a file, or a
 * folder with its `/`.
 */
const exceptions: Readonly<Record<string, string>> = {
  'core/src/values/clock.ts': 'is the clock',
  'core/src/values/id.ts': 'ids of one process sort by the machine, whatever a test does with a store',
  'testing/src/': 'real processes, servers and streams',
  'telemetry/src/': 'durations of spans, in the time of the OpenTelemetry SDK',
  'cli/src/': 'a person waits at a terminal',
  'console/src/': 'a person looks at a page',
  'client/src/': 'reconnects of a real connection',
  'durable/src/': 'times for a real server',
  'code-mode/src/engine/': 'the time that a thread computes',
  'code-mode/src/sandbox/': 'the time limits of a thread',
  'code-mode/src/worker/': 'the time limits of a thread',
  'tools/src/runtime/': 'processes and files of the machine',
  'tools/src/just-bash/': 'the time limits of a thread',
  'tools/src/mcp-transport/': 'real connections and processes',
  'tools/src/mcp/': 'real connections',
  'tools/src/a2a/': 'real connections',
  'tools/src/web/': 'real connections',
  'tools/src/files/': 'turns of the event loop',
  'tools/src/results/reader.ts': 'limits a reader that hangs',
  'tools/src/executor/': 'limits a tool that hangs, and measures it',
  'memory/src/compaction/time-limit.ts': 'limits a model that hangs',
  'provider/src/call/call.ts': 'limits a provider that hangs',
  'provider/src/errors/error-facts.ts': 'a header of a provider has the date of the world',
  'provider/src/errors/fallback.ts': 'a nap of at most 500 ms, after which it reads the time of the run',
  'sessions/src/sqlite/sqlite-file.ts': 'waits for a locked file',
  'sessions/src/sqlite/sqlite-store.ts': 'polls a real file',
  'sessions/src/sqlite/write-ahead-log.ts': 'waits for a locked file',
  'sessions/src/outage/patience.ts': 'waits for a real database',
  'sessions/src/postgres/postgres-watch.ts': 'polls a real database',
  'sessions/src/jsonl/folder-lock.ts': 'compares times of files',
  'sessions/src/jsonl/jsonl-store.ts': 'flushes real files',
  'agent/src/control/paced-work.ts': 'turns of the event loop',
  'agent/src/control/abort-control.ts': 'limits tools that do not stop',
  'agent/src/run/end-run.ts': 'limits hooks that do not stop',
  'agent/src/run/start-run.ts': 'limits a store that hangs',
  'agent/src/hooks/hook-time.ts': 'limits a hook that hangs',
  'agent/src/effects/lookup.ts': 'limits a lookup that hangs',
  'agent/src/composite/composite-call.ts': 'limits work that does not stop',
  'server/src/engine/': 'polls of a real store, and turns of the event loop',
  'server/src/server/': 'sockets, shutdown, and polls of a real store',
  'server/src/sessions/': 'polls of a real store',
  'server/src/stream/': 'heartbeats and batches of real connections',
}

const direct =
  /\bDate\.now\(|\bperformance\.now\b|\bset(?:Timeout|Interval)\(|AbortSignal\.timeout\(|\bnew Date\(\)|\{[^}]*\bsetTimeout\b[^}]*\} from 'node:timers\/promises'/

const files = globSync('packages/*/src/**/*.ts', { cwd: root }).map((file) => file.replace('packages/', ''))
const readers = files.filter((file) => {
  const text = readFileSync(join(root, 'packages', file), 'utf8')
  return direct.test(text.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, ''))
})
const keyOf = (file: string): string | undefined =>
  Object.keys(exceptions).find((key) => (key.endsWith('/') ? file.startsWith(key) : file === key))

test('sources take the time from a clock, except those listed with a reason', () => {
  expect(readers.filter((file) => keyOf(file) === undefined)).toEqual([])
})

test('each listed exception is one', () => {
  const used = new Set(readers.map(keyOf))
  expect(Object.keys(exceptions).filter((key) => !used.has(key))).toEqual([])
})
