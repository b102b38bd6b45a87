import type { Steps } from '@provost/core'

import { looseForm } from '../wording/exact-form.ts'
import type { OutputValue } from './output-value.ts'
import { valuesTogether } from './output-value.ts'
import type { Source } from './source.ts'

/** A whole value of a JSON result. */
export interface Leaf {
  readonly source: Source
  readonly pointer: string
  /** The tool declares that no outsider can write this field. */
  readonly systemMade: boolean
  /** All values of the same record. An item of a list belongs to the record around the list. */
  readonly record: readonly { readonly value: string; readonly systemMade: boolean }[]
}

/** Whole values of untrusted results. */
export interface LeafIndex {
  /** By their loose form. */
  readonly leaves: Map<string, Leaf[]>
  /** Loose forms by column: the tool and the pointer without row numbers. */
  readonly columns: Map<string, Set<string>>
}

/** Leaves kept per value: more add no information. */
const mostPlaces = 64
/** Values longer than this are texts. */
const longestLeaf = 300
/** Values kept per record. A longer list means that the record has values that are not kept. */
export const mostInRecord = 256

/** Adds the values of an untrusted result to the index. */
export function* keepLeaves(index: LeafIndex, source: Source, found: readonly OutputValue[]): Steps<void> {
  if (found.length <= valuesTogether) return keepSome(index, source, found, new Map())
  const records: Records = new Map()
  for (let at = 0; at < found.length; at += valuesTogether) {
    if (at > 0) yield
    keepSome(index, source, found.slice(at, at + valuesTogether), records)
  }
}

type Records = Map<string, { value: string; systemMade: boolean }[]>

function keepSome(index: LeafIndex, source: Source, found: readonly OutputValue[], records: Records): void {
  for (const { pointer, value, trusted } of found) {
    // A text without a space is a value, such as an id that was looked up.
    if (value.length > longestLeaf || (pointer === '' && /\s/u.test(value))) continue
    const isItem = /\/\d+$/.test(pointer)
    const list = above(pointer)
    const parent = isItem ? above(list) : list
    let record = records.get(parent)
    if (!record) records.set(parent, (record = []))
    const form = looseForm(value)
    // The items of a plain list do not form a record of their own.
    if (record.length <= mostInRecord && !isItem) record.push({ value: form, systemMade: trusted })
    const leaf: Leaf = { source, pointer, systemMade: trusted, record }
    const known = index.leaves.get(form)
    if (!known) index.leaves.set(form, [leaf])
    else if (known.length < mostPlaces) known.push(leaf)
    const column = columnOf(leaf)
    const values = index.columns.get(column)
    if (values) values.add(form)
    else index.columns.set(column, new Set([form]))
  }
}

function above(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')))
}

/** Returns the column of a value: the tool, and the pointer without row numbers. */
export function columnOf({ source, pointer }: Leaf): string {
  return `${source.name} ${pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*')}`
}

/** Characters of the longest value that names a record: longer ones are texts, which replies quote. */
export const longestTelling = 80
