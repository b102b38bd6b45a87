import type { IconName } from '../look/icon.tsx'
import type { IndexEntry } from './indexed-log.ts'

/** What a row says about an entry, in words. */
export interface EntryWords {
  readonly icon: IconName
  readonly title: string
  /** Something went wrong, or was stopped. */
  readonly hot?: boolean
}

/** Returns what an entry did, in the words of a reader. */
export function wordsOf({ type, op, name, agent, detail }: IndexEntry): EntryWords {
  switch (type) {
    case 'run':
      return runWords(op, agent, detail.outcome)
    case 'message':
      return messageWords(op, detail.role, agent)
    case 'attempt':
      return { icon: op === 'discarded' ? 'retry' : 'step', title: `${name ?? 'model'} ${op}`, hot: op === 'discarded' }
    case 'call':
      return callWords(op, name, detail.outcome)
    case 'wait':
      return { icon: 'pause', title: `waits: ${waitKinds[op] ?? op}` }
    case 'resolved':
      return { icon: 'check', title: `${detail.decision ?? 'answered'} by ${detail.by ?? 'unknown'}` }
    case 'child':
      return op === 'spawned'
        ? { icon: 'child', title: `starts ${name ?? 'a child'}` }
        : { icon: 'child', title: `child ${detail.outcome ?? 'joined'}`, hot: detail.outcome === 'failed' }
    case 'handoff':
      return {
        icon: 'handoff',
        title: `${agent} hands over to ${detail.to ?? ''}${detail.outcome === 'denied' ? ' (denied)' : ''}`,
        hot: detail.outcome === 'denied',
      }
    case 'view':
      return { icon: 'fold', title: op === 'compaction' ? 'compacted the history' : `view: ${op}` }
    case 'audit':
      return { icon: 'flag', title: `${op}: ${name ?? ''}`, hot: op === 'blocked' }
    case 'tail':
      return { icon: 'message', title: 'messages of extensions' }
    case 'memo':
      return { icon: 'lock', title: 'memo' }
    default:
      return { icon: 'end', title: [name, op].filter(Boolean).join(' · ') || type }
  }
}

function runWords(op: string, agent: string, outcome: string | undefined): EntryWords {
  if (op === 'started') return { icon: 'right', title: `${agent} starts` }
  if (op === 'ended') return { icon: 'end', title: `run ${outcome ?? 'ended'}`, hot: outcome === 'failed' }
  return { icon: op === 'suspended' ? 'pause' : 'right', title: `run ${op}` }
}

function messageWords(via: string, role: string | undefined, agent: string): EntryWords {
  if (via === 'model') return { icon: 'message', title: `${agent} answers` }
  const ways: Readonly<Record<string, string>> = { steer: ' (steers)', queue: ' (queued)' }
  return { icon: 'message', title: `${role ?? 'message'}${ways[via] ?? ''}` }
}

function callWords(op: string, name: string | undefined, outcome: string | undefined): EntryWords {
  const tool = name === undefined ? 'call' : name
  if (op === 'settled') return { icon: 'tool', title: `${tool} ${outcome ?? 'settled'}`, hot: outcome !== 'ok' }
  if (op === 'decided') return { icon: 'tool', title: `${tool}: ${outcome ?? 'decided'}`, hot: outcome === 'deny' }
  return { icon: 'tool', title: `${tool} ${op}` }
}

/** What a wait waits for. */
export const waitKinds: Readonly<Record<string, string>> = {
  approval: 'an approval',
  input: 'an answer',
  remote: 'a result from outside',
  uncertain: 'what became of a call',
}

const hues = [212, 28, 152, 288, 340, 96, 188, 52, 250, 4]

/** Returns the number of an agent's colour: the same agent has the same one in all views. */
export function hueOf(agent: string): number {
  let sum = 0
  for (const letter of agent) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 997
  return hues[sum % hues.length] ?? 0
}
