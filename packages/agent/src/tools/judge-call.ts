import type { Ask, CallAnswer, Extension, HookContext, JsonObject, Scrubber, ToolCall } from '@provost/core'
import { ProvostError, deepFreeze, isRecord, toJson } from '@provost/core'

import { invalidAnswer, runHooks } from '../hooks/run-hooks.ts'
import { checkAsks } from '../question/unexpected-ask.ts'
import { byteCount } from '../state/byte-count.ts'
import { hashJson } from '../state/entry.ts'
import type { Hooked } from '../types/hooks.ts'
import type { RunContext } from '../types/run-context.ts'

/** A result that a hook returns in place of the execution. */
export type ReplacedResult = Extract<CallAnswer, { result: unknown } | { replay: unknown }>

/** The combined answers of all `tool.call` hooks. */
export interface HookAnswers {
  readonly asks: readonly { readonly by: string; readonly ask: Ask }[]
  readonly deny?: { readonly by: string; readonly reason: string; readonly code?: string }
  readonly result?: { readonly by: string; readonly answer: ReplacedResult }
  /** The arguments after all rewrites. */
  readonly args: JsonObject
  /** The last hook that rewrote them. */
  readonly rewrittenBy?: string
}

/** How the hooks judge a call. */
export interface JudgeOptions {
  readonly approval: HookContext['approval']
  /** Whether the arguments have been rewritten before: then no hook may rewrite them. */
  readonly isFinal: boolean
  /** Whether the approval covers these arguments. */
  covers(args: JsonObject): boolean
}

type Hook = Hooked<'tool.call'>

/** The answers of one round. */
interface Round extends Pick<HookAnswers, 'args' | 'deny' | 'rewrittenBy'> {
  readonly opinions: ReadonlyMap<Extension, Exclude<CallAnswer, { deny: string } | { args: unknown }>>
}

/**
 * Asks the `tool.call` hooks about a call. In the first round each hook may rewrite the arguments once, and receives
 * those that the hook before it left. The second round asks the hooks that left other arguments than the final ones. It
 * applies no rewrite, so that hooks that wrap the same argument come to an end.
 */
export async function judgeCall(
  ctx: RunContext,
  call: ToolCall<JsonObject>,
  options: JudgeOptions,
): Promise<HookAnswers> {
  const { isFinal, covers } = options
  const hooks = ctx.agent.hooks['tool.call']
  const received: JsonObject[] = []
  const first = await roundOf(ctx, call, hooks, options.approval, isFinal, received)
  if (first.deny || first.args === call.input) return combined(first, hooks)
  // An approval covers only the arguments that were approved. Without it a hook may answer differently.
  const covered = covers(first.args)
  const left = movedFrom(received, first.args)
  const again = covered ? hooks.filter((_, index) => left(index)) : hooks
  if (again.length === 0) return combined(first, hooks)
  const final = { ...call, input: first.args }
  const { deny, opinions } = await roundOf(ctx, final, again, covered ? options.approval : undefined, true)
  const asked = new Set(again.map(({ extension }) => extension))
  const kept = [...first.opinions].filter(([extension]) => !asked.has(extension))
  return combined({ ...first, ...(deny && { deny }), opinions: new Map([...kept, ...opinions]) }, hooks)
}

/**
 * Returns whether the handler at an index left other arguments than the final ones.
 *
 * @param received what each handler received, in order.
 */
export function movedFrom(received: readonly JsonObject[], final: JsonObject): (index: number) => boolean {
  const hash = hashJson(final)
  return (index) => {
    const left = index + 1 < received.length ? received[index + 1] : final
    return left !== undefined && left !== final && hashJson(left) !== hash
  }
}

/**
 * Returns arguments as hooks receive them: frozen, so that the checked arguments are the executed ones, and without
 * secrets.
 *
 * @throws ProvostError `invalid-answer` for a value that is not a JSON object.
 */
export function effectiveArgs(scrubber: Scrubber, args: unknown): JsonObject {
  const effective = deepFreeze(scrubber.tokenise(toJson(args)))
  if (isRecord(effective)) return effective
  throw new ProvostError('invalid-answer', 'The arguments of a call were rewritten to a value that is not an object.', {
    hint: 'Return { args } with an object: { args: { ...call.input, limit: 5 } }.',
  })
}

async function roundOf(
  ctx: RunContext,
  call: ToolCall<JsonObject>,
  hooks: readonly Hook[],
  approval: HookContext['approval'],
  isFinal: boolean,
  received: JsonObject[] = [],
): Promise<Round> {
  const unchanged: Round = { args: call.input, opinions: new Map() }
  return runHooks(ctx, 'tool.call', unchanged, {
    hooks,
    ...((approval || isFinal) && { changes: { ...(approval && { approval }), ...(isFinal && { final: true }) } }),
    bytes: ({ args }) => byteCount(args),
    call(hook, hookContext, { args }) {
      received.push(args)
      return hook(args === call.input ? call : { ...call, input: args }, hookContext)
    },
    answered: (answer, before, by) => afterAnswer(ctx, before, answer, by, isFinal),
    ends: ({ deny }) => deny !== undefined,
    failed: (before, { name: by }) => ({ ...before, deny: { by, reason: `${by} failed to check this call.` } }),
  })
}

/** Returns the round after one more answer. */
function afterAnswer(
  { secrets }: RunContext,
  before: Round,
  answer: CallAnswer,
  extension: Extension,
  isFinal: boolean,
): Round {
  const by = extension.name
  if ('deny' in answer) {
    const { deny: reason, code } = answer
    return { ...before, deny: { by, reason, ...(code !== undefined && { code }) } }
  }
  if ('ask' in answer) checkAsks(extension)
  if ('ask' in answer || 'result' in answer || 'replay' in answer) {
    return { ...before, opinions: new Map([...before.opinions, [extension, answer]]) }
  }
  if (!('args' in answer)) throw invalidAnswer(extension, 'tool.call')
  return isFinal ? before : { ...before, args: effectiveArgs(secrets.scrubber, answer.args), rewrittenBy: by }
}

function combined({ args, deny, rewrittenBy, opinions }: Round, hooks: readonly Hook[]): HookAnswers {
  const asks: { by: string; ask: Ask }[] = []
  let result: HookAnswers['result']
  for (const { extension } of hooks) {
    const answer = opinions.get(extension)
    if (!answer) continue
    const by = extension.name
    if ('ask' in answer) asks.push({ by, ask: answer.ask })
    else result ??= { by, answer }
  }
  return {
    asks,
    args,
    ...(deny && { deny }),
    ...(result && { result }),
    ...(rewrittenBy !== undefined && { rewrittenBy }),
  }
}
