// Checked by the compiler alone: a name that nothing reads does not compile, wherever options are written as a literal.
import {
  createAgent,
  defineExtension,
  evaluatorOptimizer,
  fromAiTool,
  handoff,
  memoryStore,
  modelFallback,
  react,
  runFanOut,
  tool,
  z,
} from 'provost'
import type { CompositeContext } from 'provost'
import { nodeRuntime } from 'provost/files'
import { budget, dataFlowPolicy } from 'provost/governance'
import { mcpTools } from 'provost/mcp'
import { compaction, createMemory } from 'provost/memory'
import { exportSession } from 'provost/sessions'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'
import { webFetchTool } from 'provost/web'

const model = scriptedModel([])
const input = z.object({ to: z.string() })
const desk = createAgent({ name: 'desk', model })
const store = memoryStore()

// @ts-expect-error -- it is an extension
createAgent({ name: 'desk', model, dataFlowPolicy: {} })
// @ts-expect-error -- it is called maxSteps
createAgent({ name: 'desk', model, tools: [], extensions: [], maxTurns: 3 })
// @ts-expect-error -- it is called temperature
createAgent({ name: 'desk', model, settings: { temprature: 1 } })
// @ts-expect-error -- it is called needsApproval
tool({ name: 'mail', input, execute: () => 1, requiresApproval: true })
// @ts-expect-error -- it is called input
tool({ name: 'mail', input, parameters: input })
// @ts-expect-error -- there is no such role
tool({ name: 'mail', input, args: { to: 'recipient' } })
// @ts-expect-error -- the input has no such key
tool({ name: 'mail', input, args: { too: 'destination' } })
// @ts-expect-error -- there is no such tier
tool({ name: 'mail', input, preferredModel: 'medium' })
// @ts-expect-error -- the example does not fit
tool({ name: 'mail', input, examples: [{ input: { to: 5 } }] })
// @ts-expect-error -- it is called confidentiality
tool({ name: 'mail', input, returns: { confidential: 'secret' } })
// @ts-expect-error -- it is called signal
void desk.run('go', { abortSignal: AbortSignal.abort() })
// @ts-expect-error -- a state takes decisions, an input does not
void desk.run('go', { approvals: [] })
// @ts-expect-error -- createAgent takes it
void desk.run('go', { allowSystemMessages: true })
// @ts-expect-error -- it is called id
void desk.createSession({ sessionId: 'a' })
// @ts-expect-error -- only a new session takes messages
void desk.resumeSession('a', { messages: [] })
// @ts-expect-error -- it is called inputFilter
desk.toTool({ name: 'ask', description: 'Ask.', filter: { kind: 'full' } })
// @ts-expect-error -- it is called tokens
budget({ maxTokens: 5 })
// @ts-expect-error -- rules are given
dataFlowPolicy({ mode: 'enforce', preset: 'classic' })
// @ts-expect-error -- it is called keepRecent
compaction({ keep: 5 })
// @ts-expect-error -- it is called embedder
createMemory({ store, embeddings: {} })
// @ts-expect-error -- hooks are under hooks
defineExtension({ name: 'x', 'tool.call': () => undefined })
// @ts-expect-error -- there is no such hook
defineExtension({ name: 'x', hooks: { 'tool.cal': () => undefined } })
// @ts-expect-error -- it is called filter
handoff(desk, { inputFilter: { kind: 'full' } })
// @ts-expect-error -- there is no such failure
modelFallback([model], { on: ['ratelimit'] })
// @ts-expect-error -- it is called maxThoughtTokens
react({ maxTokens: 5 })
// @ts-expect-error -- it is called cwd
nodeRuntime({ root: '.' })
// @ts-expect-error -- it is called busyMs
sqliteStore('a.db', { timeoutMs: 5 })
// @ts-expect-error -- it is called allow
webFetchTool({ allowed: [] })
// @ts-expect-error -- it is called mergeStrategy
void runFanOut({ children: [], merge: 'concat', mergeStrategy: 'concat' })
// @ts-expect-error -- children have no steps of their own
void runFanOut({ children: [], mergeStrategy: 'concat', perBudget: { steps: 5 } })
// @ts-expect-error -- it is called maxIterations
void evaluatorOptimizer({ generator: desk, input: 'go', evaluator: { kind: 'schema', schema: input }, maxRounds: 5 })
// @ts-expect-error -- it is called for
exportSession(store, 'a', { audience: 'outside' })
// @ts-expect-error -- it is part of the transport
void mcpTools({ name: 'x', transport: { type: 'stdio', command: 'x' }, env: {} })
// @ts-expect-error -- a tool of the AI SDK says it itself
fromAiTool('x', { inputSchema: input }, { needsApproval: true })

export async function acting(ctx: CompositeContext): Promise<void> {
  // @ts-expect-error -- it is called grant
  await ctx.spawn(desk, 'go', { key: 'a', budget: { tokens: 5 } })
  // @ts-expect-error -- it is called withinMs
  await ctx.wait('a', { timeoutMs: 5 })
}
