import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
} from '@ai-sdk/provider'
import type { ErrorClass } from '@provost/core'
import { ProvostError } from '@provost/core'
import { classifyError } from '@provost/provider'
import { RetryError } from 'ai'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.useRealTimers()
})

interface Api {
  readonly status?: number
  readonly body?: unknown
  readonly message?: string
  readonly headers?: Record<string, string>
  readonly retryable?: boolean
  readonly cause?: unknown
}
function api({ status, body, message = 'failed', headers, retryable, cause }: Api): APICallError {
  return new APICallError({
    message,
    url: 'https://api.test',
    requestBodyValues: {
      messages: [{ role: 'user', content: 'maximum context length, rate_limit_exceeded, overloaded' }],
    },
    cause,
    ...(status !== undefined && { statusCode: status }),
    ...(headers && { responseHeaders: headers }),
    ...(body !== undefined && { responseBody: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(retryable !== undefined && { isRetryable: retryable }),
  })
}
const plain = (message: string, more: object = {}): Error => Object.assign(new Error(message), more)
const anthropic = (type: string, message: string): unknown => ({ type: 'error', error: { type, message } })
const openai = (code: string | null, message: string, type = 'invalid_request_error'): unknown => ({
  error: { message, type, param: null, code },
})
const fetchFailed = (code: string): Error =>
  Object.assign(new TypeError('fetch failed'), { cause: plain('connect', { code }) })

const cases: [string, unknown, ErrorClass, boolean][] = [
  ['a 429', api({ status: 429 }), 'rate-limit', true],
  ['a plain error with status 429', plain('slow down', { status: 429 }), 'rate-limit', true],
  ['a plain error with statusCode 529', plain('busy', { statusCode: 529 }), 'capacity', true],
  ['a plain error with the status in text', plain('slow down', { status: '429' }), 'rate-limit', true],
  ['a plain error around a response', plain('no', { response: { status: 503 } }), 'capacity', true],
  ['a rate limit of Anthropic in the stream', { type: 'rate_limit_error', message: 'Too fast' }, 'rate-limit', true],
  [
    'a rate limit of Google',
    api({ status: 429, body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } } }),
    'rate-limit',
    true,
  ],
  ['throttling by Bedrock', plain('Too many tokens, please wait', { name: 'ThrottlingException' }), 'rate-limit', true],
  [
    'a quota that is used up',
    api({ status: 429, body: openai('insufficient_quota', 'You exceeded your current quota', 'insufficient_quota') }),
    'rate-limit',
    false,
  ],
  [
    'a request larger than a minute allows',
    api({
      status: 429,
      body: openai('rate_limit_exceeded', 'Request too large for gpt-5 on tokens per min (TPM)', 'tokens'),
    }),
    'rate-limit',
    false,
  ],
  [
    'Anthropic without credit',
    api({ status: 400, body: anthropic('invalid_request_error', 'Your credit balance is too low to access the API') }),
    'rate-limit',
    false,
  ],
  ['Anthropic overloaded', api({ status: 529, body: anthropic('overloaded_error', 'Overloaded') }), 'capacity', true],
  [
    'Anthropic overloaded in the middle of a stream',
    { type: 'overloaded_error', message: 'Overloaded' },
    'capacity',
    true,
  ],
  [
    'an overload reported with status 200',
    api({ status: 200, body: anthropic('overloaded_error', 'Overloaded') }),
    'capacity',
    true,
  ],
  ['a plain string in the stream', 'Overloaded', 'capacity', true],
  ['a 500', api({ status: 500 }), 'capacity', true],
  ['a 503 that says not to try again', api({ status: 503, retryable: false }), 'capacity', false],
  [
    'a failed response of OpenAI',
    { type: 'response.failed', response: { error: { code: 'server_error', message: 'Oops' } } },
    'capacity',
    true,
  ],
  [
    'OpenAI: too long',
    api({
      status: 400,
      body: openai('context_length_exceeded', "This model's maximum context length is 128000 tokens."),
    }),
    'context-length',
    false,
  ],
  [
    'Anthropic: too long',
    api({
      status: 400,
      body: anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    }),
    'context-length',
    false,
  ],
  [
    'Anthropic: no room for the answer',
    api({
      status: 400,
      body: anthropic(
        'invalid_request_error',
        'input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000',
      ),
    }),
    'context-length',
    false,
  ],
  [
    'Google: too long',
    api({
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    }),
    'context-length',
    false,
  ],
  [
    'vLLM: too long',
    api({
      status: 400,
      message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    }),
    'context-length',
    false,
  ],
  [
    'llama.cpp: too long',
    api({
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'the request exceeds the available context size',
          type: 'exceed_context_size_error',
        },
      },
    }),
    'context-length',
    false,
  ],
  [
    'xAI: too long',
    api({
      status: 400,
      body: '{"error":"This model\'s maximum prompt length is 131072 but the request contains 200000 tokens."}',
    }),
    'context-length',
    false,
  ],
  [
    'Groq: too long',
    api({ status: 400, message: 'Please reduce the length of the messages or completion.' }),
    'context-length',
    false,
  ],
  [
    'too long, on a server that says 500',
    api({ status: 500, message: 'input is too long for requested model' }),
    'context-length',
    false,
  ],
  [
    'a body too large',
    api({ status: 413, body: anthropic('request_too_large', 'Request exceeds the maximum size') }),
    'context-length',
    false,
  ],
  ['a wrong key', api({ status: 401, body: openai('invalid_api_key', 'Incorrect API key provided') }), 'auth', false],
  ['no permission', api({ status: 403, body: anthropic('permission_error', 'No') }), 'auth', false],
  ['a missing key', new LoadAPIKeyError({ message: 'OpenAI API key is missing.' }), 'auth', false],
  ['a payment due', api({ status: 402 }), 'auth', false],
  [
    'a filter of Azure',
    api({
      status: 400,
      body: openai(
        'content_filter',
        'The response was filtered due to the prompt triggering Azure OpenAI’s content management policy.',
      ),
    }),
    'content-filter',
    false,
  ],
  [
    'a policy of OpenAI',
    api({
      status: 400,
      body: openai('invalid_prompt', 'Your prompt was flagged as potentially violating our usage policy.'),
    }),
    'content-filter',
    false,
  ],
  [
    'a filter of Anthropic',
    api({ status: 400, body: anthropic('invalid_request_error', 'Output blocked by content filtering policy') }),
    'content-filter',
    false,
  ],
  ['a bad request', api({ status: 400, body: openai(null, 'Unknown parameter') }), 'invalid-request', false],
  [
    'an unknown model',
    api({ status: 404, body: openai('model_not_found', 'The model does not exist') }),
    'invalid-request',
    false,
  ],
  [
    'an unknown model, found by the SDK',
    new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' }),
    'invalid-request',
    false,
  ],
  ['a bad request in the stream', { type: 'invalid_request_error', message: 'No' }, 'invalid-request', false],
  ['DNS', fetchFailed('ENOTFOUND'), 'network', true],
  ['a temporary DNS failure', fetchFailed('EAI_AGAIN'), 'network', true],
  [
    'a refused connection, all addresses',
    Object.assign(new TypeError('fetch failed'), {
      cause: new AggregateError([plain('v4', { code: 'ECONNREFUSED' })]),
    }),
    'network',
    true,
  ],
  [
    'a reset connection, as the SDK reports it',
    api({ message: 'Cannot connect to API', cause: plain('read', { code: 'ECONNRESET' }), retryable: true }),
    'network',
    true,
  ],
  ['a cut body', new TypeError('terminated'), 'network', true],
  [
    'a cut body with its reason',
    Object.assign(new TypeError('terminated'), { cause: plain('other side closed', { code: 'UND_ERR_SOCKET' }) }),
    'network',
    true,
  ],
  ['a closed socket', plain('socket hang up', { code: 'ECONNRESET' }), 'network', true],
  [
    'a cut stream with status 200',
    api({ status: 200, message: 'Failed to process successful response', retryable: true }),
    'network',
    true,
  ],
  [
    'a stream without its end, as compatible servers leave it',
    new InvalidResponseDataError({ data: undefined, message: 'Response stream ended without a finish reason.' }),
    'network',
    true,
  ],
  ['an unknown certificate', fetchFailed('DEPTH_ZERO_SELF_SIGNED_CERT'), 'network', false],
  ['a stall in callModel', new ProvostError('model-stalled', 'sent nothing', { retryable: true }), 'timeout', true],
  ['a signal that timed out', new DOMException('The operation timed out.', 'TimeoutError'), 'timeout', true],
  ['missing headers', fetchFailed('UND_ERR_HEADERS_TIMEOUT'), 'timeout', true],
  ['a gateway time-out', api({ status: 504 }), 'timeout', true],
  [
    'retries of the SDK',
    new RetryError({
      message: 'Failed after 3 attempts',
      reason: 'maxRetriesExceeded',
      errors: [api({ status: 500 }), api({ status: 429 })],
    }),
    'rate-limit',
    true,
  ],
  ['broken JSON', new JSONParseError({ text: '{', cause: new SyntaxError('end') }), 'unknown', true],
  ['an error that calls itself retryable', plain('odd', { isRetryable: true }), 'unknown', true],
  ['a bug', new RangeError('index'), 'unknown', false],
  ['nothing', undefined, 'unknown', false],
  ['a number', 42, 'unknown', false],
]

describe('classifyError', () => {
  it.each(cases)('recognises %s', (_, error, expected, retryable) => {
    expect(classifyError(error)).toMatchObject({ class: expected, retryable })
  })

  it('keeps the status and a bounded message of the provider', () => {
    expect(classifyError(api({ status: 429, message: 'x'.repeat(5000) }))).toEqual({
      class: 'rate-limit',
      retryable: true,
      status: 429,
      message: 'x'.repeat(1000),
    })
  })

  it('ignores the content of the request', () => {
    expect(classifyError(api({ status: 400 })).class).toBe('invalid-request')
  })

  it('uses the outermost error that it recognises', () => {
    expect(classifyError(plain('outer', { status: 503, cause: plain('inner', { status: 400 }) }))).toMatchObject({
      class: 'capacity',
      status: 503,
      message: 'outer',
    })
  })

  it('accepts any thrown value', () => {
    const cyclic: unknown[] = []
    cyclic.push(cyclic, { cause: cyclic })
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const guarded = Object.defineProperty({}, 'message', {
      get: () => {
        throw new Error('no')
      },
    })
    for (const hostile of [
      cyclic,
      proxy,
      guarded,
      { cause: proxy },
      plain('deep', { responseBody: '['.repeat(60_000) }),
    ])
      expect(classifyError(hostile)).toMatchObject({ class: 'unknown' })
    fc.assert(fc.property(fc.anything(), (error) => classifyError(error).message !== ''))
  })
})

describe('the wait that a provider asks for', () => {
  const waitOf = (headers: Record<string, string>): number | undefined =>
    classifyError(api({ status: 429, headers })).retryAfterMs

  it.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['fractions of seconds', { 'Retry-After': '0.5' }, 500],
    ['milliseconds, which take precedence', { 'retry-after-ms': '1234', 'retry-after': '9' }, 1234],
    ['nothing', { 'retry-after': '0' }, 0],
    ['the past', { 'retry-after': '-5' }, 0],
    ['years', { 'retry-after': '99999999' }, 86_400_000],
  ])('is read from %s', (_, headers, expected) => {
    expect(waitOf(headers)).toBe(expected)
  })

  it.each([{}, { 'retry-after': 'soon' }, { 'retry-after': '' }, { 'retry-after-ms': 'NaN' }])(
    'is undefined for %j',
    (headers) => {
      expect(waitOf(headers)).toBeUndefined()
    },
  )

  it('is read from an HTTP date', () => {
    vi.useFakeTimers({ now: Date.parse('Wed, 21 Oct 2026 07:28:00 GMT') })
    expect(waitOf({ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' })).toBe(30_000)
    expect(waitOf({ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT' })).toBe(0)
  })

  it('is read from fetch headers and from the body of a Google error', () => {
    expect(classifyError(plain('no', { status: 429, headers: new Headers({ 'Retry-After': '3' }) })).retryAfterMs).toBe(
      3000,
    )
    const body = {
      error: { code: 429, details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }] },
    }
    expect(classifyError(api({ status: 429, body })).retryAfterMs).toBe(34_500)
  })
})
