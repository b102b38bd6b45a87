import type { Ask, JsonPointer, Label, ToolCall } from '@provost/core'
import { escapePointer, isRecord } from '@provost/core'
import { roleValuesOf } from '@provost/governance'

/** A part of a call that untrusted data decides, and may not. */
interface Steered {
  /** Empty for the decision to call. */
  readonly path: string
  readonly role: string
  readonly value?: unknown
  readonly sources: readonly string[]
  /** Numbers of the script's calls that it comes from. */
  readonly calls: readonly number[]
  /** Lines of the script with the branches that decided. */
  readonly lines?: readonly number[]
}

/**
 * Returns the question about a call that untrusted data steers, or undefined. Content may come from outside. The decision
 * to call, destinations, selectors, credentials, amounts, times, counts and flags may not.
 */
export function steeredAsk(call: ToolCall): Ask | undefined {
  const { effect, name } = call.tool
  if (effect !== 'write' && effect !== 'egress') return undefined
  const steered = steeredParts(call)
  const [first] = steered
  if (!first) return undefined
  const what =
    first.path === ''
      ? `Data from outside decides that ${name} is called${first.lines?.[0] === undefined ? '' : `, at line ${first.lines[0]}`}.`
      : `The ${first.role} ${first.path} of ${name} comes from outside.`
  const origins = steered.flatMap(({ path, role, sources }) =>
    isPointer(path) ? [{ path, role: 'selector' as const, kind: role, sources }] : [],
  )
  return { reason: what, evidence: { steered }, ...(origins.length > 0 && { origins }) }
}

function isPointer(path: string): path is JsonPointer {
  return path.startsWith('/')
}

function steeredParts(call: ToolCall): readonly Steered[] {
  const { flow, label } = call
  // A call outside of a script: everything in it was written after all that its model had read.
  if (!flow) {
    return isTrusted(label) ? [] : [{ path: '', role: 'decision', sources: label.sources, calls: [] }]
  }
  const found: Steered[] = []
  if (!isTrusted(flow.control)) {
    const { control, calls, lines } = flow
    found.push({ path: '', role: 'decision', sources: control.sources, calls, lines })
  }
  const roles = new Map(roleValuesOf(call).map((row): readonly [string, string] => [row.path, row.role]))
  for (const [path, its] of Object.entries(flow.at)) {
    if (isTrusted(its)) continue
    const value = partAt(call.input, path)
    const role = roleOf(call, path, value, roles)
    if (role !== 'content') found.push({ path, role, value, sources: its.sources, calls: flow.from[path] ?? [] })
  }
  return found
}

function isTrusted({ integrity }: Label): boolean {
  return integrity === 'trusted'
}

/** The role of a part. Lists, objects, numbers and flags are content only where the tool declares it. */
function roleOf(call: ToolCall, path: string, value: unknown, roles: ReadonlyMap<string, string>): string {
  const declared = Object.entries(call.tool.roles)
    .filter(([pointer]) => path === pointer || path.startsWith(`${pointer}/`))
    .toSorted(([a], [b]) => b.length - a.length)[0]
  if (declared) return declared[1]
  if (typeof value === 'string') return roles.get(path) ?? 'content'
  if (typeof value === 'number') return roles.get(path) === 'content' ? 'amount' : (roles.get(path) ?? 'amount')
  return typeof value === 'object' && value !== null ? 'count' : 'flag'
}

function partAt(input: unknown, path: string): unknown {
  if (path === '') return input
  const [, ...rest] = path.split('/')
  let part = input
  for (const step of rest) {
    if (Array.isArray(part)) part = part[Number(step)]
    else if (isRecord(part)) part = Object.entries(part).find(([key]) => escapePointer(key) === step)?.[1]
    else return undefined
  }
  return part
}
