import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'

/** The wire formats, by the end of their paths. */
export type Protocol = 'responses' | 'chat' | 'messages'

/** Goes wrong in the way of a provider: it was asked over this protocol and owes an answer. */
export type Failing = (response: ServerResponse, protocol: Protocol) => void

/** A server whose answers all fail; the first segment of the path says how. */
export interface FailingProvider {
  baseURL(failure: string): string
  close(): Promise<void>
}

/** Starts the server on a free port of the loopback interface. */
export async function startFailing(failures: Readonly<Record<string, Failing>>): Promise<FailingProvider> {
  const server = createServer((request, response) => {
    const [, name = '', ...rest] = (request.url ?? '').split('/')
    const protocol = rest.includes('messages') ? 'messages' : rest.includes('responses') ? 'responses' : 'chat'
    request.resume().once('end', () => failures[decodeURIComponent(name)]?.(response, protocol))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    baseURL: (failure) => `http://127.0.0.1:${port}/${encodeURIComponent(failure)}/v1`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

/** The error of a provider, as its protocol writes it. */
interface WireError {
  /** In the words of OpenAI: `error.code` and `error.type`. */
  readonly openai: readonly [code: string | null, type: string, message: string]
  /** In the words of Anthropic: `error.type`. */
  readonly anthropic: readonly [type: string, message: string]
}

function bodyOf({ openai, anthropic }: WireError, protocol: Protocol): object {
  if (protocol === 'messages') return { type: 'error', error: { type: anthropic[0], message: anthropic[1] } }
  return { error: { message: openai[2], type: openai[1], param: null, code: openai[0] } }
}

/** An HTTP error. */
export function refuses(status: number, error: WireError, headers: Readonly<Record<string, string>> = {}): Failing {
  return (response, protocol) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(bodyOf(error, protocol)))
  }
}

function send(response: ServerResponse, event: { readonly type?: string } & Readonly<Record<string, unknown>>): void {
  response.write(`${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`)
}

/** Begins an answer and says a few words of it. */
function begin(response: ServerResponse, protocol: Protocol): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (protocol === 'responses') {
    send(response, {
      type: 'response.created',
      response: { id: 'resp_1', created_at: 1, model: 'gpt-5', service_tier: null },
    })
    const item = { type: 'message', id: 'msg_1' }
    send(response, { type: 'response.output_item.added', output_index: 0, item })
    send(response, { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Half an' })
  } else if (protocol === 'chat') {
    const choices = [{ index: 0, delta: { role: 'assistant', content: 'Half an' }, finish_reason: null }]
    send(response, { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5', choices })
  } else {
    const usage = { input_tokens: 7, output_tokens: 1 }
    const message = { id: 'm1', type: 'message', role: 'assistant', model: 'claude', content: [], stop_reason: null }
    send(response, { type: 'message_start', message: { ...message, stop_sequence: null, usage } })
    send(response, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
    send(response, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half an' } })
  }
}

/** Begins an answer, then reports an error in its stream. */
export function failsInside(error: WireError): Failing {
  return (response, protocol) => {
    begin(response, protocol)
    if (protocol === 'responses') {
      const [code, , message] = error.openai
      const failed = { id: 'resp_1', status: 'failed', error: { code, message }, incomplete_details: null, usage: null }
      send(response, { type: 'response.failed', sequence_number: 3, response: failed })
    } else if (protocol === 'chat') send(response, { ...bodyOf(error, protocol) })
    else send(response, { type: 'error', ...bodyOf(error, protocol) })
    response.end()
  }
}

/** Begins an answer and loses the connection in the middle. */
export const cuts: Failing = (response, protocol) => {
  begin(response, protocol)
  // Long enough for what was written to have left.
  setTimeout(() => response.socket?.destroySoon(), 20)
}
/** Begins an answer and ends it without saying that it is whole. */
export const endsEarly: Failing = (response, protocol) => {
  begin(response, protocol)
  response.end()
}
/** Begins an answer and says nothing more. */
export const stalls: Failing = (response, protocol) => begin(response, protocol)
/** Takes the request and says nothing. */
export const isSilent: Failing = () => {}
/** What stands in front of the provider answers instead of it. */
export function proxyRefuses(status: number): Failing {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html' })
    response.end('<html><body><h1>Bad Gateway</h1></body></html>')
  }
}
