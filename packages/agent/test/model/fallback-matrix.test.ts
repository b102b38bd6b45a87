import { readFileSync } from 'node:fs'

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { createAgent } from '@provost/agent'
import type { ModelFailure } from '@provost/core'
import { modelFallback, cooldownOf } from '@provost/provider'
import { scriptedModel } from '@provost/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { extension, missing, only, watch } from '../hooks/hook-scenario.ts'
import type { Failing, FailingProvider } from './failing-provider.ts'
import {
  cuts,
  endsEarly,
  failsInside,
  isSilent,
  proxyRefuses,
  refuses,
  stalls,
  startFailing,
} from './failing-provider.ts'

const limited = {
  openai: ['rate_limit_exceeded', 'requests', 'Rate limit reached for gpt-5 on requests per min (RPM)'],
  anthropic: ['rate_limit_error', 'This request would exceed your rate limit'],
} as const
const overloaded = {
  openai: ['server_is_overloaded', 'service_unavailable_error', 'Our servers are currently overloaded.'],
  anthropic: ['overloaded_error', 'Overloaded'],
} as const
const broke = {
  openai: ['server_error', 'server_error', 'The server had an error while processing your request.'],
  anthropic: ['api_error', 'Internal server error'],
} as const
const failures: Readonly<Record<string, Failing>> = {
  '429, `retry-after: 20`': refuses(429, limited, { 'retry-after': '20' }),
  '429, `retry-after-ms: 2000`': refuses(429, limited, { 'retry-after-ms': '2000' }),
  '429, nothing said of when': refuses(429, limited),
  '429, the quota is used up': refuses(429, {
    openai: ['insufficient_quota', 'insufficient_quota', 'You exceeded your current quota, please check your plan.'],
    anthropic: ['rate_limit_error', 'You exceeded your current quota'],
  }),
  '500, a server error': refuses(500, broke),
  '503, out of service': refuses(503, overloaded),
  '529, overloaded': refuses(529, overloaded),
  '502 by a proxy, in HTML': proxyRefuses(502),
  '504 by a proxy, in HTML': proxyRefuses(504),
  'an error in the stream: overloaded': failsInside(overloaded),
  'an error in the stream: a server error': failsInside(broke),
  'an error in the stream: a rate limit': failsInside(limited),
  '400, the prompt is too long': refuses(400, {
    openai: [
      'context_length_exceeded',
      'invalid_request_error',
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    ],
    anthropic: ['invalid_request_error', 'prompt is too long: 1000123 tokens > 1000000 maximum'],
  }),
  '413, the request is too large': refuses(413, {
    openai: [null, 'invalid_request_error', 'Request body too large'],
    anthropic: ['request_too_large', 'Request exceeds the maximum size'],
  }),
  'the stream is cut': cuts,
  'the stream ends without its end': endsEarly,
  'the stream stalls': stalls,
  'no answer at all': isSilent,
  '401, a wrong key': refuses(401, {
    openai: ['invalid_api_key', 'invalid_request_error', 'Incorrect API key provided'],
    anthropic: ['authentication_error', 'invalid x-api-key'],
  }),
  '403, no permission': refuses(403, {
    openai: ['unsupported_country_region_territory', 'request_forbidden', 'Not supported'],
    anthropic: ['permission_error', 'Your API key does not have permission'],
  }),
  '400, a content filter': refuses(400, {
    openai: ['content_filter', 'invalid_request_error', 'The response was filtered due to the content policy.'],
    anthropic: ['invalid_request_error', 'Output blocked by content filtering policy'],
  }),
  '400, a bad request': refuses(400, {
    openai: ['unknown_parameter', 'invalid_request_error', "Unknown parameter: 'x'."],
    anthropic: ['invalid_request_error', 'x: Extra inputs are not permitted'],
  }),
  '404, no such model': refuses(404, {
    openai: ['model_not_found', 'invalid_request_error', 'The model `x` does not exist'],
    anthropic: ['not_found_error', 'model: x'],
  }),
}
const elsewhere: Record<string, string> = {
  'the name is unknown (DNS)': 'http://nowhere.invalid/v1',
  'the connection is refused': '',
}
const silent: ReadonlySet<string> = new Set(['the stream stalls', 'no answer at all'])
const cases = [...Object.keys(failures), ...Object.keys(elsewhere)]

const providers: Readonly<Record<string, (baseURL: string) => LanguageModelV4>> = {
  'OpenAI Responses': (baseURL) => createOpenAI({ baseURL, apiKey: 'test' })('gpt-5'),
  'OpenAI Chat': (baseURL) => createOpenAI({ baseURL, apiKey: 'test' }).chat('gpt-5'),
  Anthropic: (baseURL) => createAnthropic({ baseURL, apiKey: 'test' })('claude-sonnet-5'),
  'a compatible server': (baseURL) => createOpenAICompatible({ name: 'local', baseURL })('llama'),
}

let server: FailingProvider
beforeAll(async () => {
  server = await startFailing(failures)
  const gone = await startFailing({})
  elsewhere['the connection is refused'] = gone.baseURL('')
  await gone.close()
})
afterAll(() => server.close())

/** What a failure comes to. */
interface Outcome {
  readonly class: string
  readonly again: boolean
  readonly next: boolean
  readonly rests: string
}

async function meet(name: string, make: (baseURL: string) => LanguageModelV4): Promise<Outcome> {
  const model = make(elsewhere[name] ?? server.baseURL(name))
  let seen: ModelFailure | undefined
  let rests = ''
  const look = extension('look', {
    'model.error': (failure) => {
      seen ??= failure
      const rest = cooldownOf(model)
      rests = rest ? `${Math.ceil(rest.ms / 1000)} s` : 'no'
    },
  })
  const second = scriptedModel([{ text: 'Full answer' }], { modelId: 'second' })
  const agent = createAgent({
    name: 'a',
    model,
    // Where silence is not the failure, a busy machine is not to make it one.
    settings: { maxRetries: 0, stallMs: silent.has(name) ? 100 : 60_000 },
    extensions: [look, modelFallback([second])],
  })
  const { events, result } = await watch(agent.stream('go'))
  const failure = seen ?? missing(`${name} did not fail`)
  const [fell] = only(events, 'model.fallback')
  // Whatever was said by the one that failed is gone.
  const { status, text } = result
  const expected = fell ? { status: 'completed', text: 'Full answer' } : { status: 'failed', text }
  expect({ status, text, class: fell?.class ?? failure.class }).toEqual({ ...expected, class: failure.class })
  return { class: failure.class, again: failure.error.retryable === true, next: fell !== undefined, rests }
}

function row(name: string, { class: kind, again, next, rests }: Outcome): string {
  return [name, `\`${kind}\``, next ? 'yes' : 'no', rests, again ? 'yes' : 'no'].map((cell) => ` ${cell} `).join('|')
}

/** The rows of the guide, with their cells as they are, whatever the formatter made of the columns. */
function promised(): string[] {
  const guide = readFileSync(new URL('../../../../docs/guide/models.md', import.meta.url), 'utf8')
  const [, table = ''] = guide.split('<!-- matrix -->')
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => ` ${cell.trim()} `)
        .join('|'),
    )
}

describe('a failure as a provider sends it', () => {
  const outcomes = new Map<string, Outcome[]>()

  it.concurrent.each(cases)('%s: is the same for all providers', async (name) => {
    const met = await Promise.all(Object.values(providers).map((make) => meet(name, make)))
    outcomes.set(name, met)
    const [first] = met
    expect(met).toEqual(met.map(() => first))
  })

  it('and the guide tells of each', () => {
    const rows = cases.map((name) => row(name, outcomes.get(name)?.[0] ?? missing(name)))
    expect(promised()).toEqual(rows)
  })
})
