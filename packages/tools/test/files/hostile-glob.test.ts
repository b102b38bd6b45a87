import { globTool, grepTool, nodeRuntime } from '@provost/tools'
import { expect, test } from 'vitest'

import { call } from '../executor/call.ts'
import { folder } from './folder.ts'

const nested = '{a,{a,{a,{a,{a,{a,{a,b}}}}}}}'.repeat(20)

test('glob and grep stop at braces that multiply', async () => {
  const runtime = nodeRuntime({ cwd: await folder() })
  await runtime.writeFile('a'.repeat(200), 'a')
  const globbed = await call(globTool, { pattern: nested }, { runtime })
  expect(globbed).toMatchObject({ error: { code: 'pattern-too-slow' } })
  const searched = await call(grepTool, { pattern: 'a', glob: nested }, { runtime })
  expect(searched).toMatchObject({ error: { code: 'pattern-too-slow' } })
})

test('glob stops at a pattern that backtracks over a long path', async () => {
  const runtime = nodeRuntime({ cwd: await folder() })
  await runtime.writeFile(`${`${'a'.repeat(200)}/`.repeat(15)}x`, 'a')
  const globbed = await call(globTool, { pattern: '**/*a*a*/**/*a*b*/**/*' }, { runtime })
  expect(globbed).toMatchObject({ error: { code: 'pattern-too-slow' } })
})
