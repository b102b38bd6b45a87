import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { codeMode } from '@provost/code-mode'
import * as page from '@provost/console'
import type { SessionStore } from '@provost/core'
import { approvalPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import type { Browser } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { contextSteps } from '../src/context/context-step.ts'
import type { IndexEntry, SessionIndex } from '../src/entries/indexed-log.ts'
import { scriptRuns } from '../src/scripts/script-run.ts'
import type { Tab } from './browser.ts'
import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { hostile, openConsole } from './scenario.ts'

const lookPair = looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))

const source = [
  `const note = ${JSON.stringify(hostile)}`,
  "const mail = await tools.read_mail({ mail: '15.eml' })",
  'console.log(note)',
  "return { words: mail.split(' ').length, note }",
].join('\n')

/** Fails in its third line, after it has printed. */
const failing = [
  `const note: string = ${JSON.stringify(hostile)}`,
  "console.log('before', note)",
  'throw new Error(note)',
]

/** An agent that writes scripts, one for each step. */
function coderWith(store: SessionStore): Agent {
  const readMail = tool({
    name: 'read_mail',
    effect: 'read',
    input: z.object({ mail: z.string() }),
    returns: { integrity: 'untrusted', sources: ['mail:15'] },
    execute: () => `A mail. ${hostile}`,
  })
  const pay = tool({
    name: 'pay',
    effect: 'write',
    needsApproval: true,
    input: z.object({ amount: z.number() }),
    execute: ({ amount }) => `paid ${amount}`,
  })
  const usage = { inputTokens: 1_200, outputTokens: 80 }
  const scripts = [source, failing.join('\n'), 'return await tools.pay({ amount: 80 })']
  const model = scriptedModel(
    [
      ({ messages }) => {
        const text = scripts[messages.filter(({ role }) => role === 'tool').length]
        const isLast = text?.includes('tools.pay(') === true && !JSON.stringify(messages).includes('and pay')
        if (text === undefined || isLast) return { text: `Done. ${hostile}`, usage }
        return { toolCalls: [{ name: 'code_execute', input: { source: text } }], usage }
      },
    ],
    { after: 'repeat-last' },
  )
  return createAgent({ name: 'coder', model, tools: [readMail, pay], extensions: [codeMode({ workers: 1 })], store })
}

const blank: IndexEntry = {
  ...{ log: 's', run: 'r', offset: 1, at: 0, type: 'call', op: '', agent: 'coder', step: 1, callId: undefined },
  ...{ name: undefined, label: undefined, ms: undefined, tokensIn: undefined, tokensOut: undefined, cost: undefined },
  detail: {},
}

function indexOf(entries: readonly Partial<IndexEntry>[]): SessionIndex {
  const rows = entries.map((entry, n) => ({ ...blank, offset: n + 1, ...entry }))
  return new Map([['s', { log: 's', agent: 'coder', parent: undefined, callId: undefined, entries: rows }]])
}

test('a script has its calls, and is running, waiting, ended or never begun', () => {
  const asked = { type: 'message', op: 'model', detail: { calls: [{ callId: 'x', toolName: 'code_execute' }] } }
  const inner = { callId: 'y', name: 'pay', detail: { parentCallId: 'x' } }
  const wait = { type: 'wait', op: 'approval', callId: 'y', detail: { token: 't' } }
  const state = (...entries: readonly Partial<IndexEntry>[]) => scriptRuns(indexOf([asked, ...entries]))[0]
  const begun = [{ op: 'started', callId: 'x' }, { op: 'planned', ...inner }, wait]
  expect(state()?.state).toBe('not run')
  expect(state({ op: 'started', callId: 'x' })?.state).toBe('running')
  expect(state(...begun)).toMatchObject({ state: 'waits', calls: [{ callId: 'y', tool: 'pay', wait: { offset: 4 } }] })
  const answered = [...begun, { type: 'resolved', detail: { token: 't', decision: 'approve' } }]
  expect(state(...answered)?.state).toBe('running')
  const settled = { op: 'settled', callId: 'y', detail: { outcome: 'ok' } }
  const ended = state(...answered, settled, { op: 'settled', callId: 'x', detail: { outcome: 'error' } })
  expect(ended).toMatchObject({ state: 'failed', calls: [{ settled: { offset: 6 }, wait: undefined }] })
  expect(ended?.journal.map(({ offset }) => offset)).toEqual([2, 3, 4, 6, 7])
  expect(state(...begun, { type: 'run', op: 'ended' })?.state).toBe('not run')
})

test('the steps of a context are the answers of models and the changes of the history', () => {
  const answer = (step: number) => ({ type: 'message', op: 'model', step })
  const index = indexOf([
    { type: 'message', op: 'input' },
    { type: 'attempt', op: 'discarded', step: 1, tokensIn: 5 },
    { type: 'attempt', op: 'ok', step: 1, tokensIn: 7 },
    answer(1),
    { type: 'view', op: 'compaction' },
    answer(2),
  ])
  expect(contextSteps(index).map(({ kind, entry, tokensIn }) => [kind, entry.offset, tokensIn])).toEqual([
    ['step', 4, 7],
    ['view', 5, undefined],
    ['step', 6, undefined],
  ])
})

const strict = approvalPolicy(() => 'deny')

test('in a browser a session shows its scripts and its context, and forks under another policy', async (ctx) => {
  const missing = whyNoBrowser(page.assets)
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const coder = coderWith(store)
  const session = await coder.createSession({ id: 'scripts', principal: { id: 'local' } })
  await session.stream('Count the words of mail 15.').result
  await session.reset()
  await session.close()
  await coder.run('Count and pay 80.', { sessionId: 'waits', principal: { id: 'local' } })
  const listening = await openConsole(() => [coder], {
    store,
    forks: { policies: { strict }, prompts: { brief: 'Answer in one word.' } },
  })
  const { origin, pathname, hash } = new URL(listening.consoleUrl)
  const at = (path: string): string => `${origin}${pathname}sessions/${path}`

  async function tour(browser: Browser, look: (typeof looks)[number]): Promise<Tab> {
    const tab = await openTab(browser, `${origin}${pathname}sessions${hash}`, look)
    const { page: shown } = tab
    await shown.locator('.row').first().waitFor()

    await shown.goto(at('scripts/timeline'))
    await shown.locator('.tl-row').first().waitFor()
    await shown.keyboard.press('v')
    await shown.keyboard.press('s')
    await shown.locator('.script-source .bad', { hasText: 'throw new Error(note)' }).waitFor()
    await shown.getByText('before <img src=x onerror=alert(1)> \\u202egnp.exe \\u0007').waitFor()
    await tab.picture('scripts-failed')
    await tab.expectFine()
    await shown.keyboard.press('k')
    await shown.getByRole('region', { name: 'Output of console.log' }).waitFor()
    await shown.locator('.listed-calls summary', { hasText: 'read_mail' }).click()
    await shown.locator('.listed-calls .entry-part').first().waitFor()
    expect(await shown.locator('.listed-detail img').count()).toBe(0)
    await tab.picture('scripts')
    await tab.expectFine()

    await shown.keyboard.press('v')
    await shown.keyboard.press('c')
    await shown.getByRole('heading', { name: 'Reset of the history' }).waitFor()
    await shown.locator('.sent > li').first().waitFor()
    await tab.picture('context-change')
    await tab.expectFine()
    await shown.keyboard.press('k')
    await shown.getByRole('heading', { name: 'What the model received for step 3' }).waitFor()
    await shown.locator('.sent > li').nth(4).waitFor()
    await tab.picture('context')
    await tab.expectFine()

    await shown.goto(at('waits/scripts'))
    await shown.getByText('It waits: see the calls below, or the inbox.').waitFor()
    await shown.locator('.listed-calls summary', { hasText: 'pay waits' }).waitFor()
    await tab.picture('scripts-waits')
    await tab.expectFine()
    return tab
  }

  try {
    await inBrowser(async (browser) => {
      for (const look of lookPair) {
        const tab = await tour(browser, look)
        if (look === lookPair.at(-1)) {
          const { page: shown } = tab
          await shown.goto(at('waits/travel?entry=4'))
          await shown.getByRole('combobox', { name: 'Policy' }).selectOption('strict')
          await shown.getByRole('combobox', { name: 'Instructions' }).selectOption('others, written here')
          await shown.getByRole('textbox', { name: 'Its instructions' }).fill(`Answer in verse. ${hostile}`)
          await tab.picture('fork-overrides')
          await tab.expectFine()
          await shown.getByRole('button', { name: 'Fork', exact: true }).click()
          await shown.getByRole('link', { name: 'Compare both' }).click()
          await shown.getByText('This fork has the policy strict and its own instructions.').waitFor()
          await tab.picture('compare-overrides')
          await tab.expectFine()
        }
        await tab.context.close()
      }
    })
  } finally {
    await listening.close()
  }
})

test('the scripts, context and memories say what is missing, and that the server is gone', async (ctx) => {
  const missing = whyNoBrowser(page.assets)
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const model = scriptedModel([{ text: 'Hello.' }])
  const plain: Agent = createAgent({ name: 'plain', model, store })
  await plain.createSession({ id: 'empty', principal: { id: 'local' } })
  const listening = await openConsole(() => [plain], { store })
  const { origin, pathname, hash } = new URL(listening.consoleUrl)
  const look = { theme: 'dark', width: 'phone' } as const
  try {
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, `${origin}${pathname}sessions${hash}`, look)
      const { page: shown } = tab
      await shown.locator('.row').first().waitFor()
      for (const [view, words] of [
        ['scripts', 'No script has run in this session.'],
        ['context', 'No model has received anything in this session yet.'],
        ['memory', 'The server shows no memory here.'],
      ] as const) {
        await shown.goto(`${origin}${pathname}sessions/empty/${view}`)
        await shown.getByText(words).waitFor()
        await tab.expectFine()
      }
      for (const view of ['scripts', 'context', 'memory']) {
        await shown.route('**/api/console/session/**', (route) => route.abort())
        await shown.goto(`${origin}${pathname}sessions/empty/${view}`)
        await shown.getByText('The server cannot be reached.').first().waitFor()
        expect(await shown.getByRole('button', { name: 'Retry' }).count()).toBeGreaterThan(0)
      }
    })
  } finally {
    await listening.close()
  }
})
