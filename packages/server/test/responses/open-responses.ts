import { z } from 'zod'

/** What the Open Responses document (2026-04-24) says of events and items, as far as an agent sends them. */

const logprobs = z.array(z.unknown())
const urlCitation = z.looseObject({
  type: z.literal('url_citation'),
  url: z.string(),
  title: z.string(),
  start_index: z.int(),
  end_index: z.int(),
})
const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(urlCitation),
  logprobs,
})
const itemStatus = z.enum(['in_progress', 'completed', 'incomplete'])
const message = z.strictObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  status: itemStatus,
  content: z.array(outputText),
})
const summaryText = z.strictObject({ type: z.literal('summary_text'), text: z.string() })
const reasoning = z.strictObject({ id: z.string(), type: z.literal('reasoning'), summary: z.array(summaryText) })
const functionCall = z.strictObject({
  id: z.string(),
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status: itemStatus,
})
/** Not in the document: items of OpenAI's API, and those of this server, which have its prefix. */
const more = z
  .looseObject({ id: z.string(), type: z.string() })
  .refine(
    ({ type, status }) =>
      type === 'mcp_call' || type === 'mcp_approval_request' || (type.startsWith('provost:') && status !== undefined),
  )
const item = z.union([message, reasoning, functionCall, more])

const count = z.int().min(0)
const resource = z.strictObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(['queued', 'in_progress', 'completed', 'failed', 'incomplete']),
  incomplete_details: z.strictObject({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(item),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(z.looseObject({ type: z.string() })),
  tool_choice: z.string(),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.null(),
  usage: z
    .strictObject({
      input_tokens: count,
      input_tokens_details: z.strictObject({ cached_tokens: count }),
      output_tokens: count,
      output_tokens_details: z.strictObject({ reasoning_tokens: count }),
      total_tokens: count,
    })
    .nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  conversation: z.strictObject({ id: z.string() }),
})

const numbered = { sequence_number: count }
const place = { ...numbered, item_id: z.string(), output_index: count }
const content = { ...place, content_index: count }
const summary = { ...place, summary_index: count }
const ofResponse = z.strictObject({ type: z.string(), ...numbered, response: resource })
const ofItem = z.strictObject({ type: z.string(), ...numbered, output_index: count, item })

const events: Readonly<Record<string, z.ZodType>> = {
  'response.created': ofResponse,
  'response.in_progress': ofResponse,
  'response.completed': ofResponse,
  'response.failed': ofResponse,
  'response.incomplete': ofResponse,
  'response.output_item.added': ofItem,
  'response.output_item.done': ofItem,
  'response.content_part.added': z.strictObject({ type: z.string(), ...content, part: outputText }),
  'response.content_part.done': z.strictObject({ type: z.string(), ...content, part: outputText }),
  'response.output_text.delta': z.strictObject({ type: z.string(), ...content, delta: z.string(), logprobs }),
  'response.output_text.done': z.strictObject({ type: z.string(), ...content, text: z.string(), logprobs }),
  'response.output_text.annotation.added': z.strictObject({
    type: z.string(),
    ...content,
    annotation_index: count,
    annotation: urlCitation,
  }),
  'response.reasoning_summary_part.added': z.strictObject({ type: z.string(), ...summary, part: summaryText }),
  'response.reasoning_summary_part.done': z.strictObject({ type: z.string(), ...summary, part: summaryText }),
  'response.reasoning_summary_text.delta': z.strictObject({ type: z.string(), ...summary, delta: z.string() }),
  'response.reasoning_summary_text.done': z.strictObject({ type: z.string(), ...summary, text: z.string() }),
  'response.function_call_arguments.delta': z.strictObject({ type: z.string(), ...place, delta: z.string() }),
  'response.function_call_arguments.done': z.strictObject({
    type: z.string(),
    ...place,
    name: z.string(),
    arguments: z.string(),
  }),
}
/** Events of OpenAI's API for calls of the server, and those of this server. */
const isExtension = (type: string): boolean => type.startsWith('response.mcp_call') || type.startsWith('provost:')
const terminal = new Set(['response.completed', 'response.failed', 'response.incomplete'])

interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

/** Returns the problems of a response; none if it is valid. */
export function resourceProblems(given: unknown): readonly string[] {
  return problemsOf(resource, given, 'response')
}

/** Returns the problems of a stream, as the text of its body: its frames, its events, and their order. */
export function streamProblems(text: string): readonly string[] {
  const problems: string[] = []
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'))
  if (blocks.at(-1) !== 'data: [DONE]') problems.push('the last frame is not [DONE]')
  const stream = blocks.slice(0, -1).map((block, n): Event => {
    const [first = '', second = '', ...rest] = block.split('\n')
    const event: Event = JSON.parse(second.slice('data: '.length))
    if (rest.length > 0 || first !== `event: ${event.type}`) problems.push(`frame ${n}: its event is not its type`)
    return event
  })
  for (const [n, event] of stream.entries()) {
    if (event['sequence_number'] !== n) problems.push(`event ${n} has the number ${String(event['sequence_number'])}`)
    const schema = events[event.type]
    if (schema) problems.push(...problemsOf(schema, event, `event ${n} (${event.type})`))
    else if (!isExtension(event.type)) problems.push(`event ${n}: the document has no ${event.type}`)
  }
  const types = stream.map(({ type }) => type)
  if (types[0] !== 'response.created' || types[1] !== 'response.in_progress') problems.push('it has another beginning')
  if (types.findIndex((type) => terminal.has(type)) !== types.length - 1) problems.push('its last event is not its end')
  return [...problems, ...orderProblems(stream)]
}

/** Items are added once, in order, written while they are open, and done once. */
function orderProblems(stream: readonly Event[]): readonly string[] {
  const open = new Map<unknown, unknown>()
  const problems: string[] = []
  let next = 0
  for (const [n, event] of stream.entries()) {
    const { type, output_index: index, item_id: itemId } = event
    const id = typeof event['item'] === 'object' && event['item'] && 'id' in event['item'] ? event['item'].id : itemId
    if (type === 'response.output_item.added') {
      if (index !== next++) problems.push(`event ${n}: the item is not the next one`)
      open.set(index, id)
    } else if (index !== undefined && open.get(index) !== id) problems.push(`event ${n}: the item is not open`)
    if (type === 'response.output_item.done') open.delete(index)
  }
  return open.size > 0 ? [...problems, `${open.size} items have no end`] : problems
}

function problemsOf(schema: z.ZodType, given: unknown, what: string): readonly string[] {
  const { error } = schema.safeParse(given)
  return error ? error.issues.map(({ path, message: said }) => `${what} ${path.join('.')}: ${said}`) : []
}
