import { createScrubber } from '@provost/core'
import { tool } from '@provost/tools'
import { expect, it } from 'vitest'
import { z } from 'zod'

import { createLogger } from '../../src/logger.ts'
import { doneStep, traced } from '../traced.ts'

function logged(options: Parameters<typeof createLogger>[0] = {}) {
  const lines: string[] = []
  const log = createLogger({ ...options, destination: { write: (line) => void lines.push(line) } })
  return { log, lines, parsed: () => lines.map((line): Record<string, unknown> => JSON.parse(line)) }
}

it('a log line has the ids of its run and span', async () => {
  const { log, parsed } = logged({ name: 'app' })
  const note = tool({
    name: 'note',
    effect: 'read',
    input: z.object({}),
    execute: () => log.info({ order: 17 }, 'noted'),
  })
  const { agent, take } = traced([{ toolCalls: [{ name: 'note' }] }, doneStep], { tools: [note] })
  const { runId, sessionId } = await agent.run('go')
  log.warn('outside')
  const [root] = take()
  expect(parsed()).toMatchObject([
    {
      name: 'app',
      msg: 'noted',
      order: 17,
      run_id: runId,
      session_id: sessionId,
      agent: 'desk',
      trace_id: root?.traceId,
    },
    { level: 40, msg: 'outside' },
  ])
  expect(parsed()[1]).not.toHaveProperty('run_id')
})

it('no secret is logged in messages, fields, keys, numbers, errors, causes or child bindings, in any letter case', () => {
  const scrubber = createScrubber()
  scrubber.add('KEY', 'sk-Very-Secret-1')
  scrubber.add('PIN', '48151623')
  const { log, lines, parsed } = logged({ scrubber })
  const child = log.child({ token: 'sk-Very-Secret-1', pin: 48151623 })
  child.info('with SK-VERY-SECRET-1 in it')
  child.error(new Error('401 for sk-Very-Secret-1', { cause: new Error('sk-Very-Secret-1') }), 'failed')
  child.info(
    { deep: [{ 'sk-Very-Secret-1': { at: 48151623, b64: btoa('sk-Very-Secret-1') } }] },
    'fields %s',
    'sk-Very-Secret-1',
  )
  const all = lines.join('')
  expect(all).not.toMatch(/very-secret|48151623/i)
  expect(all).not.toContain(btoa('sk-Very-Secret-1'))
  expect(parsed()).toMatchObject([
    { msg: 'with ⟦secret:KEY⟧ in it', pin: '⟦secret:PIN⟧' },
    { msg: 'failed', err: { message: expect.stringContaining('⟦secret:KEY⟧'), stack: expect.any(String) } },
    { msg: 'fields ⟦secret:KEY⟧' },
  ])
})
