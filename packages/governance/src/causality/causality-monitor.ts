import type { Ask, Extension, Flow, HookContext, KnownKeys, ToolCall } from '@provost/core'
import { checkOptions, defineExtension, ProvostError, textOf } from '@provost/core'

import { effectOf } from './call-effect.ts'
import { deniedBefore, denialsFold, monitorName } from './denied-effect.ts'
import { beyondHearing, beyondReach, capabilityOf, checkCapabilities } from './receiver-capability.ts'
import type { ReceiverCapabilities } from './receiver-capability.ts'
import { runTreeDenials, whileChildRuns, whileItRuns } from './run-tree-denials.ts'

/** How {@link causalityMonitor} judges. */
export interface CausalityMonitorOptions {
  /** What happens to an attempt: it is reported, a human is asked, it is denied. Default `ask`. */
  readonly strictness?: 'observe' | 'ask' | 'deny'
  /**
   * What agents may be told and may do that are told something by another: handoff targets, children and those whom
   * they answer. An agent that is told something and is not listed was given nothing. Default: not judged.
   */
  readonly capabilities?: ReceiverCapabilities
}

/** What is wrong with a call or a flow. */
interface Objection {
  readonly rule: 'causality' | 'capability'
  /** For the model and for a human: no internals. */
  readonly reason: string
  readonly evidence: { readonly [key: string]: string | readonly string[] }
}

const optionKeys = {
  strictness: true,
  capabilities: true,
} satisfies KnownKeys<CausalityMonitorOptions>

/**
 * Watches what crosses from agent to agent, and for a denied effect that is tried again another way: by another tool or
 * agent, at the same destination, with the same values. Calls are compared by what they act on (addresses, hosts,
 * numbers, whole values, in any spelling), not by their words. Only calls that write or send are compared.
 *
 * What was denied to one run is denied to its whole tree: children know what was denied to those above and beside them,
 * and leave what was denied to them in the log of whoever started them. Where more was denied than it keeps (1,000
 * values), where a call is longer than it reads (64 Ki), or where a child called tools and left nothing, it takes a call
 * for an attempt rather than not.
 *
 * With `capabilities`, whoever is told something is held to what he was given: how confidential and from whom it may
 * be, and which calls he may make.
 *
 * @throws ProvostError `invalid-policy` for a strictness that it does not know.
 *
 * @example
 * causalityMonitor({
 *   strictness: 'deny',
 *   capabilities: { researcher: { effects: ['read'] }, clerk: { effects: ['read', 'write'], untrusted: false } },
 * })
 */
export function causalityMonitor(options: CausalityMonitorOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'causalityMonitor')
  checkCapabilities(options.capabilities)
  const { strictness = 'ask', capabilities } = options
  if (!['observe', 'ask', 'deny'].includes(strictness)) {
    throw new ProvostError('invalid-policy', `causalityMonitor has no strictness ${JSON.stringify(strictness)}.`, {
      hint: "Use 'observe', 'ask' or 'deny'.",
    })
  }

  async function object(
    { rule, reason, evidence }: Objection,
    about: Pick<ToolCall, 'callId' | 'label'>,
    ctx: HookContext,
  ): Promise<{ readonly deny: string } | { readonly ask: Ask } | undefined> {
    const decision = strictness === 'deny' ? 'blocked' : 'flagged'
    await ctx.audit(decision, { rule, callId: about.callId, sources: about.label.sources, evidence })
    if (strictness === 'observe') return undefined
    return strictness === 'deny' ? { deny: reason } : { ask: { reason, evidence } }
  }

  return defineExtension({
    name: monitorName,
    scope: 'tree',
    ...(strictness !== 'ask' && { asks: false }),
    watches: () => ({ ops: ['run', 'child'], events: false }),
    hooks: {
      around(op, next, ctx) {
        if (op.kind === 'run') return whileItRuns(ctx, next)
        return op.kind === 'child' ? whileChildRuns(ctx, op.runId, next) : next()
      },
      async 'tool.call'(call, ctx) {
        const wrong = (capabilities && objectionToCaller(capabilities, call, ctx)) ?? objectionTo(call, ctx)
        if (!wrong) return undefined
        // A human who has seen this very call is asked once.
        if (ctx.approval?.decision === 'approve' && strictness !== 'deny') return undefined
        return object(wrong, call, ctx)
      },
      async handoff(flow, ctx) {
        const wrong = (capabilities && objectionToReceiver(capabilities, flow)) ?? objectionToFlow(flow, ctx)
        return wrong && object(wrong, flow, ctx)
      },
    },
  })
}

function objectionTo({ input, tool }: ToolCall, ctx: HookContext): Objection | undefined {
  if (tool.effect !== 'write' && tool.effect !== 'egress') return undefined
  const denied = deniedBefore(runTreeDenials(ctx), effectOf(input))
  if (denied.length === 0) return undefined
  const reason =
    'A call that would have the same effect was denied before. Do not try to reach it another way; tell the user.'
  return { rule: 'causality', reason, evidence: { tool: tool.name, denied } }
}

function objectionToFlow({ from, to, kind, payload }: Flow, ctx: HookContext): Objection | undefined {
  const known = runTreeDenials(ctx)
  const denied = new Set(payload.flatMap((message) => deniedBefore(known, effectOf(textOf(message)))))
  if (denied.size === 0) return undefined
  const reason = `${to} would be told to do what was denied before.`
  return { rule: 'causality', reason, evidence: { from, to, kind, denied: [...denied] } }
}

/** Who was told nothing by anybody has what the user gave: only children and targets of handoffs are receivers. */
function objectionToCaller(all: ReceiverCapabilities, { tool }: ToolCall, ctx: HookContext): Objection | undefined {
  const { name } = ctx.agent
  const own = capabilityOf(all, name)
  const isReceiver = ctx.run.parents.length > 0 || ctx.fold(denialsFold).receivers.includes(name)
  if (!own && !isReceiver) return undefined
  const beyond = beyondReach(own, tool)
  if (beyond === undefined) return undefined
  return { rule: 'capability', reason: `${name} ${beyond}.`, evidence: { agent: name, tool: tool.name, beyond } }
}

function objectionToReceiver(all: ReceiverCapabilities, { kind, from, to, label }: Flow): Objection | undefined {
  const own = capabilityOf(all, to)
  // Whoever gets an answer has asked: nobody needs to have listed him.
  const answers = kind === 'return' || kind === 'tool-out' || kind === 'fanout-out'
  const beyond = answers && !own ? undefined : beyondHearing(own, label)
  if (beyond === undefined) return undefined
  return { rule: 'capability', reason: `${to} ${beyond}.`, evidence: { from, to, kind, beyond } }
}
