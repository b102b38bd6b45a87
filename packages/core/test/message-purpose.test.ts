import type { EntryOf, Message } from '@provost/core'
import { messageOfEntry, messagesOfView, opensCalls, purposeOf } from '@provost/core'
import { describe, expect, test } from 'vitest'

const root = '018f0000-0000-7000-8000-000000000001'
const child = `${root}/1/call/0/run`

function entryOf(
  id: string,
  via: EntryOf<'message'>['via'],
  { runId = root, ...more }: Partial<Message> & { readonly runId?: string } = {},
): Pick<EntryOf<'message'>, 'runId' | 'step' | 'via' | 'message'> {
  return { runId, step: 1, via, message: { id, role: 'user', content: [], createdAt: 1, ...more } }
}

const written = [
  ['repair', `${root}/1/message/repair`],
  ['output-repair', `${root}/1/message/output`],
  ['handoff-note', `${root}/1/call/0/note`],
  ['orchestrator', `${root}/1/saying/1.1`],
  ['summary', `${root}/1/message/1/summary`],
  ['opening', `${root}/1/call/0/handoff/opening`],
] as const

describe('a message entry of an earlier release', () => {
  test.each(written)('of the runtime has the purpose %s', (purpose, id) => {
    expect(purposeOf(entryOf(id, 'system'))).toBe(purpose)
    expect(messageOfEntry(entryOf(id, 'system')).purpose).toBe(purpose)
  })

  test.each(written)('from outside has no purpose, even with the id of one with the purpose %s', (_, id) => {
    for (const via of ['input', 'steer', 'queue', 'tool', 'model'] as const) {
      expect(purposeOf(entryOf(id, via))).toBeUndefined()
      expect(messageOfEntry(entryOf(id, via)).purpose).toBeUndefined()
    }
    expect(purposeOf(entryOf(id, 'system', { role: 'system' }))).toBeUndefined()
    expect(purposeOf(entryOf(id.replace(root, 'client'), 'system'))).toBeUndefined()
  })

  test.each(written)('in the input of a child came from the runs above: %s', (purpose, id) => {
    expect(messageOfEntry(entryOf(id, 'input', { runId: child })).purpose).toBe(purpose)
    // It is history there, not an entry of the child's runtime.
    expect(purposeOf(entryOf(id, 'input', { runId: child }))).toBeUndefined()
    expect(messageOfEntry(entryOf(id.replace(root, 'client'), 'input', { runId: child })).purpose).toBeUndefined()
  })

  test('closes its run where no attempt has made it', () => {
    expect(purposeOf(entryOf(`${root}/1/message/error`, 'model', { role: 'error' }))).toBe('closing')
    expect(purposeOf(entryOf(`${root}/1/message/2`, 'model', { role: 'aborted' }))).toBe('closing')
    expect(purposeOf(entryOf(`${root}/1/message/2`, 'model', { role: 'error' }))).toBeUndefined()
  })
})

test('a stated purpose holds, whatever the id', () => {
  expect(purposeOf(entryOf('x', 'system', { purpose: 'repair' }))).toBe('repair')
  const entry = entryOf(`${root}/1/message/repair`, 'system', { purpose: 'orchestrator' })
  expect(purposeOf(entry)).toBe('orchestrator')
  expect(messageOfEntry(entry)).toBe(entry.message)
})

test('a stated purpose of a message from outside is kept with it, and makes it no entry of the runtime', () => {
  const entry = entryOf('x', 'input', { purpose: 'output-repair' })
  expect(purposeOf(entry)).toBeUndefined()
  expect(messageOfEntry(entry).purpose).toBe('output-repair')
})

test('messages that an extension added to the view of an earlier release are edits or summaries', () => {
  const { message: kept } = entryOf(`${root}/1/message/1`, 'model')
  const id = `${root}/2/view/cut/7`
  const added = { ...kept, id: `${id}/0` }
  const view = { id, with: [kept, added] }
  expect(messagesOfView(view)).toEqual([kept, { ...added, purpose: 'edit' }])
  const compacted: EntryOf<'view'>['compacted'] = {
    ...{ beforeTokens: 2, afterTokens: 1, summaryTokens: 1, durationMs: 1 },
    ...{ hooksFired: [], source: 'step' },
  }
  expect(messagesOfView({ ...view, compacted })[1]?.purpose).toBe('summary')
  // An edit of the application.
  const own = { id: 'session/edit/1', with: [{ ...kept, id: 'session/edit/1/0' }] }
  expect(messagesOfView(own)).toBe(own.with)
})

test('only an answer of the model and an own message of an orchestrator open calls', () => {
  const own = { role: 'assistant', purpose: 'orchestrator' } as const
  expect(opensCalls(entryOf('m', 'model', { role: 'assistant' }))).toBe(true)
  expect(opensCalls(entryOf('m', 'system', own))).toBe(true)
  // What an orchestrator says has the role of the user, and a message from outside may state any purpose.
  expect(opensCalls(entryOf('m', 'system', { ...own, role: 'user' }))).toBe(false)
  expect(opensCalls(entryOf('m', 'system', { role: 'assistant' }))).toBe(false)
  for (const via of ['input', 'steer', 'queue', 'tool'] as const) expect(opensCalls(entryOf('m', via, own))).toBe(false)
})
