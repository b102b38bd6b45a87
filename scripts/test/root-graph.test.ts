import { expect, test } from 'vitest'

import { graphOf } from '../bundle/one-build.ts'

test('an import of provost loads no part that a plain agent does not need, and no library but zod', async () => {
  const { packages, libraries, bytes } = await graphOf('index')
  expect(packages.toSorted((a, b) => a.localeCompare(b))).toEqual([
    ...['agent', 'core', 'provider', 'provost', 'sessions', 'teams', 'tools'],
  ])
  expect(libraries.loaded).toEqual(['zod'])
  // At the first use of a gateway model, and of a schema of the AI SDK.
  expect(libraries.later).toEqual(['@ai-sdk/gateway', '@ai-sdk/provider-utils'])
  expect(bytes).toBeLessThan(1_160_000)
})

test('the client loads the vocabulary only, and nothing of Node', async () => {
  const { packages, libraries, builtins } = await graphOf('client')
  expect(packages.toSorted((a, b) => a.localeCompare(b))).toEqual(['client', 'core', 'provost'])
  expect([...libraries.loaded, ...libraries.later, ...builtins]).toEqual([])
})
