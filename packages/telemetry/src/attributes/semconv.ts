/**
 * Names of the OpenTelemetry conventions for generative AI, from the repository
 * `open-telemetry/semantic-conventions-genai` in autumn 2026 (status: development). The names are copied here because
 * `@opentelemetry/semantic-conventions` still has those of 2025. Names without a convention start with `provost.`.
 */
export const attr = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
  compacted: 'gen_ai.conversation.compacted',
  requestModel: 'gen_ai.request.model',
  temperature: 'gen_ai.request.temperature',
  maxTokens: 'gen_ai.request.max_tokens',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheRead: 'gen_ai.usage.cache_read.input_tokens',
  cacheWrite: 'gen_ai.usage.cache_write.input_tokens',
  reasoning: 'gen_ai.usage.reasoning.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  transferMode: 'gen_ai.transfer.mode',
  transferTarget: 'gen_ai.transfer.target.name',
  workflowName: 'gen_ai.workflow.name',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  instructions: 'gen_ai.system_instructions',
  errorType: 'error.type',
  mcpMethod: 'mcp.method.name',
  mcpVersion: 'mcp.protocol.version',
  mcpSession: 'mcp.session.id',
  rpcRequestId: 'jsonrpc.request.id',
  networkTransport: 'network.transport',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  urlPath: 'url.path',
  urlScheme: 'url.scheme',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  /** From the general conventions. Readers of model traces use these two instead of the conversation. */
  sessionId: 'session.id',
  userId: 'user.id',
} as const

/** Values of `gen_ai.operation.name`. Readers treat any other value as a model call. */
export type Operation = 'invoke_agent' | 'chat' | 'execute_tool' | 'invoke_workflow' | 'plan' | 'retrieval'

/** Names of Provost. */
export const own = {
  runId: 'provost.run.id',
  runStatus: 'provost.run.status',
  resumed: 'provost.run.resumed',
  parentRun: 'provost.run.parent_id',
  step: 'provost.step',
  steps: 'provost.steps',
  attempt: 'provost.attempt',
  purpose: 'provost.purpose',
  cost: 'provost.cost_usd',
  /** Usage of a run as a whole, and of a model call whose provider reported none. */
  inputTokens: 'provost.usage.input_tokens',
  outputTokens: 'provost.usage.output_tokens',
  estimated: 'provost.usage.estimated',
  effect: 'provost.tool.effect',
  /** Of an effect in the ledger of effects. */
  effectState: 'provost.effect.state',
  effectKey: 'provost.effect.key',
  effectScope: 'provost.effect.scope',
  effectAttempt: 'provost.effect.attempt',
  effectBy: 'provost.effect.by',
  effectClearedBy: 'provost.effect.cleared_by',
  sandbox: 'provost.tool.sandbox',
  /** An operation without a convention, beside the closest standard operation. */
  operation: 'provost.operation.name',
  tool: 'provost.tool.name',
  callId: 'provost.tool.call_id',
  query: 'provost.retrieval.query',
  found: 'provost.retrieval.found',
  foundCount: 'provost.retrieval.count',
  parked: 'provost.tool.parked',
  via: 'provost.tool.result_from',
  rule: 'provost.rule',
  sources: 'provost.sources',
  evidence: 'provost.evidence',
  reason: 'provost.reason',
  integrity: 'provost.approval.integrity',
  warnings: 'provost.approval.warnings',
  by: 'provost.by',
  decision: 'provost.decision',
  waited: 'provost.waited_s',
} as const

/**
 * Where two backends look for the cost of a model call in USD, which has no convention: Langfuse and OpenInference
 * (Phoenix).
 */
export const costNames = ['gen_ai.usage.cost', 'llm.cost.total'] as const

/** Names of metrics before 2026, which many dashboards still read. */
export const classicMetric = {
  tokens: 'gen_ai.client.token.usage',
  duration: 'gen_ai.client.operation.duration',
} as const

/** Names of metrics, from the same source. */
export const metric = {
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
  cacheRead: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  cacheWrite: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  reasoning: 'gen_ai.client.inference.usage.reasoning.output_tokens',
  operationInput: 'gen_ai.client.inference.operation.input_tokens',
  operationOutput: 'gen_ai.client.inference.operation.output_tokens',
  inference: 'gen_ai.client.inference.duration',
  firstChunk: 'gen_ai.client.inference.time_to_first_chunk',
  outputChunk: 'gen_ai.client.inference.time_per_output_chunk',
  agent: 'gen_ai.invoke_agent.duration',
  agentInferences: 'gen_ai.invoke_agent.inference_calls',
  agentTools: 'gen_ai.invoke_agent.tool_calls',
  tool: 'gen_ai.execute_tool.duration',
  workflow: 'gen_ai.invoke_workflow.duration',
  request: 'http.server.request.duration',
  cost: 'provost.cost',
  approval: 'provost.approval.duration',
  compaction: 'provost.compaction.duration',
  compactedTokens: 'provost.compaction.tokens_removed',
  turns: 'provost.turns',
  queued: 'provost.queue.followups',
  retries: 'provost.model.retries',
  fallbacks: 'provost.model.fallbacks',
  governance: 'provost.governance.decisions',
} as const
