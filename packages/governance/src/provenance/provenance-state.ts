import { hash } from 'node:crypto'

import type { Entry, EntryOf, Json, Label } from '@provost/core'
import { canonicalJson } from '@provost/core'

import type { TaintIndex } from '../taint/taint-index.ts'
import { createTaintIndex } from '../taint/taint-index.ts'
import type { LeafIndex } from './leaf.ts'
import type { SourceIndex } from './source.ts'

/** What a session has read, and from which sources. A cache that each reader of the log builds anew. */
export interface Provenance extends LeafIndex {
  readonly trusted: SourceIndex
  readonly untrusted: SourceIndex
  /** Finds spans of untrusted text, verbatim or rewritten. */
  readonly index: TaintIndex
  /** Keys of the calls that a human approved for the rest of the session. */
  readonly approved: Set<string>
  /** Whether the session has read data labelled secret. */
  secretRead: boolean
  /** Whether the session has read untrusted content. */
  untrustedRead: boolean
  readonly calls: Map<string, OpenCall>
  /**
   * Input values of composite calls that the model wrote before it read untrusted content, in exact form. A script
   * contributes its literals only: `mail.id` in code is not a host.
   */
  readonly cleanInputs: string[]
  /** Values of other calls that the model wrote before it read untrusted content, in exact form. */
  readonly cleanValues: Set<string>
  /** Keys of records, in loose form, that the model used in a call before a text mentioned the record. */
  readonly chosen: Set<string>
  /** Values of calls that a human approved since the last run began, in exact form. */
  readonly approvedNow: Set<string>
  readonly waits: Map<string, EntryOf<'wait'>>
  /** The handoffs that took place, in order. */
  readonly handoffs: { readonly to: string; readonly entry: Pick<Entry, 'id' | 'offset' | 'runId'> }[]
  /** The children that each call started. */
  readonly children: Map<string, { readonly agent: string; readonly run: string }[]>
}

/** A call without a result yet. */
export interface OpenCall {
  readonly toolName: string
  input: Json
  /** Whether the model had read no untrusted content when it wrote the call. */
  readonly clean?: boolean
  readonly parentCallId?: string
  /** Of a composite: the values that its nested calls returned, in loose form. */
  nestedValues?: Set<string>
}

/** Returns the state of a session that has read nothing. */
export function emptyProvenance(): Provenance {
  return {
    trusted: { sources: [], byWord: new Map() },
    untrusted: { sources: [], byWord: new Map() },
    leaves: new Map(),
    columns: new Map(),
    index: createTaintIndex(),
    approved: new Set(),
    secretRead: false,
    untrustedRead: false,
    calls: new Map(),
    cleanInputs: [],
    cleanValues: new Set(),
    chosen: new Set(),
    approvedNow: new Set(),
    waits: new Map(),
    handoffs: [],
    children: new Map(),
  }
}

/** Records the label of something that the session read. */
export function noteLabel(state: Provenance, label: Label): void {
  if (label.confidentiality === 'secret') state.secretRead = true
  if (label.integrity === 'untrusted') state.untrustedRead = true
}

/** Returns the key of an approved call. An approval covers the same tool definition with the same arguments. */
export function approvalKey(toolName: string, definitionHash: string, input: Json): string {
  return hash('sha256', canonicalJson([toolName, definitionHash, input]))
}
