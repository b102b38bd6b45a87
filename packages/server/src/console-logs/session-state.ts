import { foldLog, pendingWait, sessionCost, sessionUsage } from '@provost/agent'
import type { Entry, Message, Overrides, SessionStore } from '@provost/core'
import { labelOf } from '@provost/core'

import type { ConsoleLabel } from '../console-answers/console-answer.ts'
import type { StateAnswer } from '../console-answers/insight-answer.ts'
import { cutTexts } from './entry-page.ts'
import { isOpen, withheld, withholdMessage } from './withhold.ts'

const mostMessages = 200
/** Entries that a state may be folded from. */
const mostEntries = 100_000

/** Returns the state of a log after an entry, by the fold of the runtime. */
export async function readState(
  store: SessionStore,
  { log, at, cleared }: { readonly log: string; readonly at: number; readonly cleared: boolean },
): Promise<StateAnswer> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) {
    if (entry.offset > Math.min(at, mostEntries)) break
    entries.push(entry)
  }
  const state = foldLog(entries)
  const { run, view } = state
  const shown = view.slice(-mostMessages).map((message) => shownMessage(message, cleared))
  const { byModel: _, ...usage } = sessionUsage(state)
  const cost = sessionCost(state)
  return {
    log,
    at: entries.at(-1)?.offset ?? 0,
    status: run?.status ?? 'idle',
    agent: state.agent,
    view: shown,
    earlier: Math.max(0, view.length - mostMessages),
    label: labelAnswer(state.viewLabel),
    pending: [...state.waits.values()].slice(0, mostMessages).map((entry) => {
      const call = entry.callId === undefined ? undefined : run?.calls.get(entry.callId)
      const { kind, wait } = pendingWait(entry, call && { toolName: call.part.toolName, input: call.args })
      const { id, callId, toolName } = wait
      const visible = cleared || (entry.about !== undefined && isOpen(entry.about.label))
      return { kind, wait: visible ? { ...wait } : { id, callId, toolName, input: withheld } }
    }),
    usage,
    ...(cost !== undefined && { cost }),
    ...(state.overrides && { overrides: shownOverrides(state.overrides, cleared) }),
    step: run?.step ?? 0,
    calls: [...(run?.calls.values() ?? [])]
      .filter(({ stage }) => stage !== 'settled')
      .slice(0, mostMessages)
      .map(({ part, stage }) => ({ callId: part.callId, toolName: part.toolName, stage })),
  }
}

/** The text of instructions has no label: it may repeat a secret. */
export function shownOverrides(overrides: Overrides, cleared: boolean): Overrides {
  return cleared || overrides.promptText === undefined ? overrides : { ...overrides, promptText: withheld }
}

function shownMessage(message: Message, cleared: boolean): StateAnswer['view'][number] {
  const { id, role, agent } = message
  const { content } = cleared ? message : withholdMessage(message)
  const cuts = cutTexts({ content }, () => {})
  return {
    ...{ id, role, label: labelAnswer(labelOf(message)) },
    content: Array.isArray(cuts['content']) ? cuts['content'] : [],
    ...(agent !== undefined && { agent }),
  }
}

/** Returns a label as an answer has it. */
export function labelAnswer(label: {
  readonly integrity: string
  readonly confidentiality: string
  readonly readers?: readonly string[]
  readonly sources: readonly string[]
}): ConsoleLabel {
  const { integrity, confidentiality, readers, sources } = label
  return { integrity, confidentiality, ...(readers && { readers: [...readers] }), sources: [...sources] }
}
