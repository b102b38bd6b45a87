import { unsupportedNode } from '@provost/core/supported-node'
import { expect, test } from 'vitest'

const on = (versions: Readonly<Record<string, string>>) => unsupportedNode({ versions })

test.each(['18.20.8', '20.20.2', '22.0.0', '22.17.1'])('Node %s is unsupported, with what to do', (node) => {
  expect(on({ node })).toEqual({
    code: 'unsupported-node',
    message: `Provost needs Node 22.18 or later, and this is Node ${node}.`,
    hint: 'Install a current version of Node, then repeat the command.',
  })
})

test.each(['22.18.0', '22.23.3', '23.0.0', '24.0.0', '26.10.0', '25.0.0-nightly20260101'])(
  'Node %s runs it',
  (node) => {
    expect(on({ node })).toBeUndefined()
  },
)

test('other runtimes are no version of Node, whatever they state', () => {
  expect(on({ node: '20.0.0', bun: '1.4.5' })).toBeUndefined()
  expect(on({ node: '20.0.0', deno: '2.9.6' })).toBeUndefined()
  expect(unsupportedNode({})).toBeUndefined()
})

test('this process runs it', () => {
  expect(unsupportedNode()).toBeUndefined()
})
