import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

import { importOfNodeCheck, oldNodeLinks, oldNodeParses } from '../bundle/old-node.ts'

async function built(source: string): Promise<string> {
  const plugin = {
    name: 'source',
    resolveId: (id: string) => (id === 'entry' ? id : null),
    load: (id: string) => (id === 'entry' ? source : null),
  }
  const bundle = await rolldown({
    input: 'entry',
    platform: 'node',
    external: /^node:/u,
    plugins: [plugin, oldNodeLinks()],
    transform: { target: oldNodeParses },
  })
  const { output } = await bundle.generate({ format: 'es' })
  await bundle.close()
  return output[0].code
}

test('what Node 18 lacks is taken from the default export, under its name', async () => {
  const source = `import { createHash, hash as digest } from 'node:crypto'
    export const both = (text) => [createHash('sha256').update(text).digest('hex'), digest('sha256', text)]`
  const code = await built(source)
  expect(code).not.toMatch(/import \{[^}]*\bhash\b/u)
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const [one, other] = module.both('text')
  expect(one).toBe(other)
})

test('a regular expression that Node 18 cannot read is made when it runs', async () => {
  const code = await built(String.raw`export const letters = /[\p{L}--[a-z]]/v`)
  expect(code).toContain('RegExp(')
  expect(code).not.toMatch(/\]\/v/u)
})

test('each entry imports the check of Node first, except those for browsers and programs that are started', () => {
  const first = (fileName: string, file: string, isEntry = true) =>
    importOfNodeCheck({ isEntry, fileName, facadeModuleId: `/repository/packages/${file}` })
  expect(first('index.js', 'provost/src/index.ts')).toBe('import "./supported-node.js";')
  expect(first('parts/cli/index.js', 'cli/src/index.ts')).toBe('import "../../supported-node.js";')
  expect(first('client-ai.js', 'provost/src/client-ai.ts')).toBe('')
  expect(first('parts/client/index.js', 'client/src/index.ts')).toBe('')
  expect(first('supported-node.js', 'provost/src/supported-node.ts')).toBe('')
  expect(first('parts/code-mode/sandbox/thread.js', 'code-mode/src/sandbox/thread.ts')).toBe('')
  expect(first('chunks/agent.js', 'agent/src/index.ts', false)).toBe('')
})
