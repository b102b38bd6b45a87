import { hash, randomUUID } from 'node:crypto'

import { isRecord, ProvostError } from '@provost/core'

import type { Delivery } from '../engine/bridge-frame.ts'
import type { Seed } from '../engine/engine.ts'

/** The result of one call as the script received it. */
export interface JournalEntry extends Delivery {
  readonly tool: string
  readonly argsHash: string
}

/**
 * What a run has done so far, as JSON. Another run of the same source that receives it repeats the run without calls,
 * then continues where the journal ends.
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

/** Identifies a call by its tool and arguments. */
export function argsHash(tool: string, args: string): string {
  return digest(`${tool}\n${args}`)
}

/** Derives four numbers for the script's `Math.random` from any text. */
export function seedOf(text: string): [number, number, number, number] {
  const bytes = Buffer.from(hash('sha256', text, 'hex'), 'hex')
  return [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12)]
}

/** Four unpredictable numbers, for a run that is not replayed. */
export function anySeed(): Seed {
  const hex = randomUUID().replaceAll('-', '')
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 8), 16) | 0
  return [part(0), part(8), part(16), part(24)]
}

/** Whether a script can receive this result. A failed call must have a message and a code. */
function isDeliverable(ok: boolean, json: string): boolean {
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
    isDeliverable(value['ok'], value['json']) &&
    typeof value['at'] === 'number'
  )
}

/** Reads a stored journal. Throws `invalid-journal` when it is invalid or belongs to another script. */
export function journalOf(value: unknown, source: string): Journal {
  const refuse = (problem: string): never => {
    throw new ProvostError('invalid-journal', `The journal ${problem}.`, {
      hint: 'Pass the journal that an earlier run of the same source recorded, or omit "journal".',
    })
  }
  if (!isRecord(value) || value['v'] !== 1) return refuse('is not an object of version 1')
  const { seed, startedAt, entries } = value
  if (!Array.isArray(seed) || seed.length !== 4 || !seed.every(Number.isInteger)) return refuse('has no seed')
  const [a, b, c, d] = seed.map(Number)
  if (typeof startedAt !== 'number' || !Array.isArray(entries) || !entries.every(isEntry)) return refuse('is damaged')
  if (value['source'] !== digest(source)) return refuse('was recorded by another script')
  return { v: 1, source: digest(source), seed: [a ?? 0, b ?? 0, c ?? 0, d ?? 0], startedAt, entries }
}
