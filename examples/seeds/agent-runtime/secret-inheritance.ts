// An agent as a tool gets no secret of its caller, unless the caller grants it by name.
import assert from 'node:assert/strict'

import type { ToToolOptions } from 'provost'
import { createAgent, secretRef, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const use = (name: string) =>
  tool({
    name: `use_${name.toLowerCase()}`,
    effect: 'read',
    secrets: [name],
    input: z.object({}),
    execute: (_, ctx) => ctx.secrets[name]?.length ?? 0,
  })
const names = ['BANK', 'MAIL', 'OWN']

/** The secrets that a child can use, out of two of its caller and one of its own. */
async function reach(grant: Pick<ToToolOptions, 'secrets' | 'inheritSecrets'>): Promise<string> {
  const child = createAgent({
    name: 'child',
    tools: names.map((name) => use(name)),
    secrets: { OWN: secretRef(() => 'own-own-own') },
    model: scriptedModel([
      { toolCalls: names.map((name) => ({ name: `use_${name.toLowerCase()}` })) },
      { text: 'Tried.' },
    ]),
  })
  const parent = createAgent({
    name: 'parent',
    tools: [child.toTool({ name: 'ask_child', description: 'Asks.', ...grant })],
    secrets: { BANK: secretRef(() => 'bank-bank'), MAIL: secretRef(() => 'mail-mail') },
    model: scriptedModel([{ toolCalls: [{ name: 'ask_child', input: { task: 'Try.' } }] }, { text: 'Done.' }]),
  })
  const used: string[] = []
  for await (const event of parent.stream('Let it try.')) {
    if (event.type === 'tool.execute.end' && event.agent === 'child') used.push(event.toolName.slice(4).toUpperCase())
    if (event.type === 'tool.execute.error') assert.equal(event.error.code, 'secret-denied')
  }
  return used.join(' ')
}
assert.equal(await reach({}), 'OWN')
assert.equal(await reach({ secrets: 'allowlist', inheritSecrets: ['BANK'] }), 'BANK OWN')
assert.equal(await reach({ secrets: 'explicit', inheritSecrets: ['BANK'] }), 'BANK')
assert.equal(await reach({ secrets: 'isolated' }), 'OWN')
console.log('by default a child has its own secrets only') // → by default a child has its own secrets only
