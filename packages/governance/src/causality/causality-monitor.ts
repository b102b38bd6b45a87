import type { Ask, Extension, Flow, HookContext, KnownKeys, ToolCall } from '@provost/core'
import { checkOptions, defineExtension, ProvostError, textOf } from '@provost/core'

import { effectOf } from './call-effect.ts'
import { deniedBefore, denialsFold, monitorName } from './denied-effect.ts'
import { receiverViolation, callerViolation, capabilityOf, checkCapabilities } from './receiver-capability.ts'
import type { ReceiverCapabilities } from './receiver-capability.ts'
import { runTreeDenials, whileChildRuns, whileItRuns } from './run-tree-denials.ts'

/** Options of {@link causalityMonitor}. */
export interface CausalityMonitorOptions {
  /** What happens to an attempt: the audit records it, a human decides, or it is denied. Default `ask`. */
  readonly strictness?: 'observe' | 'ask' | 'deny'
  /**
   * What agents may receive from other agents, and what they may then do. Applies to handoff targets, children and
   * the agents that receive their answers. A receiver that is not listed has no capability. Default: not judged.
   */
  readonly capabilities?: ReceiverCapabilities
}

/** The objection to a call or a flow. */
interface Objection {
  readonly rule: 'causality' | 'capability'
  /** Shown to the model and to a human, so it has no internals. */
  readonly reason: string
  readonly evidence: { readonly [key: string]: string | readonly string[] }
}

const optionKeys = {
  strictness: true,
  capabilities: true,
} satisfies KnownKeys<CausalityMonitorOptions>

/**
 * Detects attempts to reach a denied effect another way: by another tool or agent, at the same destination, with the same
 * values. It compares calls by what they act on (addresses, hosts, numbers, whole values, in any spelling). Only calls
 * that write or send are compared.
 *
 * A denial applies to the whole tree of runs. Children know what was denied to their parents and siblings, and record
 * their own denials in the parent's log. The monitor fails closed: it treats a call as an attempt in three cases.
 * - The tree has more denied values than it keeps (1,000).
 * - The call is longer than it reads (64 Ki characters).
 * - A child called tools and recorded no denials.
 *
 * `capabilities` limit what an agent may receive from other agents (confidentiality, untrusted content) and which calls
 * it may make.
 *
 * @throws ProvostError `invalid-policy` for an unknown strictness.
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
    throw new ProvostError('invalid-policy', `Unknown strictness ${JSON.stringify(strictness)} in causalityMonitor.`, {
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
        // A human decides about the same call once.
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
  const reason = 'A call with the same effect was denied before. Do not try to reach it another way; tell the user.'
  return { rule: 'causality', reason, evidence: { tool: tool.name, denied } }
}

function objectionToFlow({ from, to, kind, payload }: Flow, ctx: HookContext): Objection | undefined {
  const known = runTreeDenials(ctx)
  const denied = new Set(payload.flatMap((message) => deniedBefore(known, effectOf(textOf(message)))))
  if (denied.size === 0) return undefined
  const reason = `${to} would receive a request for an effect that was denied before.`
  return { rule: 'causality', reason, evidence: { from, to, kind, denied: [...denied] } }
}

/** Checks the caller's capability. Only children and handoff targets are receivers; other agents act for the user. */
function objectionToCaller(all: ReceiverCapabilities, { tool }: ToolCall, ctx: HookContext): Objection | undefined {
  const { name } = ctx.agent
  const own = capabilityOf(all, name)
  const isReceiver = ctx.run.parents.length > 0 || ctx.fold(denialsFold).receivers.includes(name)
  if (!own && !isReceiver) return undefined
  const beyond = callerViolation(own, tool)
  if (beyond === undefined) return undefined
  return { rule: 'capability', reason: `${name} ${beyond}.`, evidence: { agent: name, tool: tool.name, beyond } }
}

function objectionToReceiver(all: ReceiverCapabilities, { kind, from, to, label }: Flow): Objection | undefined {
  const own = capabilityOf(all, to)
  // The receiver of an answer has asked for it, so it need not be listed.
  const answers = kind === 'return' || kind === 'tool-out' || kind === 'fanout-out'
  const beyond = answers && !own ? undefined : receiverViolation(own, label)
  if (beyond === undefined) return undefined
  return { rule: 'capability', reason: `${to} ${beyond}.`, evidence: { from, to, kind, beyond } }
}
