// The chat page: it sends, streams, stops, approves, and shows the conversation again after a reload.
// It needs no library. Text of the model only ever becomes textContent.

const find = (id) => document.getElementById(id)
const [messages, form, input, send, stop, error] = ['messages', 'form', 'input', 'send', 'stop', 'error'].map(find)

/** The id of the conversation is in the address, so that a reload finds it. */
let sessionId = location.hash.slice(1)

async function request(path, { body, method = body ? 'POST' : 'GET', headers = {} } = {}) {
  const response = await fetch(`/api/agent${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (response.ok) return response
  const { error: problem } = await response.json()
  throw new Error([problem.message, problem.hint].filter(Boolean).join(' '))
}

const session = (path = '') => `/session/${encodeURIComponent(sessionId)}${path}`

/** Yields the server-sent events of a response: each is an event of the agent, or `execute_complete`. */
async function* eventsOf(response) {
  let rest = ''
  for await (const text of chunks(response.body.pipeThrough(new TextDecoderStream()))) {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop()
    for (const frame of frames) {
      const fields = Object.fromEntries(frame.split('\n').map((line) => line.split(/: ?(.*)/s, 2)))
      if (fields.data) yield { ...JSON.parse(fields.data), type: fields.event }
    }
  }
}

async function* chunks(stream) {
  const reader = stream.getReader()
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value
}

function show(className, text = '') {
  const element = document.createElement('p')
  element.className = className
  element.textContent = text
  messages.append(element)
  element.scrollIntoView({ block: 'end' })
  return element
}

const textOf = ({ content }) =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** What the page shows of an answer. Its role is `aborted` if the user stopped it, and `error` if it failed. */
function answerText(message) {
  const text = textOf(message)
  return text && message.role === 'aborted' ? `${text.trimEnd()} (stopped)` : text
}

const isAnswer = ({ role }) => role === 'assistant' || role === 'aborted' || role === 'error'

/** Shows a stored message. */
function showMessage(message) {
  const { role, content } = message
  if (role === 'user') show('user', textOf(message))
  if (isAnswer(message) && answerText(message)) show('assistant', answerText(message))
  if (role === 'tool')
    for (const part of content) showResult(part.toolName, part.output?.value ?? part.output?.reason ?? '')
}

function showResult(toolName, output) {
  show('tool', `${toolName}: ${typeof output === 'string' ? output : JSON.stringify(output)}`)
}

function showApproval({ id, toolName, input: args, reason }) {
  const card = show('approval')
  const question = document.createElement('p')
  question.textContent = `May ${toolName} run with ${JSON.stringify(args)}? ${reason ?? ''}`
  card.append(question)
  for (const decision of ['approve', 'deny']) {
    const button = document.createElement('button')
    button.textContent = decision === 'approve' ? 'Approve' : 'Deny'
    button.addEventListener('click', () => {
      card.remove()
      void run({ sessionId, approvals: [{ id, decision }] })
    })
    card.append(button, ' ')
  }
}

/** Reads a run to its end. */
async function read(response) {
  const answers = new Map()
  const answerOf = ({ messageId, attempt }) => {
    const key = `${messageId} ${attempt}`
    if (!answers.has(key)) answers.set(key, show('assistant'))
    return answers.get(key)
  }
  for await (const event of eventsOf(response)) {
    if (event.type === 'text.delta') {
      const answer = answerOf(event)
      answer.append(event.delta)
      answer.scrollIntoView({ block: 'end' })
    }
    if (event.type === 'message.end' && isAnswer(event.message)) {
      const text = event.discarded ? '' : answerText(event.message)
      if (text) answerOf(event).textContent = text
      else answers.get(`${event.messageId} ${event.attempt}`)?.remove()
    }
    if (event.type === 'tool.execute.end') showResult(event.toolName, event.output)
    if (event.type === 'tool.execute.error') showResult(event.toolName, event.error.message)
    if (event.type === 'execute_complete') {
      for (const approval of event.pending.approvals) showApproval(approval)
      if (event.status === 'failed') error.textContent = event.error?.message ?? 'The run failed.'
      return
    }
  }
  throw new Error('The connection was interrupted. Reload the page.')
}

/** Runs a request that answers with the events of a run. Until its end, the page offers to stop it. */
async function busy(work) {
  error.textContent = ''
  send.hidden = true
  stop.hidden = false
  try {
    await read(await work())
  } catch (problem) {
    error.textContent = problem.message
  }
  send.hidden = false
  stop.hidden = true
  input.focus()
}

const run = (body) =>
  busy(async () => {
    if (!sessionId) {
      const id = crypto.randomUUID()
      await request(`/session/${id}`, { method: 'PUT', body: {} })
      sessionId = id
      history.replaceState(null, '', `#${id}`)
    }
    return request('/execute?verbose=1', {
      body: { ...body, sessionId },
      headers: { 'idempotency-key': crypto.randomUUID() },
    })
  })

form.addEventListener('submit', (submitted) => {
  submitted.preventDefault()
  const text = input.value.trim()
  if (text === '' || send.hidden) return
  if (messages.querySelector('.approval')) {
    error.textContent = 'Approve or deny the pending call first.'
    return
  }
  input.value = ''
  show('user', text)
  void run({ input: text })
})

stop.addEventListener('click', async () => {
  try {
    await request(session('/abort'), { body: {} })
  } catch (problem) {
    error.textContent = problem.message
  }
})

if (sessionId) {
  try {
    const stored = await (await request(session())).json()
    for (const message of stored.messages) showMessage(message)
    for (const approval of stored.pending.approvals) showApproval(approval)
    if (stored.status === 'running') {
      const headers = stored.lastEventId ? { 'last-event-id': stored.lastEventId } : {}
      await busy(() => request(session('/events?verbose=1'), { headers }))
    }
  } catch (problem) {
    error.textContent = problem.message
  }
}
