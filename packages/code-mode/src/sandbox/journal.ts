import { hash, randomUUID } from 'node:crypto'

import { isRecord, ProvostError } from '@provost/core'

import type { Delivery } from '../engine/bridge-frame.ts'
import type { Seed } from '../engine/engine.ts'

/** The result of one call as a script heard it. */
export interface JournalEntry extends Delivery {
  readonly tool: string
  readonly argsHash: string
}

/**
 * What a run did so far, as JSON: a run of the same source that is given it does the same again without a call, and goes
 * on where it ends.
 */
export interface Journal {
  readonly v: 1
  readonly source: string
  readonly seed: readonly [number, number, number, number]
  readonly startedAt: number
  readonly entries: readonly JournalEntry[]
}

export function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22)
}

/** What a script is told from apart. */
export function argsHash(tool: string, args: string): string {
  return digest(`${tool}\n${args}`)
}

/** Four numbers for the script's `Math.random`, from any text. */
export function seedOf(text: string): [number, number, number, number] {
  const bytes = Buffer.from(hash('sha256', text, 'hex'), 'hex')
  return [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12)]
}

/** Four numbers that nobody can tell, for a run that need not be the same again. */
export function anySeed(): Seed {
  const hex = randomUUID().replaceAll('-', '')
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 8), 16) | 0
  return [part(0), part(8), part(16), part(24)]
}

/** Whether a script can be told this: of a call that failed, what it says of itself. */
function canBeHeard(ok: boolean, json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return ok || isRecord(value)
  } catch {
    return false
  }
}

function isEntry(value: unknown): value is JournalEntry {
  return (
    isRecord(value) &&
    Number.isSafeInteger(value['id']) &&
    Number(value['id']) > 0 &&
    typeof value['tool'] === 'string' &&
    typeof value['argsHash'] === 'string' &&
    typeof value['ok'] === 'boolean' &&
    typeof value['json'] === 'string' &&
    canBeHeard(value['ok'], value['json']) &&
    typeof value['at'] === 'number'
  )
}

/** Takes a journal that was kept somewhere. Throws `invalid-journal` for what is none, or another script's. */
export function journalOf(value: unknown, source: string): Journal {
  const refuse = (problem: string): never => {
    throw new ProvostError('invalid-journal', `The journal ${problem}.`, {
      hint: 'Give what an earlier run of the same source recorded, or none.',
    })
  }
  if (!isRecord(value) || value['v'] !== 1) return refuse('is none of this version')
  const { seed, startedAt, entries } = value
  if (!Array.isArray(seed) || seed.length !== 4 || !seed.every(Number.isInteger)) return refuse('has no seed')
  const [a, b, c, d] = seed.map(Number)
  if (typeof startedAt !== 'number' || !Array.isArray(entries) || !entries.every(isEntry)) return refuse('is damaged')
  if (value['source'] !== digest(source)) return refuse('was recorded by another script')
  return { v: 1, source: digest(source), seed: [a ?? 0, b ?? 0, c ?? 0, d ?? 0], startedAt, entries }
}
