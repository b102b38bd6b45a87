import type { ToolOutput } from '../messages/message.ts'
import type { ToolCall, ToolInfo } from '../tools/tool-info.ts'
import type { Json } from '../values/json.ts'
import type { Tool } from './tool.ts'

/** A question or an event about a call: an approval, a call that waits, an event with the name of a tool. */
export interface CallReport {
  readonly agent: string
  readonly toolName: string
}

/** An agent whose calls are recognised. */
export interface CallingAgent {
  readonly name: string
  readonly registry: { get(name: string): ToolInfo | undefined }
}

/** A report about a call of a known tool: its input and its output have the types of the tool. */
export type CallReportOf<R extends CallReport, In, Out> = R &
  (R extends { readonly input: Json } ? { readonly input: In } : unknown) &
  (R extends { readonly output: ToolOutput } ? { readonly output: ToolOutputOf<Out> } : unknown)

/** The output of a tool: a text, or the JSON form of what it returns. Errors and denials are as for every tool. */
export type ToolOutputOf<Out> =
  | Exclude<ToolOutput, { readonly type: 'json' }>
  | { readonly type: 'json'; readonly value: JsonForm<Exclude<Out, string>> }

/** What JSON makes of a value. */
export type JsonForm<T> = unknown extends T
  ? Json
  : T extends string | number | boolean | null
    ? T
    : T extends { toJSON(): infer Written }
      ? JsonForm<Written>
      : T extends readonly (infer Item)[]
        ? readonly JsonForm<Item>[]
        : T extends object
          ? { readonly [K in keyof T]: JsonForm<T[K]> }
          : T

/**
 * Returns whether a call is to this tool; narrows the call to the tool's types.
 *
 * @example
 * if (isCallTo(call, refund)) call.input.amount
 */
export function isCallTo<In>(call: ToolCall<unknown>, tool: Tool<In>): call is ToolCall<In>
/**
 * Returns whether an approval or an event is about a call of an agent to this tool; narrows its input and its output. A
 * stream has the calls of children and handoff targets too, and two agents may name different tools alike: so the agent
 * is an argument. Tools that only a session has, from its own `extensions`, are unknown to the agent: the answer is false.
 *
 * @param agent the agent that calls, not the one whose stream it is.
 *
 * @example
 * desk.run(input, { onApproval: (a) => (isCallTo(a, refund, desk) && a.input.amount < 50 ? 'approve' : undefined) })
 */
export function isCallTo<R extends CallReport, In, Out>(
  report: R,
  tool: Tool<In, Out>,
  agent: CallingAgent,
): report is CallReportOf<R, In, Out>
export function isCallTo(of: ToolCall<unknown> | CallReport, tool: Tool, agent?: CallingAgent): boolean {
  // A registry may have renamed the tool, and another tool may have its name, so the definition decides.
  if ('tool' in of) return '~tool' in of.tool ? of.tool['~tool'] === tool['~tool'] : of.tool.name === tool.name
  if (!agent || of.agent !== agent.name) return false
  const called = agent.registry.get(of.toolName)
  return called !== undefined && '~tool' in called && called['~tool'] === tool['~tool']
}
