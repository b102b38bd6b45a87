import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { attributesOf, doneStep, traced } from '../traced.ts'

const input = z.object({ invoice: z.string() })
const payStep = { toolCalls: [{ name: 'pay', input: { invoice: '17' } }] }

/** A tool that loses its first reply. */
function payTool(lookup?: () => { output: string } | undefined) {
  let requests = 0
  return tool({
    name: 'pay',
    input,
    effectKey: ({ invoice }) => invoice,
    effectScope: 'principal',
    execute({ invoice }) {
      requests += 1
      if (requests === 1) throw Object.assign(new Error('The connection was lost.'), { code: 'ECONNRESET' })
      return `paid ${invoice}`
    },
    ...(lookup && { lookup: (key: string) => Promise.resolve(key === '' ? undefined : lookup()) }),
  })
}

const principal = { id: 'ann@example.org' }

describe('the span of a call', () => {
  it('has the state, scope and attempt of its effect, but neither its key nor its principal', async () => {
    const { agent, take } = traced([payStep, payStep, doneStep], { tools: [payTool(() => undefined)] })
    await agent.run('pay', { principal })
    const spans = take().filter(({ name }) => name === 'execute_tool pay')
    const effects = spans.map(({ attributes }) =>
      Object.fromEntries(Object.entries(attributes).filter(([name]) => name.startsWith('provost.effect.'))),
    )
    const shared = { 'provost.effect.scope': 'principal', 'provost.effect.by': 'call' }
    expect(effects).toEqual([
      { ...shared, 'provost.effect.state': 'unknown', 'provost.effect.attempt': 1 },
      {
        ...shared,
        'provost.effect.state': 'confirmed',
        'provost.effect.attempt': 2,
        'provost.effect.cleared_by': 'lookup',
      },
    ])
  })

  it('has the key where arguments are recorded, unless they may be secret', async () => {
    const key = async (confidentiality: 'internal' | 'secret') => {
      const look = tool({
        name: 'look',
        effect: 'read',
        input: z.object({}),
        execute: () => 'seen',
        returns: { integrity: 'trusted', confidentiality },
      })
      const steps = [{ toolCalls: [{ name: 'look', input: {} }] }, payStep, doneStep]
      const { agent, take } = traced(steps, { tools: [look, payTool()] }, { recordContent: ['tools'] })
      await agent.run('pay', { principal })
      return attributesOf(take(), 'execute_tool pay')['provost.effect.key']
    }
    expect([await key('internal'), await key('secret')]).toEqual(['17', '[secret]'])
  })
})

it('a call that the ledger answers, and one in doubt, mark the span of the run', async () => {
  const found = traced([payStep, payStep, doneStep], { tools: [payTool(() => ({ output: 'found' }))] })
  await found.agent.run('pay', { principal })
  expect(found.tree().find((line) => line.includes('tool.result'))).toContain('confirmed')
  const asked = traced([payStep, payStep, doneStep], { tools: [payTool()] })
  await asked.agent.run('pay', { principal })
  expect(asked.tree().find((line) => line.includes('tool.uncertain'))).toContain('unknown')
})
