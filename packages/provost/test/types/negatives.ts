// Checked by the compiler alone: what must not compile. Each line fails in one way, which its comment names.
import { createAgent, defineExtension, resumeLoop, RunState, tool, z } from 'provost'
import type { AgentEvent, Label, Message, RunResult } from 'provost'
import { scriptedModel } from 'provost/testing'

const input = z.object({ to: z.string(), euros: z.number() })
const execute = () => 1
const agent = createAgent({ name: 'a', model: 'openai/gpt-5' })

export function tools(): void {
  // @ts-expect-error euros is a number
  tool({ name: 't', input, execute: ({ euros }) => euros.trim() })
  // @ts-expect-error there is no such field
  tool({ name: 't', input, execute: ({ sum }) => sum })
  // @ts-expect-error nor one to approve on
  tool({ name: 't', input, needsApproval: ({ erous }) => erous > 1, execute })
  // @ts-expect-error approval is yes, no or a question
  tool({ name: 't', input, needsApproval: () => 'maybe', execute })
  // @ts-expect-error there are four effects
  tool({ name: 't', input, effect: 'delete', execute })
  // @ts-expect-error what is given has a value
  tool({ name: 't', input, effect: undefined, execute })
  // @ts-expect-error there is no such argument
  tool({ name: 't', input, args: { too: 'destination' }, execute })
  // @ts-expect-error there is no such role
  tool({ name: 't', input, args: { to: 'recipient' }, execute })
  // @ts-expect-error execute gives what the output schema does not take
  tool({ name: 't', input, output: z.object({ ok: z.boolean() }), execute: () => ({ ok: 'yes' }) })
  // @ts-expect-error a label is made of known words
  tool({ name: 't', input, returns: { confidentiality: 'private' }, execute })
  // @ts-expect-error an input schema is needed
  tool({ name: 't', execute })
  // @ts-expect-error a number is no schema
  tool({ name: 't', input: 42, execute })
  // @ts-expect-error nor is a function
  tool({ name: 't', input: () => ({}), execute })
  // @ts-expect-error an output is a Standard Schema, which can validate
  tool({ name: 't', input, output: { type: 'object' }, execute })
  // @ts-expect-error a misspelt option
  tool({ name: 't', input, timeout: 5, execute })
  // @ts-expect-error the context of a tool has no such thing
  tool({ name: 't', input, execute: (_, ctx) => ctx.memo('key', () => 1) })
  // @ts-expect-error an app value has to be asked for by type
  tool({ name: 't', input, execute: (_, ctx) => ctx.context.db })
}

export function inlineTools(): void {
  const base = { name: 'a', model: 'openai/gpt-5' } as const
  // @ts-expect-error also where it stands in the list
  createAgent({ ...base, tools: [tool({ name: 't', input, execute: ({ euros }) => euros.trim() })] })
  // @ts-expect-error an app value has to be asked for there too
  createAgent({ ...base, tools: [tool({ name: 't', input, execute: (_, ctx) => ctx.context.db })] })
  // @ts-expect-error and in an extension
  createAgent({ ...base, extensions: [defineExtension({ name: 'e', hooks: { event: (_, ctx) => ctx.context.db } })] })
}

export function extensions(): void {
  // @ts-expect-error there is no such hook
  defineExtension({ name: 'x', hooks: { 'tool.cal': () => undefined } })
  // @ts-expect-error to let a call pass is to answer nothing
  defineExtension({ name: 'x', hooks: { 'tool.call': () => ({ allow: true }) } })
  // @ts-expect-error a plain object is no message
  defineExtension({ name: 'x', hooks: { 'session.start': () => [{ text: 'x' }] } })
  // @ts-expect-error a result from a hook has a label
  defineExtension({ name: 'x', hooks: { 'tool.call': () => ({ result: 1 }) } })
  // @ts-expect-error an ask has a reason
  defineExtension({ name: 'x', hooks: { 'tool.call': () => ({ ask: { evidence: 1 } }) } })
  // @ts-expect-error around gives back what it encloses
  defineExtension({ name: 'x', hooks: { around: async (_op, next) => void (await next()) } })
  // @ts-expect-error there are two scopes
  defineExtension({ name: 'x', scope: 'session' })
  // @ts-expect-error only some events may be emitted by extensions
  defineExtension({ name: 'x', hooks: { event: (_, ctx) => ctx.emit('agent.end', { status: 'completed' }) } })
  // @ts-expect-error a payload has the fields of its event
  defineExtension({ name: 'x', hooks: { event: (_, ctx) => ctx.emit('source.cited', { link: 'x:y' }) } })
}

export async function agents(result: RunResult<{ city: string }>): Promise<void> {
  // @ts-expect-error a model is needed
  createAgent({ name: 'a' })
  // @ts-expect-error a name is needed
  createAgent({ model: 'openai/gpt-5' })
  // @ts-expect-error the AI SDK's word is not ours
  createAgent({ name: 'a', model: 'openai/gpt-5', system: 'Be kind.' })
  // @ts-expect-error tools are a list
  createAgent({ name: 'a', model: 'openai/gpt-5', tools: { refund: 1 } })
  // @ts-expect-error made by tool(), not by hand
  createAgent({ name: 'a', model: 'openai/gpt-5', tools: [{ name: 't', input, execute }] })
  // @ts-expect-error an output is a Standard Schema
  createAgent({ name: 'a', model: 'openai/gpt-5', output: { type: 'object' } })
  // @ts-expect-error there is no such tier
  createAgent({ name: 'a', model: { cheap: 'openai/gpt-5' } })
  // @ts-expect-error a number is no input
  await agent.run(42)
  // @ts-expect-error approvals answer a state, not an input
  await agent.run('hi', { approvals: [] })
  // @ts-expect-error a verdict is one of two
  await agent.run('hi', { onApproval: () => 'yes' })
  // @ts-expect-error only a completed run has an output
  result.output.city.trim()
  // @ts-expect-error only a failed one has an error
  result.error.code.trim()
  // @ts-expect-error a state of another output
  await agent.run(result.state)
  // @ts-expect-error a state is read with its agent
  RunState.fromJSON('{}')
}

export function events(event: AgentEvent, message: Message, label: Label): void {
  // @ts-expect-error only some events have it
  event.delta.trim()
  // @ts-expect-error a misspelt type
  if (event.type === 'text.detla') return
  // @ts-expect-error it ends with the whole text, not a delta
  if (event.type === 'text.end') event.delta.trim()
  // @ts-expect-error what happened stays
  event.seq = 1
  // @ts-expect-error messages are not edited in place
  message.content.push({ type: 'text', text: 'x' })
  // @ts-expect-error nor are labels
  label.integrity = 'trusted'
}

export function script(): void {
  // @ts-expect-error a misspelt field
  scriptedModel([{ txt: 'x' }])
  // @ts-expect-error a step is needed
  scriptedModel({ text: 'x' })
  // @ts-expect-error a driver needs all methods but takeInputs and emit
  void resumeLoop(agent, { awaitDecisions: () => 'suspend' }, [])
}
