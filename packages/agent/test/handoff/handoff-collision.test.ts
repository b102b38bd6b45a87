import { createAgent } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { logOf, recorded, transferTo } from './handoff-world.ts'

const look = (name = 'look') => tool({ name, input: z.object({}), execute: () => 'seen' })

/** `desk` hands over to `middle`, and `middle` to `target`, whose tool has the name of one that it inherits from `desk`. */
function world() {
  const ended: string[] = []
  const inherited = defineExtension({
    name: 'watch',
    scope: 'tree',
    tools: [look()],
    hooks: { 'run.end': ({ status }) => void ended.push(status) },
  })
  const { model } = recorded([{ text: 'Done.' }], 'target')
  const target = createAgent({ name: 'target', model, tools: [look()], toolCollisions: 'error' })
  const middle = createAgent({ name: 'middle', model: recorded([transferTo('target')], 'm').model, handoffs: [target] })
  const desk = { name: 'desk', model: recorded([transferTo('middle')], 'd').model, extensions: [inherited] }
  return { ended, target, middle, desk }
}

const collision = { code: 'duplicate-tool', message: expect.stringContaining('look') }

describe('a handoff target whose tools collide with an inherited extension', () => {
  it('is rejected by createAgent', () => {
    const { desk, target } = world()
    expect(() => createAgent({ ...desk, handoffs: [target] })).toThrow(expect.objectContaining(collision))
  })

  it('is rejected when lazy handoffs are resolved', async () => {
    const { desk, target } = world()
    const agent = createAgent({ ...desk, handoffs: () => [target] })
    await expect(agent.run('go')).rejects.toMatchObject(collision)
    await expect(agent.run('go')).rejects.toMatchObject(collision)
  })

  it('fails the run before the handoff where another agent lies between them, and the run ends in the log', async () => {
    const { desk, middle, ended } = world()
    const store = memoryStore()
    const agent = createAgent({ ...desk, handoffs: [middle], store })
    const { status, error, sessionId } = await agent.run('go')
    expect({ status, error }).toMatchObject({ status: 'failed', error: collision })
    expect(ended).toEqual(['failed'])
    const entries = await logOf(store, sessionId)
    expect(entries.filter(({ type }) => type === 'handoff')).toHaveLength(1)
    expect(entries.at(-1)).toMatchObject({ type: 'run', op: 'ended', status: 'failed' })
  })

  it('is accepted under another name', async () => {
    const { desk } = world()
    const { model } = recorded([{ text: 'Done.' }], 'target')
    const middle = createAgent({ name: 'middle', model, tools: [look('see')], toolCollisions: 'error' })
    expect((await createAgent({ ...desk, handoffs: [middle] }).run('go')).text).toBe('Done.')
  })
})
