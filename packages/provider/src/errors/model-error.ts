import type { ErrorClass } from '@provost/core'

import type { ErrorFacts } from './error-facts.ts'
import { gatherFacts } from './error-facts.ts'

/** A failure as the loop needs to know it. */
export interface ModelError {
  readonly class: ErrorClass
  /** In the provider's words, at most 1,000 characters. */
  readonly message: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** The wait that the provider asks for, in ms; at most a day. */
  readonly retryAfterMs?: number
  /** The HTTP status, where there was one. */
  readonly status?: number
}

/**
 * Says what kind of failure an error is, from what providers, the AI SDK, `fetch` and sockets really throw: API errors
 * with their bodies, errors wrapped by retries or causes, plain objects with a `status`, error parts of streams.
 *
 * @example
 * classifyError(Object.assign(new Error('slow down'), { status: 429 })) // { class: 'rate-limit', retryable: true, … }
 */
export function classifyError(error: unknown): ModelError {
  const facts = gatherFacts(error)
  const { class: kind, retryable } = judge(facts)
  return {
    class: kind,
    message: facts.message || 'The model call failed without saying why.',
    retryable,
    ...(facts.retryAfterMs !== undefined && { retryAfterMs: facts.retryAfterMs }),
    ...(facts.status !== undefined && { status: facts.status }),
  }
}

interface ErrorClassification {
  readonly class: ErrorClass
  readonly retryable: boolean
}
interface Rule extends ErrorClassification {
  /** Any of these codes, exactly, in lower case. */
  readonly codes?: readonly string[]
  /** Or any of these phrases in a message or a body. */
  readonly phrases?: readonly string[]
}

/** Rules that identify a failure, whatever its status. The first matching rule applies. */
const outright: readonly Rule[] = [
  {
    // No credit left, or a request over the limit per minute: waiting does not help.
    class: 'rate-limit',
    retryable: false,
    phrases: [
      'insufficient_quota',
      'exceeded your current quota',
      'credit balance is too low',
      'request too large for',
    ],
    codes: ['insufficient_quota', 'billing_error', 'billing_hard_limit_reached', 'billing_not_active'],
  },
  {
    class: 'rate-limit',
    retryable: true,
    codes: [
      'rate_limit_error',
      'rate_limit_exceeded',
      'rate_limit',
      'resource_exhausted',
      'throttlingexception',
      'throttling_exception',
      'toomanyrequestsexception',
      'too_many_requests',
    ],
  },
  {
    class: 'context-length',
    retryable: false,
    codes: [
      'context_length_exceeded',
      'context_window_exceeded',
      'model_max_prompt_tokens_exceeded',
      'string_above_max_length',
      'request_too_large',
      'exceed_context_size_error',
    ],
    phrases: [
      'maximum context length',
      'context length exceeded',
      'context_length_exceeded',
      'context window',
      'exceed context limit',
      'exceeds the available context size',
      'exceeds the context',
      'prompt is too long',
      'input is too long',
      'prompt too long',
      'too large for model with',
      'maximum prompt length',
      'exceeds the maximum number of tokens allowed',
      'exceeds the limit of tokens',
      'too many input tokens',
      'tokens in the prompt cannot exceed',
      'reduce the length of the',
      'longer than the model',
    ],
  },
  {
    class: 'content-filter',
    retryable: false,
    codes: [
      'content_filter',
      'content_policy_violation',
      'content_moderation',
      'responsibleaipolicyviolation',
      'moderation_blocked',
      'prohibited_content',
    ],
    phrases: [
      'content management policy',
      'content filter',
      'content policy',
      'usage policy',
      'flagged as potentially',
    ],
  },
  {
    class: 'capacity',
    retryable: true,
    codes: [
      'overloaded_error',
      'overloaded',
      'server_overloaded',
      'model_overloaded',
      'engine_overloaded_error',
      'slow_down',
      'serviceunavailableexception',
      'modelnotreadyexception',
    ],
  },
  {
    class: 'auth',
    retryable: false,
    codes: [
      'authentication_error',
      'permission_error',
      'invalid_api_key',
      'unauthenticated',
      'permission_denied',
      'accessdeniedexception',
      'ai_loadapikeyerror',
      'gatewayauthenticationerror',
    ],
  },
]

/** The classes of failures by status, for failures without a rule. */
const otherwise: readonly Rule[] = [
  {
    class: 'timeout',
    retryable: true,
    codes: [
      'timeouterror',
      'timeout_error',
      'deadline_exceeded',
      'und_err_headers_timeout',
      'und_err_body_timeout',
      'model-timeout',
      'model-stalled',
    ],
  },
  {
    class: 'network',
    retryable: false,
    codes: [
      'cert_has_expired',
      'depth_zero_self_signed_cert',
      'self_signed_cert_in_chain',
      'unable_to_verify_leaf_signature',
      'err_tls_cert_altname_invalid',
    ],
  },
  {
    class: 'network',
    retryable: true,
    codes: [
      'stream-cut',
      'econnreset',
      'econnrefused',
      'econnaborted',
      'enotfound',
      'eai_again',
      'epipe',
      'etimedout',
      'ehostunreach',
      'enetunreach',
      'enetdown',
      'und_err_socket',
      'und_err_connect_timeout',
      'und_err_closed',
      'err_stream_premature_close',
      'err_http2_stream_error',
      'connectionrefused',
      'connectionclosed',
      'failedtoopensocket',
      'ai_emptyresponsebodyerror',
    ],
    phrases: [
      'terminated',
      'fetch failed',
      'failed to fetch',
      'cannot connect to api',
      'socket hang up',
      'other side closed',
      'network error',
      'premature close',
      'connection error',
      'stream ended',
      'unexpected end of',
    ],
  },
  {
    class: 'capacity',
    retryable: true,
    codes: ['api_error', 'server_error', 'internal_server_error', 'internal', 'unavailable', 'service_unavailable'],
    phrases: ['overloaded', 'internal server error', 'service unavailable', 'at capacity'],
  },
  { class: 'rate-limit', retryable: true, phrases: ['rate limit', 'too many requests'] },
  {
    class: 'auth',
    retryable: false,
    phrases: ['invalid api key', 'incorrect api key', 'api key is missing', 'unauthorized'],
  },
  { class: 'timeout', retryable: true, phrases: ['timed out', 'timeout'] },
  {
    class: 'invalid-request',
    retryable: false,
    codes: [
      'invalid_request_error',
      'invalid_argument',
      'not_found_error',
      'not_found',
      'validationexception',
      'ai_invalidprompterror',
      'ai_invalidargumenterror',
      'ai_nosuchmodelerror',
      'ai_unsupportedfunctionalityerror',
      'unsupported-file',
      'clearance-denied',
    ],
  },
  // The response was corrupted in transit, so a retry may succeed.
  { class: 'unknown', retryable: true, codes: ['ai_jsonparseerror', 'model-error'] },
]

function judge(facts: ErrorFacts): ErrorClassification {
  const { status } = facts
  const succeeded = status !== undefined && status < 300
  // The AI SDK derives "not retryable" also from a status of 200, which says nothing about the failure.
  const refused = facts.retryable === false && !succeeded
  const rule =
    outright.find((one) => fits(one, facts)) ??
    judgeStatus(status) ??
    otherwise.find((one) => fits(one, facts)) ??
    // The other way round, it reports a stream that was cut as an API error that succeeded.
    (facts.retryable ? { class: succeeded ? 'network' : 'unknown', retryable: true } : undefined)
  return rule ? { class: rule.class, retryable: rule.retryable && !refused } : { class: 'unknown', retryable: false }
}

function judgeStatus(status: number | undefined): ErrorClassification | undefined {
  if (status === undefined || status < 400) return undefined
  if (status === 429) return { class: 'rate-limit', retryable: true }
  if (status === 408 || status === 504) return { class: 'timeout', retryable: true }
  if (status === 413) return { class: 'context-length', retryable: false }
  if (status === 401 || status === 402 || status === 403) return { class: 'auth', retryable: false }
  if (status === 409 || status >= 500) return { class: 'capacity', retryable: true }
  return { class: 'invalid-request', retryable: false }
}

function fits(rule: Rule, facts: ErrorFacts): boolean {
  return (
    rule.codes?.some((code) => facts.codes.has(code)) === true ||
    rule.phrases?.some((phrase) => facts.text.includes(phrase)) === true
  )
}
